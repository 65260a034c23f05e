package main

import (
	"crypto/ecdsa"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"
	"time"

	"github.com/FISCO-BCOS/go-sdk/client"
	"github.com/FISCO-BCOS/go-sdk/conf"
	"github.com/FISCO-BCOS/go-sdk/conn"
	"github.com/ethereum/go-ethereum/crypto"
)

const groupID = 1

// What both packages of the SDK can do with topics.
type amop interface {
	SubscribeTopic(topic string, handler func([]byte, *[]byte)) error
	UnsubscribeTopic(topic string) error
	SendAMOPMsg(topic string, data []byte) ([]byte, error)
	BroadcastAMOPMsg(topic string, data []byte) error
	SubscribePrivateTopic(
		topic string, key *ecdsa.PrivateKey, handler func([]byte, *[]byte)) error
	UnsubscribePrivateTopic(topic string) error
	PublishPrivateTopic(topic string, keys []*ecdsa.PublicKey) error
	SendAMOPPrivateMsg(topic string, data []byte) ([]byte, error)
	BroadcastAMOPPrivateMsg(topic string, data []byte) error
}

type clients struct {
	mutex  sync.Mutex
	byName map[string]amop
}

func (c *clients) answer(given command) (fields, error) {
	if given.Do == "connect" {
		return c.connect(given)
	}
	c.mutex.Lock()
	sdk, known := c.byName[given.Client]
	c.mutex.Unlock()
	if !known {
		return nil, fmt.Errorf("no such client: %q", given.Client)
	}
	answer := fields{"topic": given.Topic}
	switch given.Do {
	case "subscribe":
		return answer, subscribe(sdk, given)
	case "unsubscribe":
		if given.Private {
			return answer, sdk.UnsubscribePrivateTopic(given.Topic)
		}
		return answer, sdk.UnsubscribeTopic(given.Topic)
	case "admit":
		keys, err := publicKeys(given.PublicKeys)
		if err != nil {
			return nil, err
		}
		return answer, sdk.PublishPrivateTopic(given.Topic, keys)
	case "unicast":
		return unicast(sdk, given)
	case "multicast":
		if given.Private {
			return answer, sdk.BroadcastAMOPPrivateMsg(given.Topic, given.Data)
		}
		return answer, sdk.BroadcastAMOPMsg(given.Topic, given.Data)
	}
	return nil, fmt.Errorf("no such command: %s", given.Do)
}

func (c *clients) connect(given command) (fields, error) {
	begin := time.Now()
	sdk, err := dial(given)
	if err != nil {
		return nil, err
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.byName[given.Client] = sdk
	return fields{"address": given.Address, "seconds": time.Since(begin).Seconds()}, nil
}

func dial(given command) (amop, error) {
	file := func(name string) string { return filepath.Join(given.Certificates, name) }
	if given.Package == "client" {
		return client.Dial(&conf.Config{
			CAFile: file("ca.crt"), Cert: file("sdk.crt"), Key: file("sdk.key"),
			NodeURL: given.Address, ChainID: given.ChainID, GroupID: groupID,
			// There are no transactions to sign.
			DynamicKey: true,
		})
	}
	contents := [][]byte{}
	for _, name := range []string{"ca.crt", "sdk.crt", "sdk.key"} {
		content, err := os.ReadFile(file(name))
		if err != nil {
			return nil, err
		}
		contents = append(contents, content)
	}
	return conn.DialContextChannel(given.Address, contents[0], contents[1], contents[2], groupID)
}

// The answer to a message is the name of the client that got it, a colon, and the message.
func subscribe(sdk amop, given command) error {
	private := given.PrivateKey != ""
	handler := func(data []byte, answer *[]byte) {
		*answer = append([]byte(given.Client+":"), data...)
		say("message", fields{
			"client": given.Client, "topic": given.Topic, "private": private,
			"data_base64": data, "answer_base64": *answer,
		})
	}
	if !private {
		return sdk.SubscribeTopic(given.Topic, handler)
	}
	key, err := privateKey(given.PrivateKey)
	if err != nil {
		return err
	}
	return sdk.SubscribePrivateTopic(given.Topic, key, handler)
}

var errorCode = regexp.MustCompile(`error code (\d+)|response error: (\d+)`)

// The SDK has result codes of a node in the text of its errors only.
func unicast(sdk amop, given command) (fields, error) {
	send := sdk.SendAMOPMsg
	if given.Private {
		send = sdk.SendAMOPPrivateMsg
	}
	begin := time.Now()
	data, err := send(given.Topic, given.Data)
	answer := fields{
		"topic": given.Topic, "code": 0, "problem": "",
		"data_base64": data, "seconds": time.Since(begin).Seconds(),
	}
	if err == nil {
		return answer, nil
	}
	found := errorCode.FindStringSubmatch(err.Error())
	if found == nil {
		return nil, err
	}
	code, unreadable := strconv.Atoi(found[1] + found[2])
	answer["code"], answer["problem"] = code, err.Error()
	return answer, unreadable
}

func privateKey(file string) (*ecdsa.PrivateKey, error) {
	raw, curve, err := conf.LoadECPrivateKeyFromPEM(file)
	if err != nil {
		return nil, fmt.Errorf("%s (curve %q): %w", file, curve, err)
	}
	return crypto.ToECDSA(raw)
}

func publicKeys(files []string) ([]*ecdsa.PublicKey, error) {
	keys := []*ecdsa.PublicKey{}
	for _, file := range files {
		raw, curve, err := conf.LoadECPublicKeyFromPEM(file)
		if err != nil {
			return nil, fmt.Errorf("%s (curve %q): %w", file, curve, err)
		}
		key, err := crypto.UnmarshalPubkey(raw)
		if err != nil {
			return nil, err
		}
		keys = append(keys, key)
	}
	return keys, nil
}

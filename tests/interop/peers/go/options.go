package main

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"reflect"
	"time"

	pubsub "github.com/libp2p/go-libp2p-pubsub"
	pb "github.com/libp2p/go-libp2p-pubsub/pb"
	peerid "github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/protocol"
)

// The library has room for 32 of each and drops what comes on top without an error, so that a
// hundred messages at once would not arrive.
const (
	outboundQueue   = 4096
	validationQueue = 4096
)

// What the command line asks for, as the library's options.
func routerOptions(given arguments, scores *scoreBoard) ([]pubsub.Option, error) {
	list := []pubsub.Option{
		pubsub.WithPeerOutboundQueueSize(outboundQueue),
		pubsub.WithValidateQueueSize(validationQueue),
	}
	signing, err := signingOptions(given)
	if err != nil {
		return nil, err
	}
	list = append(list, signing...)
	parameters := pubsub.DefaultGossipSubParams()
	for name, value := range given.options {
		option, err := namedOption(name, value, scores)
		if err != nil {
			return nil, fmt.Errorf("option %s: %w", name, err)
		}
		if option != nil {
			list = append(list, option...)
		} else if known, err := setField(&parameters, name, value); err != nil {
			return nil, err
		} else if !known || given.router != "gossipsub" {
			return nil, fmt.Errorf("no such option: %s", name)
		}
	}
	if given.router == "gossipsub" {
		list = append(list, pubsub.WithGossipSubParams(parameters))
	}
	return list, nil
}

func signingOptions(given arguments) ([]pubsub.Option, error) {
	var list []pubsub.Option
	id := "sha256"
	switch given.policy {
	case "StrictSign":
		list, id = append(list, pubsub.WithMessageSignaturePolicy(pubsub.StrictSign)), "origin_bytes"
	case "StrictNoSign":
		list = append(list,
			pubsub.WithMessageSignaturePolicy(pubsub.StrictNoSign), pubsub.WithNoAuthor())
	case "StrictNoSignWithAuthor":
		list = append(list, pubsub.WithMessageSignaturePolicy(pubsub.StrictNoSign))
	default:
		return nil, fmt.Errorf("no such policy: %s", given.policy)
	}
	if given.messageID != "" {
		id = given.messageID
	}
	switch id {
	case "origin_bytes":
		return list, nil
	case "sha256":
		return append(list, pubsub.WithMessageIdFn(hashOfData)), nil
	}
	return nil, fmt.Errorf("no such message id: %s", id)
}

func hashOfData(message *pb.Message) string {
	hash := sha256.Sum256(message.GetData())
	return string(hash[:])
}

// An option that is no field of the gossipsub parameters; none for any other name.
func namedOption(name string, value json.RawMessage, scores *scoreBoard) ([]pubsub.Option, error) {
	switch name {
	case "FloodPublish":
		return decoded(value, pubsub.WithFloodPublish)
	case "MaxMessageSize":
		return decoded(value, pubsub.WithMaxMessageSize)
	case "PeerExchange":
		return decoded(value, pubsub.WithPeerExchange)
	case "PeerOutboundQueueSize":
		return decoded(value, pubsub.WithPeerOutboundQueueSize)
	case "ValidateQueueSize":
		return decoded(value, pubsub.WithValidateQueueSize)
	case "Protocols":
		return decoded(value, func(list []protocol.ID) pubsub.Option {
			return pubsub.WithGossipSubProtocols(list, pubsub.GossipSubDefaultFeatures)
		})
	case "Score":
		return scores.options(value)
	case "TestExtension":
		return decoded(value, testExtension)
	}
	return nil, nil
}

// Whether the node has the test extension of gossipsub 1.3; it says who sent it its message.
func testExtension(wanted bool) pubsub.Option {
	if !wanted {
		return func(*pubsub.PubSub) error { return nil }
	}
	return pubsub.WithTestExtension(pubsub.TestExtensionConfig{
		OnReceiveTestExtension: func(from peerid.ID) {
			say("extension-tested", fields{"id": from.String()})
		},
	})
}

func decoded[T any](value json.RawMessage, option func(T) pubsub.Option) ([]pubsub.Option, error) {
	var argument T
	if err := json.Unmarshal(value, &argument); err != nil {
		return nil, err
	}
	return []pubsub.Option{option(argument)}, nil
}

// Sets a field of the library's parameters by its name; times are in seconds. Says whether there
// is such a field.
func setField(parameters any, name string, value json.RawMessage) (bool, error) {
	field := reflect.ValueOf(parameters).Elem().FieldByName(name)
	if !field.IsValid() {
		return false, nil
	}
	if field.Type() == reflect.TypeFor[time.Duration]() {
		var seconds float64
		if err := json.Unmarshal(value, &seconds); err != nil {
			return true, fmt.Errorf("option %s: %w", name, err)
		}
		field.SetInt(int64(seconds * float64(time.Second)))
		return true, nil
	}
	if err := json.Unmarshal(value, field.Addr().Interface()); err != nil {
		return true, fmt.Errorf("option %s: %w", name, err)
	}
	return true, nil
}

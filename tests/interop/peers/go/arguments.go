package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"strings"
)

// The command line.
type arguments struct {
	listen, dial, topics words
	router               string
	policy               string
	messageID            string
	options              map[string]json.RawMessage
	window               int
	threads              int
	kademlia             string
	kademliaProtocol     string
	bootstrap            words
	topicDiscovery       string
	mdns                 string
}

// A flag that may be given more than once.
type words []string

func (list *words) String() string     { return strings.Join(*list, " ") }
func (list *words) Set(w string) error { *list = append(*list, w); return nil }

func parseArguments() (arguments, error) {
	var given arguments
	flag.Var(&given.listen, "listen", "an address to listen on")
	flag.Var(&given.dial, "dial", "an address to connect to")
	flag.Var(&given.topics, "topic", "a topic to subscribe to at the start")
	flag.StringVar(&given.router, "router", "gossipsub", "gossipsub, floodsub")
	flag.StringVar(&given.policy, "policy", "StrictSign",
		"StrictSign, StrictNoSign, StrictNoSignWithAuthor")
	flag.StringVar(&given.messageID, "message-id", "", "origin_bytes, sha256")
	options := flag.String("options", "{}", "options of the router, a JSON object")
	flag.IntVar(&given.window, "window", 0, "the most that a stream may send ahead, in bytes")
	flag.IntVar(&given.threads, "threads", 0, "threads that run Go code at once")
	flag.StringVar(&given.kademlia, "kademlia", "", "client, server; off unless given")
	flag.StringVar(&given.kademliaProtocol, "kademlia-protocol", "/ipfs/kad/1.0.0", "its protocol")
	flag.Var(&given.bootstrap, "bootstrap", "a node of Kademlia to begin with")
	flag.StringVar(&given.topicDiscovery, "topic-discovery", "off", "the router finds peers, on, off")
	flag.StringVar(&given.mdns, "mdns", "off", "on, off")
	flag.Parse()
	if err := json.Unmarshal([]byte(*options), &given.options); err != nil {
		return given, fmt.Errorf("--options is no JSON object: %w", err)
	}
	return given, nil
}

package main

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"

	dht "github.com/libp2p/go-libp2p-kad-dht"
	pubsub "github.com/libp2p/go-libp2p-pubsub"
	"github.com/libp2p/go-libp2p/core/host"
	peerid "github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/protocol"
	"github.com/libp2p/go-libp2p/core/routing"
	"github.com/libp2p/go-libp2p/p2p/discovery/mdns"
	routingdiscovery "github.com/libp2p/go-libp2p/p2p/discovery/routing"
	"github.com/multiformats/go-multihash"
)

// Ways to find other nodes: Kademlia and mDNS. go-libp2p has no rendezvous.
type finder struct {
	host     host.Host
	kademlia *dht.IpfsDHT
	topics   *routingdiscovery.RoutingDiscovery
	mdns     mdns.Service
}

// What the command line does not ask for is not there.
func newFinder(node host.Host, given arguments) (*finder, error) {
	made := &finder{host: node}
	if given.kademlia != "" {
		if err := made.joinKademlia(given); err != nil {
			return nil, err
		}
	}
	switch given.mdns {
	case "on":
		made.mdns = mdns.NewMdnsService(node, "", made)
	case "off":
	default:
		return nil, fmt.Errorf("--mdns is on or off, not %s", given.mdns)
	}
	return made, nil
}

func (f *finder) joinKademlia(given arguments) error {
	modes := map[string]dht.ModeOpt{"client": dht.ModeClient, "server": dht.ModeServer}
	mode, known := modes[given.kademlia]
	if !known {
		return fmt.Errorf("no such mode of Kademlia: %s", given.kademlia)
	}
	var first []peerid.AddrInfo
	for _, address := range given.bootstrap {
		info, err := peerid.AddrInfoFromString(address)
		if err != nil {
			return fmt.Errorf("%s: %w", address, err)
		}
		first = append(first, *info)
	}
	var err error
	f.kademlia, err = dht.New(f.host, dht.Mode(mode), dht.BootstrapPeers(first...),
		dht.V1ProtocolOverride(protocol.ID(given.kademliaProtocol)))
	if err == nil {
		f.topics = routingdiscovery.NewRoutingDiscovery(f.kademlia)
	}
	return err
}

// With --topic-discovery the router looks for peers of its topics by itself.
func (f *finder) routerOptions(given arguments) ([]pubsub.Option, error) {
	switch {
	case given.topicDiscovery == "off":
		return nil, nil
	case given.topicDiscovery != "on":
		return nil, fmt.Errorf("--topic-discovery is on or off, not %s", given.topicDiscovery)
	case f.topics == nil:
		return nil, fmt.Errorf("--topic-discovery needs --kademlia")
	}
	return []pubsub.Option{pubsub.WithDiscovery(f.topics)}, nil
}

// Once the node is ready.
func (f *finder) begin(running context.Context, given arguments) error {
	if f.mdns != nil {
		if err := f.mdns.Start(); err != nil {
			return fmt.Errorf("mDNS: %w", err)
		}
	}
	if f.kademlia == nil {
		return nil
	}
	for _, address := range given.bootstrap {
		info, err := peerid.AddrInfoFromString(address)
		if err != nil {
			return err
		}
		f.connect(running, *info)
	}
	return f.kademlia.Bootstrap(running)
}

func (f *finder) connect(limited context.Context, info peerid.AddrInfo) {
	if err := f.host.Connect(limited, info); err != nil {
		say("trouble", fields{"what": fmt.Sprintf("cannot connect to %s: %s", info.ID, err)})
	}
}

// mDNS calls it. Whoever is nearby is connected to.
func (f *finder) HandlePeerFound(info peerid.AddrInfo) {
	say("found", describedAs("mdns", info))
	limited, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	f.connect(limited, info)
}

// ---- commands

func (f *finder) answer(limited context.Context, given command) (fields, error) {
	if f.kademlia == nil {
		return nil, errors.New("Kademlia is off: --kademlia")
	}
	switch given.Do {
	case "provide":
		return f.provide(limited, given.Topic)
	case "find":
		return f.find(limited, given)
	case "find_peer":
		return f.findPeer(limited, given.ID)
	}
	return fields{"peers": f.routingTable()}, nil
}

// The namespace that go-libp2p-pubsub gives to a topic.
func namespaceOf(topic string) string { return "floodsub:" + topic }

// What its routing discovery makes of the namespace.
func keyOf(topic string) string {
	hash, err := multihash.Sum([]byte(namespaceOf(topic)), multihash.SHA2_256, -1)
	if err != nil {
		return err.Error()
	}
	return hex.EncodeToString(hash)
}

func (f *finder) provide(limited context.Context, topic string) (fields, error) {
	_, err := f.topics.Advertise(limited, namespaceOf(topic))
	return fields{"topic": topic, "key": keyOf(topic)}, err
}

func (f *finder) find(limited context.Context, given command) (fields, error) {
	found, err := f.topics.FindPeers(limited, namespaceOf(given.Topic))
	if err != nil {
		return nil, err
	}
	list := []fields{}
	for info := range found {
		if info.ID == f.host.ID() {
			continue
		}
		say("found", describedAs("kademlia", info))
		list = append(list, fields{"id": info.ID.String(), "addresses": addressesOf(info)})
		if given.Dial {
			f.connect(limited, info)
		}
	}
	return fields{"topic": given.Topic, "key": keyOf(given.Topic), "peers": list}, nil
}

func (f *finder) findPeer(limited context.Context, name string) (fields, error) {
	id, err := peerid.Decode(name)
	if err != nil {
		return nil, err
	}
	info, err := f.kademlia.FindPeer(limited, id)
	if errors.Is(err, routing.ErrNotFound) {
		return fields{"id": name, "addresses": nil}, nil
	}
	return fields{"id": name, "addresses": addressesOf(info)}, err
}

func (f *finder) routingTable() []string {
	names := []string{}
	for _, id := range f.kademlia.RoutingTable().ListPeers() {
		names = append(names, id.String())
	}
	slices.Sort(names)
	return names
}

// ---- words

func describedAs(way string, info peerid.AddrInfo) fields {
	return fields{"way": way, "id": info.ID.String(), "addresses": addressesOf(info)}
}

func addressesOf(info peerid.AddrInfo) []string {
	list := []string{}
	for _, address := range info.Addrs {
		list = append(list, address.String())
	}
	return list
}

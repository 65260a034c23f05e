package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/libp2p/go-libp2p/core/event"
	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/network"
	peerid "github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/protocol"
	"github.com/libp2p/go-libp2p/p2p/protocol/ping"
	"github.com/multiformats/go-multiaddr"
)

const patience = 60 * time.Second

type peer struct {
	host   host.Host
	router *router
	finder *finder
}

func newPeer(running context.Context, node host.Host, given arguments) (*peer, error) {
	made := &peer{host: node}
	node.SetStreamHandler(echoProtocol, echo)
	subscription, err := node.EventBus().Subscribe([]any{
		new(event.EvtPeerConnectednessChanged),
		new(event.EvtPeerIdentificationCompleted),
		new(event.EvtPeerIdentificationFailed),
	})
	if err != nil {
		return nil, err
	}
	go made.tell(subscription)
	if made.finder, err = newFinder(node, given); err != nil {
		return nil, err
	}
	searching, err := made.finder.routerOptions(given)
	if err != nil {
		return nil, err
	}
	made.router, err = newRouter(running, node, given, searching...)
	return made, err
}

func (p *peer) addresses() []string {
	var list []string
	for _, address := range p.host.Addrs() {
		list = append(list, fmt.Sprintf("%s/p2p/%s", address, p.host.ID()))
	}
	return list
}

// What happens without a command.
func (p *peer) tell(subscription event.Subscription) {
	for happened := range subscription.Out() {
		switch happened := happened.(type) {
		case event.EvtPeerConnectednessChanged:
			state := "disconnected"
			if happened.Connectedness == network.Connected {
				state = "connected"
			}
			say("peer", fields{"id": happened.Peer.String(), "state": state})
		case event.EvtPeerIdentificationCompleted:
			say("peer", identified(happened))
		case event.EvtPeerIdentificationFailed:
			say("peer", fields{
				"id": happened.Peer.String(), "state": "unidentified",
				"problem": happened.Reason.Error(),
			})
		}
	}
}

func identified(happened event.EvtPeerIdentificationCompleted) fields {
	listens := []string{}
	for _, address := range happened.ListenAddrs {
		listens = append(listens, address.String())
	}
	observed := ""
	if happened.ObservedAddr != nil {
		observed = happened.ObservedAddr.String()
	}
	return fields{
		"id": happened.Peer.String(), "state": "identified",
		"protocols": happened.Protocols, "agent": happened.AgentVersion,
		"protocol_version": happened.ProtocolVersion,
		"listens":          listens, "observed": observed,
		"signed_record": happened.SignedPeerRecord != nil,
	}
}

func (p *peer) obey(given command) {
	answer, err := p.answer(given)
	if err != nil {
		complain(given.Do, err)
		return
	}
	say(given.Do, answer)
}

func (p *peer) answer(given command) (fields, error) {
	limited, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	switch given.Do {
	case "dial":
		return p.dial(limited, given.Address)
	case "peers":
		return fields{"peers": p.peers()}, nil
	case "ping":
		return p.ping(limited, given)
	case "echo":
		return p.echo(limited, given)
	case "close_connection":
		return p.closeConnection(given)
	case "provide", "find", "find_peer", "routing_table":
		return p.finder.answer(limited, given)
	}
	return p.answerOfRouter(limited, given)
}

func (p *peer) answerOfRouter(limited context.Context, given command) (fields, error) {
	router := p.router
	switch given.Do {
	case "subscribe":
		return fields{"topic": given.Topic}, router.subscribe(given.Topic)
	case "unsubscribe":
		router.unsubscribe(given.Topic)
		return fields{"topic": given.Topic}, nil
	case "publish":
		return router.publish(limited, given.Topic, given.Data)
	case "publish_many":
		return router.publishMany(limited, given)
	case "mesh":
		return router.mesh(given.Topic)
	case "scores":
		return router.scores.report(limited)
	case "control":
		id, err := peerid.Decode(given.ID)
		return router.watcher.control(id), err
	case "bench_publish":
		return router.bench.publish(given)
	case "bench_receive":
		return router.bench.receive(given)
	case "bench_rate":
		return router.bench.rate(given)
	case "bench_reset":
		return router.bench.reset(given)
	case "bench_report":
		return router.bench.report()
	}
	return nil, fmt.Errorf("no such command: %s", given.Do)
}

func (p *peer) dial(limited context.Context, address string) (fields, error) {
	parsed, err := multiaddr.NewMultiaddr(address)
	if err != nil {
		return nil, err
	}
	target, err := peerid.AddrInfoFromP2pAddr(parsed)
	if err != nil {
		return nil, err
	}
	if err := p.host.Connect(limited, *target); err != nil {
		return nil, err
	}
	return fields{"address": address, "id": target.ID.String()}, nil
}

func (p *peer) peers() []fields {
	list := []fields{}
	for _, id := range p.host.Network().Peers() {
		addresses, streams := []string{}, []protocol.ID{}
		described := fields{"id": id.String(), "sends_on": nil, "receives_on": nil}
		for _, connection := range p.host.Network().ConnsToPeer(id) {
			addresses = append(addresses, connection.RemoteMultiaddr().String())
			for _, stream := range connection.GetStreams() {
				streams = append(streams, stream.Protocol())
				if way := wayOfPubsub(stream); way != "" {
					described[way] = stream.Protocol()
				}
			}
		}
		slices.Sort(streams)
		described["addresses"], described["streams"] = addresses, streams
		list = append(list, described)
	}
	return list
}

func wayOfPubsub(stream network.Stream) string {
	name := string(stream.Protocol())
	if !strings.HasPrefix(name, "/meshsub/") && !strings.HasPrefix(name, "/floodsub/") {
		return ""
	}
	if stream.Stat().Direction == network.DirOutbound {
		return "sends_on"
	}
	return "receives_on"
}

// Closes one of the connections to a peer, counted from 1 in the order in which they were opened.
func (p *peer) closeConnection(given command) (fields, error) {
	target, err := peerid.Decode(given.ID)
	if err != nil {
		return nil, err
	}
	connections := p.host.Network().ConnsToPeer(target)
	slices.SortFunc(connections, func(one, other network.Conn) int {
		return one.Stat().Opened.Compare(other.Stat().Opened)
	})
	if given.Which < 1 || given.Which > len(connections) {
		return nil, fmt.Errorf("there are %d connections to %s", len(connections), target)
	}
	if err := connections[given.Which-1].Close(); err != nil {
		return nil, err
	}
	return fields{"id": given.ID, "left": len(connections) - 1}, nil
}

func (p *peer) ping(limited context.Context, given command) (fields, error) {
	target, err := peerid.Decode(given.ID)
	if err != nil {
		return nil, err
	}
	limited, cancel := context.WithCancel(limited)
	defer cancel()
	times := []float64{}
	for result := range ping.Ping(limited, p.host, target) {
		if result.Error != nil {
			return nil, result.Error
		}
		times = append(times, float64(result.RTT.Microseconds())/1e3)
		if len(times) >= max(given.Count, 1) {
			break
		}
	}
	return fields{"id": given.ID, "round_trips_ms": times}, nil
}

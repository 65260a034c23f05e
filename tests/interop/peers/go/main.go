// A go-libp2p node that is driven by JSON lines: commands on stdin, events on stdout.
// The language is written down in ../README.md. It has no router: it is here for what is below
// one (Noise, yamux, identify, ping) and for streams under load.
//
//	peer [--listen ADDRESS ...] [--dial ADDRESS ...] [--window BYTES]
//
// The program ends with its stdin, so it cannot outlive the test that started it.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/libp2p/go-libp2p"
	"github.com/libp2p/go-libp2p/core/host"
	rcmgr "github.com/libp2p/go-libp2p/p2p/host/resource-manager"
	"github.com/libp2p/go-libp2p/p2p/muxer/yamux"
	"github.com/libp2p/go-libp2p/p2p/security/noise"
	"github.com/libp2p/go-libp2p/p2p/transport/tcp"
)

const longestLine = 16 * 1024 * 1024

// A JSON object: the fields of an event.
type fields map[string]any

// A JSON object that came in: a command with all the fields that one may have.
type command struct {
	Do      string `json:"do"`
	Address string `json:"address"`
	ID      string `json:"id"`
	Count   int    `json:"count"`
	Streams int    `json:"streams"`
	Bytes   int    `json:"bytes"`
	Chunk   int    `json:"chunk"`
}

type words []string

func (list *words) String() string     { return strings.Join(*list, " ") }
func (list *words) Set(w string) error { *list = append(*list, w); return nil }

var stdout sync.Mutex

func say(event string, more fields) {
	line := fields{"event": event}
	for name, value := range more {
		line[name] = value
	}
	text, err := json.Marshal(line)
	if err != nil {
		text, _ = json.Marshal(fields{"event": "error", "do": event, "problem": err.Error()})
	}
	stdout.Lock()
	defer stdout.Unlock()
	os.Stdout.Write(append(text, '\n'))
}

func complain(do string, err error) {
	say("error", fields{"do": do, "problem": err.Error()})
}

func newHost(listen words, window int) (host.Host, error) {
	// One machine holds all peers of a test: limits per address would be in the way.
	limits, err := rcmgr.NewResourceManager(rcmgr.NewFixedLimiter(rcmgr.InfiniteLimits))
	if err != nil {
		return nil, err
	}
	muxer := *yamux.DefaultTransport
	if window > 0 {
		config := *muxer.Config()
		config.MaxStreamWindowSize = uint32(window)
		muxer = yamux.Transport(config)
	}
	return libp2p.New(
		libp2p.ListenAddrStrings(listen...),
		libp2p.Transport(tcp.NewTCPTransport),
		libp2p.Security(noise.ID, noise.New),
		libp2p.Muxer(yamux.ID, &muxer),
		libp2p.ResourceManager(limits),
		libp2p.DisableRelay(),
		libp2p.UserAgent("rumormill-go-peer"),
	)
}

func run() error {
	var listen, dial words
	flag.Var(&listen, "listen", "an address to listen on")
	flag.Var(&dial, "dial", "an address to connect to")
	window := flag.Int("window", 0, "the most that a stream may send ahead, in bytes")
	flag.Parse()
	node, err := newHost(listen, *window)
	if err != nil {
		return err
	}
	peer, err := newPeer(node)
	if err != nil {
		return err
	}
	say("ready", fields{"id": node.ID().String(), "addresses": peer.addresses()})
	for _, address := range dial {
		peer.obey(command{Do: "dial", Address: address})
	}
	return listenToCommands(peer)
}

func listenToCommands(peer *peer) error {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, longestLine)
	for lines.Scan() {
		var given command
		if err := json.Unmarshal(lines.Bytes(), &given); err != nil {
			complain("", err)
			continue
		}
		if given.Do == "stop" {
			err := peer.host.Close()
			say("stop", nil)
			return err
		}
		// Echoes of different peers may run at the same time, also when the peer is slow.
		go peer.obey(given)
	}
	return lines.Err()
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

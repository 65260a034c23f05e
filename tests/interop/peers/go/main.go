// A go-libp2p node that is driven by JSON lines: commands on stdin, events on stdout.
// The language is written down in ../README.md; options of the router in options.go.
//
// The program ends with its stdin, so it cannot outlive the test that started it.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
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
	Do      string  `json:"do"`
	Address string  `json:"address"`
	ID      string  `json:"id"`
	Topic   string  `json:"topic"`
	Data    []byte  `json:"data_base64"`
	Prefix  string  `json:"prefix"`
	Count   int     `json:"count"`
	Size    int     `json:"size"`
	Window  int     `json:"window"`
	Rate    float64 `json:"rate"`
	Which   int     `json:"which"`
	Streams int     `json:"streams"`
	Bytes   int     `json:"bytes"`
	Chunk   int     `json:"chunk"`
	Dial    bool    `json:"dial"`
}

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
	given, err := parseArguments()
	if err != nil {
		return err
	}
	if given.threads > 0 {
		runtime.GOMAXPROCS(given.threads)
	}
	node, err := newHost(given.listen, given.window)
	if err != nil {
		return err
	}
	running, stop := context.WithCancel(context.Background())
	defer stop()
	peer, err := newPeer(running, node, given)
	if err != nil {
		return err
	}
	say("ready", fields{"id": node.ID().String(), "addresses": peer.addresses()})
	if err := peer.finder.begin(running, given); err != nil {
		return err
	}
	for _, address := range given.dial {
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

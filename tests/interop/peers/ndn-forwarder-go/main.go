// The forwarder of ndnd (YaNFD) with the settings that a test gives it.
//
// It says {"event": "ready"} on stdout once it runs, and ends with its stdin, so it cannot outlive
// the test that started it. The language is written down in ../README.md.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"os"

	"github.com/named-data/ndnd/fw/cmd"
	"github.com/named-data/ndnd/fw/core"
)

func main() {
	tcp := flag.Uint("tcp", 0, "port of TCP; none if 0")
	udp := flag.Uint("udp", 0, "port of UDP; none if 0")
	unix := flag.String("unix", "", "path of the Unix socket; none if empty")
	threads := flag.Int("threads", 1, "threads that forward")
	flag.Parse()

	config := core.DefaultConfig()
	config.Core.LogLevel = "ERROR"
	config.Faces.Udp.EnabledUnicast = *udp != 0
	config.Faces.Udp.EnabledMulticast = false
	config.Faces.Udp.PortUnicast = uint16(*udp)
	config.Faces.Tcp.Enabled = *tcp != 0
	config.Faces.Tcp.PortUnicast = uint16(*tcp)
	config.Faces.Unix.Enabled = *unix != ""
	config.Faces.Unix.SocketPath = *unix
	config.Faces.WebSocket.Enabled = false
	config.Faces.HTTP3.Enabled = false
	config.Fw.Threads = *threads

	forwarder := cmd.NewYaNFD(config)
	forwarder.Start()
	ready, _ := json.Marshal(map[string]any{"event": "ready", "id": "ndnd", "addresses": []string{}})
	fmt.Println(string(ready))

	// Nothing but `stop` is ever said to it.
	bufio.NewScanner(os.Stdin).Scan()
	forwarder.Stop()
}

// Clients of FISCO BCOS nodes on its Go SDK, driven by JSON lines: commands on stdin, events on
// stdout. The language is written down in ../README.md.
//
// The program ends with its stdin, so it cannot outlive the test that started it.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"sync"
)

const longestLine = 16 * 1024 * 1024

// A JSON object: the fields of an event.
type fields map[string]any

// A JSON object that came in: a command with all the fields that one may have.
type command struct {
	Do           string   `json:"do"`
	Number       int      `json:"number"`
	Client       string   `json:"client"`
	Address      string   `json:"address"`
	Certificates string   `json:"certificates"`
	Package      string   `json:"package"`
	ChainID      int64    `json:"chain_id"`
	Topic        string   `json:"topic"`
	Private      bool     `json:"private"`
	PrivateKey   string   `json:"private_key"`
	PublicKeys   []string `json:"public_keys"`
	Data         []byte   `json:"data_base64"`
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

func obey(all *clients, given command) {
	answer, err := all.answer(given)
	if err != nil {
		say("error", fields{
			"do": given.Do, "number": given.Number, "client": given.Client, "problem": err.Error(),
		})
		return
	}
	answer["number"], answer["client"] = given.Number, given.Client
	say(given.Do, answer)
}

func run() error {
	all := &clients{byName: map[string]amop{}}
	say("ready", fields{"id": "go", "addresses": []string{}})
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, longestLine)
	for lines.Scan() {
		var given command
		if err := json.Unmarshal(lines.Bytes(), &given); err != nil {
			say("error", fields{"do": "", "problem": err.Error()})
			continue
		}
		if given.Do == "stop" {
			// Close() of the SDK leaves a loop that takes a whole core: the end closes as well.
			say("stop", nil)
			return nil
		}
		// The SDK waits for answers without a limit: one must not hold up the next command.
		go obey(all, given)
	}
	return lines.Err()
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

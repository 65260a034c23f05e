package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	peerid "github.com/libp2p/go-libp2p/core/peer"
)

// Every byte comes back on the same stream, then the end of it.
const echoProtocol = "/rumormill/echo/1.0.0"

const defaultChunk = 32 * 1024

func echo(stream network.Stream) {
	if _, err := io.Copy(stream, stream); err != nil {
		stream.Reset()
		return
	}
	stream.Close()
}

// Sends so many bytes on each of so many streams at once, and compares what comes back.
func (p *peer) echo(limited context.Context, given command) (fields, error) {
	target, err := peerid.Decode(given.ID)
	if err != nil {
		return nil, err
	}
	started, cpuAtStart := time.Now(), cpuSeconds()
	streams := max(given.Streams, 1)
	results := make(chan error, streams)
	for number := range streams {
		go func() { results <- p.echoOne(limited, target, number, given) }()
	}
	for range streams {
		if failed := <-results; failed != nil && err == nil {
			err = failed
		}
	}
	if err != nil {
		return nil, err
	}
	return fields{
		"id": given.ID, "streams": streams, "bytes": given.Bytes,
		"seconds":     time.Since(started).Seconds(),
		"cpu_seconds": cpuSeconds() - cpuAtStart,
	}, nil
}

func (p *peer) echoOne(
	limited context.Context, target peerid.ID, number int, given command,
) error {
	stream, err := p.host.NewStream(limited, target, echoProtocol)
	if err != nil {
		return err
	}
	if deadline, ok := limited.Deadline(); ok {
		stream.SetDeadline(deadline)
	}
	var writing sync.WaitGroup
	var writeError error
	writing.Go(func() { writeError = write(stream, number, given) })
	err = compare(stream, number, given.Bytes)
	if err != nil {
		// Also ends the writing.
		stream.Reset()
	}
	writing.Wait()
	if err == nil {
		err = writeError
	}
	if err == nil {
		err = stream.Close()
	}
	return err
}

func write(stream network.Stream, number int, given command) error {
	source := filling(number)
	chunk := make([]byte, max(given.Chunk, 0))
	if len(chunk) == 0 {
		chunk = make([]byte, defaultChunk)
	}
	for left := given.Bytes; left > 0; {
		part := chunk[:min(left, len(chunk))]
		source.Read(part)
		if _, err := stream.Write(part); err != nil {
			return fmt.Errorf("stream %d, %d bytes before the end: %w", number, left, err)
		}
		left -= len(part)
	}
	return stream.CloseWrite()
}

func compare(stream network.Stream, number, size int) error {
	source := filling(number)
	got, want := make([]byte, defaultChunk), make([]byte, defaultChunk)
	for position := 0; position < size; {
		count, err := stream.Read(got)
		source.Read(want[:count])
		if !bytes.Equal(got[:count], want[:count]) {
			return fmt.Errorf("stream %d: other bytes at %d", number, position)
		}
		position += count
		if err != nil && position < size {
			return fmt.Errorf("stream %d: %w after %d of %d bytes", number, err, position, size)
		}
	}
	if count, err := stream.Read(got[:1]); count > 0 || err != io.EOF {
		return fmt.Errorf("stream %d: no end after %d bytes (%v)", number, size, err)
	}
	return nil
}

// The bytes of a stream: the same for the one who writes and the one who compares.
func filling(number int) *rand.ChaCha8 {
	return rand.NewChaCha8([32]byte{byte(number), byte(number >> 8)})
}

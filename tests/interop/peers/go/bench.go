package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	pubsub "github.com/libp2p/go-libp2p-pubsub"
)

const longestSilence = 30 * time.Second

// The benchmark under way: whoever takes part has one of these roles.
type bench struct {
	router *router

	lock       sync.Mutex
	receiving  *receiving
	collecting *collecting
	publishing *publishing
}

// The publisher's side of bench_publish: at most so many messages that are not acknowledged.
type publishing struct {
	topic        *pubsub.Topic
	given        command
	acknowledged atomic.Int64
	heard        chan struct{}
}

// ---- commands

func (b *bench) receive(given command) (fields, error) {
	if err := b.router.subscribe(given.Topic); err != nil {
		return nil, err
	}
	b.lock.Lock()
	defer b.lock.Unlock()
	b.receiving = newReceiving(given)
	return fields{"topic": given.Topic}, nil
}

func (b *bench) reset(given command) (fields, error) {
	b.lock.Lock()
	defer b.lock.Unlock()
	b.collecting = newCollecting(given.Topic, b.router.watcher.copies.Load())
	return fields{"topic": given.Topic}, nil
}

func (b *bench) report() (fields, error) {
	b.lock.Lock()
	found := b.collecting
	b.lock.Unlock()
	if found == nil {
		return nil, errors.New("bench_reset comes first")
	}
	return found.report(b.router.watcher.copies.Load()), nil
}

// Answers at once and goes on by itself.
func (b *bench) publish(given command) (fields, error) {
	topic, err := b.router.topic(given.Topic)
	if err != nil {
		return nil, err
	}
	if len(topic.ListPeers()) == 0 {
		return nil, errors.New("no one is subscribed")
	}
	if err := b.router.subscribe(given.Topic + "/ack"); err != nil {
		return nil, err
	}
	started := &publishing{topic: topic, given: given, heard: make(chan struct{}, 1)}
	b.lock.Lock()
	b.publishing = started
	b.lock.Unlock()
	go b.finish(given.Do, started.run)
	return fields{"topic": given.Topic}, nil
}

func (b *bench) rate(given command) (fields, error) {
	topic, err := b.router.topic(given.Topic)
	if err != nil {
		return nil, err
	}
	if given.Rate <= 0 {
		return nil, errors.New("rate is missing")
	}
	go b.finish(given.Do, func(running context.Context) (fields, error) {
		return publishAtRate(running, topic, given)
	})
	return fields{"topic": given.Topic}, nil
}

func (b *bench) finish(do string, run func(context.Context) (fields, error)) {
	result, err := run(b.router.running)
	if err != nil {
		complain(do, err)
		return
	}
	say("bench", result)
}

// ---- publishers

func (p *publishing) run(running context.Context) (fields, error) {
	watch := startWatch()
	for index := range p.given.Count {
		if err := p.await(index - p.given.Window + 1); err != nil {
			return nil, err
		}
		if err := p.topic.Publish(running, stamped(index, p.given.Size)); err != nil {
			return nil, err
		}
	}
	if err := p.await(p.given.Count); err != nil {
		return nil, err
	}
	return published(p.given, watch), nil
}

// Waits until so many messages are acknowledged.
func (p *publishing) await(count int) error {
	for p.acknowledged.Load() < int64(count) {
		select {
		case <-p.heard:
		case <-time.After(longestSilence):
			return fmt.Errorf("no acknowledgement for %v", longestSilence)
		}
	}
	return nil
}

func (p *publishing) acknowledge(count int64) {
	// One goroutine reads the topic, so that no higher number can come in between.
	p.acknowledged.Store(max(count, p.acknowledged.Load()))
	select {
	case p.heard <- struct{}{}:
	default:
	}
}

func published(given command, watch stopwatch) fields {
	seconds, cpu := watch.read()
	return fields{
		"role": "publisher", "topic": given.Topic, "count": given.Count,
		"seconds": seconds, "cpu_seconds": cpu,
	}
}

func publishAtRate(
	running context.Context, topic *pubsub.Topic, given command,
) (fields, error) {
	watch := startWatch()
	failed, latest := 0, time.Duration(0)
	for index := range given.Count {
		due := watch.started.Add(time.Duration(float64(index) / given.Rate * float64(time.Second)))
		time.Sleep(time.Until(due))
		latest = max(latest, time.Since(due))
		if topic.Publish(running, stamped(index, given.Size)) != nil {
			failed++
		}
	}
	result := published(given, watch)
	result["failed"] = failed
	result["latest_ms"] = float64(latest.Microseconds()) / 1e3
	return result, nil
}

// ---- subscribers

// Says whether the message belonged to a benchmark, and counts it if so.
func (b *bench) takes(message *pubsub.Message) bool {
	topic := message.GetTopic()
	b.lock.Lock()
	collecting, publishing, receiving := b.collecting, b.publishing, b.receiving
	b.lock.Unlock()
	switch {
	case collecting != nil && collecting.topic == topic:
		collecting.add(message.GetData())
	case publishing != nil && topic == publishing.given.Topic+"/ack":
		publishing.acknowledge(int64(numberAt(message.GetData(), 0)))
	case receiving != nil && receiving.topic == topic:
		b.receiveOne(receiving)
	default:
		return false
	}
	return true
}

func (b *bench) receiveOne(taking *receiving) {
	acknowledgement := taking.add()
	if acknowledgement == nil {
		return
	}
	if taking.complete() {
		say("bench", taking.report())
		b.lock.Lock()
		b.receiving = nil
		b.lock.Unlock()
	}
	if err := b.acknowledge(taking.topic, acknowledgement); err != nil {
		complain("bench_receive", err)
	}
}

func (b *bench) acknowledge(name string, acknowledgement []byte) error {
	topic, err := b.router.topic(name + "/ack")
	if err != nil {
		return err
	}
	return topic.Publish(b.router.running, acknowledgement)
}

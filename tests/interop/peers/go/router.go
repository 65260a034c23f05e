package main

import (
	"context"
	"fmt"
	"math/big"
	"slices"
	"sync"

	pubsub "github.com/libp2p/go-libp2p-pubsub"
	"github.com/libp2p/go-libp2p/core/host"
	peerid "github.com/libp2p/go-libp2p/core/peer"
)

// Messages that wait for whoever reads them; the library drops what comes on top.
const readingRoom = 16384

// gossipsub or floodsub, with the same few verbs for both.
type router struct {
	running context.Context
	self    peerid.ID
	pubsub  *pubsub.PubSub
	watcher *watcher
	scores  *scoreBoard
	bench   *bench
	meshes  bool

	lock          sync.Mutex
	topics        map[string]*pubsub.Topic
	subscriptions map[string]*pubsub.Subscription
}

func newRouter(
	running context.Context, node host.Host, given arguments, more ...pubsub.Option,
) (*router, error) {
	makers := map[string]func(context.Context, host.Host, ...pubsub.Option) (*pubsub.PubSub, error){
		"gossipsub": pubsub.NewGossipSub, "floodsub": pubsub.NewFloodSub,
	}
	maker, known := makers[given.router]
	if !known {
		return nil, fmt.Errorf("no such router: %s", given.router)
	}
	made := &router{
		running: running, self: node.ID(), meshes: given.router == "gossipsub",
		watcher: newWatcher(), scores: newScoreBoard(),
		topics:        map[string]*pubsub.Topic{},
		subscriptions: map[string]*pubsub.Subscription{},
	}
	made.bench = &bench{router: made}
	options, err := routerOptions(given, made.scores)
	if err != nil {
		return nil, err
	}
	options = append(append(options, more...), pubsub.WithRawTracer(made.watcher))
	if made.pubsub, err = maker(running, node, options...); err != nil {
		return nil, err
	}
	for _, topic := range given.topics {
		if err := made.subscribe(topic); err != nil {
			return nil, err
		}
	}
	return made, nil
}

// The library's handle on a topic, made once.
func (r *router) topic(name string) (*pubsub.Topic, error) {
	r.lock.Lock()
	defer r.lock.Unlock()
	if found, known := r.topics[name]; known {
		return found, nil
	}
	if name == "" {
		return nil, fmt.Errorf("topic is missing")
	}
	joined, err := r.pubsub.Join(name)
	if err == nil {
		r.topics[name] = joined
	}
	return joined, err
}

func (r *router) subscribe(name string) error {
	topic, err := r.topic(name)
	if err != nil {
		return err
	}
	r.lock.Lock()
	defer r.lock.Unlock()
	if _, known := r.subscriptions[name]; known {
		return nil
	}
	subscription, err := topic.Subscribe(pubsub.WithBufferSize(readingRoom))
	if err != nil {
		return err
	}
	r.subscriptions[name] = subscription
	go r.read(subscription)
	return nil
}

func (r *router) unsubscribe(name string) {
	r.lock.Lock()
	defer r.lock.Unlock()
	if subscription, known := r.subscriptions[name]; known {
		delete(r.subscriptions, name)
		subscription.Cancel()
	}
}

func (r *router) read(subscription *pubsub.Subscription) {
	for {
		message, err := subscription.Next(r.running)
		if err != nil {
			// Left, or the program ends.
			return
		}
		// The others do not deliver what they publish themselves.
		if message.ReceivedFrom != r.self && !r.bench.takes(message) {
			say("message", described(message))
		}
	}
}

func described(message *pubsub.Message) fields {
	told := fields{
		"topic": message.GetTopic(), "data_base64": message.GetData(),
		"from": nil, "seqno": nil, "via": message.ReceivedFrom.String(),
	}
	if from := message.GetFrom(); from != "" {
		told["from"] = from.String()
	}
	if number := message.GetSeqno(); number != nil {
		told["seqno"] = new(big.Int).SetBytes(number).String()
	}
	return told
}

func (r *router) publish(limited context.Context, name string, data []byte) (fields, error) {
	topic, err := r.topic(name)
	if err != nil {
		return nil, err
	}
	recipients := recipientsOf(topic)
	if err := topic.Publish(limited, data); err != nil {
		return nil, err
	}
	return fields{"topic": name, "recipients": recipients}, nil
}

// Empty if no one is subscribed; else nothing, for the library does not say who gets a message.
func recipientsOf(topic *pubsub.Topic) any {
	if len(topic.ListPeers()) == 0 {
		return []string{}
	}
	return nil
}

func (r *router) publishMany(limited context.Context, given command) (fields, error) {
	topic, err := r.topic(given.Topic)
	if err != nil {
		return nil, err
	}
	var fewest any
	if recipientsOf(topic) != nil {
		fewest = 0
	}
	for index := range given.Count {
		if err := topic.Publish(limited, numbered(given.Prefix, index, given.Size)); err != nil {
			return nil, err
		}
	}
	return fields{"topic": given.Topic, "count": given.Count, "fewest_recipients": fewest}, nil
}

func numbered(prefix string, index, size int) []byte {
	data := fmt.Appendf(nil, "%s%08d", prefix, index)
	for len(data) < size {
		data = append(data, '.')
	}
	return data
}

// The mesh of a topic; with floodsub, who is subscribed.
func (r *router) mesh(name string) (fields, error) {
	if r.meshes {
		return fields{"topic": name, "peers": r.watcher.mesh(name)}, nil
	}
	topic, err := r.topic(name)
	if err != nil {
		return nil, err
	}
	names := []string{}
	for _, id := range topic.ListPeers() {
		names = append(names, id.String())
	}
	slices.Sort(names)
	return fields{"topic": name, "peers": names}, nil
}

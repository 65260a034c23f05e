package main

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	pubsub "github.com/libp2p/go-libp2p-pubsub"
	pb "github.com/libp2p/go-libp2p-pubsub/pb"
	peerid "github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/protocol"
)

// Follows what the router does, for it does not answer questions about it: who is subscribed, who
// is in a mesh, what was said. The router calls it on its own loop.
type watcher struct {
	lock       sync.Mutex
	subscribed map[peerid.ID]map[string]bool
	meshes     map[string]map[peerid.ID]bool
	controls   map[peerid.ID]*controls
	copies     atomic.Int64
}

// Control messages that a peer has sent.
type controls struct {
	grafts, ihaves, iwants, idontwants int
	prunes                             []fields
	extensions                         []string
}

func newWatcher() *watcher {
	return &watcher{
		subscribed: map[peerid.ID]map[string]bool{},
		meshes:     map[string]map[peerid.ID]bool{},
		controls:   map[peerid.ID]*controls{},
	}
}

// ---- questions

func (w *watcher) mesh(topic string) []string {
	w.lock.Lock()
	defer w.lock.Unlock()
	names := []string{}
	for id := range w.meshes[topic] {
		names = append(names, id.String())
	}
	slices.Sort(names)
	return names
}

func (w *watcher) control(id peerid.ID) fields {
	w.lock.Lock()
	defer w.lock.Unlock()
	said := w.controlsOf(id)
	return fields{
		"id": id.String(), "grafts": said.grafts, "prunes": append([]fields{}, said.prunes...),
		"ihaves": said.ihaves, "iwants": said.iwants, "idontwants": said.idontwants,
		"extensions": said.extensions,
	}
}

func (w *watcher) controlsOf(id peerid.ID) *controls {
	found, known := w.controls[id]
	if !known {
		found = &controls{}
		w.controls[id] = found
	}
	return found
}

// ---- what the router tells

func (w *watcher) RecvRPC(rpc *pubsub.RPC) {
	w.copies.Add(int64(len(rpc.GetPublish())))
	if changes := rpc.GetSubscriptions(); len(changes) > 0 {
		w.noteSubscriptions(rpc.From(), changes)
	}
	if control := rpc.GetControl(); control != nil {
		w.noteControl(rpc.From(), control)
	}
}

func (w *watcher) noteSubscriptions(id peerid.ID, changes []*pb.RPC_SubOpts) {
	w.lock.Lock()
	topics := w.subscribed[id]
	if topics == nil {
		topics = map[string]bool{}
		w.subscribed[id] = topics
	}
	told := []fields{}
	for _, change := range changes {
		if change.GetSubscribe() {
			topics[change.GetTopicid()] = true
		} else {
			delete(topics, change.GetTopicid())
		}
		told = append(told, subscription(change.GetTopicid(), change.GetSubscribe()))
	}
	w.lock.Unlock()
	say("subscription-change", fields{"id": id.String(), "subscriptions": told})
}

func subscription(topic string, subscribe bool) fields {
	return fields{"topic": topic, "subscribe": subscribe}
}

func (w *watcher) noteControl(id peerid.ID, control *pb.ControlMessage) {
	w.lock.Lock()
	defer w.lock.Unlock()
	said := w.controlsOf(id)
	said.grafts += len(control.GetGraft())
	said.ihaves += len(control.GetIhave())
	said.iwants += len(control.GetIwant())
	said.idontwants += len(control.GetIdontwant())
	if extensions := control.GetExtensions(); extensions != nil {
		said.extensions = names(extensions)
	}
	for _, prune := range control.GetPrune() {
		said.prunes = append(said.prunes,
			fields{"topic": prune.GetTopicID(), "backoff": prune.GetBackoff()})
	}
}

// The extensions that a peer says it has, of those that the library knows.
func names(extensions *pb.ControlExtensions) []string {
	list := []string{}
	if extensions.GetPartialMessages() {
		list = append(list, "partial")
	}
	if extensions.GetTestExtension() {
		list = append(list, "test")
	}
	return list
}

func (w *watcher) Graft(id peerid.ID, topic string) {
	w.lock.Lock()
	defer w.lock.Unlock()
	if w.meshes[topic] == nil {
		w.meshes[topic] = map[peerid.ID]bool{}
	}
	w.meshes[topic][id] = true
}

func (w *watcher) Prune(id peerid.ID, topic string) {
	w.lock.Lock()
	defer w.lock.Unlock()
	delete(w.meshes[topic], id)
}

// The router forgets a peer with its stream to it, though the connection may live on.
func (w *watcher) OnClosedOutboundStream(id peerid.ID) {
	w.lock.Lock()
	for _, mesh := range w.meshes {
		delete(mesh, id)
	}
	told := []fields{}
	for _, topic := range slices.Sorted(maps.Keys(w.subscribed[id])) {
		told = append(told, subscription(topic, false))
	}
	delete(w.subscribed, id)
	w.lock.Unlock()
	if len(told) > 0 {
		say("subscription-change", fields{"id": id.String(), "subscriptions": told})
	}
}

func (w *watcher) DropRPC(rpc *pubsub.RPC, id peerid.ID) {
	say("trouble", fields{"what": fmt.Sprintf("not sent to %s: %d messages, %d bytes",
		id, len(rpc.GetPublish()), rpc.Size())})
}

func (w *watcher) RejectMessage(message *pubsub.Message, reason string) {
	say("trouble", fields{"what": fmt.Sprintf("refused from %s: %s", message.ReceivedFrom, reason)})
}

func (w *watcher) UndeliverableMessage(message *pubsub.Message) {
	say("trouble", fields{"what": "not read fast enough: " + message.GetTopic()})
}

func (w *watcher) OnNewOutboundStream(peerid.ID, protocol.ID) {}
func (w *watcher) Join(string)                                {}
func (w *watcher) Leave(string)                               {}
func (w *watcher) ValidateMessage(*pubsub.Message)            {}
func (w *watcher) DeliverMessage(*pubsub.Message)             {}
func (w *watcher) DuplicateMessage(*pubsub.Message)           {}
func (w *watcher) ThrottlePeer(peerid.ID)                     {}
func (w *watcher) SendRPC(*pubsub.RPC, peerid.ID)             {}

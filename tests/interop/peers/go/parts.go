package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"slices"

	pubsub "github.com/libp2p/go-libp2p-pubsub"
	"github.com/libp2p/go-libp2p-pubsub/partialmessages"
	"github.com/libp2p/go-libp2p-pubsub/partialmessages/bitmap"
	pb "github.com/libp2p/go-libp2p-pubsub/pb"
	peerid "github.com/libp2p/go-libp2p/core/peer"
)

// The parts of a message, in base64 on the line; nil for what is missing.
type parts [][]byte

// What is known of a peer and a message.
type view struct {
	has  bitmap.Bitmap // the parts that it has, as far as it said; nil before its first word
	said []byte        // what it was told that we have; nil before our first word
}

// The messages in parts that the node knows of. The library calls everything here from one
// goroutine, its own, and so nothing is locked.
type assembly struct {
	pubsub    *pubsub.PubSub
	extension *partialmessages.PartialMessagesExtension[view]
	counts    map[string]int // how many parts the messages of each topic have
	messages  map[string]*partList
}

// Takes its option, PartialTopics, out of those that were given; nothing without it.
func newAssembly(options map[string]json.RawMessage) (*assembly, error) {
	value, known := options["PartialTopics"]
	if !known {
		return nil, nil
	}
	delete(options, "PartialTopics")
	made := &assembly{messages: map[string]*partList{}}
	if err := json.Unmarshal(value, &made.counts); err != nil {
		return nil, fmt.Errorf("option PartialTopics: %w", err)
	}
	made.extension = &partialmessages.PartialMessagesExtension[view]{
		Logger: slog.Default(), GroupTTLByHeatbeat: 30,
		OnIncomingRPC: made.take,
		OnEmitGossip: func(topic string, group []byte, _ []peerid.ID, _ map[peerid.ID]view) {
			go made.spread(topic, group, nil)
		},
	}
	return made, nil
}

func (a *assembly) options() []pubsub.Option {
	if a == nil {
		return nil
	}
	return []pubsub.Option{pubsub.WithPartialMessagesExtension(a.extension)}
}

// How a topic is joined: messages of some come in parts.
func (a *assembly) topicOptions(topic string) []pubsub.TopicOpt {
	if a == nil || a.counts[topic] == 0 {
		return nil
	}
	return []pubsub.TopicOpt{pubsub.RequestPartialMessages()}
}

// Parts of our own, with nil for what we lack.
func (a *assembly) publish(topic string, group []byte, own parts) (fields, error) {
	if a == nil || a.counts[topic] == 0 {
		return nil, fmt.Errorf("the topic %s has no parts", topic)
	}
	if len(own) != a.counts[topic] {
		return nil, fmt.Errorf("there are %d parts", a.counts[topic])
	}
	return fields{"topic": topic}, a.spread(topic, group, own)
}

// Tells and sends to peers what is new for them. Waits for the library, so not from within it.
func (a *assembly) spread(topic string, group []byte, own parts) error {
	return pubsub.PublishPartial(a.pubsub, topic, group,
		func(views map[peerid.ID]view, wants func(peerid.ID) bool) iter.Seq2[peerid.ID, partialmessages.PublishAction] {
			message := a.message(topic, group)
			for index, part := range own {
				message.add(index, part)
			}
			return message.actions(views, wants)
		})
}

// A peer says what it has, or sends parts, or both.
func (a *assembly) take(from peerid.ID, views map[peerid.ID]view, came *pb.PartialMessagesExtension) error {
	topic, group := came.GetTopicID(), came.GetGroupID()
	if a.counts[topic] == 0 {
		return fmt.Errorf("the topic %s has no parts", topic)
	}
	message, seen := a.message(topic, group), views[from]
	seen.has = bitmap.Merge(seen.has, came.GetPartsMetadata())
	var fresh []int
	if body := came.GetPartialMessage(); len(body) > 0 {
		brought, list, err := message.unpacked(body)
		if err != nil {
			return err
		}
		for index, part := range list {
			if message.add(index, part) {
				fresh = append(fresh, index)
			}
		}
		// Who sends a part has it, and knows that we have it from now on.
		seen.has = bitmap.Merge(seen.has, brought)
		seen.said = bitmap.Merge(seen.said, brought)
	}
	views[from] = seen
	if len(fresh) > 0 {
		slices.Sort(fresh)
		say("parts", message.described(topic, group, from, fresh))
	}
	go a.spread(topic, group, nil)
	return nil
}

func (a *assembly) message(topic string, group []byte) *partList {
	key := topic + "\x00" + string(group)
	if a.messages[key] == nil {
		a.messages[key] = &partList{parts: make(parts, a.counts[topic])}
	}
	return a.messages[key]
}

// A message of so many parts, nil where one is missing. Parts travel as the bitmap of those that
// come, then each of them, in order, with its length before it.
type partList struct{ parts parts }

func (l *partList) add(index int, part []byte) bool {
	if part == nil || l.parts[index] != nil {
		return false
	}
	l.parts[index] = part
	return true
}

func (l *partList) empty() bitmap.Bitmap { return make(bitmap.Bitmap, (len(l.parts)+7)/8) }

func (l *partList) metadata() bitmap.Bitmap {
	bits := l.empty()
	for index, part := range l.parts {
		if part != nil {
			bits.Set(index)
		}
	}
	return bits
}

// What to send to whom; notes that it was sent.
func (l *partList) actions(
	views map[peerid.ID]view, wants func(peerid.ID) bool,
) iter.Seq2[peerid.ID, partialmessages.PublishAction] {
	return func(yield func(peerid.ID, partialmessages.PublishAction) bool) {
		ours := l.metadata()
		for id, seen := range views {
			var action partialmessages.PublishAction
			if seen.has != nil && wants(id) {
				action.EncodedPartialMessage, seen.has = l.packed(seen.has)
			}
			if !bytes.Equal(seen.said, ours) {
				action.EncodedPartsMetadata, seen.said = ours, ours
			}
			views[id] = seen
			if !yield(id, action) {
				return
			}
		}
	}
}

// The parts that are not among those, and those together with them.
func (l *partList) packed(known bitmap.Bitmap) ([]byte, bitmap.Bitmap) {
	bits, body := l.empty(), []byte(nil)
	for index, part := range l.parts {
		if part != nil && !known.Get(index) {
			bits.Set(index)
			body = append(binary.AppendUvarint(body, uint64(len(part))), part...)
		}
	}
	if body == nil {
		return nil, known
	}
	return append(bytes.Clone(bits), body...), bitmap.Merge(known, bits)
}

func (l *partList) unpacked(body []byte) (bitmap.Bitmap, map[int][]byte, error) {
	size := len(l.empty())
	if len(body) < size {
		return nil, nil, errors.New("parts without a bitmap")
	}
	bits, rest, found := bitmap.Bitmap(body[:size]), body[size:], map[int][]byte{}
	for index := range l.parts {
		if !bits.Get(index) {
			continue
		}
		length, read := binary.Uvarint(rest)
		if read <= 0 || length > uint64(len(rest)-read) {
			return nil, nil, errors.New("a part that is cut short")
		}
		found[index] = bytes.Clone(rest[read : read+int(length)])
		rest = rest[read+int(length):]
	}
	if len(rest) > 0 || len(found) != bits.OnesCount() {
		return nil, nil, errors.New("something behind the last part")
	}
	return bytes.Clone(bits), found, nil
}

func (l *partList) described(topic string, group []byte, from peerid.ID, fresh []int) fields {
	return fields{
		"topic": topic, "group_base64": group, "via": from.String(), "new": fresh,
		"complete": l.metadata().OnesCount() == len(l.parts), "parts": l.parts,
	}
}

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	pubsub "github.com/libp2p/go-libp2p-pubsub"
	peerid "github.com/libp2p/go-libp2p/core/peer"
)

const inspectionInterval = 100 * time.Millisecond

// What the router thinks of its peers, if it was told to keep a score: by their behaviour alone,
// so that every loss of score is a breach of the protocol.
type scoreBoard struct {
	kept bool

	lock      sync.Mutex
	inspected chan struct{}
	latest    map[peerid.ID]*pubsub.PeerScoreSnapshot
	lowest    map[peerid.ID]float64
}

func newScoreBoard() *scoreBoard {
	return &scoreBoard{inspected: make(chan struct{}), lowest: map[peerid.ID]float64{}}
}

// The library has no defaults: these are in the range that its users have.
func (s *scoreBoard) options(given json.RawMessage) ([]pubsub.Option, error) {
	parameters := pubsub.PeerScoreParams{
		AppSpecificScore:       func(peerid.ID) float64 { return 0 },
		BehaviourPenaltyWeight: -10,
		BehaviourPenaltyDecay:  0.986,
		DecayInterval:          time.Second,
		DecayToZero:            0.01,
		RetainScore:            time.Hour,
	}
	thresholds := pubsub.PeerScoreThresholds{
		GossipThreshold: -10, PublishThreshold: -20, GraylistThreshold: -80,
	}
	var chosen map[string]json.RawMessage
	if err := json.Unmarshal(given, &chosen); err != nil {
		return nil, err
	}
	for name, value := range chosen {
		known, err := setField(&parameters, name, value)
		if !known {
			known, err = setField(&thresholds, name, value)
		}
		if err != nil {
			return nil, err
		}
		if !known {
			return nil, fmt.Errorf("no such option: %s", name)
		}
	}
	s.kept = true
	return []pubsub.Option{
		pubsub.WithPeerScore(&parameters, &thresholds),
		pubsub.WithPeerScoreInspect(s.inspect, inspectionInterval),
	}, nil
}

func (s *scoreBoard) inspect(latest map[peerid.ID]*pubsub.PeerScoreSnapshot) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.latest = latest
	for id, snapshot := range latest {
		s.lowest[id] = min(s.lowest[id], snapshot.Score)
	}
	close(s.inspected)
	s.inspected = make(chan struct{})
}

// The scores of an inspection that began after the question.
func (s *scoreBoard) report(limited context.Context) (fields, error) {
	if !s.kept {
		return nil, errors.New("the router keeps no score: option Score")
	}
	// The first to come may have been under way.
	for range 2 {
		s.lock.Lock()
		next := s.inspected
		s.lock.Unlock()
		select {
		case <-next:
		case <-limited.Done():
			return nil, limited.Err()
		}
	}
	s.lock.Lock()
	defer s.lock.Unlock()
	peers := fields{}
	for id, snapshot := range s.latest {
		peers[id.String()] = fields{
			"score": snapshot.Score, "lowest": s.lowest[id],
			"behaviour_penalty": snapshot.BehaviourPenalty,
		}
	}
	return fields{"peers": peers}, nil
}

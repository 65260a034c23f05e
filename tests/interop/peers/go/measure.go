package main

import (
	"encoding/binary"
	"math"
	"slices"
	"sync"
	"syscall"
	"time"
)

// What the benchmarks count: time, CPU, arrivals. The words are explained in ../README.md.

// Wall-clock time and CPU time of the whole process from here on.
type stopwatch struct {
	started    time.Time
	cpuAtStart float64
}

func startWatch() stopwatch {
	return stopwatch{time.Now(), cpuSeconds()}
}

func (w stopwatch) read() (seconds, cpu float64) {
	return time.Since(w.started).Seconds(), cpuSeconds() - w.cpuAtStart
}

func cpuSeconds() float64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	nanoseconds := usage.Utime.Nano() + usage.Stime.Nano()
	return float64(nanoseconds) / 1e9
}

// A message of a benchmark: wall clock in nanoseconds, index, filling.
func stamped(index, size int) []byte {
	data := make([]byte, max(size, 16))
	for position := 16; position < len(data); position++ {
		data[position] = '.'
	}
	binary.BigEndian.PutUint64(data, uint64(time.Now().UnixNano()))
	binary.BigEndian.PutUint64(data[8:], uint64(index))
	return data
}

func numberAt(data []byte, position int) uint64 {
	if len(data) < position+8 {
		return 0
	}
	return binary.BigEndian.Uint64(data[position:])
}

// The subscriber's side of bench_publish.
type receiving struct {
	topic    string
	count    int
	every    int
	received int
	watch    stopwatch
}

func newReceiving(given command) *receiving {
	return &receiving{topic: given.Topic, count: given.Count, every: max(given.Window/2, 1)}
}

// Counts a message; returns the acknowledgement if one is due.
func (r *receiving) add() []byte {
	if r.received == 0 {
		r.watch = startWatch()
	}
	r.received++
	if r.received%r.every != 0 && !r.complete() {
		return nil
	}
	acknowledgement := binary.BigEndian.AppendUint64(nil, uint64(r.received))
	return binary.BigEndian.AppendUint64(acknowledgement, uint64(time.Now().UnixNano()))
}

func (r *receiving) complete() bool { return r.received >= r.count }

func (r *receiving) report() fields {
	seconds, cpu := r.watch.read()
	return fields{
		"role": "subscriber", "topic": r.topic, "count": r.received,
		"seconds": seconds, "cpu_seconds": cpu,
	}
}

// What arrives of bench_rate, between bench_reset and bench_report.
type collecting struct {
	topic         string
	watch         stopwatch
	copiesAtStart int64

	lock     sync.Mutex
	arrivals []arrival
}

type arrival struct {
	sent, index, arrived uint64
}

func newCollecting(topic string, copies int64) *collecting {
	return &collecting{topic: topic, watch: startWatch(), copiesAtStart: copies}
}

func (c *collecting) add(data []byte) {
	now := uint64(time.Now().UnixNano())
	c.lock.Lock()
	defer c.lock.Unlock()
	c.arrivals = append(c.arrivals, arrival{numberAt(data, 0), numberAt(data, 8), now})
}

func (c *collecting) report(copies int64) fields {
	// First, so that the report itself is not counted.
	seconds, cpu := c.watch.read()
	c.lock.Lock()
	defer c.lock.Unlock()
	type header struct{ sent, index uint64 }
	distinct := map[header]bool{}
	latencies := []float64{}
	for _, each := range c.arrivals {
		distinct[header{each.sent, each.index}] = true
		latencies = append(latencies, (float64(each.arrived)-float64(each.sent))/1e6)
	}
	slices.Sort(latencies)
	return fields{
		"topic": c.topic, "received": len(c.arrivals), "distinct": len(distinct),
		"p50_ms": percentile(latencies, 0.50), "p99_ms": percentile(latencies, 0.99),
		"max_ms": percentile(latencies, 1), "copies": copies - c.copiesAtStart,
		"seconds": seconds, "cpu_seconds": cpu,
	}
}

// By nearest rank; nothing if there are none.
func percentile(sorted []float64, share float64) any {
	if len(sorted) == 0 {
		return nil
	}
	rank := int(math.Ceil(share * float64(len(sorted))))
	return sorted[max(rank, 1)-1]
}

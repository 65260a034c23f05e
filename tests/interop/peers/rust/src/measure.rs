//! What the benchmarks count: time, CPU, arrivals. The words are explained in ../../README.md.

use std::collections::HashSet;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

/// Wall-clock time and CPU time of the whole process from here on.
pub struct Stopwatch {
    started: Instant,
    cpu_at_start: f64,
}

impl Stopwatch {
    pub fn start() -> Self {
        Self {
            started: Instant::now(),
            cpu_at_start: cpu_seconds(),
        }
    }

    pub fn started(&self) -> Instant {
        self.started
    }

    pub fn seconds(&self) -> f64 {
        self.started.elapsed().as_secs_f64()
    }

    pub fn cpu_seconds(&self) -> f64 {
        cpu_seconds() - self.cpu_at_start
    }
}

fn cpu_seconds() -> f64 {
    // SAFETY: a rusage is plain numbers, for which zeros are valid, and getrusage only writes it.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &mut usage);
        usage
    };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    seconds(usage.ru_utime) + seconds(usage.ru_stime)
}

pub fn wall_clock() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |time| time.as_nanos() as u64)
}

/// A message of a benchmark: wall clock in nanoseconds, index, filling.
pub fn stamped(index: u64, size: usize) -> Vec<u8> {
    let mut data = vec![b'.'; size.max(16)];
    data[..8].copy_from_slice(&wall_clock().to_be_bytes());
    data[8..16].copy_from_slice(&index.to_be_bytes());
    data
}

pub fn number_at(data: &[u8], position: usize) -> u64 {
    let bytes = data
        .get(position..position + 8)
        .and_then(|part| part.try_into().ok());
    bytes.map_or(0, u64::from_be_bytes)
}

/// The subscriber's side of `bench_publish`.
pub struct Receiving {
    pub topic: String,
    count: u64,
    every: u64,
    received: u64,
    watch: Option<Stopwatch>,
}

impl Receiving {
    pub fn new(topic: String, count: u64, window: u64) -> Self {
        Self {
            topic,
            count,
            every: (window / 2).max(1),
            received: 0,
            watch: None,
        }
    }

    /// Counts a message; returns the acknowledgement if one is due.
    pub fn add(&mut self) -> Option<Vec<u8>> {
        self.watch.get_or_insert_with(Stopwatch::start);
        self.received += 1;
        if !self.received.is_multiple_of(self.every) && !self.complete() {
            return None;
        }
        let mut acknowledgement = self.received.to_be_bytes().to_vec();
        acknowledgement.extend(wall_clock().to_be_bytes());
        Some(acknowledgement)
    }

    pub fn complete(&self) -> bool {
        self.received >= self.count
    }

    pub fn report(&self) -> Value {
        json!({
            "role": "subscriber",
            "topic": self.topic,
            "count": self.received,
            "seconds": self.watch.as_ref().map_or(0.0, Stopwatch::seconds),
            "cpu_seconds": self.watch.as_ref().map_or(0.0, Stopwatch::cpu_seconds),
        })
    }
}

/// What arrives of `bench_rate`, between `bench_reset` and `bench_report`.
pub struct Collecting {
    pub topic: String,
    watch: Stopwatch,
    copies_at_start: u64,
    arrivals: Vec<Arrival>,
}

struct Arrival {
    sent: u64,
    index: u64,
    arrived: u64,
}

impl Collecting {
    pub fn new(topic: String, copies: u64) -> Self {
        let watch = Stopwatch::start();
        Self {
            topic,
            watch,
            copies_at_start: copies,
            arrivals: Vec::new(),
        }
    }

    pub fn add(&mut self, data: &[u8]) {
        self.arrivals.push(Arrival {
            sent: number_at(data, 0),
            index: number_at(data, 8),
            arrived: wall_clock(),
        });
    }

    pub fn report(&self, copies: Option<u64>) -> Value {
        // First, so that the report itself is not counted.
        let (seconds, cpu_seconds) = (self.watch.seconds(), self.watch.cpu_seconds());
        let distinct: HashSet<(u64, u64)> = self
            .arrivals
            .iter()
            .map(|arrival| (arrival.sent, arrival.index))
            .collect();
        let mut latencies: Vec<f64> = self.arrivals.iter().map(Arrival::latency).collect();
        latencies.sort_by(f64::total_cmp);
        json!({
            "topic": self.topic,
            "received": self.arrivals.len(),
            "distinct": distinct.len(),
            "p50_ms": percentile(&latencies, 0.50),
            "p99_ms": percentile(&latencies, 0.99),
            "max_ms": latencies.last(),
            "copies": copies.map(|count| count - self.copies_at_start),
            "seconds": seconds,
            "cpu_seconds": cpu_seconds,
        })
    }
}

impl Arrival {
    fn latency(&self) -> f64 {
        (self.arrived as f64 - self.sent as f64) / 1e6
    }
}

fn percentile(sorted: &[f64], share: f64) -> Option<f64> {
    let rank = (share * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.max(1) - 1).copied()
}

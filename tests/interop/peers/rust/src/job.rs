//! A publication that takes a while: many messages, with something to wait for in between.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::measure::{Stopwatch, stamped};
use crate::router::Sent;

const LONGEST_SILENCE: Duration = Duration::from_secs(30);
const PAUSE_WHEN_FULL: Duration = Duration::from_millis(2);

pub struct Job {
    pub topic: String,
    count: u64,
    size: usize,
    sent: u64,
    pace: Pace,
    watch: Stopwatch,
    not_before: Instant,
}

enum Pace {
    /// `publish_many`: as fast as the queues take it.
    Flat { prefix: String, unheard: bool },
    /// `bench_publish`: at most so many that are not acknowledged.
    Window {
        window: u64,
        acknowledged: u64,
        latest: Instant,
    },
    /// `bench_rate`: so many a second, whatever becomes of them.
    Rate {
        per_second: f64,
        failed: u64,
        latest: Duration,
    },
}

impl Job {
    pub fn many(topic: String, count: u64, size: usize, prefix: String) -> Self {
        Self::new(
            topic,
            count,
            size,
            Pace::Flat {
                prefix,
                unheard: false,
            },
        )
    }

    pub fn window(topic: String, count: u64, size: usize, window: u64) -> Self {
        let pace = Pace::Window {
            window,
            acknowledged: 0,
            latest: Instant::now(),
        };
        Self::new(topic, count, size, pace)
    }

    pub fn rate(topic: String, count: u64, size: usize, per_second: f64) -> Self {
        let pace = Pace::Rate {
            per_second,
            failed: 0,
            latest: Duration::ZERO,
        };
        Self::new(topic, count, size, pace)
    }

    fn new(topic: String, count: u64, size: usize, pace: Pace) -> Self {
        let watch = Stopwatch::start();
        let not_before = watch.started();
        Self {
            topic,
            count,
            size,
            sent: 0,
            pace,
            watch,
            not_before,
        }
    }

    pub fn command(&self) -> &'static str {
        match self.pace {
            Pace::Flat { .. } => "publish_many",
            Pace::Window { .. } => "bench_publish",
            Pace::Rate { .. } => "bench_rate",
        }
    }

    pub fn acknowledge(&mut self, count: u64) {
        if let Pace::Window {
            acknowledged,
            latest,
            ..
        } = &mut self.pace
        {
            *acknowledged = count.max(*acknowledged);
            *latest = Instant::now();
        }
    }

    pub fn complete(&self) -> bool {
        match self.pace {
            Pace::Window { acknowledged, .. } => acknowledged >= self.count,
            _ => self.sent >= self.count,
        }
    }

    /// When to look at the job again: at once if a message is due, or if it is complete.
    pub fn next(&self) -> Instant {
        if self.complete() {
            return self.not_before;
        }
        match self.pace {
            Pace::Window { latest, .. } if !self.may_send() => latest + LONGEST_SILENCE,
            Pace::Rate { per_second, .. } => {
                self.watch.started() + Duration::from_secs_f64(self.sent as f64 / per_second)
            }
            _ => self.not_before,
        }
    }

    fn may_send(&self) -> bool {
        match self.pace {
            Pace::Window {
                window,
                acknowledged,
                ..
            } => self.sent < self.count && self.sent - acknowledged < window,
            _ => self.sent < self.count,
        }
    }

    /// The message that is due; none while the window is full, an error after too long a silence.
    pub fn payload(&mut self) -> Result<Option<Vec<u8>>, String> {
        let due = self.next();
        if due > Instant::now() {
            return Ok(None);
        }
        if !self.may_send() {
            let (sent, longest) = (self.sent, LONGEST_SILENCE.as_secs());
            return Err(format!(
                "no acknowledgement for {longest} s, {sent} messages sent"
            ));
        }
        if let Pace::Flat { prefix, .. } = &self.pace {
            return Ok(Some(numbered(prefix, self.sent, self.size)));
        }
        if let Pace::Rate { latest, .. } = &mut self.pace {
            *latest = due.elapsed().max(*latest);
        }
        Ok(Some(stamped(self.sent, self.size)))
    }

    pub fn published(&mut self, result: Sent) -> Result<(), String> {
        match (&mut self.pace, result) {
            (_, Sent::Yes) => self.sent += 1,
            (Pace::Flat { unheard, .. }, Sent::NoOneSubscribed) => {
                *unheard = true;
                self.sent += 1;
            }
            (Pace::Window { .. }, Sent::NoOneSubscribed) => {
                return Err("no one is subscribed".into());
            }
            (Pace::Rate { failed, .. }, _) => {
                *failed += 1;
                self.sent += 1;
            }
            (_, Sent::QueuesFull) => self.not_before = Instant::now() + PAUSE_WHEN_FULL,
        }
        Ok(())
    }

    /// The event that ends the job.
    pub fn report(&self) -> (&'static str, Value) {
        let mut fields = json!({
            "role": "publisher",
            "topic": self.topic,
            "count": self.sent,
            "seconds": self.watch.seconds(),
            "cpu_seconds": self.watch.cpu_seconds(),
        });
        match &self.pace {
            Pace::Flat { unheard, .. } => {
                // The library does not say how many there were.
                let fewest = if *unheard { json!(0) } else { Value::Null };
                let (topic, count) = (&self.topic, self.sent);
                let fields = json!({"topic": topic, "count": count, "fewest_recipients": fewest});
                return ("publish_many", fields);
            }
            Pace::Window { .. } => {}
            Pace::Rate { failed, latest, .. } => {
                fields["failed"] = json!(failed);
                fields["latest_ms"] = json!(latest.as_secs_f64() * 1e3);
            }
        }
        ("bench", fields)
    }
}

fn numbered(prefix: &str, index: u64, size: usize) -> Vec<u8> {
    let mut data = format!("{prefix}{index:08}").into_bytes();
    data.resize(size.max(data.len()), b'.');
    data
}

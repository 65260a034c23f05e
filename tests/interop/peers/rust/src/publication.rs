//! Long publications, and what is counted at their other end: the part of the node that benchmarks
//! are made of.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::job::Job;
use crate::measure::Receiving;
use crate::node::{Answer, Node};
use crate::router::Sent;
use crate::speech::{complain, number, say, text};

/// Messages published before the network has its turn again.
const BURST: usize = 16;

impl Node {
    pub(crate) fn start_job(&mut self, name: &str, command: &Value) -> Answer {
        if self.job.is_some() {
            return Err("another publication is under way".into());
        }
        let topic = text(command, "topic")?;
        let count = number(command, "count")?;
        let size = command["size"].as_u64().unwrap_or_default() as usize;
        let (job, answer) = match name {
            "publish_many" => {
                let prefix = command["prefix"].as_str().unwrap_or_default();
                (Job::many(topic, count, size, prefix.into()), None)
            }
            "bench_publish" => {
                self.swarm
                    .behaviour_mut()
                    .subscribe(&format!("{topic}/ack"))?;
                let answer = json!({"topic": topic});
                (
                    Job::window(topic, count, size, number(command, "window")?),
                    Some(answer),
                )
            }
            _ => {
                let rate = command["rate"].as_f64().ok_or("rate is missing")?;
                let answer = json!({"topic": topic});
                (Job::rate(topic, count, size, rate), Some(answer))
            }
        };
        self.job = Some(job);
        Ok(answer)
    }

    /// How long the job under way has nothing to do; none if there is no job.
    pub fn pause(&self) -> Option<Duration> {
        let next = self.job.as_ref()?.next();
        Some(next.saturating_duration_since(Instant::now()))
    }

    pub fn work(&mut self) {
        let Some(mut job) = self.job.take() else {
            return;
        };
        for _ in 0..BURST {
            if job.complete() {
                let (event, fields) = job.report();
                return say(event, fields);
            }
            match self.publish_next(&mut job) {
                Ok(true) => {}
                Ok(false) => break,
                Err(problem) => return complain(job.command(), &problem),
            }
        }
        self.job = Some(job);
    }

    fn publish_next(&mut self, job: &mut Job) -> Result<bool, String> {
        let Some(data) = job.payload()? else {
            return Ok(false);
        };
        let sent = self.swarm.behaviour_mut().publish(&job.topic, data)?;
        job.published(sent)?;
        Ok(true)
    }

    pub(crate) fn bench_receive(&mut self, command: &Value) -> Answer {
        let (topic, count) = (text(command, "topic")?, number(command, "count")?);
        self.swarm.behaviour_mut().subscribe(&topic)?;
        self.receiving = Some(Receiving::new(
            topic.clone(),
            count,
            number(command, "window")?,
        ));
        Ok(Some(json!({"topic": topic})))
    }

    pub(crate) fn receive_one(&mut self) {
        let Some(mut receiving) = self.receiving.take() else {
            return;
        };
        if let Some(acknowledgement) = receiving.add() {
            let complete = receiving.complete();
            if complete {
                say("bench", receiving.report());
            }
            let topic = format!("{}/ack", receiving.topic);
            match self.swarm.behaviour_mut().publish(&topic, acknowledgement) {
                Ok(Sent::Yes) => {}
                Ok(_) => complain("bench_receive", "no one takes the acknowledgement"),
                Err(problem) => complain("bench_receive", &problem),
            }
            if complete {
                return;
            }
        }
        self.receiving = Some(receiving);
    }
}

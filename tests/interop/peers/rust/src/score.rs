//! A peer score by which every loss is a breach of the protocol, or a message that is none.

use std::collections::HashMap;

use libp2p::gossipsub::{IdentTopic, PeerScoreParams, PeerScoreThresholds, TopicScoreParams};
use serde_json::Value;

use crate::gossip::number;

/// The library's own, but for what a test on one machine would suffer from: all peers have one
/// address, and what a peer of a mesh should bring depends on the test.
pub fn parameters(given: &Value, topics: &[String]) -> Result<PeerScoreParams, String> {
    let given = given
        .as_object()
        .ok_or_else(|| format!("{given} is no object of parameters"))?;
    let topic = TopicScoreParams {
        mesh_message_deliveries_weight: 0.0,
        mesh_failure_penalty_weight: 0.0,
        ..Default::default()
    };
    let hash = |name: &String| IdentTopic::new(name).hash();
    let topics: HashMap<_, _> = topics
        .iter()
        .map(|name| (hash(name), topic.clone()))
        .collect();
    let mut parameters = PeerScoreParams {
        topics,
        ip_colocation_factor_weight: 0.0,
        ..Default::default()
    };
    for (name, value) in given {
        match name.as_str() {
            "behaviour_penalty_decay" => parameters.behaviour_penalty_decay = number(value)?,
            "behaviour_penalty_weight" => parameters.behaviour_penalty_weight = number(value)?,
            "slow_peer_weight" => parameters.slow_peer_weight = number(value)?,
            _ => return Err(format!("no such parameter of the score: {name}")),
        }
    }
    Ok(parameters)
}

pub fn thresholds() -> PeerScoreThresholds {
    PeerScoreThresholds::default()
}

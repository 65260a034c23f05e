//! gossipsub as the command line asks for it.

use std::collections::HashMap;
use std::time::Duration;

use libp2p::gossipsub::{
    AllowAllSubscriptionFilter, Behaviour, ConfigBuilder, Message, MessageAuthenticity, MessageId,
    TopicHash, ValidationMode, Version,
};
use libp2p::identity::Keypair;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::arguments::Arguments;
use crate::score;
use crate::transform::{CopyCounter, Transform};

pub type Gossipsub = Behaviour<Transform, AllowAllSubscriptionFilter>;

pub fn gossipsub(
    key: &Keypair,
    arguments: &Arguments,
    copies: CopyCounter,
) -> Result<Gossipsub, String> {
    let mut builder = ConfigBuilder::default();
    let (author, validation, id) = match arguments.policy.as_str() {
        "StrictSign" => (
            MessageAuthenticity::Signed(key.clone()),
            ValidationMode::Strict,
            "rust_text",
        ),
        // The library's own id would be the same for all messages without an author.
        "StrictNoSign" => (
            MessageAuthenticity::Anonymous,
            ValidationMode::Anonymous,
            "sha256",
        ),
        other => return Err(format!("no such policy: {other}")),
    };
    builder.validation_mode(validation);
    set_message_id(&mut builder, arguments.message_id.as_deref().unwrap_or(id))?;
    let mut snappy = false;
    for (name, value) in &arguments.options {
        match name.as_str() {
            "snappy" => snappy = flag(value)?,
            // Not of the builder: see below.
            "partial_topics" | "score" => {}
            "topic_max_transmit_size" => set_topic_sizes(&mut builder, value)?,
            _ => set_option(&mut builder, name, value)?,
        }
    }
    let config = builder.build().map_err(|error| error.to_string())?;
    let transform = Transform { copies, snappy };
    let mut made = Behaviour::new_with_transform(author, config, transform)?;
    if let Some(given) = arguments.options.get("score") {
        let parameters = score::parameters(given, &arguments.topics)?;
        made.with_peer_score(parameters, score::thresholds())?;
    }
    // Before the node subscribes: later it would be too late.
    for topic in partial_topics(arguments)?.keys() {
        made.enable_partials_for_topic(TopicHash::from_raw(topic), true);
    }
    Ok(made)
}

/// Topics whose messages come in parts, and how many parts each message has.
pub fn partial_topics(arguments: &Arguments) -> Result<HashMap<String, usize>, String> {
    let Some(given) = arguments.options.get("partial_topics") else {
        return Ok(HashMap::new());
    };
    let counts = given
        .as_object()
        .ok_or_else(|| format!("{given} is no object of counts"))?;
    let read = |(topic, count): (&String, &Value)| Ok((topic.clone(), size(count)?));
    counts.iter().map(read).collect()
}

fn set_message_id(builder: &mut ConfigBuilder, profile: &str) -> Result<(), String> {
    match profile {
        "rust_text" => {}
        "origin_bytes" => {
            builder.message_id_fn(|message: &Message| {
                let mut id = message.source.map_or_else(Vec::new, |peer| peer.to_bytes());
                id.extend(message.sequence_number.unwrap_or_default().to_be_bytes());
                MessageId::from(id)
            });
        }
        "sha256" => {
            builder.message_id_fn(|message: &Message| {
                MessageId::from(Sha256::digest(&message.data).to_vec())
            });
        }
        "ethereum" => {
            builder.message_id_fn(|message: &Message| MessageId::from(ethereum_id(message)));
        }
        other => return Err(format!("no such message id: {other}")),
    }
    Ok(())
}

/// Of data that was valid snappy: what is not never comes so far.
fn ethereum_id(message: &Message) -> Vec<u8> {
    let topic = message.topic.as_str().as_bytes();
    let mut hash = Sha256::new();
    hash.update([1, 0, 0, 0]);
    hash.update((topic.len() as u64).to_le_bytes());
    hash.update(topic);
    hash.update(&message.data);
    hash.finalize()[..20].to_vec()
}

fn set_topic_sizes(builder: &mut ConfigBuilder, value: &Value) -> Result<(), String> {
    let sizes = value
        .as_object()
        .ok_or_else(|| format!("{value} is no object of sizes"))?;
    for (topic, most) in sizes {
        builder.max_transmit_size_for_topic(size(most)?, TopicHash::from_raw(topic));
    }
    Ok(())
}

/// An option has the name of the library's own; times are in seconds.
fn set_option(builder: &mut ConfigBuilder, name: &str, value: &Value) -> Result<(), String> {
    match name {
        "connection_handler_queue_len" => builder.connection_handler_queue_len(size(value)?),
        "do_px" => builder.do_px(),
        "duplicate_cache_time" => builder.duplicate_cache_time(seconds(value)?),
        "fanout_ttl" => builder.fanout_ttl(seconds(value)?),
        "flood_publish" => builder.flood_publish(flag(value)?),
        "forward_queue_duration" => builder.forward_queue_duration(seconds(value)?),
        "gossip_factor" => builder.gossip_factor(number(value)?),
        "gossip_lazy" => builder.gossip_lazy(size(value)?),
        "heartbeat_initial_delay" => builder.heartbeat_initial_delay(seconds(value)?),
        "heartbeat_interval" => builder.heartbeat_interval(seconds(value)?),
        "history_gossip" => builder.history_gossip(size(value)?),
        "history_length" => builder.history_length(size(value)?),
        "idontwant_message_size_threshold" => {
            builder.idontwant_message_size_threshold(size(value)?)
        }
        "idontwant_on_publish" => builder.idontwant_on_publish(flag(value)?),
        "max_transmit_size" => builder.max_transmit_size(size(value)?),
        "mesh_n" => builder.mesh_n(size(value)?),
        "mesh_n_high" => builder.mesh_n_high(size(value)?),
        "mesh_n_low" => builder.mesh_n_low(size(value)?),
        "mesh_outbound_min" => builder.mesh_outbound_min(size(value)?),
        "protocol_1_0" => builder.protocol_id(text(value)?, Version::V1_0),
        "protocol_1_1" => builder.protocol_id(text(value)?, Version::V1_1),
        "prune_backoff" => builder.prune_backoff(seconds(value)?),
        "publish_queue_duration" => builder.publish_queue_duration(seconds(value)?),
        "support_floodsub" => builder.support_floodsub(),
        "unsubscribe_backoff" => builder.unsubscribe_backoff(seconds(value)?),
        _ => return Err(format!("no such option: {name}")),
    };
    Ok(())
}

fn size(value: &Value) -> Result<usize, String> {
    let number = value
        .as_u64()
        .ok_or_else(|| format!("{value} is no size"))?;
    Ok(number as usize)
}

pub fn number(value: &Value) -> Result<f64, String> {
    value
        .as_f64()
        .ok_or_else(|| format!("{value} is no number"))
}

fn seconds(value: &Value) -> Result<Duration, String> {
    Duration::try_from_secs_f64(number(value)?).map_err(|error| error.to_string())
}

fn flag(value: &Value) -> Result<bool, String> {
    value
        .as_bool()
        .ok_or_else(|| format!("{value} is neither true nor false"))
}

fn text(value: &Value) -> Result<String, String> {
    let text = value
        .as_str()
        .ok_or_else(|| format!("{value} is no text"))?;
    Ok(text.to_string())
}

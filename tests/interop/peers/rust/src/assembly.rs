//! The messages in parts that the node knows of, and what it says when parts come.

use std::collections::HashMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use libp2p::PeerId;
use serde_json::{Value, json};

use crate::partial::PartList;
use crate::speech::{say, text};

/// Parts as they came from a peer, or only the word of which it has.
pub struct Incoming {
    pub peer: PeerId,
    pub topic: String,
    pub group: Vec<u8>,
    pub body: Option<Vec<u8>>,
}

/// How many parts the messages of each topic have, and those that have begun.
#[derive(Default)]
pub struct Assembly {
    counts: HashMap<String, usize>,
    messages: HashMap<(String, Vec<u8>), PartList>,
}

impl Assembly {
    pub fn new(counts: HashMap<String, usize>) -> Self {
        let messages = HashMap::new();
        Self { counts, messages }
    }

    /// Parts of our own: `parts` is a list in which null stands for what we lack.
    pub fn add(&mut self, command: &Value) -> Result<(String, PartList), String> {
        let topic = text(command, "topic")?;
        let group = decoded(&text(command, "group_base64")?)?;
        let given = command["parts"].as_array().ok_or("parts are missing")?;
        let message = self.message(&topic, group)?;
        if given.len() != message.parts.len() {
            return Err(format!("there are {} parts", message.parts.len()));
        }
        for (place, part) in message.parts.iter_mut().zip(given) {
            if let Some(part) = part.as_str() {
                *place = Some(decoded(part)?);
            }
        }
        let message = message.clone();
        Ok((topic, message))
    }

    /// What a peer sent; returns what is to be published if that is news for others.
    pub fn take(&mut self, incoming: Incoming) -> Result<Option<PartList>, String> {
        let known = (incoming.topic.clone(), incoming.group.clone());
        let begins = !self.messages.contains_key(&known);
        let message = self.message(&incoming.topic, incoming.group)?;
        let new = match &incoming.body {
            Some(body) => message.take(body).map_err(|error| error.to_string())?,
            None => Vec::new(),
        };
        if !new.is_empty() {
            say(
                "parts",
                described(&incoming.topic, &incoming.peer, message, &new),
            );
        }
        Ok((begins || !new.is_empty()).then(|| message.clone()))
    }

    fn message(&mut self, topic: &str, group: Vec<u8>) -> Result<&mut PartList, String> {
        let count = *self.counts.get(topic).ok_or("the topic has no parts")?;
        let entry = self.messages.entry((topic.into(), group.clone()));
        Ok(entry.or_insert_with(|| PartList::new(group, count)))
    }
}

fn described(topic: &str, peer: &PeerId, message: &PartList, new: &[usize]) -> Value {
    let parts = message.parts.iter();
    let parts: Vec<_> = parts
        .map(|part| part.as_ref().map(|part| BASE64.encode(part)))
        .collect();
    json!({
        "topic": topic,
        "via": peer.to_string(),
        "group_base64": BASE64.encode(&message.group),
        "new": new,
        "complete": message.complete(),
        "parts": parts,
    })
}

fn decoded(text: &str) -> Result<Vec<u8>, String> {
    BASE64.decode(text).map_err(|error| error.to_string())
}

//! The command line: pairs of `--name value`, some of which may be given more than once.

use serde_json::{Map, Value};

pub struct Arguments {
    pub router: String,
    pub listen: Vec<String>,
    pub dial: Vec<String>,
    pub topics: Vec<String>,
    pub policy: String,
    pub message_id: Option<String>,
    pub options: Map<String, Value>,
    pub kademlia: Option<String>,
    pub kademlia_protocol: String,
    pub bootstrap: Vec<String>,
    pub rendezvous: Option<String>,
    pub mdns: bool,
}

impl Arguments {
    pub fn parse(mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut arguments = Self {
            router: "gossipsub".into(),
            listen: Vec::new(),
            dial: Vec::new(),
            topics: Vec::new(),
            policy: "StrictSign".into(),
            message_id: None,
            options: Map::new(),
            kademlia: None,
            kademlia_protocol: "/ipfs/kad/1.0.0".into(),
            bootstrap: Vec::new(),
            rendezvous: None,
            mdns: false,
        };
        while let Some(name) = words.next() {
            let value = words
                .next()
                .ok_or_else(|| format!("{name} needs a value"))?;
            arguments.set(&name, value)?;
        }
        Ok(arguments)
    }

    fn set(&mut self, name: &str, value: String) -> Result<(), String> {
        match name {
            "--router" => self.router = value,
            "--listen" => self.listen.push(value),
            "--dial" => self.dial.push(value),
            "--topic" => self.topics.push(value),
            "--policy" => self.policy = value,
            "--message-id" => self.message_id = Some(value),
            "--options" => {
                self.options = serde_json::from_str(&value)
                    .map_err(|error| format!("--options is no JSON object: {error}"))?;
            }
            "--kademlia" => self.kademlia = Some(value),
            "--kademlia-protocol" => self.kademlia_protocol = value,
            "--bootstrap" => self.bootstrap.push(value),
            "--rendezvous" => self.rendezvous = Some(value),
            "--mdns" => {
                self.mdns = match value.as_str() {
                    "on" => true,
                    "off" => false,
                    _ => return Err(format!("--mdns is on or off, not {value}")),
                };
            }
            _ => return Err(format!("no such option: {name}")),
        }
        Ok(())
    }
}

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
            _ => return Err(format!("no such option: {name}")),
        }
        Ok(())
    }
}

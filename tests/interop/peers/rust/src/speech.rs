//! Lines of JSON: an event on stdout, and the fields of a command.

use std::io::Write;

use serde_json::{Value, json};

pub fn say(event: &str, fields: Value) {
    let mut line = json!({"event": event});
    if let (Value::Object(line), Value::Object(fields)) = (&mut line, fields) {
        line.extend(fields);
    }
    // Whoever reads this may be gone; then stdin ends, too.
    let _ = writeln!(std::io::stdout().lock(), "{line}");
}

/// The answer to a command that could not be obeyed.
pub fn complain(command: &str, problem: &str) {
    say("error", json!({"do": command, "problem": problem}));
}

pub fn text(command: &Value, field: &str) -> Result<String, String> {
    let value = command[field]
        .as_str()
        .ok_or_else(|| format!("{field} is missing"))?;
    Ok(value.to_string())
}

pub fn number(command: &Value, field: &str) -> Result<u64, String> {
    command[field]
        .as_u64()
        .ok_or_else(|| format!("{field} is missing"))
}

//! Rendezvous: the commands of a client, and what the client and the meeting point say.

use libp2p::core::PeerRecord;
use libp2p::rendezvous::{Namespace, Registration, client, server};
use serde_json::{Value, json};

use crate::discovery::Discovery;
use crate::finder::{described, peer_id};
use crate::node::Answer;
use crate::speech::{complain, say};

pub fn obey(ways: &mut Discovery, name: &str, command: &Value) -> Answer {
    let namespace = command["namespace"]
        .as_str()
        .map(|name| Namespace::new(name.into()));
    let namespace = namespace.transpose().map_err(|error| error.to_string())?;
    let point = peer_id(command)?;
    let client = ways.rendezvous.as_mut();
    let client = client.ok_or("rendezvous is off: --rendezvous client")?;
    match (name, namespace) {
        ("register", Some(namespace)) => {
            client
                .register(namespace, point, command["ttl"].as_u64())
                .map_err(|error| error.to_string())?;
            Ok(None)
        }
        ("unregister", Some(namespace)) => {
            let answer = json!({"id": point.to_string(), "namespace": namespace.to_string()});
            client.unregister(namespace, point);
            Ok(Some(answer))
        }
        ("discover", namespace) => {
            client.discover(namespace, None, command["limit"].as_u64(), point);
            Ok(None)
        }
        _ => Err("namespace is missing".into()),
    }
}

pub fn on_event(event: client::Event) {
    match event {
        client::Event::Registered {
            rendezvous_node,
            ttl,
            namespace,
        } => {
            let (id, namespace) = (rendezvous_node.to_string(), namespace.to_string());
            say(
                "register",
                json!({"id": id, "namespace": namespace, "ttl": ttl}),
            );
        }
        client::Event::RegisterFailed { error, .. } => complain("register", &format!("{error:?}")),
        client::Event::Discovered {
            rendezvous_node,
            registrations,
            ..
        } => {
            for each in &registrations {
                say("found", of_record(&each.record));
            }
            let list: Vec<Value> = registrations.iter().map(of_registration).collect();
            let id = rendezvous_node.to_string();
            say("discover", json!({"id": id, "registrations": list}));
        }
        client::Event::DiscoverFailed { error, .. } => complain("discover", &format!("{error:?}")),
        client::Event::Expired { peer } => say("lost", described("rendezvous", &peer, None)),
    }
}

pub fn on_guest(event: server::Event) {
    match event {
        server::Event::PeerRegistered { registration, .. } => {
            say("registered", of_registration(&registration));
        }
        server::Event::PeerNotRegistered {
            peer,
            namespace,
            error,
        } => {
            let what = format!("refused to register {peer} under {namespace}: {error:?}");
            say("trouble", json!({"what": what}));
        }
        server::Event::PeerUnregistered { peer, namespace } => say(
            "unregistered",
            json!({"id": peer.to_string(), "namespace": namespace.to_string()}),
        ),
        server::Event::RegistrationExpired(registration) => say(
            "expired",
            json!({
                "id": registration.record.peer_id().to_string(),
                "namespace": registration.namespace.to_string(),
            }),
        ),
        server::Event::DiscoverServed { .. } => {}
        server::Event::DiscoverNotServed { enquirer, error } => {
            let what = format!("{enquirer} discovered nothing: {error:?}");
            say("trouble", json!({"what": what}));
        }
    }
}

fn of_registration(registration: &Registration) -> Value {
    let mut told = of_record(&registration.record);
    told["namespace"] = json!(registration.namespace.to_string());
    told["ttl"] = json!(registration.ttl);
    told
}

fn of_record(record: &PeerRecord) -> Value {
    described("rendezvous", &record.peer_id(), Some(record.addresses()))
}

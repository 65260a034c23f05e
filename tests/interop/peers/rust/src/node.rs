//! The node: what it is told on stdin, and what it says on stdout.

use std::collections::{BTreeSet, HashMap};

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use libp2p::swarm::dial_opts::DialOpts;
use libp2p::swarm::{ConnectionId, DialError, Swarm, SwarmEvent};
use libp2p::{Multiaddr, PeerId, identify};
use serde_json::{Value, json};

use crate::arguments::Arguments;
use crate::assembly::{Assembly, Incoming};
use crate::finder::Finder;
use crate::job::Job;
use crate::measure::{Collecting, Receiving, number_at};
use crate::router::{
    Behaviour, BehaviourEvent, Received, Report, Sent, from_floodsub, from_gossipsub,
};
use crate::speech::{complain, say, text};
use crate::transform::CopyCounter;

pub type Answer = Result<Option<Value>, String>;

pub struct Node {
    pub(crate) swarm: Swarm<Behaviour>,
    copies: CopyCounter,
    dials: HashMap<ConnectionId, String>,
    addresses: HashMap<PeerId, Vec<Multiaddr>>,
    subscribers: HashMap<String, BTreeSet<PeerId>>,
    pub(crate) job: Option<Job>,
    pub(crate) receiving: Option<Receiving>,
    collecting: Option<Collecting>,
    assembly: Assembly,
    finder: Finder,
}

impl Node {
    pub fn new(
        swarm: Swarm<Behaviour>,
        copies: CopyCounter,
        assembly: Assembly,
        finder: Finder,
    ) -> Self {
        Self {
            swarm,
            copies,
            dials: HashMap::new(),
            addresses: HashMap::new(),
            subscribers: HashMap::new(),
            job: None,
            receiving: None,
            collecting: None,
            assembly,
            finder,
        }
    }

    pub fn swarm(&mut self) -> &mut Swarm<Behaviour> {
        &mut self.swarm
    }

    /// Begins to look for others, by the ways that the command line asks for.
    pub fn find_others(&mut self, arguments: &Arguments) -> Result<(), String> {
        self.finder.begin(&mut self.swarm, arguments)
    }

    // ---- commands

    /// Returns false when the command was to stop.
    pub fn obey(&mut self, line: &str) -> bool {
        let command: Value = match serde_json::from_str(line) {
            Ok(command) => command,
            Err(error) => {
                complain("", &error.to_string());
                return true;
            }
        };
        let name = command["do"].as_str().unwrap_or_default();
        match self.answer(name, &command) {
            Ok(Some(fields)) => say(name, fields),
            Ok(None) => {}
            Err(problem) => complain(name, &problem),
        }
        name != "stop"
    }

    /// None where the answer comes later.
    fn answer(&mut self, name: &str, command: &Value) -> Answer {
        match name {
            "publish" => self.publish(command),
            "publish_many" | "bench_publish" | "bench_rate" => self.start_job(name, command),
            "subscribe" => {
                let topic = text(command, "topic")?;
                self.swarm.behaviour_mut().subscribe(&topic)?;
                Ok(Some(json!({"topic": topic})))
            }
            "subscribe_hashed" => {
                let name = text(command, "name")?;
                let topic = self.swarm.behaviour_mut().subscribe_hashed(&name)?;
                Ok(Some(json!({"topic": topic})))
            }
            "unsubscribe" => {
                let topic = text(command, "topic")?;
                self.swarm.behaviour_mut().unsubscribe(&topic);
                Ok(Some(json!({"topic": topic})))
            }
            "dial" => self.dial(text(command, "address")?),
            "peers" => Ok(Some(json!({"peers": self.peers()}))),
            "mesh" => self.mesh(text(command, "topic")?),
            "publish_partial" => self.publish_partial(command),
            "scores" => self.scores(),
            "bench_receive" => self.bench_receive(command),
            "bench_reset" => {
                let topic = text(command, "topic")?;
                self.collecting = Some(Collecting::new(topic.clone(), self.copies.count()));
                Ok(Some(json!({"topic": topic})))
            }
            "bench_report" => {
                let collecting = self.collecting.as_ref().ok_or("bench_reset comes first")?;
                Ok(Some(collecting.report(Some(self.copies.count()))))
            }
            "provide" | "find" | "find_peer" | "routing_table" | "register" | "unregister"
            | "discover" => self.finder.obey(&mut self.swarm, name, command),
            "stop" => Ok(Some(json!({}))),
            _ => Err("no such command".into()),
        }
    }

    fn publish(&mut self, command: &Value) -> Answer {
        let topic = text(command, "topic")?;
        let data = BASE64
            .decode(text(command, "data_base64")?)
            .map_err(|error| error.to_string())?;
        let recipients = match self.swarm.behaviour_mut().publish(&topic, data)? {
            // The library does not say who they were.
            Sent::Yes => Value::Null,
            Sent::NoOneSubscribed => json!([]),
            Sent::QueuesFull => return Err("the queues of all peers are full".into()),
        };
        Ok(Some(json!({"topic": topic, "recipients": recipients})))
    }

    pub fn dial(&mut self, address: String) -> Answer {
        let target: Multiaddr = address.parse().map_err(|error| format!("{error}"))?;
        let options = from_a_new_port(target);
        let (connection, peer) = (options.connection_id(), options.get_peer_id());
        match (self.swarm.dial(options), peer) {
            (Ok(()), _) => {
                self.dials.insert(connection, address);
                Ok(None)
            }
            (Err(DialError::DialPeerConditionFalse(_)), Some(peer))
                if self.swarm.is_connected(&peer) =>
            {
                Ok(Some(json!({"address": address, "id": peer.to_string()})))
            }
            (Err(error), _) => Err(error.to_string()),
        }
    }

    fn peers(&self) -> Vec<Value> {
        let describe = |peer: &PeerId| {
            let addresses = self
                .addresses
                .get(peer)
                .map(Vec::as_slice)
                .unwrap_or_default();
            json!({
                "id": peer.to_string(),
                "addresses": addresses.iter().map(ToString::to_string).collect::<Vec<_>>(),
                "sends_on": self.swarm.behaviour().protocol(peer),
                "receives_on": null,
            })
        };
        self.swarm.connected_peers().map(describe).collect()
    }

    fn mesh(&self, topic: String) -> Answer {
        let peers = self.swarm.behaviour().mesh(&topic).unwrap_or_else(|| {
            let subscribed = self.subscribers.get(&topic);
            subscribed
                .map(|peers| peers.iter().copied().collect())
                .unwrap_or_default()
        });
        let mut names: Vec<String> = peers.iter().map(ToString::to_string).collect();
        names.sort();
        Ok(Some(json!({"topic": topic, "peers": names})))
    }

    fn publish_partial(&mut self, command: &Value) -> Answer {
        let (topic, message) = self.assembly.add(command)?;
        self.swarm
            .behaviour_mut()
            .publish_partial(&topic, message)?;
        Ok(Some(json!({"topic": topic})))
    }

    fn scores(&self) -> Answer {
        let mut peers = serde_json::Map::new();
        for peer in self.swarm.connected_peers() {
            let score = self.swarm.behaviour().score(peer);
            let score = score.ok_or("the router keeps no score: option score")?;
            peers.insert(peer.to_string(), json!({"score": score}));
        }
        Ok(Some(json!({"peers": peers})))
    }

    // ---- what happens

    pub fn on_event(&mut self, event: SwarmEvent<BehaviourEvent>) {
        match event {
            SwarmEvent::Behaviour(BehaviourEvent::Gossipsub(event)) => {
                if let Some(report) = from_gossipsub(event) {
                    self.on_report(report);
                }
            }
            SwarmEvent::Behaviour(BehaviourEvent::Floodsub(event)) => {
                self.on_report(from_floodsub(event));
            }
            SwarmEvent::Behaviour(BehaviourEvent::Identify(identify::Event::Received {
                peer_id,
                info,
                ..
            })) => {
                self.finder.identified(&mut self.swarm, &peer_id, &info);
                say_identified(&peer_id, &info);
            }
            SwarmEvent::Behaviour(BehaviourEvent::Discovery(event)) => {
                self.finder.on_event(&mut self.swarm, event);
            }
            SwarmEvent::ConnectionEstablished {
                peer_id,
                connection_id,
                endpoint,
                num_established,
                ..
            } => {
                let address = endpoint.get_remote_address().clone();
                self.addresses.entry(peer_id).or_default().push(address);
                self.swarm.behaviour_mut().peer_connected(peer_id);
                if num_established.get() == 1 {
                    say(
                        "peer",
                        json!({"id": peer_id.to_string(), "state": "connected"}),
                    );
                }
                if let Some(address) = self.dials.remove(&connection_id) {
                    say(
                        "dial",
                        json!({"address": address, "id": peer_id.to_string()}),
                    );
                }
            }
            SwarmEvent::ConnectionClosed {
                peer_id,
                num_established: 0,
                ..
            } => {
                self.forget(&peer_id);
            }
            SwarmEvent::OutgoingConnectionError {
                connection_id,
                error,
                ..
            } if self.dials.remove(&connection_id).is_some() => {
                complain("dial", &error.to_string());
            }
            _ => {}
        }
    }

    fn forget(&mut self, peer: &PeerId) {
        self.addresses.remove(peer);
        self.subscribers.values_mut().for_each(|peers| {
            peers.remove(peer);
        });
        self.swarm.behaviour_mut().peer_disconnected(peer);
        say(
            "peer",
            json!({"id": peer.to_string(), "state": "disconnected"}),
        );
    }

    fn on_report(&mut self, report: Report) {
        match report {
            Report::Message(message) => self.on_message(message),
            Report::Subscription {
                peer,
                topic,
                subscribe,
            } => {
                let peers = self.subscribers.entry(topic.clone()).or_default();
                if subscribe {
                    peers.insert(peer);
                } else {
                    peers.remove(&peer);
                }
                let subscriptions = json!([{"topic": topic, "subscribe": subscribe}]);
                let id = peer.to_string();
                say(
                    "subscription-change",
                    json!({"id": id, "subscriptions": subscriptions}),
                );
            }
            Report::Parts(incoming) => self.on_parts(incoming),
            Report::Trouble(what) => say("trouble", json!({"what": what})),
        }
    }

    fn on_parts(&mut self, incoming: Incoming) {
        let topic = incoming.topic.clone();
        let told = self.assembly.take(incoming).and_then(|news| match news {
            Some(message) => self.swarm.behaviour_mut().publish_partial(&topic, message),
            None => Ok(()),
        });
        if let Err(problem) = told {
            say("trouble", json!({"what": format!("parts: {problem}")}));
        }
    }

    fn on_message(&mut self, message: Received) {
        match (&mut self.collecting, &mut self.job) {
            (Some(collecting), _) if collecting.topic == message.topic => {
                return collecting.add(&message.data);
            }
            (_, Some(job)) if message.topic.strip_suffix("/ack") == Some(&job.topic) => {
                return job.acknowledge(number_at(&message.data, 0));
            }
            _ => {}
        }
        if self
            .receiving
            .as_ref()
            .is_some_and(|receiving| receiving.topic == message.topic)
        {
            return self.receive_one();
        }
        say(
            "message",
            json!({
                "topic": message.topic,
                "data_base64": BASE64.encode(&message.data),
                "from": message.from.map(|peer| peer.to_string()),
                "seqno": message.sequence_number,
                "via": message.via.map(|peer| peer.to_string()),
            }),
        );
    }
}

/// The library dials from the port that it listens on, and fails where that one is taken, as it may
/// be where many nodes come and go on one machine.
fn from_a_new_port(target: Multiaddr) -> DialOpts {
    DialOpts::unknown_peer_id()
        .address(target)
        .allocate_new_port()
        .build()
}

fn say_identified(peer: &PeerId, info: &identify::Info) {
    let protocols: Vec<&str> = info.protocols.iter().map(AsRef::as_ref).collect();
    let (id, agent) = (peer.to_string(), &info.agent_version);
    say(
        "peer",
        json!({"id": id, "state": "identified", "protocols": protocols, "agent": agent}),
    );
}

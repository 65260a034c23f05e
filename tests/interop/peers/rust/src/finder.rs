//! What a node is told about finding others, and what it says when it has found some.

use std::collections::{BTreeSet, HashMap};

use libp2p::kad::{self, GetProvidersOk, QueryId, QueryResult, RecordKey};
use libp2p::multiaddr::Protocol;
use libp2p::swarm::Swarm;
use libp2p::swarm::dial_opts::DialOpts;
use libp2p::{Multiaddr, PeerId, identify, mdns};
use serde_json::{Value, json};

use crate::arguments::Arguments;
use crate::discovery::{Discovery, DiscoveryEvent, key_of_topic};
use crate::node::Answer;
use crate::rendezvous;
use crate::router::Behaviour;
use crate::speech::{complain, say, text};

/// A command whose answer comes with the end of a query.
enum Asked {
    Provide {
        topic: String,
    },
    Find {
        topic: String,
        dial: bool,
        found: BTreeSet<PeerId>,
    },
    FindPeer {
        peer: PeerId,
    },
}

pub struct Finder {
    protocol: String,
    queries: HashMap<QueryId, Asked>,
}

type Network = Swarm<Behaviour>;

impl Finder {
    pub fn new(arguments: &Arguments) -> Self {
        Self {
            protocol: arguments.kademlia_protocol.clone(),
            queries: HashMap::new(),
        }
    }

    /// Tells the ways to find others where this node is and whom it knows.
    pub fn begin(&self, network: &mut Network, arguments: &Arguments) -> Result<(), String> {
        if network.behaviour().discovery.as_ref().is_none() {
            return Ok(());
        }
        // Nobody else will find out for it that it can be reached there.
        let own: Vec<Multiaddr> = network.listeners().cloned().collect();
        own.into_iter()
            .for_each(|address| network.add_external_address(address));
        for text in &arguments.bootstrap {
            let mut address: Multiaddr = text.parse().map_err(|error| format!("{error}"))?;
            let Some(Protocol::P2p(peer)) = address.pop() else {
                return Err(format!("{text} does not end with a peer id"));
            };
            // It is asked as soon as it is known.
            kademlia(network)?.add_address(&peer, address);
        }
        Ok(())
    }

    // ---- commands

    pub fn obey(&mut self, network: &mut Network, name: &str, command: &Value) -> Answer {
        match name {
            "provide" => {
                let topic = text(command, "topic")?;
                let query = kademlia(network)?
                    .start_providing(RecordKey::new(&key_of_topic(&topic)))
                    .map_err(|error| error.to_string())?;
                self.queries.insert(query, Asked::Provide { topic });
                Ok(None)
            }
            "find" => {
                let topic = text(command, "topic")?;
                let key = RecordKey::new(&key_of_topic(&topic));
                let query = kademlia(network)?.get_providers(key);
                let (dial, found) = (command["dial"] == true, BTreeSet::new());
                self.queries
                    .insert(query, Asked::Find { topic, dial, found });
                Ok(None)
            }
            "find_peer" => {
                let peer = peer_id(command)?;
                let query = kademlia(network)?.get_closest_peers(peer);
                self.queries.insert(query, Asked::FindPeer { peer });
                Ok(None)
            }
            "routing_table" => {
                let mut names = Vec::new();
                for bucket in kademlia(network)?.kbuckets() {
                    let ids = bucket.iter().map(|each| *each.node.key.preimage());
                    names.extend(ids.map(|id| id.to_string()));
                }
                names.sort();
                Ok(Some(json!({"peers": names})))
            }
            _ => rendezvous::obey(ways(network)?, name, command),
        }
    }

    // ---- what happens

    /// Kademlia has to be told where a peer listens, and that it answers questions.
    pub fn identified(&self, network: &mut Network, peer: &PeerId, info: &identify::Info) {
        let answers = info
            .protocols
            .iter()
            .any(|each| each.as_ref() == self.protocol);
        if let (true, Ok(kademlia)) = (answers, kademlia(network)) {
            for address in &info.listen_addrs {
                kademlia.add_address(peer, address.clone());
            }
        }
    }

    pub fn on_event(&mut self, network: &mut Network, event: DiscoveryEvent) {
        match event {
            DiscoveryEvent::Kademlia(kad::Event::OutboundQueryProgressed {
                id,
                result,
                step,
                ..
            }) => {
                self.on_progress(network, id, result, step.last);
            }
            DiscoveryEvent::Kademlia(_) => {}
            DiscoveryEvent::Mdns(event) => on_nearby(network, event),
            DiscoveryEvent::Rendezvous(event) => rendezvous::on_event(event),
            DiscoveryEvent::RendezvousPoint(event) => rendezvous::on_guest(event),
        }
    }

    fn on_progress(&mut self, network: &mut Network, id: QueryId, result: QueryResult, last: bool) {
        // Queries that the library begins by itself are not of this map.
        let Some(mut asked) = self.queries.remove(&id) else {
            return;
        };
        let own = *network.local_peer_id();
        let news = asked.take(result, &own);
        for peer in &news {
            say("found", described("kademlia", peer, None));
            if let Asked::Find { dial: true, .. } = asked {
                // Now: the library forgets where they are when the query ends. An error means
                // that it is connected already, or is about to be.
                let _ = network.dial(*peer);
            }
        }
        if last {
            asked.answer();
        } else {
            self.queries.insert(id, asked);
        }
    }
}

impl Asked {
    /// Those of the peers found that are new; `own` is the node itself, which may provide as well.
    fn take(&mut self, result: QueryResult, own: &PeerId) -> Vec<PeerId> {
        match (self, result) {
            (
                Self::Find { found, .. },
                QueryResult::GetProviders(Ok(GetProvidersOk::FoundProviders { providers, .. })),
            ) => providers
                .into_iter()
                .filter(|peer| peer != own && found.insert(*peer))
                .collect(),
            (Self::FindPeer { peer }, QueryResult::GetClosestPeers(result)) => {
                let peers = match result {
                    Ok(done) => done.peers,
                    Err(kad::GetClosestPeersError::Timeout { peers, .. }) => peers,
                };
                let addresses = peers.into_iter().find(|each| each.peer_id == *peer);
                let addresses = addresses.map(|each| names(&each.addrs));
                say(
                    "find_peer",
                    json!({"id": peer.to_string(), "addresses": addresses}),
                );
                Vec::new()
            }
            (Self::Provide { topic }, QueryResult::StartProviding(result)) => {
                match result {
                    Ok(_) => say("provide", json!({"topic": topic, "key": hex_key(topic)})),
                    Err(error) => complain("provide", &error.to_string()),
                }
                Vec::new()
            }
            _ => Vec::new(),
        }
    }

    /// At the end of a search; the others have only one result, which is the end.
    fn answer(self) {
        if let Self::Find { topic, found, .. } = self {
            let describe = |peer: &PeerId| json!({"id": peer.to_string(), "addresses": null});
            let peers: Vec<Value> = found.iter().map(describe).collect();
            let key = hex_key(&topic);
            say("find", json!({"topic": topic, "key": key, "peers": peers}));
        }
    }
}

// ---- mDNS

fn on_nearby(network: &mut Network, event: mdns::Event) {
    let (name, list) = match event {
        mdns::Event::Discovered(list) => ("found", list),
        mdns::Event::Expired(list) => ("lost", list),
    };
    let mut peers: HashMap<PeerId, Vec<Multiaddr>> = HashMap::new();
    for (peer, address) in list {
        peers.entry(peer).or_default().push(address);
    }
    for (peer, addresses) in peers {
        say(name, described("mdns", &peer, Some(&addresses)));
        if name == "found" {
            let options = DialOpts::peer_id(peer).addresses(addresses).build();
            // An error means that it is connected already, or is about to be.
            let _ = network.dial(options);
        }
    }
}

// ---- words

fn ways(network: &mut Network) -> Result<&mut Discovery, String> {
    let ways = network.behaviour_mut().discovery.as_mut();
    ways.ok_or_else(|| "no way to find others is on: --kademlia, --rendezvous, --mdns".into())
}

fn kademlia(network: &mut Network) -> Result<&mut kad::Behaviour<kad::store::MemoryStore>, String> {
    let kademlia = ways(network)?.kademlia.as_mut();
    kademlia.ok_or_else(|| "Kademlia is off: --kademlia".into())
}

pub fn peer_id(command: &Value) -> Result<PeerId, String> {
    let id = text(command, "id")?;
    id.parse().map_err(|error| format!("{id}: {error}"))
}

fn names(addresses: &[Multiaddr]) -> Vec<String> {
    addresses.iter().map(ToString::to_string).collect()
}

pub fn described(way: &str, peer: &PeerId, addresses: Option<&[Multiaddr]>) -> Value {
    json!({"way": way, "id": peer.to_string(), "addresses": addresses.map(names)})
}

fn hex_key(topic: &str) -> String {
    let digits = key_of_topic(topic);
    digits.iter().map(|byte| format!("{byte:02x}")).collect()
}

//! Ways to find other nodes: Kademlia, rendezvous, mDNS. What the command line does not ask for is
//! left out; without any of them the whole of it is.

use libp2p::identity::Keypair;
use libp2p::kad::store::MemoryStore;
use libp2p::swarm::behaviour::toggle::Toggle;
use libp2p::swarm::{NetworkBehaviour, StreamProtocol};
use libp2p::{kad, mdns, rendezvous};
use sha2::{Digest, Sha256};

use crate::arguments::Arguments;

/// Registrations may be as short as a test; the library asks for two hours.
const SHORTEST_REGISTRATION: u64 = 1;

#[derive(NetworkBehaviour)]
pub struct Discovery {
    pub kademlia: Toggle<kad::Behaviour<MemoryStore>>,
    pub rendezvous: Toggle<rendezvous::client::Behaviour>,
    pub rendezvous_point: Toggle<rendezvous::server::Behaviour>,
    pub mdns: Toggle<mdns::tokio::Behaviour>,
}

impl Discovery {
    /// None where the command line asks for no way at all.
    pub fn new(key: &Keypair, arguments: &Arguments) -> Result<Option<Self>, String> {
        if arguments.kademlia.is_none() && arguments.rendezvous.is_none() && !arguments.mdns {
            return Ok(None);
        }
        let (client, point) = rendezvous(key, arguments)?;
        Ok(Some(Self {
            kademlia: kademlia(key, arguments)?.into(),
            rendezvous: client.into(),
            rendezvous_point: point.into(),
            mdns: nearby(key, arguments)?.into(),
        }))
    }
}

fn kademlia(
    key: &Keypair,
    arguments: &Arguments,
) -> Result<Option<kad::Behaviour<MemoryStore>>, String> {
    let mode = match arguments.kademlia.as_deref() {
        None => return Ok(None),
        Some("client") => kad::Mode::Client,
        Some("server") => kad::Mode::Server,
        Some(other) => return Err(format!("no such mode of Kademlia: {other}")),
    };
    let protocol = StreamProtocol::try_from_owned(arguments.kademlia_protocol.clone())
        .map_err(|error| error.to_string())?;
    let id = key.public().to_peer_id();
    let config = kad::Config::new(protocol);
    let mut behaviour = kad::Behaviour::with_config(id, MemoryStore::new(id), config);
    // Otherwise it would decide by itself, once it knows whether others can reach it.
    behaviour.set_mode(Some(mode));
    Ok(Some(behaviour))
}

type Rendezvous = (
    Option<rendezvous::client::Behaviour>,
    Option<rendezvous::server::Behaviour>,
);

fn rendezvous(key: &Keypair, arguments: &Arguments) -> Result<Rendezvous, String> {
    match arguments.rendezvous.as_deref() {
        None => Ok((None, None)),
        Some("client") => Ok((Some(rendezvous::client::Behaviour::new(key.clone())), None)),
        Some("server") => {
            let config = rendezvous::server::Config::default().with_min_ttl(SHORTEST_REGISTRATION);
            Ok((None, Some(rendezvous::server::Behaviour::new(config))))
        }
        Some(other) => Err(format!("no such part in rendezvous: {other}")),
    }
}

fn nearby(key: &Keypair, arguments: &Arguments) -> Result<Option<mdns::tokio::Behaviour>, String> {
    if !arguments.mdns {
        return Ok(None);
    }
    let id = key.public().to_peer_id();
    let behaviour = mdns::tokio::Behaviour::new(mdns::Config::default(), id);
    behaviour.map(Some).map_err(|error| error.to_string())
}

/// Under which a node says that it takes part in a topic, as the others do: the multihash of the
/// namespace that go-libp2p-pubsub gives to a topic.
pub fn key_of_topic(topic: &str) -> Vec<u8> {
    const SHA2_256: u8 = 0x12;
    let hash = Sha256::digest(format!("floodsub:{topic}"));
    let mut key = vec![SHA2_256, hash.len() as u8];
    key.extend_from_slice(&hash);
    key
}

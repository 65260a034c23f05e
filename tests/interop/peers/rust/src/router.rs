//! One router out of the two that the libp2p crates have, with the same few verbs for both.

use libp2p::gossipsub::{self, IdentTopic, PublishError, Sha256Topic, TopicHash};
use libp2p::identity::Keypair;
use libp2p::swarm::NetworkBehaviour;
use libp2p::swarm::behaviour::toggle::Toggle;
use libp2p::{PeerId, floodsub, identify, ping};

use crate::arguments::Arguments;
use crate::assembly::Incoming;
use crate::discovery::Discovery;
use crate::gossip::{Gossipsub, gossipsub};
use crate::partial::PartList;
use crate::transform::CopyCounter;

#[derive(NetworkBehaviour)]
pub struct Behaviour {
    identify: identify::Behaviour,
    ping: ping::Behaviour,
    gossipsub: Toggle<Gossipsub>,
    floodsub: Toggle<floodsub::Behaviour>,
    pub discovery: Toggle<Discovery>,
}

/// What became of a message that was to be published.
pub enum Sent {
    Yes,
    NoOneSubscribed,
    QueuesFull,
}

impl Behaviour {
    pub fn new(key: &Keypair, arguments: &Arguments, copies: CopyCounter) -> Result<Self, String> {
        let mut behaviour = Self {
            identify: identify::Behaviour::new(identify::Config::new(
                "rumormill-peer/1".into(),
                key.public(),
            )),
            ping: ping::Behaviour::default(),
            gossipsub: None.into(),
            floodsub: None.into(),
            discovery: Discovery::new(key, arguments)?.into(),
        };
        match arguments.router.as_str() {
            "gossipsub" => behaviour.gossipsub = Some(gossipsub(key, arguments, copies)?).into(),
            // It knows neither signatures nor options.
            "floodsub" => {
                let router = floodsub::Behaviour::new(key.public().to_peer_id());
                behaviour.floodsub = Some(router).into();
            }
            other => return Err(format!("no such router: {other}")),
        }
        Ok(behaviour)
    }

    pub fn subscribe(&mut self, topic: &str) -> Result<(), String> {
        if let Some(router) = self.gossipsub.as_mut() {
            router
                .subscribe(&IdentTopic::new(topic))
                .map_err(|error| error.to_string())?;
        }
        if let Some(router) = self.floodsub.as_mut() {
            router.subscribe(floodsub::Topic::new(topic));
        }
        Ok(())
    }

    /// Subscribes to the topic whose id is the hash of a descriptor with this name; returns the id.
    pub fn subscribe_hashed(&mut self, name: &str) -> Result<String, String> {
        let router = self.gossipsub.as_mut().ok_or("floodsub hashes no topics")?;
        let topic = Sha256Topic::new(name);
        router
            .subscribe(&topic)
            .map_err(|error| error.to_string())?;
        Ok(topic.hash().into_string())
    }

    pub fn unsubscribe(&mut self, topic: &str) {
        if let Some(router) = self.gossipsub.as_mut() {
            router.unsubscribe(&IdentTopic::new(topic));
        }
        if let Some(router) = self.floodsub.as_mut() {
            router.unsubscribe(floodsub::Topic::new(topic));
        }
    }

    pub fn publish(&mut self, topic: &str, data: Vec<u8>) -> Result<Sent, String> {
        if let Some(router) = self.floodsub.as_mut() {
            router.publish_any(floodsub::Topic::new(topic), data);
            return Ok(Sent::Yes);
        }
        let router = self.gossipsub.as_mut().ok_or("there is no router")?;
        match router.publish(TopicHash::from_raw(topic), data) {
            Ok(_) => Ok(Sent::Yes),
            Err(PublishError::NoPeersSubscribedToTopic) => Ok(Sent::NoOneSubscribed),
            Err(PublishError::AllQueuesFull(_)) => Ok(Sent::QueuesFull),
            Err(error) => Err(error.to_string()),
        }
    }

    /// Offers a message in parts. It is kept also if there is nobody to offer it to.
    pub fn publish_partial(&mut self, topic: &str, message: PartList) -> Result<(), String> {
        let router = self.gossipsub.as_mut().ok_or("there is no router")?;
        match router.publish_partial(TopicHash::from_raw(topic), message) {
            Ok(()) | Err(PublishError::NoPeersSubscribedToTopic) => Ok(()),
            Err(error) => Err(error.to_string()),
        }
    }

    /// What the router thinks of a peer; none where it keeps no score.
    pub fn score(&self, peer: &PeerId) -> Option<f64> {
        self.gossipsub.as_ref()?.peer_score(peer)
    }

    /// The mesh of a topic; floodsub has none.
    pub fn mesh(&self, topic: &str) -> Option<Vec<PeerId>> {
        let router = self.gossipsub.as_ref()?;
        Some(
            router
                .mesh_peers(&TopicHash::from_raw(topic))
                .copied()
                .collect(),
        )
    }

    /// floodsub sends only to peers that it was told to care for.
    pub fn peer_connected(&mut self, peer: PeerId) {
        if let Some(router) = self.floodsub.as_mut() {
            router.add_node_to_partial_view(peer);
        }
    }

    /// Otherwise floodsub would dial it again and again.
    pub fn peer_disconnected(&mut self, peer: &PeerId) {
        if let Some(router) = self.floodsub.as_mut() {
            router.remove_node_from_partial_view(peer);
        }
    }

    /// The protocol of the stream to a peer, as far as the router tells it.
    pub fn protocol(&self, peer: &PeerId) -> Option<&'static str> {
        let Some(router) = self.gossipsub.as_ref() else {
            return Some("/floodsub/1.0.0");
        };
        let (_, kind) = router.peer_protocol().find(|(id, _)| *id == peer)?;
        match kind.as_static_ref() {
            "Floodsub" => Some("/floodsub/1.0.0"),
            "Gossipsub v1.0" => Some("/meshsub/1.0.0"),
            "Gossipsub v1.1" => Some("/meshsub/1.1.0"),
            "Gossipsub v1.2" => Some("/meshsub/1.2.0"),
            "Gossipsub v1.3" => Some("/meshsub/1.3.0"),
            _ => None,
        }
    }
}

/// What both routers report, in one form.
pub enum Report {
    Message(Received),
    Subscription {
        peer: PeerId,
        topic: String,
        subscribe: bool,
    },
    Parts(Incoming),
    Trouble(String),
}

pub struct Received {
    pub topic: String,
    pub data: Vec<u8>,
    pub from: Option<PeerId>,
    pub sequence_number: Option<String>,
    pub via: Option<PeerId>,
}

pub fn from_gossipsub(event: gossipsub::Event) -> Option<Report> {
    match event {
        gossipsub::Event::Message {
            propagation_source,
            message,
            ..
        } => Some(Report::Message(Received {
            topic: message.topic.into_string(),
            data: message.data,
            from: message.source,
            sequence_number: message.sequence_number.map(|number| number.to_string()),
            via: Some(propagation_source),
        })),
        gossipsub::Event::Partial {
            topic_hash,
            peer_id,
            group_id,
            message,
            ..
        } => Some(Report::Parts(Incoming {
            peer: peer_id,
            topic: topic_hash.into_string(),
            group: group_id,
            body: message,
        })),
        gossipsub::Event::Subscribed { peer_id, topic, .. } => Some(Report::Subscription {
            peer: peer_id,
            topic: topic.into_string(),
            subscribe: true,
        }),
        gossipsub::Event::Unsubscribed { peer_id, topic } => Some(Report::Subscription {
            peer: peer_id,
            topic: topic.into_string(),
            subscribe: false,
        }),
        gossipsub::Event::SlowPeer {
            peer_id,
            failed_messages,
        } => Some(Report::Trouble(format!(
            "slow peer {peer_id}: {failed_messages:?}"
        ))),
        gossipsub::Event::GossipsubNotSupported { peer_id } => {
            Some(Report::Trouble(format!("peer {peer_id} has no gossipsub")))
        }
    }
}

pub fn from_floodsub(event: floodsub::Event) -> Report {
    match event {
        floodsub::Event::Message(message) => Report::Message(Received {
            topic: message
                .topics
                .first()
                .map_or_else(String::new, |topic| topic.id().into()),
            data: message.data.to_vec(),
            from: Some(message.source),
            // Twenty random bytes: no number that others would read.
            sequence_number: None,
            via: None,
        }),
        floodsub::Event::Subscribed { peer_id, topic } => Report::Subscription {
            peer: peer_id,
            topic: topic.id().into(),
            subscribe: true,
        },
        floodsub::Event::Unsubscribed { peer_id, topic } => Report::Subscription {
            peer: peer_id,
            topic: topic.id().into(),
            subscribe: false,
        },
    }
}

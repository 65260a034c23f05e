//! A rust-libp2p node that is driven by JSON lines: commands on stdin, events on stdout.
//! The language is written down in ../../README.md; options of the router in gossip.rs.
//!
//! The program ends with its stdin, so it cannot outlive the test that started it.

mod arguments;
mod assembly;
mod discovery;
mod finder;
mod gossip;
mod job;
mod measure;
mod node;
mod partial;
mod publication;
mod rendezvous;
mod router;
mod score;
mod speech;
mod transform;

use std::time::Duration;

use futures::StreamExt;
use libp2p::swarm::SwarmEvent;
use libp2p::{SwarmBuilder, noise, tcp, yamux};
use serde_json::json;
use tokio::io::{AsyncBufReadExt, BufReader};

use crate::arguments::Arguments;
use crate::assembly::Assembly;
use crate::finder::Finder;
use crate::gossip::partial_topics;
use crate::node::Node;
use crate::router::{Behaviour, BehaviourEvent};
use crate::speech::say;
use crate::transform::CopyCounter;

type Problem = Box<dyn std::error::Error>;

fn main() {
    let problem = Arguments::parse(std::env::args().skip(1))
        .map_err(Problem::from)
        .and_then(serve)
        .err();
    if let Some(problem) = &problem {
        eprintln!("{problem}");
    }
    // At once: the thread that reads stdin could not be joined.
    std::process::exit(problem.is_some().into());
}

fn build(arguments: &Arguments, copies: CopyCounter) -> Result<Node, Problem> {
    let swarm = SwarmBuilder::with_new_identity()
        .with_tokio()
        .with_tcp(
            tcp::Config::default(),
            noise::Config::new,
            yamux::Config::default,
        )?
        .with_behaviour(|key| Ok(Behaviour::new(key, arguments, copies.clone())?))?
        // A test may be silent for a while.
        .with_swarm_config(|config| config.with_idle_connection_timeout(Duration::from_secs(600)))
        .build();
    let assembly = Assembly::new(partial_topics(arguments)?);
    Ok(Node::new(swarm, copies, assembly, Finder::new(arguments)))
}

// One thread: with more of them each message costs more CPU time, which is what we compare.
#[tokio::main(flavor = "current_thread")]
async fn serve(arguments: Arguments) -> Result<(), Problem> {
    let mut node = build(&arguments, CopyCounter::default())?;
    for topic in &arguments.topics {
        node.swarm().behaviour_mut().subscribe(topic)?;
    }
    let (addresses, early) = listen(&mut node, &arguments.listen).await?;
    let id = node.swarm().local_peer_id().to_string();
    say("ready", json!({"id": id, "addresses": addresses}));
    early.into_iter().for_each(|event| node.on_event(event));
    node.find_others(&arguments)?;
    for address in arguments.dial {
        node.obey(&json!({"do": "dial", "address": address}).to_string());
    }
    talk(node).await
}

type Early = Vec<SwarmEvent<BehaviourEvent>>;

/// Returns the addresses, and what happened meanwhile: mDNS may have found somebody.
async fn listen(node: &mut Node, wanted: &[String]) -> Result<(Vec<String>, Early), Problem> {
    let swarm = node.swarm();
    for address in wanted {
        swarm.listen_on(address.parse()?)?;
    }
    let (mut addresses, mut early) = (Vec::new(), Vec::new());
    while addresses.len() < wanted.len() {
        match swarm.select_next_some().await {
            SwarmEvent::NewListenAddr { address, .. } => {
                addresses.push(format!("{address}/p2p/{}", swarm.local_peer_id()));
            }
            SwarmEvent::ListenerClosed {
                reason: Err(error), ..
            } => return Err(error.into()),
            other => early.push(other),
        }
    }
    Ok((addresses, early))
}

async fn talk(mut node: Node) -> Result<(), Problem> {
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    loop {
        let pause = node.pause();
        tokio::select! {
            line = lines.next_line() => match line? {
                Some(line) => if !node.obey(&line) { return Ok(()) },
                None => return Ok(()),
            },
            event = node.swarm().select_next_some() => node.on_event(event),
            () = wait(pause) => node.work(),
        }
    }
}

async fn wait(pause: Option<Duration>) {
    match pause {
        None => std::future::pending().await,
        Some(Duration::ZERO) => tokio::task::yield_now().await,
        Some(pause) => tokio::time::sleep(pause).await,
    }
}

"""What real rust, js and py nodes said to ours: read whole, verified, understood alike."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from rumormill.core.machine import Publish, Received
from rumormill.libp2p.gossipsub import GossipsubRouter
from rumormill.libp2p.pubsub.floodsub import FloodsubRouter
from rumormill.libp2p.wire import IWant
from tests.helpers.interop import peer_transcripts
from tests.helpers.interop.dialects import Dialect
from tests.helpers.interop.our_node import TOPIC
from tests.helpers.interop.peer_transcripts import every_session, sessions
from tests.helpers.interop.transcript import Transcript
from tests.helpers.libp2p.workbench import FLOODSUB, MESHSUB_1_0, Workbench

every_kept_session = pytest.mark.parametrize(("peer", "name"), every_session())


@every_kept_session
def test_every_frame_signature_and_id_of_a_kept_session_is_right(peer: str, name: str) -> None:
    peer_transcripts.check(peer_transcripts.read(peer, name), sessions(peer)[name])


def kept_transcripts() -> list[tuple[str, str, str]]:
    return [
        (peer, name, probe)
        for peer, name in every_session()
        for probe in peer_transcripts.read(peer, name)
    ]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("peer", "name", "probe"), kept_transcripts())
def test_our_node_delivers_what_the_peer_said_however_its_stream_is_cut(
    peer: str, name: str, probe: str, seed: int
) -> None:
    kept = peer_transcripts.read(peer, name)[probe]
    bench = replay(peer, name, kept, seed)
    said = [message.data for message in kept.messages(ours=False)]
    assert [message.data for message in bench.delivered()] == list(dict.fromkeys(said))
    assert bench.events("rejected") == bench.events("protocol_error") == []


def replay(peer: str, name: str, kept: Transcript, seed: int) -> Workbench:
    """Our machine in the place of our node, fed the peer's stream in pieces of any size."""
    speech = sessions(peer)[name]
    bench = workbench_for(speech)
    bench.join("the peer", protocol=FLOODSUB if speech.router == "floodsub" else MESHSUB_1_0)
    stream = b"".join(line.raw for line in kept.lines if not line.ours)
    for piece in cut(stream, random.Random(seed)):
        bench.feed(Received("the peer", piece))
    return bench


def workbench_for(speech: Dialect) -> Workbench:
    """A machine that speaks as our node did, subscribed to the topic."""
    router = FloodsubRouter() if speech.router == "floodsub" else GossipsubRouter()
    bench = Workbench(router, signing=speech.signing, message_id=speech.message_id)
    bench.subscribe(TOPIC)
    return bench


def cut(stream: bytes, chance: random.Random) -> Iterator[bytes]:
    at = 0
    while at < len(stream):
        size = chance.choice((1, 2, 3, 100, 1000, 10_000))
        yield stream[at : at + size]
        at += size


@pytest.mark.parametrize("peer", peer_transcripts.PEERS)
def test_what_the_peer_asked_our_node_for_it_gets(peer: str) -> None:
    name = "meshsub-1.0.0-unsigned"  # so that another key makes the same messages
    kept = peer_transcripts.read(peer, name)["C"]
    bench = workbench_for(sessions(peer)[name])
    own = [message.data for message in kept.messages(ours=True)]
    for data in own:
        bench.feed(Publish((TOPIC,), data))
    bench.join("the peer")
    for line in kept.lines:
        if not line.ours and line.rpc.control is not None and line.rpc.control.of(IWant):
            bench.say_bytes("the peer", line.raw)
    given = [message.data for rpc in bench.took("the peer") for message in rpc.messages]
    assert sorted(given) == sorted(own)


@pytest.mark.parametrize("peer", peer_transcripts.PEERS)
def test_a_stream_with_a_hole_costs_its_peer_at_most(peer: str) -> None:
    kept = peer_transcripts.read(peer, "meshsub-1.0.0")["C"]
    stream = b"".join(line.raw for line in kept.lines if not line.ours)
    said = {message.data for message in kept.messages(ours=False)}
    for at in random.Random(1).sample(range(len(stream)), 200):
        bench = workbench_for(sessions(peer)["meshsub-1.0.0"])
        bench.join("the peer")
        bench.feed(Received("the peer", stream[:at] + stream[at + 1 :]))
        assert {message.data for message in bench.delivered()} <= said

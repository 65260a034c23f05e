"""What a real go-libp2p-pubsub node sends and takes: read whole, verified, and answered alike."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest

from rumormill.core.machine import PeerJoined, Publish, Subscribe, Unsubscribe
from rumormill.libp2p.gossipsub import GossipsubParameters, GossipsubRouter
from rumormill.libp2p.pubsub.floodsub import FloodsubRouter
from rumormill.libp2p.pubsub.router import Router
from rumormill.libp2p.wire import GOSSIP_KINDS, ControlKinds, Rpc, decode_rpc
from rumormill.libp2p.wire.dont_want import IDONTWANT, IDontWant
from rumormill.libp2p.wire.message import WireMessage
from rumormill.libp2p.wire.signing import verify
from tests.helpers.libp2p import wire_vectors, workbench
from tests.helpers.libp2p.rpc_encoding import encode_rpc

TOPIC = "wire-topic"
EVERY_FRAME = wire_vectors.all_frames()
KINDS = ControlKinds(*GOSSIP_KINDS, IDONTWANT)

DONT_WANT_SIZE = 1024
"""go's own; ours is larger by default."""


def test_there_are_vectors_of_every_version() -> None:
    expected = {"floodsub-1.0.0", *(f"meshsub-1.{minor}.0" for minor in range(4))}
    assert expected <= set(wire_vectors.versions())
    assert len(EVERY_FRAME) > 150


def test_every_frame_decodes_and_encodes_to_the_same_bytes() -> None:
    for name, frame in EVERY_FRAME:
        assert encode_rpc(decode_rpc(frame.rpc)) == frame.rpc, name


def test_every_signature_verifies_and_no_longer_if_a_byte_changes() -> None:
    verified = 0
    for name, frame in EVERY_FRAME:
        for message in decode_rpc(frame.rpc).messages:
            assert verify(message), name
            assert message.signature is not None
            message.signature = message.signature[:-1] + bytes([message.signature[-1] ^ 1])
            assert not verify(message), name
            verified += 1
    assert verified > 30


class GoNode:
    """Our node in the place of the go node, fed the probes' frames at the times they were sent."""

    def __init__(self, version: str, router: Router, protocol: str) -> None:
        self.version = version
        self.published = self._own_message()
        sequence = int.from_bytes(self.published.sequence or b"", "big")
        self.bench = workbench.Workbench(
            router, key=wire_vectors.identity("go node"), first_sequence=sequence, kinds=KINDS
        )
        self.steps: list[tuple[float, Callable[[], object]]] = []
        self.bench.feed(Subscribe(TOPIC))
        for probe in "BCD":
            peer = wire_vectors.identity(f"probe {probe}").peer
            hello, *rest = wire_vectors.frames(version, "from", probe)
            self._at(hello.time, partial(self.bench.feed, PeerJoined(peer, protocol)))
            for frame in [hello, *rest]:
                self._at(frame.time, partial(self.bench.say_bytes, peer, frame.raw))

    def _own_message(self) -> WireMessage:
        """The message that the go node published, from its frame to probe B."""
        own = wire_vectors.identity("go node").peer_id
        for frame in wire_vectors.frames(self.version, "to", "B"):
            for message in decode_rpc(frame.rpc).messages:
                if message.sender_id == own:
                    return message
        raise AssertionError("the go node published nothing")

    def _at(self, time: float, step: Callable[[], object]) -> None:
        self.steps.append((time, step))

    def run(self) -> None:
        """Let the script run: the probes' frames, and what the go node's own program did."""
        to_b = wire_vectors.frames(self.version, "to", "B")
        published = next(f for f in to_b if self.published.raw in f.raw)
        left = next(f for f in to_b if statements(f.rpc)[0][0] == "unsubscribe")
        self._at(published.time, lambda: self.bench.feed(Publish((TOPIC,), self.published.data)))
        self._at(left.time, lambda: self.bench.feed(Unsubscribe(TOPIC)))
        for time, step in sorted(self.steps, key=lambda each: each[0]):
            self.bench.run_until(time)
            step()
        self.bench.flush()

    def said_to(self, probe: str) -> list[tuple[object, ...]]:
        rpcs = self.bench.took(wire_vectors.identity(f"probe {probe}").peer)
        return [item for rpc in rpcs for item in items(rpc)]


def items(rpc: Rpc) -> list[tuple[object, ...]]:
    """An RPC as single statements, IDONTWANT first: go sends it in an RPC of its own."""
    refusals = rpc.control.of(IDontWant) if rpc.control else ()
    return [("idontwant", each.message_ids) for each in refusals] + workbench.items(rpc)


def statements(rpc: bytes) -> list[tuple[object, ...]]:
    return items(decode_rpc(rpc, kinds=KINDS))


def go_said_to(version: str, probe: str) -> list[tuple[object, ...]]:
    frames = wire_vectors.frames(version, "to", probe)
    return [item for frame in frames for item in statements(frame.rpc)]


@pytest.mark.parametrize("probe", "BCD")
@pytest.mark.parametrize("version", ["1.0.0", "1.1.0", "1.2.0", "1.3.0"])
def test_our_gossipsub_answers_every_version_s_script_as_the_go_node_did(
    version: str, probe: str
) -> None:
    router = GossipsubRouter(GossipsubParameters(dont_want_size=DONT_WANT_SIZE))
    node = GoNode(f"meshsub-{version}", router, f"/meshsub/{version}")
    node.run()
    # Statement by statement, our own message with the go node's very signature.
    assert node.said_to(probe) == go_said_to(f"meshsub-{version}", probe)


@pytest.mark.parametrize("version", ["1.2.0", "1.3.0"])
def test_the_scripts_of_later_versions_have_idontwant_in_them(version: str) -> None:
    assert "idontwant" in {each[0] for each in go_said_to(f"meshsub-{version}", "B")}


@pytest.mark.parametrize("probe", "BCD")
def test_our_floodsub_answers_the_floodsub_script_as_the_go_node_did(probe: str) -> None:
    node = GoNode("floodsub-1.0.0", FloodsubRouter(), workbench.FLOODSUB)
    node.run()
    assert node.said_to(probe) == go_said_to("floodsub-1.0.0", probe)

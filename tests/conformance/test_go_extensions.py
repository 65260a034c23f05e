"""gossipsub 1.3 as a real go node speaks it: its frames are read whole, and ours are the same."""

from __future__ import annotations

from typing import Any

import pytest

from rumormill.core import trace
from rumormill.core.machine import Peer, PeerJoined, Send, Subscribe, Unsubscribe
from rumormill.core.protobuf import bytes_field
from rumormill.libp2p.gossipsub import GossipsubParameters, GossipsubRouter
from rumormill.libp2p.gossipsub.extensions.probe_extension import EXTENSION_TESTED
from rumormill.libp2p.gossipsub.features import MESHSUB_1_3
from rumormill.libp2p.gossipsub.partial import OpenPartial
from rumormill.libp2p.wire import Control, ControlKinds, decode_rpc, length_prefixed
from rumormill.libp2p.wire.extensions import (
    EXTENSIONS,
    PARTIAL_MESSAGES,
    TEST_EXTENSION,
    Extensions,
    decode_options,
    encode_options,
)
from rumormill.libp2p.wire.gossip import GRAFT, IHAVE, IWANT, PRUNE
from tests.helpers.libp2p import wire_vectors
from tests.helpers.libp2p.rpc_encoding import encode_rpc
from tests.helpers.libp2p.workbench import Workbench

TOPIC = "wire-topic"
KINDS = ControlKinds(IHAVE, IWANT, GRAFT, PRUNE, EXTENSIONS)
FIELDS = frozenset((PARTIAL_MESSAGES, TEST_EXTENSION))
VERSIONS = [each for each in wire_vectors.versions() if each.startswith("meshsub-1.3.0")]
FRAMES = [
    pytest.param(frame, id=f"{name}-{number}")
    for number, (name, frame) in enumerate(wire_vectors.all_frames())
    if name.startswith("meshsub-1.3.0")
]
ANNOUNCED = {
    "meshsub-1.3.0": (),
    "meshsub-1.3.0-px": (),
    "meshsub-1.3.0-partial": (PARTIAL_MESSAGES,),
    "meshsub-1.3.0-testext": (TEST_EXTENSION,),
}


@pytest.mark.parametrize("frame", FRAMES)
def test_every_frame_is_read_and_written_byte_for_byte(frame: wire_vectors.VectorFrame) -> None:
    rpc = decode_rpc(frame.rpc, kinds=KINDS, extensions=FIELDS)
    assert rpc.other == b"", "nothing of it is unknown"
    again = encode_rpc(rpc, KINDS)
    again += b"".join([bytes_field(number, inside) for number, inside in rpc.extensions])
    assert again == frame.rpc
    for each in rpc.subscriptions:
        if each.other:
            assert encode_options(decode_options(each.other)) == each.other


@pytest.mark.parametrize("version", VERSIONS)
def test_the_first_frame_says_which_extensions_the_go_node_has(version: str) -> None:
    first, *rest = [
        [number for entry in control.of(Extensions) for number in entry.numbers]
        for frame in wire_vectors.frames(version, "to", "B")
        for control in [decode_rpc(frame.rpc, kinds=KINDS).control or Control()]
    ]
    assert first == list(ANNOUNCED[version])
    assert not any(rest)


def ours(version: str) -> tuple[Workbench, Peer]:
    """Our node in the place of the go node, with probe B as its peer."""
    router = GossipsubRouter(
        GossipsubParameters(
            test_extension=version.endswith("testext"), partial_messages=version.endswith("partial")
        )
    )
    bench = Workbench(router, key=wire_vectors.identity("go node"), kinds=KINDS)
    if version.endswith("partial"):
        bench.feed(OpenPartial(TOPIC))
    bench.feed(Subscribe(TOPIC))
    probe = wire_vectors.identity("probe B").peer
    bench.feed(PeerJoined(probe, MESHSUB_1_3))
    return bench, probe


def packets(bench: Workbench) -> list[bytes]:
    return [each.packet for each in bench.of(Send)]


@pytest.mark.parametrize("version", ["meshsub-1.3.0-partial"])
def test_our_first_frame_is_the_go_nodes_own(version: str) -> None:
    bench, _ = ours(version)
    assert packets(bench) == [wire_vectors.frames(version, "to", "B")[0].raw]


def test_with_the_test_extension_ours_are_the_go_nodes_but_for_false_options() -> None:
    """go writes options of a subscription even where both are false, we where one is true."""
    version = "meshsub-1.3.0-testext"
    bench, probe = ours(version)
    hello, *_ = wire_vectors.frames(version, "from", "B")
    bench.say_bytes(probe, hello.raw)
    first, tested, graft, *_ = wire_vectors.frames(version, "to", "B")
    (subscription,) = decode_rpc(first.rpc).subscriptions
    bare = decode_rpc(first.rpc)._replace(subscriptions=(subscription._replace(other=b""),))
    said = b"".join(packets(bench))
    assert said.startswith(length_prefixed(encode_rpc(bare)))
    assert tested.rpc in said and graft.rpc in said


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("probe", "BCD")
def test_what_the_go_node_sends_costs_it_nothing(version: str, probe: str) -> None:
    bench, peer = ours(version)
    for frame in wire_vectors.frames(version, "to", probe):
        bench.say_bytes(peer, frame.raw)
    refused = [*bench.events(trace.PROTOCOL_ERROR), *bench.events(trace.REJECTED)]
    assert [event.fields for event in refused] == []
    if version.endswith("testext"):
        assert len(bench.events(EXTENSION_TESTED)) == 1


def test_leaving_says_no_options_whatever_they_were() -> None:
    bench, probe = ours("meshsub-1.3.0-partial")
    bench.forget()
    bench.feed(Unsubscribe(TOPIC))
    said: list[Any] = [each for rpc in bench.took(probe) for each in rpc.subscriptions]
    assert [(each.subscribe, decode_options(each.other)) for each in said] == [
        (False, decode_options(b""))
    ]

"""Who has which extension: said first and once, used where both have it, and a file for each."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from rumormill.core import trace
from rumormill.core.errors import LocalProtocolError, RemoteProtocolError
from rumormill.core.machine import Drop, Peer, PeerJoined
from rumormill.core.protobuf import bytes_field
from rumormill.libp2p.effects import StreamLost, StreamRenewed, StreamRestarted
from rumormill.libp2p.gossipsub import GossipsubParameters, GossipsubRouter
from rumormill.libp2p.gossipsub.extensions.extensions import PEER_EXTENSIONS, PENALTY, Extension
from rumormill.libp2p.gossipsub.extensions.probe_extension import EXTENSION_TESTED
from rumormill.libp2p.gossipsub.features import MESHSUB_1_0, MESHSUB_1_3
from rumormill.libp2p.pubsub import Admission
from rumormill.libp2p.wire import ControlKinds, Rpc, length_prefixed
from rumormill.libp2p.wire.extensions import EXTENSIONS, TEST_EXTENSION, Extensions
from rumormill.libp2p.wire.gossip import GRAFT, IHAVE, IWANT, PRUNE
from tests.helpers.libp2p.fake_standing import FakeStanding
from tests.helpers.libp2p.rpc_encoding import encode_rpc
from tests.helpers.libp2p.workbench import Workbench, signed

KINDS = ControlKinds(IHAVE, IWANT, GRAFT, PRUNE, EXTENSIONS)
TESTED = bytes_field(TEST_EXTENSION, b"")


class Echo(Extension):
    """Sends back what it hears, for tests of the seam."""

    name = "echo"
    number = field = 5_000_001

    def __init__(self, router: GossipsubRouter) -> None:
        super().__init__()
        self._router = router
        self.heard: list[tuple[Any, ...]] = []

    def agreed(self, peer: Peer, now: float) -> None:
        self.heard.append(("agreed", peer))

    def disagreed(self, peer: Peer, now: float) -> None:
        self.heard.append(("disagreed", peer))

    def handle(self, peer: Peer, inside: bytes, now: float) -> None:
        if inside == b"nonsense":
            raise RemoteProtocolError("bad_echo", "nonsense")
        self.heard.append(("said", peer, inside))
        self._router.pubsub.outbox.extension(peer, self.field, inside)

    def heartbeat(self, now: float) -> None:
        self.heard.append(("heartbeat",))


class EchoRouter(GossipsubRouter):
    """gossipsub with one more extension."""

    def extensions(self) -> tuple[Extension, ...]:
        self.echo = Echo(self)
        return (*super().extensions(), self.echo)


def bench_with(router: GossipsubRouter | None = None, **parameters: Any) -> Workbench:
    """A node with the test extension unless told otherwise, and a standing that is written down."""
    parameters = {"test_extension": True, **parameters}
    router = router or GossipsubRouter(GossipsubParameters(**parameters))
    bench = Workbench(router, kinds=KINDS)
    notebook = router._extensions._standing = FakeStanding()
    bench.penalties = notebook.penalties  # type: ignore[attr-defined]
    return bench


def penalties(bench: Workbench) -> list[tuple[Peer, str, int]]:
    found: list[tuple[Peer, str, int]] = bench.penalties  # type: ignore[attr-defined]
    return found


def announcement(*numbers: int) -> bytes:
    control = bytes_field(6, EXTENSIONS.encode(Extensions(numbers)))
    return length_prefixed(bytes_field(3, control))


def announced(rpcs: Iterable[Rpc]) -> list[tuple[int, ...]]:
    """What each RPC says of extensions."""
    return [
        tuple(number for entry in entries for number in entry.numbers)
        for rpc in rpcs
        for entries in [rpc.control.of(Extensions) if rpc.control is not None else ()]
    ]


def joined(bench: Workbench, *numbers: int, peer: Peer = "ann") -> None:
    bench.feed(PeerJoined(peer, MESHSUB_1_3))
    if numbers:
        bench.say_bytes(peer, announcement(*numbers))


# ---- what we say


def test_ours_are_in_the_first_rpc_and_in_no_other() -> None:
    bench = bench_with()
    bench.subscribe("t")
    joined(bench)
    bench.subscribe("u")
    bench.publish("t")
    assert announced(bench.took("ann")) == [(TEST_EXTENSION,), ()]


def test_they_are_first_even_where_our_topics_do_not_fit_into_one_rpc() -> None:
    bench = bench_with()
    bench.subscribe(*[f"topic {number:05} {'x' * 900}" for number in range(60)])
    joined(bench)
    rpcs = bench.took("ann")
    assert len(rpcs) > 2
    assert announced(rpcs) == [(TEST_EXTENSION,), *[()] * (len(rpcs) - 1)]
    assert sum(len(rpc.subscriptions) for rpc in rpcs) == 60


def test_they_are_first_when_the_line_was_not_free_at_once() -> None:
    bench = bench_with()
    bench.subscribe("t")
    bench.hand_over(PeerJoined("ann", MESHSUB_1_3))
    bench.writable("ann", False)
    bench.say("ann", Rpc())
    bench.router.pubsub.outbox.message("ann", signed("author", "t", b"rain", 1))
    bench.writable("ann", True)
    first, *rest = announced(bench.took("ann"))
    assert first == (TEST_EXTENSION,)
    assert not any(rest)


def test_older_peers_are_told_of_none() -> None:
    bench = bench_with()
    bench.subscribe("t")
    bench.join("old", "t", protocol=MESHSUB_1_0)
    assert not any(announced(bench.took("old")))


def test_who_has_none_says_nothing() -> None:
    bench = bench_with(test_extension=False)
    joined(bench)
    assert bench.took("ann") == []


def test_on_a_new_stream_of_ours_they_are_first_again() -> None:
    bench = bench_with()
    bench.subscribe("t")
    joined(bench, TEST_EXTENSION)
    bench.forget()
    bench.feed(StreamLost("ann"))
    bench.feed(StreamRenewed("ann"))
    first, *rest = bench.took("ann")
    assert announced([first]) == [(TEST_EXTENSION,)]
    assert not any(announced(rest))
    said = b"".join(rpc.other for rpc in [first, *rest])
    assert said == TESTED, "what was said on the old one may be lost"


def test_on_a_new_stream_of_the_peers_we_do_not_say_them_again() -> None:
    """Ours has not changed: for go it would be the second time, and cost us its good opinion."""
    bench = bench_with()
    bench.subscribe("t")
    joined(bench, TEST_EXTENSION)
    bench.forget()
    bench.feed(StreamRestarted("ann"))
    rpcs = bench.took("ann")
    assert rpcs and not any(announced(rpcs))


# ---- what peers say


def test_the_test_extension_is_used_where_both_have_it() -> None:
    bench = bench_with()
    joined(bench, TEST_EXTENSION)
    joined(bench, 10, peer="bob")
    joined(bench, peer="cyd")
    assert [rpc.other for rpc in bench.took("ann")] == [b"", TESTED]
    assert [rpc.other for rpc in bench.took("bob") + bench.took("cyd")] == [b"", b""]
    bench.say_bytes("ann", length_prefixed(TESTED))
    assert [event.peer for event in bench.events(EXTENSION_TESTED)] == ["ann"]


def test_extensions_that_we_do_not_know_are_ignored() -> None:
    bench = bench_with()
    joined(bench, 7, TEST_EXTENSION, 12345678)
    (event,) = bench.events(PEER_EXTENSIONS)
    assert (event.peer, event.fields) == ("ann", {"agreed": "test", "unknown": 2})
    assert penalties(bench) == []


def test_a_second_announcement_costs_the_peer() -> None:
    bench = bench_with()
    joined(bench, TEST_EXTENSION)
    bench.say_bytes("ann", announcement(TEST_EXTENSION))
    bench.say_bytes("ann", announcement())
    assert penalties(bench) == [("ann", "extensions_twice", PENALTY)] * 2
    assert len(bench.events(trace.REJECTED, reason="extensions_twice")) == 2
    assert bench.pubsub.sizes()["extensions_agreed"] == 1, "the first one holds"
    assert bench.of(Drop) == []


@pytest.mark.parametrize("first", [
    Rpc(), Rpc(messages=(signed("author", "t", b"rain", 1),)),
    Rpc(messages=(signed("author", "t", bytes(20_000), 1),)),
])  # fmt: skip
def test_an_announcement_that_is_not_first_costs_the_peer(first: Rpc) -> None:
    bench = bench_with()
    bench.subscribe("t")
    joined(bench)
    bench.say("ann", first)
    bench.say_bytes("ann", announcement(TEST_EXTENSION))
    assert penalties(bench) == [("ann", "extensions_too_late", PENALTY)]
    assert bench.pubsub.sizes()["extensions_agreed"] == 0


def test_it_does_not_matter_how_the_stream_is_cut() -> None:
    late = length_prefixed(encode_rpc(Rpc(messages=(signed("author", "t", b"rain", 1),))))
    for stream, expected in (
        (announcement(TEST_EXTENSION) + late, []),
        (late + announcement(TEST_EXTENSION), [("ann", "extensions_too_late", PENALTY)]),
    ):
        for size in (1, 7, len(stream)):
            bench = bench_with()
            joined(bench)
            for start in range(0, len(stream), size):
                bench.say_bytes("ann", stream[start : start + size])
            assert penalties(bench) == expected, size


def test_the_first_rpc_of_another_stream_may_announce_again() -> None:
    bench = bench_with()
    joined(bench, TEST_EXTENSION)
    bench.feed(StreamRestarted("ann"))
    assert bench.pubsub.sizes()["extensions_agreed"] == 1, "rust does not say it again"
    bench.say_bytes("ann", announcement(99))
    assert bench.pubsub.sizes()["extensions_agreed"] == 0, "what it says last holds"
    bench.say_bytes("ann", announcement(99))
    assert penalties(bench) == [("ann", "extensions_twice", PENALTY)]


def test_with_two_streams_the_announcement_on_the_newer_one_may_come_second() -> None:
    bench = bench_with()
    joined(bench, TEST_EXTENSION)
    bench.feed(StreamRestarted("ann"))
    bench.say("ann", Rpc())  # of the older stream, perhaps
    bench.say_bytes("ann", announcement(TEST_EXTENSION))
    assert penalties(bench) == []
    bench.say_bytes("ann", announcement(TEST_EXTENSION))
    assert len(penalties(bench)) == 1


def test_an_announcement_of_an_older_peer_is_ignored() -> None:
    bench = bench_with()
    bench.feed(PeerJoined("old", MESHSUB_1_0))
    bench.say_bytes("old", announcement(TEST_EXTENSION))
    assert len(bench.events(trace.IGNORED, reason="extensions_from_older_peer")) == 1
    assert bench.pubsub.sizes()["extensions_heard"] == 0


def test_what_is_said_without_being_agreed_on_is_ignored_and_paid_for() -> None:
    bench = bench_with()
    joined(bench)
    bench.say_bytes("ann", length_prefixed(bytes_field(TEST_EXTENSION, bytes(5000))))
    (event,) = bench.events(trace.IGNORED, reason="extension_not_agreed")
    assert event.fields["extension"] == "test"
    assert bench.events(EXTENSION_TESTED) == []
    assert bench.pubsub.peers["ann"].work.debt > 2000


def test_a_closed_gate_counts_as_heard() -> None:
    class Gated(GossipsubRouter):
        open_for: Admission = "nothing"

        def gate(self, peer: Peer, now: float) -> Admission:
            return self.open_for

    router = Gated(GossipsubParameters(test_extension=True))
    bench = bench_with(router)
    joined(bench)
    bench.say("ann", Rpc())
    router.open_for = "all"
    bench.say_bytes("ann", announcement(TEST_EXTENSION))
    assert penalties(bench) == [("ann", "extensions_too_late", PENALTY)]


def test_who_is_gone_leaves_nothing_behind() -> None:
    bench = bench_with()
    for round in range(3):
        for number in range(20):
            joined(bench, TEST_EXTENSION, peer=f"peer{number}")
            bench.feed(StreamRestarted(f"peer{number}"))
        assert bench.pubsub.sizes()["extensions_agreed"] == 20, round
        for number in range(20):
            bench.leave(f"peer{number}")
    sizes = bench.pubsub.sizes()
    assert {sizes[f"extensions_{each}"] for each in ("agreed", "heard", "awaited")} == {0}


def test_which_rpc_of_a_stream_is_the_first_is_told_to_whoever_asks() -> None:
    router = EchoRouter()
    bench = bench_with(router)
    joined(bench, Echo.number)
    seen: list[bool] = []
    router.pubsub.on_extension(77, lambda peer, *_: seen.append(router.pubsub.first_rpc(peer)))
    said = length_prefixed(bytes_field(77, b""))
    bench.say_bytes("ann", said)
    bench.feed(StreamRestarted("ann"))
    bench.say_bytes("ann", said)
    bench.say_bytes("ann", said)
    assert seen == [False, True, False]
    assert not router.pubsub.first_rpc("nobody")


# ---- one of your own


def test_an_extension_from_outside_is_a_class_and_a_line_in_the_router() -> None:
    router = EchoRouter()
    bench = bench_with(router)
    joined(bench, Echo.number)
    bench.say_bytes("ann", length_prefixed(bytes_field(Echo.field, b"hello")))
    assert bench.took("ann")[-1].other == bytes_field(Echo.field, b"hello")
    bench.heartbeat()
    bench.leave("ann")
    assert router.echo.heard == [
        ("agreed", "ann"), ("said", "ann", b"hello"), ("heartbeat",), ("disagreed", "ann"),
    ]  # fmt: skip


def test_what_an_extension_cannot_read_costs_the_peer_its_connection() -> None:
    bench = bench_with(EchoRouter())
    joined(bench, Echo.number)
    bench.say_bytes("ann", length_prefixed(bytes_field(Echo.field, b"nonsense")))
    assert [(drop.peer, drop.reason) for drop in bench.of(Drop)] == [("ann", "bad_echo")]


def test_what_finds_no_room_in_the_queue_is_counted() -> None:
    bench = Workbench(EchoRouter(), kinds=KINDS, queue_messages=1)
    joined(bench, Echo.number)
    bench.writable("ann", False)
    for _ in range(3):
        bench.say_bytes("ann", length_prefixed(bytes_field(Echo.field, b"hello")))
    assert len(bench.events(trace.DROPPED, what="extension", reason="queue_full")) == 2


def test_two_extensions_cannot_have_the_same_field() -> None:
    class Twice(EchoRouter):
        def extensions(self) -> tuple[Extension, ...]:
            return (*super().extensions(), Echo(self))

    with pytest.raises(LocalProtocolError, match="field 5000001 of the RPC is taken"):
        Workbench(Twice())

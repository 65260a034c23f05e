"""What peers cannot do with partial messages: fill our memory, or make us work for nothing."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from rumormill.core import trace
from rumormill.core.machine import Drop
from rumormill.core.protobuf import bytes_field
from rumormill.libp2p.effects import FilterPeers
from rumormill.libp2p.gossipsub import GossipsubParameters
from rumormill.libp2p.gossipsub.partial import PartList
from rumormill.libp2p.gossipsub.partial.groups import GroupTable
from rumormill.libp2p.wire import length_prefixed
from rumormill.libp2p.wire.extensions import PARTIAL_MESSAGES
from tests.helpers.libp2p.partial_bench import (
    ALL,
    CELLS,
    GIVES,
    NONE,
    WANTS,
    PartialBench,
    packed,
    some,
    whole,
)


def group(number: int) -> bytes:
    return b"group %d" % number


# ---- how many groups


def test_a_peer_can_begin_only_so_many_groups() -> None:
    bench = PartialBench(partial_groups_per_peer=3)
    bench.partner("ann")
    bench.partner("bob")
    for number in range(10):
        bench.tells("ann", group(number), metadata=ALL)
    bench.tells("bob", b"another", metadata=ALL)
    assert bench.pubsub.sizes()["partial_groups"] == 4
    dropped = bench.events(trace.DROPPED, what="partial", reason="too_many_groups")
    assert [event.peer for event in dropped] == ["ann"] * 7
    bench.tells("ann", group(1), metadata=NONE)
    assert len(bench.events(trace.DROPPED)) == 7, "of those it began it may go on"


def test_all_peers_together_can_begin_only_so_many() -> None:
    bench = PartialBench(partial_groups_per_topic=5, partial_groups_per_peer=2)
    for number in range(4):
        bench.partner(f"peer{number}")
        bench.tells(f"peer{number}", group(2 * number), metadata=ALL)
        bench.tells(f"peer{number}", group(2 * number + 1), metadata=ALL)
    assert bench.pubsub.sizes()["partial_begun"] == 5


def test_groups_that_we_offer_or_that_brought_something_do_not_count() -> None:
    bench = PartialBench(partial_groups_per_peer=2, make=lambda each: PartList(each, 8))
    bench.partner("ann")
    for number in range(20):
        bench.tells("ann", group(number), packed(number % 8))
    sizes = bench.pubsub.sizes()
    assert (sizes["partial_groups"], sizes["partial_begun"]) == (20, 0)
    bench.tells("ann", b"ours soon", metadata=ALL)
    assert bench.pubsub.sizes()["partial_begun"] == 1
    bench.offer(whole(b"ours soon"))
    assert bench.pubsub.sizes()["partial_begun"] == 0


def test_whatever_they_bring_a_topic_has_only_so_many_groups() -> None:
    bench = PartialBench(partial_groups=10, make=lambda each: PartList(each, 8))
    bench.partner("ann")
    bench.offer(whole(b"the oldest"))
    for number in range(30):
        bench.tells("ann", group(number), packed(1))
    assert bench.pubsub.sizes()["partial_groups"] == 10
    assert len(bench.events(trace.DROPPED, what="partial_group")) == 21


def test_a_group_with_news_outlives_older_ones_without() -> None:
    bench = PartialBench(partial_groups=2)
    first, second = whole(b"first"), whole(b"second")
    bench.offer(first)
    bench.offer(second)
    bench.offer(first)
    bench.offer(whole(b"third"))
    bench.partner("ann")
    bench.forget()
    bench.heartbeat()
    assert {each.group_id for each in bench.got("ann")} == {b"first", b"third"}


def test_a_peer_that_comes_again_has_not_begun_fewer() -> None:
    bench = PartialBench(partial_groups_per_peer=2, make=lambda each: PartList(each, 8))
    for _ in range(5):
        bench.partner("ann")
        for number in range(3):
            bench.tells("ann", group(number), metadata=ALL)
        bench.leave("ann")
    assert bench.pubsub.sizes()["partial_groups"] == 2


def test_what_is_begun_and_left_is_forgotten() -> None:
    bench = PartialBench(partial_group_ttl=3)
    bench.partner("ann")
    bench.tells("ann", b"g", metadata=ALL)
    bench.leave("ann")
    assert bench.pubsub.sizes()["partial_groups"] == 0, "nobody else spoke of it"
    bench.partner("ann")
    bench.tells("ann", b"g", metadata=ALL)
    bench.run_until(10.0)
    sizes = bench.pubsub.sizes()
    names = ("partial_groups", "partial_begun", "partial_views", "partial_bytes")
    assert [sizes[name] for name in names] == [0, 0, 0, 0]


class CountedGroups(RuleBasedStateMachine):
    """Groups come and go by every way there is: what is counted is what is there."""

    def __init__(self) -> None:
        super().__init__()
        self.parameters = GossipsubParameters(
            partial_groups_per_topic=4, partial_groups_per_peer=2, partial_bytes_per_peer=1024
        )
        self.table = GroupTable(self.parameters)

    peers = st.sampled_from(["ann", "bob", "cyd"])
    names = st.binary(min_size=1, max_size=1)
    topics = st.sampled_from(["t", "u"])

    @rule(topic=topics, name=names, peer=peers, has=st.binary(max_size=400))
    def heard(self, topic: str, name: bytes, peer: str, has: bytes) -> None:
        group = self.table.heard(topic, name, peer)
        if group is not None and not self.table.set_has(group, peer, has, has):
            assert self.table.sizes()["partial_bytes"] > 0

    @rule(topic=topics, name=names)
    def own(self, topic: str, name: bytes) -> None:
        assert self.table.own(topic, name).began_by is None

    @precondition(lambda self: any(True for _ in self.table))
    @rule(data=st.data())
    def end(self, data: st.DataObject) -> None:
        group = data.draw(st.sampled_from(list(self.table)))
        data.draw(st.sampled_from([self.table.prove, self.table.forget]))(group)

    @rule(peer=peers, topic=st.none() | topics)
    def leave(self, peer: str, topic: str | None) -> None:
        self.table.forget_peer(peer, topic)

    @rule(peer=peers)
    def begin_again(self, peer: str) -> None:
        self.table.begin_again(peer)

    @invariant()
    def counts(self) -> None:
        groups = list(self.table)
        for topic in ("t", "u"):
            begun = [each.began_by for each in groups if each.topic == topic and each.began_by]
            counter = self.table._begun.get(topic)
            assert (counter.total if counter is not None else 0) == len(begun)
            assert len(begun) <= self.parameters.partial_groups_per_topic
            assert all(begun.count(peer) <= 2 for peer in begun)
        for peer in ("ann", "bob", "cyd"):
            kept = sum(each.views[peer].cost for each in groups if peer in each.views)
            assert self.table._bytes.get(peer, 0) == kept <= 1024


TestCountedGroups = CountedGroups.TestCase
TestCountedGroups.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)


# ---- how many bytes


def test_only_so_many_bytes_are_kept_of_what_one_peer_has() -> None:
    bench = PartialBench(partial_bytes_per_peer=2000)
    bench.partner("ann")
    for number in range(8):
        bench.tells("ann", group(number), metadata=bytes(500))
    assert bench.pubsub.sizes()["partial_bytes"] <= 2000
    assert len(bench.events(trace.DROPPED, what="partial", reason="too_many_bytes")) == 7


def test_metadata_that_is_too_long_costs_the_peer() -> None:
    bench = PartialBench(partial_metadata_bytes=100)
    bench.partner("ann")
    bench.tells("ann", b"g", metadata=bytes(101))
    assert bench.penalties == [("ann", "partial_metadata_too_large")]
    assert bench.pubsub.sizes()["partial_groups"] == 0


@pytest.mark.parametrize("group_id", [b"", bytes(1025)])
def test_a_group_that_cannot_be_costs_the_peer(group_id: bytes) -> None:
    bench = PartialBench()
    bench.partner("ann")
    bench.tells("ann", group_id, metadata=ALL)
    assert bench.penalties == [("ann", "partial_bad_group")]
    assert len(bench.events(trace.REJECTED, reason="partial_bad_group")) == 1


def test_parts_that_no_rpc_can_hold_are_dropped_and_said_so() -> None:
    bench = PartialBench(pubsub={"max_rpc_size": 40_000})
    bench.partner("ann")
    bench.offer(PartList.whole(b"g", [bytes(50_000), b"small"]))
    bench.forget()
    bench.tells("ann", b"g", metadata=NONE)
    (event,) = bench.events(trace.DROPPED, what="partial", reason="too_large")
    assert event.peer == "ann"
    bench.heartbeat()
    assert len(bench.events(trace.DROPPED)) == 1, "it is not tried again and again"


# ---- what is not wanted


def test_topics_that_are_not_open_are_ignored_and_paid_for() -> None:
    bench = PartialBench()
    bench.subscribe("u")
    bench.partner("ann", WANTS, "t", "u")
    before = bench.pubsub.peers["ann"].work.debt
    bench.tells("ann", b"g", bytes(10_000), topic="u")
    assert len(bench.events(trace.IGNORED, reason="partial_unknown_topic")) == 1
    assert bench.pubsub.peers["ann"].work.debt > before + 200
    assert bench.penalties == []


def test_parts_that_we_did_not_ask_for_cost_the_peer() -> None:
    bench = PartialBench(request=False)
    message = some([0])
    bench.partner("ann")
    bench.offer(message)
    bench.tells("ann", b"g", packed(1))
    assert bench.penalties == [("ann", "partial_unrequested")]
    assert message.missing == tuple(range(1, 8))


def test_malformed_metadata_costs_the_peer() -> None:
    bench = PartialBench()
    bench.partner("ann")
    bench.offer(whole())
    bench.tells("ann", b"g", metadata=bytes(1) + b"\xff")
    assert bench.penalties == [("ann", "partial_malformed")]


def test_malformed_metadata_that_came_before_our_message_costs_the_peer_then() -> None:
    bench = PartialBench()
    bench.partner("ann")
    bench.tells("ann", b"g", metadata=b"\xff\xff")
    assert bench.penalties == []
    bench.offer(whole())
    assert bench.penalties == [("ann", "partial_malformed")]
    assert bench.pubsub.sizes()["partial_views"] == 0


def test_false_parts_cost_the_peer_and_go_no_further() -> None:
    bench = PartialBench()
    message = PartList(b"g", 8, check=lambda index, part: part == CELLS[index])
    bench.partner("ann")
    bench.partner("bob")
    bench.offer(message)
    bench.forget()
    parts = PartList.whole(b"g", [b"forged"] * 8).parts_for(b"", 1000)
    assert parts is not None
    bench.tells("ann", b"g", parts.data)
    assert bench.penalties == [("ann", "partial_malformed")]
    assert bench.took("bob") == []
    assert message.metadata() == NONE


def test_what_is_no_protobuf_costs_the_peer_its_connection() -> None:
    bench = PartialBench()
    bench.partner("ann")
    bench.say_bytes("ann", length_prefixed(bytes_field(PARTIAL_MESSAGES, b"\x0a\x05t")))
    assert [drop.reason for drop in bench.of(Drop)] == ["bad_protobuf"]


def test_a_peer_of_low_score_is_not_listened_to() -> None:
    bench = PartialBench()
    bench.partner("ann")
    bench.offer(whole())
    bench.forget()
    bench.standing.scores["ann"] = -11.0
    bench.tells("ann", b"g", metadata=NONE)
    assert bench.took("ann") == []
    assert len(bench.events(trace.IGNORED, reason="partial_low_score")) == 1


def test_a_peer_that_may_not_take_part_in_the_topic_is_not_listened_to() -> None:
    bench = PartialBench()
    bench.partner("ann")
    bench.offer(whole())
    bench.feed(FilterPeers(lambda peer, topic: peer != "ann"))
    bench.forget()
    bench.tells("ann", b"g", metadata=NONE)
    assert bench.took("ann") == []
    assert len(bench.events(trace.IGNORED, reason="partial_peer_not_allowed")) == 1


def test_who_asks_again_and_again_pays_for_what_it_gets() -> None:
    class Forgetful(PartList):
        """A message whose author believes the last word of a peer, whatever was sent since."""

        def join(self, known: bytes | None, more: bytes) -> bytes:
            return more

    bench = PartialBench()
    message = Forgetful(b"g", 1)
    message.add(0, bytes(30_000))
    bench.partner("ann")
    bench.offer(message)
    for _ in range(1000):
        bench.tells("ann", b"g", metadata=NONE)
        if bench.of(Drop) or bench.events(trace.HELD_BACK):
            break
    assert bench.events(trace.HELD_BACK, peer="ann", reason="answers")


# ---- faults of the application


def test_an_application_that_fails_costs_nobody_but_itself() -> None:
    class Broken(PartList):
        def take(self, data: bytes) -> object:  # type: ignore[override]
            raise KeyError("a fault of the application")

    bench = PartialBench()
    bench.partner("ann")
    bench.offer(Broken(b"g", 8))
    bench.tells("ann", b"g", packed(1))
    (event,) = bench.events(trace.DROPPED, what="partial", reason="application_failed")
    assert event.fields["detail"] == "KeyError: 'a fault of the application'"
    assert bench.penalties == []
    assert bench.of(Drop) == []


def test_an_application_that_never_comes_to_an_end_is_stopped() -> None:
    class Endless(PartList):
        def join(self, known: bytes | None, more: bytes) -> bytes:
            return bytes(((known or b"\x00")[0] + 1 & 0xFF,))

    bench = PartialBench()
    message = Endless(b"g", 8)
    message.add(0, b"part")
    bench.partner("ann")
    bench.offer(message)
    bench.forget()
    bench.tells("ann", b"g", metadata=NONE)
    assert len(bench.got("ann")) <= 256


def test_an_application_that_does_not_remember_what_was_sent_sends_it_once_a_turn() -> None:
    class Stubborn(PartList):
        def join(self, known: bytes | None, more: bytes) -> bytes:
            return NONE

    bench = PartialBench()
    message = Stubborn(b"g", 8)
    message.add(0, b"part")
    bench.partner("ann")
    bench.offer(message)
    bench.forget()
    bench.tells("ann", b"g", metadata=NONE)
    assert len(bench.got("ann")) == 1


# ---- any bytes

GROUP_IDS = st.sampled_from([b"g", b"h", b""])
BYTES = st.none() | st.binary(max_size=30) | st.sampled_from([ALL, NONE, packed(1), packed(2, 3)])


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(["ann", "bob"]), st.sampled_from("tu"), GROUP_IDS, BYTES, BYTES),
        max_size=20,
    ),
    st.booleans(),
)
def test_whatever_peers_say_nothing_fails_and_nothing_grows(
    words: list[tuple[str, str, bytes, bytes | None, bytes | None]], make: bool
) -> None:
    bench = PartialBench(
        make=(lambda each: PartList(each, 8)) if make else None, partial_groups_per_peer=1
    )
    bench.partner("ann")
    bench.partner("bob", GIVES)
    bench.offer(some([0, 5]))
    for peer, topic, group_id, data, metadata in words:
        bench.tells(peer, group_id, data, metadata, topic)
    assert bench.events(trace.DROPPED, reason="application_failed") == []
    assert bench.pubsub.sizes()["partial_groups"] <= 3
    bench.run_until(10.0)
    assert bench.pubsub.sizes()["partial_groups"] == 0

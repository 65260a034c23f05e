"""IDONTWANT: who is told of a large message, and that who said it gets no copy."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from rumormill.core import trace
from rumormill.core.machine import RoomAgain, Verdict
from rumormill.libp2p.gossipsub.features import MESHSUB_1_2, MESHSUB_1_3
from rumormill.libp2p.pubsub.topics.message_id import LONGEST_MESSAGE_ID
from rumormill.libp2p.wire import (
    GOSSIP_KINDS,
    Control,
    ControlKinds,
    Rpc,
    WireMessage,
    length_prefixed,
)
from rumormill.libp2p.wire.dont_want import IDONTWANT, MOST_IDS_PER_RPC, IDontWant
from tests.helpers.libp2p.rpc_encoding import encode_rpc
from tests.helpers.libp2p.workbench import (
    FLOODSUB,
    MESHSUB_1_0,
    Workbench,
    gossipsub,
    origin_id,
    signed,
)

KINDS = ControlKinds(*GOSSIP_KINDS, IDONTWANT)
LARGE = 16 * 1024


def bench_with(*peers: str, protocol: str = MESHSUB_1_2, **parameters: Any) -> Workbench:
    """A node in the topic ``t``, with these peers in its mesh."""
    bench = gossipsub(kinds=KINDS, **parameters)
    bench.subscribe("t")
    for peer in peers:
        bench.join(peer, "t", protocol=protocol)
    bench.forget()
    return bench


def large(number: int, size: int = LARGE, topic: str | tuple[str, ...] = "t") -> WireMessage:
    return signed("author", topic, bytes(size), number)


def refuse(bench: Workbench, peer: str, *ids: bytes) -> None:
    rpc = Rpc(control=Control((IDontWant(ids),)))
    bench.say_bytes(peer, length_prefixed(encode_rpc(rpc, KINDS)))


def refused_by(rpcs: list[Rpc]) -> list[bytes]:
    """The ids of all IDONTWANT in these RPCs."""
    controls = [rpc.control for rpc in rpcs if rpc.control is not None]
    return [each for control in controls for entry in control.of(IDontWant) for each in entry[0]]


def told(bench: Workbench) -> dict[str, list[bytes]]:
    """Whom the node told what it does not want, since it was last asked."""
    found = {peer: refused_by(bench.took(peer)) for peer in list(bench.sent)}
    return {peer: ids for peer, ids in found.items() if ids}


def got(bench: Workbench) -> set[str]:
    """Who was sent a message since this was last asked."""
    return {peer for peer in list(bench.sent) if any(rpc.messages for rpc in bench.took(peer))}


# ---- telling


@pytest.mark.parametrize("protocol", [MESHSUB_1_2, MESHSUB_1_3])
def test_a_large_message_is_told_of_before_its_check(protocol: str) -> None:
    bench = bench_with("ann", "bob", "cyd", protocol=protocol, answer_checks=False)
    bench.send_message("ann", large(1))
    assert bench.open_checks
    assert told(bench) == {"bob": [origin_id(large(1))], "cyd": [origin_id(large(1))]}


def test_whoever_sent_it_is_not_told() -> None:
    bench = bench_with("ann")
    bench.send_message("ann", large(1))
    assert told(bench) == {}


@pytest.mark.parametrize(("size", "tells"), [(LARGE - 1, False), (LARGE, True)])
def test_a_small_message_is_not_worth_the_word(size: int, tells: bool) -> None:
    bench = bench_with("ann", "bob")
    bench.send_message("ann", large(1, size))
    assert bool(told(bench)) is tells


def test_what_is_large_is_the_users_choice() -> None:
    bench = bench_with("ann", "bob", dont_want_size=10)
    bench.send_message("ann", large(1, 10))
    assert list(told(bench)) == ["bob"]


@pytest.mark.parametrize("protocol", [MESHSUB_1_0, FLOODSUB])
def test_peers_of_older_versions_are_not_told(protocol: str) -> None:
    bench = bench_with("ann", "bob")
    bench.join("old", "t", protocol=protocol)
    bench.send_message("ann", large(1))
    assert list(told(bench)) == ["bob"]


def test_whoever_speaks_the_version_under_another_name_is_told() -> None:
    names = {"/house/2": MESHSUB_1_2, "/house/1": MESHSUB_1_0}
    bench = bench_with("ann", "bob", protocol="/house/2", protocol_names=names)
    bench.join("old", "t", protocol="/house/1")
    assert "old" in bench.pubsub.mesh("t")
    bench.send_message("ann", large(1))
    assert list(told(bench)) == ["bob"]


def test_peers_outside_the_mesh_are_not_told() -> None:
    bench = bench_with("ann", "bob", "far")
    bench.prune("far", "t", backoff=60)
    bench.forget()
    bench.send_message("ann", large(1))
    assert list(told(bench)) == ["bob"]


def test_a_copy_from_another_is_not_told_of_again() -> None:
    bench = bench_with("ann", "bob", "cyd", answer_checks=False)
    bench.send_message("ann", large(1))
    told(bench)
    bench.send_message("bob", large(1))
    bench.answer(bench.open_checks.pop())
    bench.send_message("cyd", large(1))
    assert told(bench) == {}


def test_the_true_message_behind_a_forged_one_is_not_told_of_twice() -> None:
    bench = bench_with("ann", "bob", "eve", answer_checks=False)
    true = large(1)
    forged = signed("author", "t", b"x" * LARGE, 1)
    bench.send_message("eve", forged)
    assert set(told(bench)) == {"ann", "bob"}
    bench.send_message("ann", true)
    bench.answer(bench.open_checks.pop(0), Verdict.FORGED)
    assert bench.open_checks, "the true one is checked now"
    bench.flush()
    assert told(bench) == {}


def test_a_message_on_two_topics_is_told_of_once_to_each_peer() -> None:
    bench = gossipsub(kinds=KINDS)
    bench.subscribe("t", "u")
    for peer in ("ann", "bob"):
        bench.join(peer, "t", "u", protocol=MESHSUB_1_2)
    bench.forget()
    message = large(1, topic=("t", "u"))
    bench.send_message("ann", message)
    assert told(bench) == {"bob": [origin_id(message)]}


@pytest.mark.parametrize("own", [False, True])
def test_our_own_messages_are_told_of_if_we_are_asked_to(own: bool) -> None:
    bench = bench_with("ann", dont_want_own=own)
    receipt = bench.publish("t", bytes(LARGE))
    assert told(bench) == ({"ann": [receipt.id]} if own else {})
    bench.publish("t", bytes(LARGE - 1))
    assert told(bench) == {}


def test_a_message_of_another_is_told_of_once_with_that_option_too() -> None:
    bench = bench_with("ann", "bob", dont_want_own=True)
    bench.send_message("ann", large(1))
    assert told(bench) == {"bob": [origin_id(large(1))]}


def test_nor_again_when_its_check_took_longer_than_a_heartbeat() -> None:
    bench = bench_with("ann", "bob", dont_want_own=True, answer_checks=False)
    bench.send_message("ann", large(1))
    bench.heartbeat()
    told(bench)
    bench.answer(bench.open_checks.pop())
    bench.flush()
    assert told(bench) == {}


def test_what_arrives_in_one_turn_is_told_of_in_one_entry() -> None:
    bench = bench_with("ann", "bob", answer_checks=False)
    messages = tuple(large(number) for number in range(5))
    bench.say("ann", Rpc(messages=messages))
    (rpc,) = bench.took("bob")
    assert rpc.control is not None
    assert rpc.control.entries == (IDontWant(tuple(map(origin_id, messages))),)


def test_no_rpc_has_more_ids_than_go_reads() -> None:
    bench = bench_with("ann", "bob", answer_checks=False)
    messages = tuple(large(number) for number in range(25))
    bench.say("ann", Rpc(messages=messages))
    rpcs = bench.took("bob")
    assert [len(refused_by([rpc])) for rpc in rpcs] == [10, 10, 5]
    assert refused_by(rpcs) == list(map(origin_id, messages))
    assert MOST_IDS_PER_RPC == 10


@pytest.mark.parametrize("most", [1, 7, 10, 19, 5000])
def test_nor_where_rpcs_are_smaller_still(most: int) -> None:
    bench = bench_with("ann", "bob", answer_checks=False, max_message_ids_per_rpc=most)
    bench.say("ann", Rpc(messages=tuple(large(number) for number in range(25))))
    counts = [len(refused_by([rpc])) for rpc in bench.took("bob")]
    assert sum(counts) == 25
    assert max(counts) <= min(most, 10)


def test_it_overtakes_messages_that_wait_and_rides_on_no_large_one() -> None:
    bench = bench_with("ann", "bob", answer_checks=False)
    bench.writable("bob", False)
    bench.publish("t", bytes(50_000))
    bench.send_message("ann", large(1))
    bench.writable("bob", True)
    first, second = bench.took("bob")
    assert refused_by([first]) == [origin_id(large(1))]
    assert not first.messages, "a peer hears nothing of an RPC before it has all of it"
    assert len(second.messages) == 1


# ---- heeding


def test_who_said_it_gets_no_copy_and_the_others_do() -> None:
    bench = bench_with("ann", "bob", "cyd")
    refuse(bench, "bob", origin_id(large(1)))
    bench.send_message("ann", large(1))
    assert got(bench) == {"cyd"}
    (spared,) = bench.events(trace.SPARED)
    assert (spared.peer, spared.topic, spared.message_id) == ("bob", "t", origin_id(large(1)))
    assert spared.fields == {"reason": "not_queued"}


def test_it_holds_while_the_message_is_being_checked() -> None:
    bench = bench_with("ann", "bob", "cyd", answer_checks=False)
    bench.send_message("ann", large(1))
    refuse(bench, "bob", origin_id(large(1)))
    bench.forget()
    bench.answer(bench.open_checks.pop())
    bench.flush()
    assert got(bench) == {"cyd"}


def test_who_sent_a_copy_itself_is_not_counted_as_spared() -> None:
    bench = bench_with("ann", "bob")
    refuse(bench, "ann", origin_id(large(1)))
    bench.send_message("ann", large(1))
    assert bench.events(trace.SPARED) == []


def test_it_is_about_one_message_and_small_ones_too() -> None:
    bench = bench_with("ann", "bob")
    refuse(bench, "bob", origin_id(large(1, 5)))
    bench.send_message("ann", large(1, 5))
    assert got(bench) == set()
    bench.send_message("ann", large(2, 5))
    assert got(bench) == {"bob"}


def test_our_own_message_is_not_sent_to_who_has_it_already() -> None:
    """Ids by content: another may have published the same before us."""
    bench = bench_with("ann", "bob", message_id="sha256", signing="StrictNoSign")
    before = bench_with("x", message_id="sha256", signing="StrictNoSign").publish("t", b"rain")
    refuse(bench, "bob", before.id)
    receipt = bench.publish("t", b"rain")
    assert receipt.peers == ("ann",)
    assert not receipt.dropped
    assert bench.events(trace.SPARED, peer="bob", reason="not_queued")


def test_a_copy_that_waits_is_taken_out_of_the_queue() -> None:
    bench = bench_with("ann", "bob")
    bench.writable("bob", False)
    for number in (1, 2, 3):
        bench.send_message("ann", large(number))
    bench.forget()
    refuse(bench, "bob", origin_id(large(2)), b"of another")
    (spared,) = bench.events(trace.SPARED)
    assert spared.fields == {"reason": "removed_from_queue"}
    assert spared.message_id == origin_id(large(2))
    assert bench.pubsub.sizes()["queued"] == 2
    bench.writable("bob", True)
    sent = [message for rpc in bench.took("bob") for message in rpc.messages]
    assert list(map(origin_id, sent)) == [origin_id(large(1)), origin_id(large(3))]


def test_a_publisher_hears_of_the_room_that_this_makes() -> None:
    bench = bench_with("ann", queue_messages=2)
    bench.writable("ann", False)
    ids = [bench.publish("t", bytes(LARGE)).id for _ in range(2)]
    assert bench.pubsub.room.full(("t",))
    bench.pubsub.room.watch(("t",))
    refuse(bench, "ann", *ids)
    assert bench.of(RoomAgain) == [RoomAgain("ann")]
    assert not bench.pubsub.room.full(("t",))


def test_who_asks_for_what_it_refused_gets_no_answer() -> None:
    bench = bench_with("ann", "bob")
    bench.send_message("ann", large(1))
    refuse(bench, "bob", origin_id(large(1)))
    bench.forget()
    bench.iwant("bob", origin_id(large(1)))
    assert got(bench) == set()
    (spared,) = bench.events(trace.SPARED)
    assert spared.fields == {"reason": "not_answered"}
    bench.run_until(bench.now + 3.5)
    bench.forget()
    bench.iwant("bob", origin_id(large(1)))
    assert got(bench) == {"bob"}


@pytest.mark.parametrize(("beats", "wanted"), [(1, False), (2, False), (3, True)])
def test_it_holds_for_three_heartbeats(beats: int, wanted: bool) -> None:
    bench = bench_with("ann", "bob")
    refuse(bench, "bob", origin_id(large(1)))
    for _ in range(beats):
        bench.heartbeat()
    bench.forget()
    bench.send_message("ann", large(1))
    assert got(bench) == ({"bob"} if wanted else set())


def test_a_peer_that_left_takes_its_words_with_it() -> None:
    bench = bench_with("ann", "bob", "cyd")
    for peer in ("bob", "cyd"):
        refuse(bench, peer, origin_id(large(1)), peer.encode())
    assert bench.pubsub.sizes()["dont_want"] == 4
    bench.leave("bob")
    assert bench.pubsub.outbox.refusals == {origin_id(large(1)): ("cyd",), b"cyd": ("cyd",)}
    bench.leave("cyd")
    assert bench.pubsub.sizes()["dont_want"] == len(bench.pubsub.outbox.refusals) == 0


def test_to_refuse_nothing_is_to_say_nothing() -> None:
    bench = bench_with("ann")
    refuse(bench, "ann")
    assert bench.pubsub.sizes()["dont_want"] == 0
    assert bench.events(trace.IGNORED) == []


def test_ids_that_are_none_are_ignored_and_the_others_heeded() -> None:
    bench = bench_with("ann")
    refuse(bench, "ann", b"", bytes(LONGEST_MESSAGE_ID + 1), b"id")
    (ignored,) = bench.events(trace.IGNORED)
    assert ignored.fields == {"reason": "bad_message_id", "count": 2}
    assert bench.pubsub.outbox.refusals == {b"id": ("ann",)}


@pytest.mark.parametrize("protocol", [MESHSUB_1_0, FLOODSUB])
def test_peers_of_older_versions_cannot_say_it(protocol: str) -> None:
    bench = bench_with("ann")
    bench.join("old", "t", protocol=protocol)
    refuse(bench, "old", b"1", b"2")
    (ignored,) = bench.events(trace.IGNORED)
    assert ignored.fields == {"reason": "dont_want_from_older_peer", "count": 2}
    assert bench.pubsub.outbox.refusals == {}


# ---- any order of words, heartbeats, and peers that come and go


class WordsAgainstModel(RuleBasedStateMachine):
    """The model: for each peer, the heartbeat of its first word on each id."""

    peers = st.sampled_from(["ann", "bob", "cyd"])
    ids = st.lists(st.sampled_from([b"%d" % number for number in range(8)]), max_size=6)
    MOST = 4

    def __init__(self) -> None:
        super().__init__()
        self.bench = bench_with("ann", "bob", "cyd", max_dont_want_ids=self.MOST)
        self.here = {"ann", "bob", "cyd"}
        self.beat = 0
        self.words: dict[tuple[str, bytes], int] = {}

    @rule(peer=peers, ids=ids)
    def say(self, peer: str, ids: list[bytes]) -> None:
        if peer not in self.here:
            return
        refuse(self.bench, peer, *ids)
        for message_id in dict.fromkeys(ids):
            if (peer, message_id) in self.words:
                continue
            fresh = [p for (p, _), beat in self.words.items() if p == peer and beat == self.beat]
            if len(fresh) == self.MOST:
                break
            self.words[peer, message_id] = self.beat

    @rule()
    def heartbeat(self) -> None:
        self.bench.heartbeat()
        self.beat += 1
        self.words = {key: beat for key, beat in self.words.items() if beat + 3 > self.beat}

    @precondition(lambda self: self.here)
    @rule(peer=peers)
    def leave(self, peer: str) -> None:
        if peer in self.here:
            self.bench.leave(peer)
            self.here.discard(peer)
            self.words = {key: beat for key, beat in self.words.items() if key[0] != peer}

    @rule(peer=peers)
    def join(self, peer: str) -> None:
        if peer not in self.here:
            self.bench.join(peer, "t", protocol=MESHSUB_1_2)
            self.here.add(peer)

    @invariant()
    def it_knows_who_refuses_what(self) -> None:
        refusals = self.bench.pubsub.outbox.refusals
        pairs = {(peer, each) for each, peers in refusals.items() for peer in peers}
        assert pairs == set(self.words)
        assert self.bench.pubsub.sizes()["dont_want"] == len(self.words)


TestWordsAgainstModel = WordsAgainstModel.TestCase

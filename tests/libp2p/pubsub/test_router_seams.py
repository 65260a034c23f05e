"""What a router hears, is asked and may add: each seam with a small router that lives on it.

They are what gossipsub 1.1 to 1.3 need: a score hears of every message, its graylist is asked
before anything is read, IDONTWANT is a kind of control in a file of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, NamedTuple

import pytest

from rumormill.core import trace
from rumormill.core.errors import LocalProtocolError
from rumormill.core.machine import Connect, Drop, Peer, PeerJoined, Verdict
from rumormill.core.protobuf import bytes_field, fields
from rumormill.core.trace import TraceEvent
from rumormill.libp2p.pubsub import FLOODSUB, Admission, FloodsubRouter, Part, PubsubServices
from rumormill.libp2p.wire import (
    Budget,
    Control,
    ControlKind,
    ControlKinds,
    Rpc,
    Subscription,
    WireMessage,
    decode_ids,
    each_id_once,
    length_prefixed,
)
from rumormill.libp2p.wire.merging import ID_COST
from tests.helpers.libp2p.rpc_encoding import encode_rpc
from tests.helpers.libp2p.workbench import Workbench, identity, signed

RAIN = signed("author", "t", b"rain", 1)


# ---- a score


class Score(Part):
    """Writes down what a score counts; whoever it rejects pays nothing but a point."""

    def __init__(self) -> None:
        self.heard: list[tuple[Any, ...]] = []

    def arrived(self, message: WireMessage, source: Peer, now: float) -> None:
        self.heard.append(("arrived", message.data, source))

    def accepted(
        self, message: WireMessage, source: Peer | None, holders: Mapping[Peer, None], now: float
    ) -> None:
        self.heard.append(("accepted", message.data, source, tuple(holders)))

    def rejected(
        self,
        message: WireMessage,
        source: Peer,
        holders: Mapping[Peer, None],
        reason: str,
        now: float,
    ) -> None:
        self.heard.append(("rejected", message.data, source, tuple(holders), reason))

    def ignored(
        self,
        message: WireMessage,
        source: Peer,
        holders: Mapping[Peer, None],
        reason: str,
        now: float,
    ) -> None:
        self.heard.append(("ignored", message.data, source, tuple(holders), reason))

    def duplicate(self, message: WireMessage, source: Peer, now: float) -> None:
        self.heard.append(("duplicate", message.data, source))


class ScoringRouter(FloodsubRouter):
    """floodsub with a score in place of the fixed limit of rejections."""

    def __init__(self) -> None:
        self.score = Score()

    def discipline(self) -> Part:
        return self.score


def scoring(**parameters: Any) -> tuple[Workbench, list[tuple[Any, ...]]]:
    """A bench whose router scores, with ann, bob and cyd, and what the score hears."""
    router = ScoringRouter()
    bench = Workbench(router, **parameters)
    bench.subscribe("t")
    for peer in ("ann", "bob", "cyd"):
        bench.join(peer, "t", protocol=FLOODSUB)
    return bench, router.score.heard


def test_a_message_arrives_before_its_check_and_is_accepted_with_source_and_holders() -> None:
    bench, heard = scoring(answer_checks=False)
    bench.send_message("ann", RAIN)
    assert heard == [("arrived", b"rain", "ann")]
    bench.send_message("bob", RAIN)
    assert heard == [("arrived", b"rain", "ann")], "a copy is no news before the verdict"
    bench.answer(bench.open_checks[0], Verdict.ACCEPT)
    assert heard[1:] == [
        ("accepted", b"rain", "ann", ("ann", "bob", identity("author").peer)),
        ("duplicate", b"rain", "bob"),
    ]


def test_a_duplicate_after_the_verdict_is_told_at_once_with_its_source() -> None:
    bench, heard = scoring()
    bench.send_message("ann", RAIN)
    del heard[:]
    bench.send_message("cyd", RAIN)
    assert heard == [("duplicate", b"rain", "cyd")]


def test_a_message_of_our_own_is_accepted_without_source_and_holders() -> None:
    bench, heard = scoring()
    bench.publish("t", b"sun")
    assert heard == [("accepted", b"sun", None, ())]


@pytest.mark.parametrize(
    ("verdict", "event", "reason"),
    [
        (Verdict.REJECT, "rejected", "validator"),
        (Verdict.FORGED, "rejected", "bad_signature"),
        (Verdict.IGNORE, "ignored", "validator"),
        (Verdict.OVERLOADED, "ignored", "overloaded"),
    ],
)
def test_a_verdict_is_told_with_its_reason_source_and_holders(
    verdict: str, event: str, reason: str
) -> None:
    bench, heard = scoring(answer_checks=False)
    for peer in ("ann", "bob"):
        bench.send_message(peer, RAIN)
    bench.answer(bench.open_checks[0], verdict)
    assert heard[1:] == [(event, b"rain", "ann", ("ann", "bob"), reason)]


def test_a_forged_message_and_then_the_true_one_arrive_both() -> None:
    bench, heard = scoring(answer_checks=False)
    bench.send_message("ann", WireMessage(RAIN.raw[:-1] + b"x"))
    bench.send_message("bob", RAIN)
    bench.answer(bench.open_checks[0], Verdict.FORGED)
    bench.answer(bench.open_checks[1], Verdict.ACCEPT)
    assert [(each[0], each[2]) for each in heard] == [
        ("arrived", "ann"),
        ("rejected", "ann"),
        ("arrived", "bob"),
        ("accepted", "bob"),
    ]


def test_what_is_refused_before_its_check_is_told_though_it_never_arrived() -> None:
    bench, heard = scoring()
    unsigned = WireMessage(bytes_field(2, b"hail") + bytes_field(4, b"t"))
    bench.send_message("ann", unsigned)
    bench.send_message("bob", signed("author", "other", b"snow", 2))
    assert heard == [
        ("rejected", b"hail", "ann", ("ann",), "missing_signature"),
        ("ignored", b"snow", "bob", ("bob",), "not_subscribed"),
    ]


def test_a_router_that_scores_drops_nobody_by_the_fixed_limit() -> None:
    for router, dropped in ((ScoringRouter(), []), (FloodsubRouter(), ["too_many_rejections"])):
        bench = Workbench(router, max_rejections=3)
        bench.subscribe("t")
        bench.join("ann", "t", protocol=FLOODSUB)
        for number in range(5):
            message = signed("author", "t", b"hail", number)
            bench.verdicts[b"hail"] = Verdict.REJECT
            bench.send_message("ann", message)
        assert [each.reason for each in bench.of(Drop)] == dropped


# ---- whom to send to


class Refusing(FloodsubRouter):
    """Sends no message to those who refuse its id, and none above 10 bytes to bob."""

    def __init__(self) -> None:
        self.refused: set[tuple[Peer, bytes]] = set()

    def targets(self, message: WireMessage, own: bool, now: float) -> Iterable[Peer]:
        return [
            peer
            for peer in super().targets(message, own, now)
            if (peer, message.id) not in self.refused
            and not (peer == "bob" and len(message.data) > 10)
        ]


def test_who_gets_a_message_may_depend_on_its_id_and_size() -> None:
    router = Refusing()
    bench = Workbench(router)
    bench.subscribe("t")
    for peer in ("ann", "bob", "cyd"):
        bench.join(peer, "t", protocol=FLOODSUB)
    assert bench.publish("t", b"short").peers == ("ann", "bob", "cyd")
    assert bench.publish("t", b"longer than ten").peers == ("ann", "cyd")
    hail = signed("author", "t", b"hail", 9)
    router.refused.add(("bob", (hail.sender_id or b"") + (hail.sequence or b"")))
    bench.forget()
    bench.send_message("ann", hail)
    assert sorted(peer for peer in bench.sent if bench.sent[peer]) == ["cyd"]


class Asked(FloodsubRouter):
    """Counts how often it is asked whom to send to."""

    asked = 0

    def targets(self, message: WireMessage, own: bool, now: float) -> Iterable[Peer]:
        self.asked += 1
        return super().targets(message, own, now)


def test_questions_before_a_publication_do_not_choose_its_targets() -> None:
    router = Asked()
    bench = Workbench(router)
    bench.join("ann", "t", protocol=FLOODSUB)
    assert bench.pubsub.has_targets(("t",))
    assert not bench.pubsub.room.full(("t",), 100)
    bench.pubsub.room.watch(("t",), 100)
    assert router.asked == 0
    bench.publish("t")
    assert router.asked == 1


# ---- a gate


class Graylist(FloodsubRouter):
    """Reads of each peer as much as the table says."""

    def __init__(self) -> None:
        self.admissions: dict[Peer, Admission] = {}

    def gate(self, peer: Peer, now: float) -> Admission:
        return self.admissions.get(peer, "all")


def test_nothing_of_a_peer_before_a_closed_gate_is_read() -> None:
    router = Graylist()
    bench = Workbench(router)
    bench.subscribe("t")
    bench.join("ann", "t", protocol=FLOODSUB)
    router.admissions["ann"] = "nothing"
    bench.say_bytes("ann", length_prefixed(b"\xff no protobuf"))
    bench.send_message("ann", RAIN)
    assert not bench.of(Drop), "what is not read cannot be malformed"
    assert bench.delivered() == []
    assert len(bench.events(trace.IGNORED, peer="ann", reason="gate_closed")) == 2
    router.admissions["ann"] = "all"
    bench.send_message("ann", RAIN)
    assert [each.data for each in bench.delivered()] == [b"rain"]


def test_before_a_half_open_gate_messages_are_skipped_and_the_rest_is_read() -> None:
    router = Graylist()
    bench = Workbench(router)
    bench.subscribe("t")
    bench.join("ann", protocol=FLOODSUB)
    router.admissions["ann"] = "control"
    broken = Rpc(messages=(WireMessage(b"\xff no message"), RAIN))
    bench.say("ann", broken._replace(subscriptions=(Subscription(True, "t"),)))
    assert "ann" in bench.pubsub.subscribers("t")
    assert bench.delivered() == []
    assert not bench.of(Drop)
    (event,) = bench.events(trace.IGNORED, peer="ann", reason="gate_control_only")
    assert event.fields["count"] == 2


# ---- a kind of control


class IDontWant(NamedTuple):
    """Ids of messages that a peer does not want to be sent."""

    message_ids: tuple[bytes, ...]
    other: bytes = b""


def _decode(raw: bytes, budget: Budget) -> IDontWant:
    _, ids, other = decode_ids(raw, 0, 1, budget)
    return IDontWant(ids, other)


def _encode(entry: IDontWant) -> bytes:
    return b"".join([bytes_field(1, each) for each in entry.message_ids]) + entry.other


IDONTWANT = ControlKind("idontwant", 5, IDontWant, _decode, _encode, each_id_once(1 << 16))


class Unwanted(Part):
    """Tells others what we have as soon as it arrives, and keeps in mind what they have."""

    def __init__(self, pubsub: PubsubServices) -> None:
        self._pubsub = pubsub
        self.refused: set[tuple[Peer, bytes]] = set()
        pubsub.on_control(IDONTWANT, self.handle)

    def arrived(self, message: WireMessage, source: Peer, now: float) -> None:
        for peer in self._pubsub.subscribers(message.topics[0]):
            if peer != source:
                self._pubsub.outbox.control(peer, IDontWant((message.id,)))

    def handle(self, peer: Peer, entries: tuple[IDontWant, ...], now: float) -> None:
        self.refused |= {(peer, each) for entry in entries for each in entry.message_ids}


class Sparing(FloodsubRouter):
    """floodsub that sends nothing to whom it is not wanted by: all of it in this file."""

    protocols: ClassVar[tuple[str, ...]] = (FLOODSUB,)

    def attach(self, pubsub: PubsubServices) -> None:
        super().attach(pubsub)
        self.unwanted = Unwanted(pubsub)

    def parts(self) -> tuple[Part, ...]:
        return (self.unwanted,)

    def targets(self, message: WireMessage, own: bool, now: float) -> Iterable[Peer]:
        refused = self.unwanted.refused
        peers = super().targets(message, own, now)
        return [peer for peer in peers if (peer, message.id) not in refused]


KINDS = ControlKinds(IDONTWANT)


def sparing(**parameters: Any) -> Workbench:
    bench = Workbench(Sparing(), kinds=KINDS, **parameters)
    bench.subscribe("t")
    for peer in ("ann", "bob", "cyd"):
        bench.join(peer, "t", protocol=FLOODSUB)
    bench.forget()
    return bench


def refuse(bench: Workbench, peer: str, *ids: bytes) -> None:
    rpc = Rpc(control=Control((IDontWant(ids),)))
    bench.say_bytes(peer, length_prefixed(encode_rpc(rpc, KINDS)))


def id_of(message: WireMessage) -> bytes:
    return (message.sender_id or b"") + (message.sequence or b"")


def test_a_kind_of_control_from_outside_is_heard_and_obeyed() -> None:
    bench = sparing()
    refuse(bench, "bob", id_of(RAIN))
    bench.send_message("ann", RAIN)
    assert [peer for peer, rpcs in bench.sent.items() if any(rpc.messages for rpc in rpcs)] == [
        "cyd"
    ]


def test_a_kind_of_control_from_outside_is_said_and_merged_while_it_waits() -> None:
    bench = sparing(answer_checks=False)
    bench.writable("bob", False)
    hail = signed("author", "t", b"hail", 2)
    for message in (RAIN, hail):
        bench.send_message("ann", message)
    bench.writable("bob", True)
    (rpc,) = bench.took("bob")
    assert rpc.control is not None
    assert rpc.control.entries == (IDontWant((id_of(RAIN), id_of(hail))),), "one entry for both"
    assert not bench.took("ann")


def test_a_kind_of_control_from_outside_is_within_the_limits_of_all() -> None:
    bench = sparing(max_message_ids_per_rpc=10)
    refuse(bench, "bob", *[b"%d" % number for number in range(11)])
    assert [each.reason for each in bench.of(Drop)] == ["too_many_message_ids"]


def test_what_finds_no_room_is_counted_under_the_name_of_its_kind() -> None:
    bench = sparing()
    bench.writable("bob", False)
    ids = tuple(bytes([number]) * 1000 for number in range(100))
    bench.pubsub.outbox.control("bob", IDontWant(ids))
    fit = (1 << 16) // (1000 + ID_COST)
    (event,) = bench.pubsub.effects
    assert isinstance(event, TraceEvent)
    assert event.fields == {"what": "idontwant", "reason": "queue_full", "count": 100 - fit}
    bench.writable("bob", True)
    controls = [rpc.control for rpc in bench.took("bob") if rpc.control is not None]
    told = [each for control in controls for part in control.of(IDontWant) for each in part[0]]
    assert told == list(ids[:fit])


def test_two_kinds_cannot_have_one_number() -> None:
    with pytest.raises(LocalProtocolError, match="field 5"):
        ControlKinds(IDONTWANT, IDONTWANT._replace(name="another"))


def test_what_nobody_registered_cannot_be_said() -> None:
    bench = Workbench(FloodsubRouter())
    bench.join("ann", protocol=FLOODSUB)
    with pytest.raises(LocalProtocolError, match="IDontWant"):
        bench.pubsub.outbox.control("ann", IDontWant((b"id",)))


def test_packets_are_traced_with_the_kinds_that_there_are() -> None:
    bench = sparing(trace_packets=True)
    refuse(bench, "bob", b"id")
    (event,) = bench.events(trace.PACKET_RECEIVED, peer="bob")
    assert event.fields["idontwant"] == 1


# ---- fields that pubsub does not know


class Extended(FloodsubRouter):
    """Hears the fields of an extension."""

    def __init__(self) -> None:
        self.heard: list[tuple[Peer, int, bytes]] = []

    def other_fields(self, peer: Peer, raw: bytes, now: float) -> None:
        for number, _, start, end in fields(raw, 0, len(raw)):
            self.heard.append((peer, number, raw[start:end]))


def test_fields_of_an_extension_reach_the_router() -> None:
    router = Extended()
    bench = Workbench(router)
    bench.join("ann", "t", protocol=FLOODSUB)
    assert router.heard == []
    partial = bytes_field(10, b"a part of a message")
    bench.say("ann", Rpc(subscriptions=(Subscription(True, "u"),), other=partial))
    assert router.heard == [("ann", 10, b"a part of a message")]
    assert "ann" in bench.pubsub.subscribers("u")


# ---- addresses


class Matchmaker(FloodsubRouter):
    """Knows where each peer is, and wants to be connected to whom a peer names."""

    def __init__(self) -> None:
        self.addresses: dict[Peer, str] = {}

    def add_peer(self, joined: PeerJoined, now: float) -> None:
        self.addresses[joined.peer] = joined.address

    def peer_subscribed(self, peer: Peer, topic: str, now: float) -> None:
        self.pubsub.connect(topic, (f"{self.addresses[peer]}/p2p-circuit",))


def test_a_router_hears_where_a_peer_is_and_asks_for_another_by_its_addresses() -> None:
    router = Matchmaker()
    bench = Workbench(router)
    bench.feed(PeerJoined("ann", FLOODSUB, True, "/ip4/10.0.0.1/tcp/4001"))
    bench.feed(PeerJoined("bob", FLOODSUB))
    assert router.addresses == {"ann": "/ip4/10.0.0.1/tcp/4001", "bob": ""}
    bench.say("ann", Rpc(subscriptions=(Subscription(True, "dan"),)))
    assert bench.of(Connect) == [Connect("dan", ("/ip4/10.0.0.1/tcp/4001/p2p-circuit",))]

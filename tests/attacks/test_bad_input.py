"""What hostile peers send: the peer pays, the node goes on, it is traced, and memory is bounded."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from rumormill.core import trace
from rumormill.core.machine import Check, Checked, Drop, PeerJoined, Received, Verdict
from rumormill.core.protobuf import bytes_field, encode_varint, varint_field
from rumormill.libp2p.gossipsub.mesh import backoff
from rumormill.libp2p.pubsub.floodsub import FLOODSUB
from rumormill.libp2p.wire import Control, Graft, IHave, IWant, Prune, Rpc, Subscription
from rumormill.libp2p.wire.frames import length_prefixed
from rumormill.libp2p.wire.gossip import MOST_WAITING_ID_BYTES
from rumormill.libp2p.wire.message import WireMessage, build_message, decode_message
from tests.helpers.core.protobuf_bytes import delimited
from tests.helpers.libp2p.workbench import (
    Workbench,
    floodsub,
    gossipsub,
    identity,
    origin_id,
    signed,
)

MIB = 1 << 20
RAIN = signed("author", "t", b"rain", 1)


def with_a_friend(**parameters: Any) -> Workbench:
    """A gossipsub node that listens to t, with an honest peer and a hostile one."""
    bench = gossipsub(**parameters)
    bench.subscribe("t")
    bench.join("honest", "t")
    bench.join("hostile", "t")
    bench.forget()
    return bench


def goes_on(bench: Workbench) -> None:
    """The node still does what it is there for."""
    bench.answer_checks = True
    bench.verdicts.clear()
    sequence = 1_000_000 + len(bench.effects)
    before = len(bench.delivered())
    bench.send_message("honest", signed("honest author", "t", b"still here", sequence))
    assert len(bench.delivered()) == before + 1
    assert "honest" in bench.publish("t", b"and speaking").peers


def paid(bench: Workbench, reason: str, peer: str = "hostile") -> None:
    """The peer was dropped for this reason, once, and the trace says so."""
    assert bench.of(Drop) == [Drop(peer, reason)]
    assert len(bench.events(trace.PROTOCOL_ERROR, peer=peer, reason=reason)) == 1
    assert len(bench.events(trace.PEER_LEFT, peer=peer, reason=reason)) == 1
    assert peer not in bench.pubsub.peers
    assert peer not in bench.pubsub.subscribers("t")


@contextmanager
def memory_below(most: int) -> Iterator[None]:
    """What is allocated inside and still held at the end stays below ``most`` bytes."""
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        yield
        gc.collect()  # empties the interpreter's own lists of spare objects as well
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert after - before < most, f"{after - before} bytes are held"


def quietly(bench: Workbench, peer: str, data: bytes) -> None:
    """Let a peer say something without keeping what follows: the bench must not be what grows."""
    bench.pubsub.handle(Received(peer, data), bench.now)
    bench.pubsub.wake(bench.now)


def frame(rpc: bytes) -> bytes:
    return length_prefixed(rpc)


# ---- frames


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (frame(b"\xff\xff\xff"), "bad_protobuf"),
        (frame(b"\x0a\x7f"), "bad_protobuf"),
        (frame(b"\x0b"), "bad_protobuf"),  # a group
        (frame(b"\x00\x01"), "bad_protobuf"),  # field number 0
        (frame(delimited(2, b"\x22\xff")), "bad_protobuf"),
        (frame(delimited(3, b"\x0a\xff")), "bad_protobuf"),
        (frame(delimited(1, delimited(2, b"\xff"))), "bad_topic"),
        (b"\xff" * 10, "bad_length"),
        (b"\xff" * 9 + b"\x7f", "bad_protobuf"),
    ],
)
def test_a_malformed_frame_costs_its_sender_the_connection(raw: bytes, reason: str) -> None:
    bench = with_a_friend()
    bench.say_bytes("hostile", raw)
    paid(bench, reason)
    goes_on(bench)


def test_an_oversized_frame_is_refused_at_its_first_bytes() -> None:
    bench = with_a_friend()
    bench.say_bytes("hostile", encode_varint(MIB + 1))
    paid(bench, "frame_too_large")
    goes_on(bench)


@pytest.mark.parametrize("size", [1 << 31, 1 << 62, (1 << 64) - 1])
def test_a_frame_of_absurd_length_allocates_nothing(size: int) -> None:
    bench = with_a_friend()
    with memory_below(100_000):
        quietly(bench, "hostile", encode_varint(size))
    assert "hostile" not in bench.pubsub.peers


def test_the_largest_frame_that_is_allowed_is_read() -> None:
    bench = with_a_friend(max_rpc_size=100_000)
    bench.say_bytes("hostile", frame(bytes_field(9, bytes(99_990))))
    assert not bench.of(Drop)


def test_a_frame_that_trickles_in_and_never_ends_holds_no_more_than_one_frame() -> None:
    bench = with_a_friend()
    start = encode_varint(MIB)
    with memory_below(2 * MIB):
        quietly(bench, "hostile", start)
        for _ in range(1000):
            quietly(bench, "hostile", bytes(1000))
    goes_on(bench)


def test_what_a_dropped_peer_had_still_to_say_is_not_heard() -> None:
    bench = with_a_friend()
    bench.say_bytes("hostile", b"\xff" * 10)
    bench.forget()
    bench.send_message("hostile", RAIN)
    assert bench.effects == []


def test_a_fault_in_the_middle_of_a_chunk_does_not_undo_what_stood_before_it() -> None:
    bench = with_a_friend()
    good = frame(bytes_field(2, RAIN.raw))
    bench.say_bytes("hostile", good + frame(b"\xff"))
    assert [each.data for each in bench.delivered()] == [b"rain"]
    paid(bench, "bad_protobuf")


def test_a_peer_that_was_dropped_may_come_back_and_is_dropped_again() -> None:
    bench = with_a_friend()
    for _ in range(3):
        bench.say_bytes("hostile", frame(b"\xff"))
        assert "hostile" not in bench.pubsub.peers
        bench.join("hostile", "t")
    assert len(bench.of(Drop)) == 3
    goes_on(bench)


def test_a_flood_of_empty_frames_leaves_nothing_behind() -> None:
    bench = with_a_friend()
    with memory_below(200_000):  # of which the bench has written down each of 781 turns
        quietly(bench, "hostile", bytes(100_000))
    goes_on(bench)


# ---- limits of one RPC


@pytest.mark.parametrize(
    ("rpc", "reason"),
    [
        (delimited(1, delimited(2, b"t")) * 5001, "too_many_subscriptions"),
        (delimited(2, delimited(4, b"t")) * 5001, "too_many_messages"),
        (delimited(3, delimited(3, delimited(1, b"t")) * 5001), "too_many_control_messages"),
        (delimited(3, delimited(2, delimited(1, b"i") * 5001)), "too_many_message_ids"),
        (delimited(3, delimited(9, bytes(256 * 1024))), "control_too_large"),
        (varint_field(9, 1) * 16385, "too_many_fields"),
        (delimited(2, delimited(4, b"t") * 33), "too_many_topics"),
        (delimited(2, delimited(2, b"no topic")), "bad_topic"),
        (delimited(2, delimited(4, b"t" * 1025)), "bad_topic"),
    ],
)
def test_an_rpc_above_a_limit_costs_its_sender_the_connection(rpc: bytes, reason: str) -> None:
    bench = with_a_friend()
    bench.say_bytes("hostile", frame(rpc))
    paid(bench, reason)
    goes_on(bench)


# ---- subscriptions


def subscriptions(first: int, count: int, subscribe: bool = True) -> bytes:
    entries = [
        delimited(1, varint_field(1, int(subscribe)) + delimited(2, b"topic-%07d" % number))
        for number in range(first, first + count)
    ]
    return frame(b"".join(entries))


def test_a_hundred_thousand_subscriptions_in_one_rpc_are_refused_whole() -> None:
    bench = with_a_friend(max_rpc_size=8 * MIB)
    flood = subscriptions(0, 100_000)
    with memory_below(MIB):
        quietly(bench, "hostile", flood)
    assert "hostile" not in bench.pubsub.peers
    assert bench.pubsub.sizes()["peer_topics"] == 1
    goes_on(bench)


def test_a_hundred_thousand_subscriptions_over_many_rpcs_end_with_the_connection() -> None:
    bench = with_a_friend()
    floods = [subscriptions(first, 1000) for first in range(0, 100_000, 1000)]
    with memory_below(MIB):
        for flood in floods:
            quietly(bench, "hostile", flood)
            assert bench.pubsub.sizes()["peer_topics"] <= 5002
    assert "hostile" not in bench.pubsub.peers
    assert bench.pubsub.sizes()["peer_topics"] == 1
    goes_on(bench)


def test_subscriptions_that_are_taken_back_again_and_again_leave_nothing_behind() -> None:
    bench = with_a_friend(work_burst=10.0)  # or else it would not be here for long
    floods = [
        flood
        for first in range(0, 20_000, 1000)
        for flood in (subscriptions(first, 1000), subscriptions(first, 1000, subscribe=False))
    ]
    with memory_below(200_000):
        for flood in floods:
            quietly(bench, "hostile", flood)
    assert bench.pubsub.sizes()["peer_topics"] == 2
    goes_on(bench)


def test_topics_that_the_filter_forbids_take_no_memory() -> None:
    bench = with_a_friend(allowed_topics=["t"])
    floods = [subscriptions(first, 1000) for first in range(0, 20_000, 1000)]
    with memory_below(100_000):
        for flood in floods:
            quietly(bench, "hostile", flood)
    assert bench.pubsub.sizes()["peer_topics"] == 2
    goes_on(bench)


def test_peers_that_come_and_go_leave_nothing_behind() -> None:
    bench = with_a_friend()
    before = bench.pubsub.sizes()
    hello = subscriptions(0, 20)
    with memory_below(300_000):
        for number in range(2000):
            bench.pubsub.handle(PeerJoined(f"visitor{number}", FLOODSUB), bench.now)
            quietly(bench, f"visitor{number}", hello)
            quietly(bench, f"visitor{number}", b"\xff" * 10)
    assert bench.pubsub.sizes() == before
    goes_on(bench)


# ---- messages


def unsigned(topic: str = "t", data: bytes = b"plain") -> WireMessage:
    return build_message(data=data, topics=(topic,))


def with_wrong_key() -> WireMessage:
    """Rightly signed by the key that is sent along, which is not the author's."""
    thief = identity("thief")
    message = build_message(
        data=b"stolen", topics=("t",), sender_id=identity("victim").peer_id, sequence=bytes(8)
    )
    signature = bytes_field(5, thief.sign(message.signed_payload()))
    return decode_message(message.raw + signature + bytes_field(6, thief.public_key.to_protobuf()))


def forged(mark: int = 0, size: int = 0) -> WireMessage:
    lie = build_message(
        data=b"lie %d" % mark + bytes(size),
        topics=("t",),
        sender_id=RAIN.sender_id,
        sequence=RAIN.sequence,
    )
    return decode_message(lie.raw + bytes_field(5, bytes(64)))


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (unsigned(), "missing_signature"),
        (forged(), "bad_signature"),
        (with_wrong_key(), "bad_signature"),
    ],
    ids=["unsigned", "wrong signature", "key of another"],
)
def test_a_message_that_proves_nothing_is_rejected_at_its_senders_expense(
    message: WireMessage, reason: str
) -> None:
    bench = with_a_friend()
    bench.send_message("hostile", message)
    assert bench.events(trace.REJECTED, peer="hostile", topic="t", reason=reason)
    assert bench.delivered() == []
    assert "message" not in [each[0] for each in bench.took_items("honest")]
    assert bench.pubsub.sizes()["seen"] == 0
    goes_on(bench)


def test_a_signed_message_in_an_unsigned_topic_is_rejected() -> None:
    bench = floodsub(signing="StrictNoSign")
    bench.subscribe("t")
    bench.join("hostile", "t")
    bench.send_message("hostile", RAIN)
    assert bench.events(trace.REJECTED, peer="hostile", reason="unexpected_signature")
    assert bench.delivered() == []


def test_a_forged_copy_before_the_true_one_does_not_poison_its_id() -> None:
    bench = with_a_friend()
    bench.send_message("hostile", forged())
    bench.send_message("honest", RAIN)
    assert [each.data for each in bench.delivered()] == [b"rain"]


def test_forged_copies_of_a_message_that_was_delivered_cost_no_signature() -> None:
    bench = with_a_friend()
    bench.send_message("honest", RAIN)
    bench.forget()
    for mark in range(100):
        bench.send_message("hostile", forged(mark))
    assert not bench.of(Check)
    assert len(bench.events(trace.DUPLICATE, peer="hostile")) == 100


@pytest.mark.parametrize("wrong", [b"", b"x" * 1025, "text", 10**9, None])
def test_an_id_function_that_returns_no_id_rejects_the_message(wrong: Any) -> None:
    bench = with_a_friend(message_id=lambda message: wrong if message.data == b"rain" else b"id")
    with memory_below(MIB):
        bench.send_message("hostile", RAIN)
    assert bench.events(trace.REJECTED, peer="hostile", reason="bad_message_id")
    assert bench.delivered() == []


def test_an_id_function_that_raises_rejects_the_message() -> None:
    def by_first_byte(message: WireMessage) -> bytes:
        return bytes([message.data[0]]) + (message.sequence or b"")

    bench = with_a_friend(message_id=by_first_byte)
    bench.send_message("hostile", signed("author", "t", b"", 1))
    assert bench.events(trace.REJECTED, peer="hostile", reason="bad_message_id")
    goes_on(bench)


def test_a_message_on_an_empty_topic_is_ignored() -> None:
    bench = with_a_friend()
    bench.send_message("hostile", signed("author", "", b"x", 1))
    assert bench.events(trace.IGNORED, peer="hostile", reason="not_subscribed")
    bench.say("hostile", Rpc(subscriptions=(Subscription(True, ""),)))
    goes_on(bench)


def test_messages_on_topics_we_are_not_in_leave_nothing_behind() -> None:
    bench = with_a_friend()
    flood = b"".join(
        frame(bytes_field(2, unsigned(f"topic {number}", bytes(100)).raw)) for number in range(5000)
    )
    with memory_below(200_000):
        quietly(bench, "hostile", flood)
    assert bench.pubsub.sizes()["seen"] == 0
    goes_on(bench)


# ---- floods of checks


def test_a_flood_of_checks_is_bounded_and_costs_only_its_sender() -> None:
    bench = with_a_friend(answer_checks=False, max_checks=1000, max_checks_per_peer=300)
    for first in range(0, 2000, 500):
        messages = [signed("author", "t", b"x", number) for number in range(first, first + 500)]
        bench.say("hostile", Rpc(messages=tuple(messages)))
    assert bench.pubsub.sizes()["checks"] == 300
    assert len(bench.events(trace.DROPPED, peer="hostile", reason="checks_full")) == 1700
    goes_on(bench)


def test_large_messages_under_check_are_bounded_in_bytes() -> None:
    bench = with_a_friend(max_check_bytes=8 * MIB)
    with memory_below(10 * MIB):  # a message holds its data besides its bytes
        for number in range(40):
            raw = signed("author", "t", bytes(MIB // 2), number).raw
            quietly(bench, "hostile", frame(bytes_field(2, raw)))
    assert bench.pubsub.sizes()["checks"] == 8
    goes_on(bench)


def test_a_bomb_of_differing_copies_is_bounded_for_each_message_and_peer() -> None:
    bench = with_a_friend(answer_checks=False)
    with memory_below(MIB):
        for mark in range(200):
            quietly(bench, "hostile", frame(bytes_field(2, forged(mark, size=100_000).raw)))
    checks = bench.pubsub._intake.checks
    assert (len(checks), checks.bytes < 200_000) == (1, True)
    goes_on(bench)


def test_copies_by_many_peers_are_bounded_too() -> None:
    bench = with_a_friend(answer_checks=False, max_copies=3)
    for number in range(10):
        bench.join(f"hostile{number}", "t")
        bench.send_message(f"hostile{number}", forged(number))
    assert len(bench.events(trace.DROPPED, reason="copies_full")) == 6
    assert bench.pubsub.sizes()["checks"] == 1


# ---- control


def test_iwant_spam_is_cut_off_after_the_third_copy() -> None:
    bench = with_a_friend()
    receipt = bench.publish("t", bytes(1000))
    bench.forget()
    for _ in range(1000):
        bench.iwant("hostile", receipt.id)
    sent = [each for each in bench.took_items("hostile") if each[0] == "message"]
    assert len(sent) == 3
    assert len(bench.events(trace.IGNORED, peer="hostile", reason="iwant_too_often")) == 997
    goes_on(bench)


def test_iwant_for_messages_that_never_were_leaves_nothing_behind() -> None:
    bench = with_a_friend()
    ids = tuple(number.to_bytes(8, "big") for number in range(5000))
    spam = frame(delimited(3, delimited(2, b"".join(delimited(1, each) for each in ids))))
    with memory_below(100_000):
        for _ in range(5):
            quietly(bench, "hostile", spam)
    goes_on(bench)


def test_ihave_spam_is_limited_until_the_next_heartbeat() -> None:
    bench = with_a_friend()
    for number in range(100):
        ids = tuple(f"{number} {index}".encode() for index in range(1000))
        bench.ihave("hostile", "t", *ids)
    asked = [each for item in bench.took_items("hostile") if item[0] == "iwant" for each in item[1]]
    assert len(asked) == 5000
    assert len(bench.events(trace.IGNORED, peer="hostile", reason="too_many_ihave")) == 90
    bench.heartbeat()
    bench.ihave("hostile", "t", b"after the heartbeat")
    assert bench.took_items("hostile")[-1] == ("iwant", frozenset([b"after the heartbeat"]))
    goes_on(bench)


def test_ids_that_were_promised_and_never_came_are_forgotten() -> None:
    bench = with_a_friend()
    with memory_below(MIB):
        for second in range(1, 11):
            ids = b"".join(delimited(2, b"%d %d" % (second, index)) for index in range(4000))
            ihave = delimited(1, delimited(1, b"t") + ids)
            quietly(bench, "hostile", frame(delimited(3, ihave)))
            bench.now = float(second)
            bench.pubsub.wake(bench.now)
    goes_on(bench)


def test_who_tells_of_everything_first_and_sends_nothing_keeps_nothing_from_us() -> None:
    bench = with_a_friend()
    for _ in range(3):  # as long as an honest peer tells of a message
        bench.ihave("hostile", "t", origin_id(RAIN))
        bench.ihave("honest", "t", origin_id(RAIN))
        for kind, *ids in bench.took_items("honest"):
            if kind == "iwant" and origin_id(RAIN) in ids[0]:
                bench.send_message("honest", RAIN)
        bench.heartbeat()
    assert [each.data for each in bench.delivered()] == [b"rain"]


def test_a_peer_that_never_reads_and_tells_of_giant_ids_is_bounded() -> None:
    bench = with_a_friend()
    bench.writable("hostile", False)
    with memory_below(2 * MOST_WAITING_ID_BYTES + MIB):
        for second in range(1, 11):
            for number in range(10):
                ids = (b"%d %d %d" % (second, number, index) for index in range(200))
                entries = b"".join(delimited(2, each.ljust(1024)) for each in ids)
                ihave = delimited(1, delimited(1, b"t") + entries)
                quietly(bench, "hostile", frame(delimited(3, ihave)))
            bench.now = float(second)
            bench.pubsub.wake(bench.now)
    goes_on(bench)


def test_a_graft_flood_of_unknown_topics_leaves_nothing_behind() -> None:
    bench = with_a_friend()
    grafts = b"".join(delimited(3, delimited(1, b"topic %d" % number)) for number in range(1000))
    with memory_below(100_000):
        for _ in range(20):
            quietly(bench, "hostile", frame(delimited(3, grafts)))
    goes_on(bench)


def test_answers_to_a_graft_flood_are_bounded_for_a_peer_that_never_reads() -> None:
    bench = with_a_friend(answer_unknown_graft=True)
    bench.writable("hostile", False)
    with memory_below(2 * MIB):
        for first in range(0, 20_000, 1000):
            grafts = b"".join(
                delimited(3, delimited(1, b"topic %d" % number))
                for number in range(first, first + 1000)
            )
            quietly(bench, "hostile", frame(delimited(3, grafts)))
    goes_on(bench)


def test_grafts_and_prunes_in_turn_do_not_make_the_mesh_flap() -> None:
    bench = with_a_friend()
    for _ in range(100):
        bench.say("hostile", Rpc(control=Control((Graft("t"),))))
        bench.say("hostile", Rpc(control=Control((Prune("t"),))))
    assert "hostile" not in bench.pubsub.mesh("t")
    assert len(bench.events(trace.GRAFTED, peer="hostile")) == 0
    refused = bench.events(trace.REJECTED, peer="hostile", reason="graft_in_backoff")
    assert 1 < len(refused) < 10, "then nothing of it is read"
    assert bench.pubsub.sizes()["backoffs"] == 1
    goes_on(bench)


@pytest.mark.parametrize("seconds", [(1 << 64) - 1, (1 << 63) - 1, 10**12])
def test_a_huge_backoff_neither_overflows_nor_locks_out_for_ever(seconds: int) -> None:
    bench = with_a_friend()
    bench.prune("hostile", "t", backoff=seconds)
    goes_on(bench)
    bench.run_until(backoff.LONGEST + 10.0)
    assert "hostile" in bench.pubsub.mesh("t")


def test_prunes_of_topics_we_are_not_in_leave_no_backoff() -> None:
    bench = with_a_friend()
    prunes = tuple(Prune(f"topic {number}", 3600) for number in range(1000))
    bench.say("hostile", Rpc(control=Control(prunes)))
    assert bench.pubsub.sizes()["backoffs"] == 0


def test_backoffs_of_ever_new_peers_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backoff, "MOST", 50)
    bench = with_a_friend()
    for number in range(200):
        bench.join(f"visitor{number}")
        bench.prune(f"visitor{number}", "t", backoff=3600)
        bench.leave(f"visitor{number}")
    assert bench.pubsub.sizes()["backoffs"] == 50
    goes_on(bench)


def test_control_of_every_kind_about_nothing_is_harmless() -> None:
    bench = with_a_friend()
    entries = (
        IHave("", ()), IHave("t", ()), IHave("t", (b"",)), IWant(()), IWant((b"",)),
        Graft(""), Prune("", 0), Prune("t", 0),
    )  # fmt: skip
    control = Control(entries)
    bench.say("hostile", Rpc(control=control))
    assert not bench.of(Drop)
    goes_on(bench)


# ---- peers that do not read


def test_a_peer_that_never_reads_costs_its_queue_and_no_more() -> None:
    bench = with_a_friend(queue_bytes=MIB, mcache_bytes=MIB)
    bench.writable("hostile", False)
    with memory_below(4 * MIB):
        for number in range(400):
            raw = signed("author", "t", bytes(20_000), number).raw
            quietly(bench, "honest", frame(bytes_field(2, raw)))
            bench.pubsub.handle(Checked(number, Verdict.ACCEPT), bench.now)
            bench.pubsub.wake(bench.now)
    assert bench.pubsub.peers["hostile"].queue.bytes <= MIB
    assert bench.pubsub.sizes()["seen"] == 400
    goes_on(bench)


def test_every_message_that_a_peer_did_not_read_is_counted() -> None:
    bench = with_a_friend(queue_messages=10)
    bench.writable("hostile", False)
    for number in range(25):
        bench.send_message("honest", signed("author", "t", b"x", number))
    dropped = bench.events(trace.DROPPED, peer="hostile", what="message", reason="queue_full")
    assert len(dropped) == 15
    assert {each.message_id for each in dropped} == {
        origin_id(signed("author", "t", b"x", number)) for number in range(10, 25)
    }
    goes_on(bench)


def test_two_hundred_peers_that_never_read_do_not_slow_the_others() -> None:
    bench = with_a_friend(queue_messages=5)
    for number in range(200):
        bench.join(f"deaf{number}", "t", protocol=FLOODSUB)
        bench.writable(f"deaf{number}", False)
    for number in range(20):
        bench.send_message("honest", signed("author", "t", b"x", number))
    assert bench.pubsub.sizes()["queued"] == 200 * 5
    assert len(bench.delivered()) == 20
    goes_on(bench)

"""A peer that goes on sending what must be rejected pays: with its connection if none is scored."""

from __future__ import annotations

from rumormill.core.machine import Drop
from rumormill.core.trace import PROTOCOL_ERROR, REJECTED
from rumormill.libp2p.wire import Control, Graft, Rpc
from rumormill.libp2p.wire.message import WireMessage, build_message
from tests.helpers.libp2p import workbench


def forged(number: int) -> WireMessage:
    message = workbench.signed("honest", "weather", b"forged", number)
    message.raw = message.raw[:-1] + bytes([message.raw[-1] ^ 1])
    return message


def test_a_peer_that_keeps_sending_forged_messages_is_dropped_and_the_others_stay() -> None:
    bench = workbench.gossipsub(score=None, max_rejections=10)
    bench.subscribe("weather")
    for peer in ("forger", "honest"):
        bench.join(peer, "weather")
    for number in range(10):
        bench.send_message("forger", forged(number))
    assert bench.of(Drop) == []
    bench.send_message("forger", forged(10))
    assert bench.of(Drop) == [Drop("forger", "too_many_rejections")]
    assert list(bench.pubsub.peers) == ["honest"]
    assert len(bench.events(REJECTED, reason="bad_signature", peer="forger")) == 11
    bench.send_message("honest", workbench.signed("honest", "weather", b"true", 10))
    assert [message.data for message in bench.delivered()] == [b"true"]


def test_a_rejected_message_now_and_then_costs_nothing_more() -> None:
    bench = workbench.gossipsub(score=None, max_rejections=2)
    bench.subscribe("weather")
    bench.join("peer", "weather")
    for number in range(20):
        bench.run_until(float(number))
        bench.send_message("peer", forged(number))
    assert bench.of(Drop) == []


def test_what_a_dropped_peer_still_had_to_say_is_not_heard() -> None:
    bench = workbench.gossipsub(score=None, max_rejections=1, graft_on_subscribe=False)
    bench.subscribe("weather")
    bench.join("peer", "weather")
    unsigned = [build_message(data=b"%d" % n, topics=("weather",)) for n in range(5)]
    control = Control((Graft("weather"),))
    bench.say("peer", Rpc(messages=tuple(unsigned), control=control))
    assert bench.of(Drop) == [Drop("peer", "too_many_rejections")]
    assert len(bench.events(REJECTED, reason="missing_signature")) == 2
    assert len(bench.events(PROTOCOL_ERROR)) == 1
    assert bench.pubsub.mesh("weather") == ()

"""IDONTWANT as a weapon: refusing without end, in long ids, or while nothing is read."""

from __future__ import annotations

from typing import Any

import pytest

from rumormill.core import trace
from rumormill.core.machine import Drop, Verdict
from rumormill.core.transport import RestPeer
from rumormill.libp2p.gossipsub.features import MESHSUB_1_2
from rumormill.libp2p.gossipsub.gossip import dont_want
from rumormill.libp2p.wire import GOSSIP_KINDS, Control, ControlKinds, Rpc, length_prefixed
from rumormill.libp2p.wire.dont_want import IDONTWANT, IDontWant
from tests.helpers.libp2p.rpc_encoding import encode_rpc
from tests.helpers.libp2p.workbench import Workbench, gossipsub, origin_id, signed

KINDS = ControlKinds(*GOSSIP_KINDS, IDONTWANT)


def besieged(**parameters: Any) -> Workbench:
    bench = gossipsub(kinds=KINDS, work_share=1.0, work_burst=1000.0, **parameters)
    bench.subscribe("t")
    for peer in ("honest", "hostile", "third"):
        bench.join(peer, "t", protocol=MESHSUB_1_2)
    bench.heartbeat()
    bench.forget()
    return bench


def refuse(bench: Workbench, peer: str, *ids: bytes) -> None:
    rpc = Rpc(control=Control((IDontWant(ids),)))
    bench.say_bytes(peer, length_prefixed(encode_rpc(rpc, KINDS)))


def numbered(first: int, count: int, size: int = 40) -> list[bytes]:
    return [number.to_bytes(size, "big") for number in range(first, first + count)]


def ignored(bench: Workbench, reason: str) -> int:
    events = bench.events(trace.IGNORED, peer="hostile", reason=reason)
    return sum(int(event.fields["count"] or 0) for event in events)


def noted(bench: Workbench) -> int:
    return bench.pubsub.sizes()["dont_want"]


def test_refusing_is_bounded_per_peer_and_heartbeat() -> None:
    bench = besieged(max_dont_want_ids=100)
    for turn in range(30):
        refuse(bench, "hostile", *numbered(10 * turn, 10))
    assert noted(bench) == 100
    assert ignored(bench, "too_many_dont_want") == 200
    refuse(bench, "honest", b"of the honest one")
    assert noted(bench) == 101, "each has its own budget"


def test_one_rpc_can_say_no_more_than_the_budget_allows() -> None:
    bench = besieged(max_dont_want_ids=100)
    refuse(bench, "hostile", *numbered(0, 1000))
    assert noted(bench) == 100
    assert ignored(bench, "too_many_dont_want") == 900


def test_the_next_heartbeat_brings_a_new_budget() -> None:
    bench = besieged(max_dont_want_ids=100)
    for beat in range(10):
        refuse(bench, "hostile", *numbered(1000 * beat, 150))
        assert noted(bench) == 100 * min(beat + 1, 3), "three heartbeats are remembered"
        bench.heartbeat()
    for _ in range(3):
        bench.heartbeat()
    assert noted(bench) == len(bench.pubsub.outbox.refusals) == 0


def test_repeating_oneself_takes_no_room() -> None:
    bench = besieged(max_dont_want_ids=10)
    for _ in range(50):
        refuse(bench, "hostile", *numbered(0, 10))
    assert noted(bench) == 10
    assert ignored(bench, "too_many_dont_want") == 0


def test_long_ids_take_more_of_the_budget() -> None:
    bench = besieged(max_dont_want_ids=100)
    for turn in range(10):
        refuse(bench, "hostile", *numbered(10 * turn, 10, size=1024))
    assert noted(bench) == 100 * dont_want.MOST_BYTES_PER_ID // 1024


def test_all_peers_together_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dont_want, "MOST_REFUSALS", 50)
    bench = besieged()
    for number in range(10):
        bench.join(f"hostile {number}", "t", protocol=MESHSUB_1_2)
        refuse(bench, f"hostile {number}", *numbered(100 * number, 20))
    assert noted(bench) == len(bench.pubsub.outbox.refusals) == 50
    bench.send_message("honest", signed("author", "t", b"rain", 1))
    assert bench.delivered()


def test_with_default_settings_what_go_and_rust_may_say_finds_room() -> None:
    """A go peer says one id in each RPC, for each message that it gets from anyone."""
    bench = besieged()
    for message_id in numbered(0, 2000, size=46):
        refuse(bench, "hostile", message_id)
    assert noted(bench) == 2000
    assert bench.events(trace.IGNORED) == []
    assert not bench.of(Drop)


def test_who_makes_us_search_a_long_queue_again_and_again_pays_for_it() -> None:
    bench = gossipsub(kinds=KINDS, queue_messages=4000)
    bench.subscribe("t")
    for peer in ("honest", "hostile"):
        bench.join(peer, "t", protocol=MESHSUB_1_2)
    bench.writable("hostile", False)
    ids = [bench.publish("t").id for _ in range(4000)]
    bench.forget()
    for turn in range(3000):
        refuse(bench, "hostile", ids[turn % 10])
        if "hostile" not in bench.pubsub.peers or bench.of(RestPeer):
            break
    held = bench.events(trace.HELD_BACK, peer="hostile")
    assert held
    assert held[0].fields["reason"] == "dont_want"


def test_a_forged_copy_costs_its_sender_and_keeps_the_true_one_from_nobody_else() -> None:
    bench = besieged(answer_checks=False)
    true, forged = (signed("author", "t", data * 2000, 1) for data in (b"a", b"b"))
    bench.send_message("hostile", forged)
    bench.answer(bench.open_checks.pop(), Verdict.FORGED)
    assert bench.events(trace.REJECTED, peer="hostile", reason="bad_signature")
    bench.send_message("honest", true)
    bench.answer(bench.open_checks.pop())
    bench.flush()
    assert [message.data for message in bench.delivered()] == [true.data]
    got = {peer for peer, rpcs in bench.sent.items() if any(rpc.messages for rpc in rpcs)}
    assert got == {"hostile", "third"}


def test_refusing_what_others_want_changes_nothing_for_them() -> None:
    bench = besieged()
    message = signed("author", "t", bytes(2000), 1)
    refuse(bench, "hostile", origin_id(message))
    bench.send_message("honest", message)
    assert any(rpc.messages for rpc in bench.took("third"))
    assert bench.delivered()


def test_what_we_told_of_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dont_want, "MOST_TOLD", 20)
    bench = besieged()
    for number in range(100):
        bench.send_message("honest", signed("author", "t", bytes(2000), number))
        assert bench.pubsub.sizes()["dont_want_told"] <= 20
    bench.heartbeat()
    assert bench.pubsub.sizes()["dont_want_told"] == 0

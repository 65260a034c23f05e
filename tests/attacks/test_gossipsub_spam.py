"""Spam that gossipsub 1.1 was made for: what each costs us is bounded, and its sender pays.

After go's ``gossipsub_spam_test.go``, in virtual time. Unless a test says otherwise the score is a
fake: a penalty costs what the test says, and it does not fade.
"""

from __future__ import annotations

import itertools

from rumormill.core import trace
from rumormill.libp2p.wire import Control, Graft, IHave, Prune, Rpc
from tests.helpers.libp2p.fake_standing import FakeStanding, judged
from tests.helpers.libp2p.scoring import forged, score_of
from tests.helpers.libp2p.workbench import Workbench, gossipsub, signed


def under_attack(price: float = 1.0, **parameters: object) -> tuple[Workbench, FakeStanding]:
    """A node that listens to t, with an honest peer and a hostile one."""
    bench, standing = judged(price=price, **parameters)  # type: ignore[arg-type]
    bench.subscribe("t")
    bench.join("honest", "t")
    bench.join("hostile", "t")
    bench.forget()
    return bench, standing


def ids_asked(bench: Workbench, peer: str) -> int:
    return sum(len(item[1]) for item in bench.took_items(peer) if item[0] == "iwant")


def test_iwant_spam_is_cut_off_after_three_answers() -> None:
    bench, _ = under_attack()
    receipt = bench.publish("t")
    bench.took("hostile")
    for _ in range(1000):
        bench.iwant("hostile", receipt.id)
    assert len([each for each in bench.took_items("hostile") if each[0] == "message"]) == 3
    assert len(bench.events(trace.IGNORED, peer="hostile", reason="iwant_too_often")) == 997


def test_ihave_spam_is_limited_by_heartbeat_and_its_broken_promises_are_paid_for() -> None:
    bench, standing = under_attack()
    asked = []
    for beat in range(4):
        for number in range(100):
            bench.ihave("hostile", "t", b"%d %d" % (beat, number))
        asked.append(ids_asked(bench, "hostile"))
        bench.heartbeat()
    assert asked == [10, 10, 10, 10], "ten RPCs a heartbeat, and the next begins anew"
    bench.run_until(bench.now + 5.0)
    assert {penalty[:2] for penalty in standing.penalties} == {("hostile", "broken_promise")}
    assert standing.of("hostile") == -40.0
    assert bench.pubsub.mesh("t") == ("honest",)
    assert bench.events(trace.PRUNED, peer="hostile", by="us", reason="negative_score")
    bench.ihave("hostile", "t", b"more")
    assert ids_asked(bench, "hostile") == 0, "it is no longer believed"


def test_ihave_of_five_thousand_ids_costs_one_promise_and_no_more_ids_than_allowed() -> None:
    bench, standing = under_attack()
    for start in range(0, 20_000, 5000):
        ids = tuple(b"%d" % number for number in range(start, start + 5000))
        bench.say("hostile", Rpc(control=Control((IHave("t", ids),))))
    assert ids_asked(bench, "hostile") == 5000
    bench.run_until(10.0)
    assert standing.penalties == [("hostile", "broken_promise", 1)]


def test_graft_of_unknown_topics_gets_neither_answer_nor_memory() -> None:
    bench, standing = under_attack()
    before = bench.pubsub.sizes()
    for start in range(0, 3000, 1000):
        grafts = tuple(Graft(f"unknown{start + number}") for number in range(1000))
        bench.say("hostile", Rpc(control=Control(grafts)))
    assert bench.took("hostile") == []
    assert bench.pubsub.sizes() == before
    assert standing.penalties == []


def test_graft_in_backoff_costs_more_and_more_until_there_is_no_answer() -> None:
    bench, standing = under_attack(price=20.0)
    bench.prune("hostile", "t")
    bench.run_until(15.0)
    bench.forget()
    answers, scores = [], []
    for _ in range(4):
        bench.graft("hostile", "t")
        answers.append([item[0] for item in bench.took_items("hostile")])
        scores.append(standing.of("hostile"))
    # Once for the first, which is late, then twice: each comes within ten seconds of a refusal.
    assert scores == [-20.0, -60.0, -100.0, -100.0]
    assert answers == [["prune"], ["prune"], ["prune"], []]
    assert bench.events(trace.IGNORED, peer="hostile", reason="gate_closed")
    bench.run_until(200.0)
    assert bench.pubsub.mesh("t") == ("honest",), "nor is it in the mesh after its backoff"


def test_graft_in_backoff_never_brings_the_attacker_a_shorter_one() -> None:
    bench, _ = under_attack(price=0.0)
    bench.prune("hostile", "t")
    for second in range(1, 300, 30):
        bench.run_until(float(second))
        bench.say("hostile", Rpc(control=Control((Prune("t", 1), Graft("t")))))
        assert bench.pubsub.mesh("t") == ("honest",)


def test_a_thousand_that_come_at_once_do_not_take_the_mesh_over() -> None:
    bench, _ = judged()
    bench.subscribe("t")
    for index in range(3):
        bench.join(f"ours{index}", "t", outbound=True)
    for index in range(1000):
        bench.join(f"sybil{index}", "t")
        bench.graft(f"sybil{index}", "t")
    assert len(bench.pubsub.mesh("t")) == 12
    for _ in range(10):
        bench.heartbeat()
        for index in range(1000):
            bench.graft(f"sybil{index}", "t")
    ours = [peer for peer in bench.pubsub.mesh("t") if peer.startswith("ours")]
    assert len(ours) >= 2
    assert len(bench.pubsub.mesh("t")) <= 12


def test_spam_of_invalid_messages_costs_the_mesh_first_and_then_the_ear() -> None:
    """With the true score, and its defaults."""
    bench = gossipsub()
    bench.subscribe("t")
    bench.join("honest", "t")
    bench.join("hostile", "t")
    bench.forget()
    numbers = itertools.count(1)
    for number in itertools.islice(numbers, 4):
        bench.send_message("hostile", forged(signed("author", "t", b"false", number)))
    assert score_of(bench).of("hostile") < 0 == score_of(bench).of("honest")
    bench.heartbeat()
    assert bench.pubsub.mesh("t") == ("honest",)
    assert bench.events(trace.PRUNED, peer="hostile", by="us", reason="negative_score")
    assert bench.took_items("hostile") == [("prune", "t")]
    bench.say("hostile", Rpc(control=Control((Graft("t"),))))
    assert bench.pubsub.mesh("t") == ("honest",)
    for number in itertools.islice(numbers, 20):
        bench.send_message("hostile", forged(signed("author", "t", b"false", number)))
    assert bench.events(trace.IGNORED, peer="hostile", reason="gate_closed")
    bench.send_message("hostile", signed("author", "t", b"true", next(numbers)))
    assert bench.delivered() == []
    bench.send_message("honest", signed("author", "t", b"true", next(numbers)))
    assert [each.data for each in bench.delivered()] == [b"true"]

"""What others see of scores: trace events and snapshots."""

from __future__ import annotations

import pytest

from rumormill.core import trace
from rumormill.core.machine import Verdict
from rumormill.libp2p.gossipsub.score import ScoreParameters
from tests.helpers.libp2p.scoring import FOREVER, TOPIC, ScoreBench, only
from tests.helpers.libp2p.workbench import gossipsub, signed

BOTH = only(
    first_deliveries={"weight": 1, "decay": FOREVER, "cap": 100},
    invalid_messages={"weight": -1, "decay": 0.5},
)


def test_a_snapshot_has_all_that_a_score_is_made_of() -> None:
    bench = ScoreBench("ann", topic=BOTH, behaviour={"weight": -2, "threshold": 0, "decay": 0.5})
    bench.send("ann", 3)
    bench.bench.verdicts[b"data"] = Verdict.REJECT
    bench.send("ann", 2)
    bench.score.penalise("ann", "broken_promise", 2)
    bench.score.feedback("ann", 1)
    found = bench.parts("ann")
    topic = found.topics[TOPIC]
    assert (topic.first_deliveries, topic.invalid_messages, topic.in_mesh) == (3, -4, False)
    assert (found.topics_total, found.behaviour, found.application) == (-1, -8, 1)
    assert found.total == bench.of("ann") == -8
    assert found.connected


def test_a_snapshot_has_who_left_in_debt_and_cannot_be_changed() -> None:
    bench = ScoreBench("ann", topic=BOTH)
    bench.bench.verdicts[b"data"] = Verdict.REJECT
    bench.send("ann")
    bench.bench.leave("ann")
    found = bench.parts("ann")
    assert (found.total, found.connected) == (-1, False)
    with pytest.raises(AttributeError):
        found.total = 7  # type: ignore[misc]


def test_a_score_that_crosses_a_threshold_is_told_once_with_its_parts() -> None:
    bench = ScoreBench("ann", "bob", topic=BOTH, thresholds={})
    bench.bench.forget()
    bench.bench.verdicts[b"data"] = Verdict.REJECT
    bench.send("ann", 8)
    assert bench.bench.events(trace.SCORED) == [], "at the heartbeat, not before"
    bench.heartbeats()
    (event,) = bench.bench.events(trace.SCORED)
    assert event.peer == "ann"
    assert event.fields["score"] == event.fields["invalid_messages"] == -16
    assert (event.fields["before"], event.fields["level"]) == (0, "no_gossip")
    bench.heartbeats(20)
    levels = [each.fields["level"] for each in bench.bench.events(trace.SCORED)]
    assert levels[-1] == "trusted"
    assert len(levels) < 10
    assert bench.bench.events(trace.SCORED, peer="bob") == []


def test_a_threshold_is_told_of_however_small_the_step_across_it() -> None:
    bench = ScoreBench("ann", thresholds={}, feedback_decay=FOREVER)
    bench.score.feedback("ann", -9.8)
    bench.heartbeats()
    bench.bench.forget()
    bench.score.feedback("ann", -0.1)
    bench.heartbeats()
    assert bench.bench.events(trace.SCORED) == []
    bench.score.feedback("ann", -0.2)
    bench.heartbeats()
    assert [each.fields["level"] for each in bench.bench.events(trace.SCORED)] == ["no_gossip"]


def test_a_penalty_is_told_with_its_reasons_though_the_score_did_not_move() -> None:
    bench = ScoreBench("ann", behaviour={"weight": -1, "threshold": 9, "decay": 0.5})
    bench.score.penalise("ann", "graft_in_backoff")
    bench.score.penalise("ann", "broken_promise", 3)
    bench.score.penalise("ann", "graft_in_backoff")
    bench.heartbeats()
    (event,) = bench.bench.events(trace.SCORED)
    assert event.fields["reasons"] == "graft_in_backoff 2, broken_promise 3"
    bench.heartbeats(5)
    assert len(bench.bench.events(trace.SCORED)) == 1


def test_at_most_one_event_is_told_of_a_peer_and_heartbeat() -> None:
    bench = ScoreBench("ann", topic=BOTH)
    bench.bench.forget()
    for _ in range(5):
        for number in range(50):
            bench.score.penalise("ann", f"reason {number}")
            bench.score.feedback("ann", -10)
        bench.heartbeats()
    told = bench.bench.events(trace.SCORED)
    assert len(told) == 5
    assert all(str(event.fields["reasons"]).count("reason ") == 8 for event in told)


def test_a_node_of_a_calm_network_tells_little() -> None:
    bench = gossipsub()
    bench.subscribe(TOPIC)
    for peer in ("ann", "bob"):
        bench.join(peer, TOPIC)
    for number in range(1, 61):
        bench.send_message("ann", signed("author", TOPIC, b"data", number))
        bench.run_until(float(number))
    told = bench.events(trace.SCORED)
    assert 0 < len(told) <= 4
    assert {event.fields["level"] for event in told} == {"trusted"}


def test_two_runs_tell_the_same() -> None:
    def run() -> list[str]:
        bench = gossipsub(seed=3, score=ScoreParameters(topics={TOPIC: BOTH}))
        bench.subscribe(TOPIC)
        bench.join_many(4, TOPIC)
        for number in range(1, 40):
            bench.send_message(f"peer{number % 4}", signed("author", TOPIC, b"data", number))
            bench.run_until(number / 4)
        return [event.to_json_line() for event in bench.of(trace.TraceEvent)]

    assert run() == run()

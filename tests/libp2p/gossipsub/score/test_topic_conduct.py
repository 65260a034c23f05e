"""P1 to P4: what conduct on a topic is worth."""

from __future__ import annotations

import pytest

from rumormill.core.machine import Verdict
from rumormill.libp2p.gossipsub.score import TopicScoreParameters, decay_within
from tests.helpers.libp2p.scoring import FOREVER, TOPIC, ScoreBench, only
from tests.helpers.libp2p.workbench import signed

MESH = {
    "weight": -1, "decay": FOREVER, "cap": 100, "threshold": 20, "window": 0.01, "activation": 1,
}  # fmt: skip


# ---- P1


def test_time_in_the_mesh_is_worth_a_point_for_each_whole_quantum() -> None:
    bench = ScoreBench("ann", topic=only(time_in_mesh={"weight": 0.5, "quantum": 2, "cap": 3600}))
    assert bench.of("ann") == 0
    bench.graft("ann")
    bench.heartbeats(7)
    assert bench.of("ann") == 3 * 0.5, "seven seconds are three quanta"


def test_time_in_the_mesh_counts_up_to_its_cap() -> None:
    bench = ScoreBench("ann", topic=only(time_in_mesh={"weight": 0.5, "quantum": 1, "cap": 10}))
    bench.graft("ann")
    bench.heartbeats(40)
    assert bench.of("ann") == 10 * 0.5


def test_time_in_the_mesh_is_gone_when_the_peer_leaves_it() -> None:
    bench = ScoreBench("ann", topic=only(time_in_mesh={"weight": 1, "quantum": 1, "cap": 100}))
    bench.graft("ann")
    bench.heartbeats(5)
    assert bench.of("ann") == 5
    bench.prune("ann")
    assert bench.of("ann") == 0
    bench.graft("ann")
    bench.heartbeats(2)
    assert bench.of("ann") == 2, "and it begins anew"


# ---- P2


def test_each_message_that_a_peer_is_first_to_bring_is_worth_something() -> None:
    first = {"weight": 0.5, "decay": FOREVER, "cap": 2000}
    bench = ScoreBench("ann", "bob", topic=only(first_deliveries=first, weight=2))
    for _ in range(10):
        message = bench.send("ann")
        bench.copy("bob", message)
    bench.heartbeats()
    assert bench.of("ann") == pytest.approx(2 * 0.5 * 10)
    assert bench.of("bob") == 0


def test_first_deliveries_count_up_to_their_cap() -> None:
    first = {"weight": 1, "decay": FOREVER, "cap": 5}
    bench = ScoreBench("ann", topic=only(first_deliveries=first))
    bench.send("ann", 20)
    bench.heartbeats()
    assert bench.of("ann") == pytest.approx(5)


def test_first_deliveries_decay_to_zero() -> None:
    first = {"weight": 1, "decay": 0.9, "cap": 2000}
    bench = ScoreBench("ann", topic=only(first_deliveries=first))
    bench.send("ann", 10)
    bench.heartbeats()
    assert bench.of("ann") == pytest.approx(10 * 0.9)
    bench.heartbeats(10)
    assert bench.of("ann") == pytest.approx(10 * 0.9**11)
    bench.heartbeats(60)
    assert bench.of("ann") == 0
    assert bench.bench.pubsub.sizes()["topic_scores"] == 0


def test_our_own_messages_are_nobodys_merit() -> None:
    bench = ScoreBench("ann", topic=only(first_deliveries={"weight": 1, "decay": 0.9, "cap": 9}))
    bench.bench.publish(TOPIC)
    bench.heartbeats()
    assert bench.of("ann") == 0


# ---- P3


def test_nothing_is_asked_of_a_peer_before_it_has_been_in_the_mesh_for_a_while() -> None:
    bench = ScoreBench("ann", topic=only(mesh_deliveries={**MESH, "activation": 5}))
    bench.graft("ann")
    bench.heartbeats(5)
    assert bench.of("ann") == 0
    bench.heartbeats()
    assert bench.of("ann") == -(20**2)


def test_first_and_near_first_deliveries_count_and_late_ones_do_not() -> None:
    bench = ScoreBench("first", "near", "late", topic=only(mesh_deliveries=MESH))
    bench.graft("first", "near", "late")
    for _ in range(20):
        message = bench.send("first")
        bench.pass_time(0.005)
        bench.copy("near", message)
        bench.pass_time(0.02)
        bench.copy("late", message)
    bench.heartbeats(2)
    assert bench.of("first") == pytest.approx(0, abs=1e-6)
    assert bench.of("near") == pytest.approx(0, abs=1e-6)
    assert bench.of("late") == -(20**2)


def test_a_copy_that_comes_during_the_check_counts_however_long_that_takes() -> None:
    bench = ScoreBench("first", "near", topic=only(mesh_deliveries={**MESH, "threshold": 1}))
    bench.graft("first", "near")
    bench.bench.answer_checks = False
    message = bench.send("first")
    bench.copy("near", message)
    bench.pass_time(3)
    bench.bench.answer(bench.bench.open_checks.pop(), Verdict.ACCEPT)
    bench.heartbeats()
    assert bench.of("near") == pytest.approx(0, abs=1e-6)
    assert bench.of("first") == pytest.approx(0, abs=1e-6)


def test_a_copy_counts_once_however_often_it_is_sent() -> None:
    bench = ScoreBench("first", "near", topic=only(mesh_deliveries={**MESH, "threshold": 4}))
    bench.graft("first", "near")
    message = bench.send("first")
    for _ in range(10):
        bench.copy("near", message)
        bench.copy("first", message)
    bench.heartbeats(2)
    assert bench.of("near") == pytest.approx(-9)
    assert bench.of("first") == pytest.approx(-9)


def test_deliveries_outside_the_mesh_are_not_counted_for_the_mesh() -> None:
    bench = ScoreBench("ann", topic=only(mesh_deliveries=MESH))
    bench.send("ann", 30)
    bench.graft("ann")
    bench.heartbeats(2)
    assert bench.of("ann") == -(20**2)


def test_mesh_deliveries_count_up_to_their_cap_and_decay() -> None:
    bench = ScoreBench("ann", topic=only(mesh_deliveries={**MESH, "decay": 0.5, "cap": 40}))
    bench.graft("ann")
    bench.send("ann", 60)
    bench.heartbeats(2)
    assert bench.of("ann") == -((20 - 40 * 0.5**2) ** 2)


def test_a_peer_that_was_pruned_is_asked_for_nothing_any_more() -> None:
    bench = ScoreBench("ann", topic=only(mesh_deliveries={**MESH, "decay": 0.5}))
    bench.graft("ann")
    bench.send("ann", 100)
    bench.heartbeats(2)
    assert bench.of("ann") == 0
    bench.prune("ann")
    bench.heartbeats(20)
    assert bench.of("ann") == 0


# ---- P3b


def test_what_was_missing_when_a_peer_left_the_mesh_sticks() -> None:
    failures = {"weight": -1, "decay": FOREVER}
    mesh = {**MESH, "weight": 0}
    bench = ScoreBench("ann", "bob", topic=only(mesh_deliveries=mesh, mesh_failures=failures))
    bench.graft("ann", "bob")
    bench.send("ann", 100)
    bench.heartbeats(2)
    assert bench.of("ann") == bench.of("bob") == 0
    bench.prune("bob", "ann")
    assert bench.of("bob") == -(20**2), "and counts at once"
    assert bench.of("ann") == 0
    bench.graft("bob")
    bench.heartbeats()
    assert bench.of("bob") == pytest.approx(-(20**2))


def test_leaving_a_mesh_before_anything_was_asked_costs_nothing() -> None:
    topic = only(
        mesh_deliveries={**MESH, "activation": 10}, mesh_failures={"weight": -1, "decay": 0.9}
    )
    bench = ScoreBench("ann", topic=topic)
    bench.graft("ann")
    bench.heartbeats(5)
    bench.prune("ann")
    bench.heartbeats()
    assert bench.of("ann") == 0


def test_failures_decay() -> None:
    topic = only(mesh_deliveries={**MESH, "weight": 0}, mesh_failures={"weight": -1, "decay": 0.5})
    bench = ScoreBench("ann", topic=topic)
    bench.graft("ann")
    bench.heartbeats(2)
    bench.prune("ann")
    bench.heartbeats()
    assert bench.of("ann") == -(20**2) / 2


# ---- P4


def test_invalid_messages_cost_the_square_of_their_number_and_at_once() -> None:
    bench = ScoreBench("ann", topic=only(invalid_messages={"weight": -1, "decay": FOREVER}))
    bench.bench.verdicts[b"data"] = Verdict.REJECT
    for count in (1, 2, 3):
        bench.send("ann")
        assert bench.of("ann") == -(count**2)


def test_invalid_messages_decay() -> None:
    bench = ScoreBench("ann", topic=only(invalid_messages={"weight": -1, "decay": 0.9}))
    bench.bench.verdicts[b"data"] = Verdict.REJECT
    bench.send("ann", 10)
    for count in (1, 2, 3):
        bench.heartbeats()
        assert bench.of("ann") == pytest.approx(-((10 * 0.9**count) ** 2))
    bench.heartbeats(100)
    assert bench.of("ann") == 0


# ---- all topics


def test_good_conduct_is_capped_and_bad_conduct_is_not() -> None:
    topic = only(
        first_deliveries={"weight": 1, "decay": FOREVER, "cap": 1000},
        invalid_messages={"weight": -10, "decay": FOREVER},
    )
    bench = ScoreBench("ann", topic=topic, topic_score_cap=7)
    bench.send("ann", 30)
    bench.heartbeats()
    assert bench.of("ann") == 7
    bench.bench.verdicts[b"data"] = Verdict.REJECT
    bench.send("ann", 2)
    assert bench.of("ann") == pytest.approx(30 - 40)
    bench.send("ann", 8)
    assert bench.of("ann") == pytest.approx(30 - 1000)


def test_a_topic_of_weight_zero_counts_for_nothing() -> None:
    bench = ScoreBench("ann", topic=TopicScoreParameters(weight=0))
    bench.bench.verdicts[b"data"] = Verdict.REJECT
    bench.send("ann", 5)
    bench.heartbeats()
    assert bench.of("ann") == 0


def test_topics_that_are_not_named_count_as_the_others_do() -> None:
    bench = ScoreBench("ann", other_topics=only(invalid_messages={"weight": -3, "decay": 0.9}))
    bench.bench.verdicts[b"bad"] = Verdict.REJECT
    bench.bench.subscribe("elsewhere")
    bench.bench.send_message("ann", signed("author", "elsewhere", b"bad", 1))
    assert bench.of("ann") == -3


def test_without_others_only_the_named_topics_count() -> None:
    bench = ScoreBench("ann", other_topics=None)
    bench.bench.verdicts[b"bad"] = Verdict.REJECT
    bench.bench.subscribe("elsewhere")
    bench.bench.send_message("ann", signed("author", "elsewhere", b"bad", 1))
    assert bench.of("ann") == 0
    assert bench.bench.pubsub.sizes()["topic_scores"] == 0


# ---- new parameters


def test_new_parameters_with_lower_caps_cut_what_was_counted() -> None:
    first = {"weight": 1, "decay": FOREVER, "cap": 50}
    mesh = {**MESH, "weight": 0, "cap": 50}
    bench = ScoreBench("ann", topic=only(first_deliveries=first, mesh_deliveries=mesh))
    bench.graft("ann")
    bench.send("ann", 40)
    bench.heartbeats()
    assert bench.of("ann") == pytest.approx(40)
    lower = only(first_deliveries={**first, "cap": 10}, mesh_deliveries={**MESH, "cap": 10,
                 "threshold": 10, "activation": 1})  # fmt: skip
    bench.score.set_topic(TOPIC, lower)
    bench.heartbeats(2)
    assert bench.of("ann") == pytest.approx(10)


def test_new_parameters_weigh_what_was_counted_before() -> None:
    bench = ScoreBench("ann", topic=only(invalid_messages={"weight": -10, "decay": FOREVER}))
    bench.bench.verdicts[b"data"] = Verdict.REJECT
    bench.send("ann", 10)
    assert bench.of("ann") == -1000
    bench.score.set_topic(TOPIC, only(invalid_messages={"weight": -100, "decay": FOREVER}))
    assert bench.of("ann") == -10_000


def test_a_decay_takes_a_counter_to_zero_in_the_time_that_it_was_made_for() -> None:
    first = {"weight": 1, "decay": decay_within(30), "cap": 10}
    bench = ScoreBench("ann", topic=only(first_deliveries=first))
    bench.send("ann")
    bench.heartbeats(29)
    assert bench.of("ann") > 0
    bench.heartbeats(2)
    assert bench.of("ann") == 0

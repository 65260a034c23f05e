"""Who pays for a bad message, and who does not."""

from __future__ import annotations

from typing import Any

from rumormill.core import trace
from rumormill.core.machine import Drop, Verdict
from rumormill.libp2p.gossipsub.score import ScoreParameters
from rumormill.libp2p.wire.message import build_message
from rumormill.libp2p.wire.signing import signed_message
from tests.helpers.libp2p.scoring import FOREVER, TOPIC, ScoreBench, forged, only, score_of
from tests.helpers.libp2p.workbench import gossipsub, signed

INVALID = only(
    invalid_messages={"weight": -1, "decay": FOREVER},
    first_deliveries={"weight": 100, "decay": FOREVER, "cap": 100},
)


def judged(*peers: str, verdict: str, **parameters: Any) -> ScoreBench:
    """Peers on a bench whose validator says this of every message."""
    bench = ScoreBench(*peers, topic=INVALID, **parameters)
    bench.bench.verdicts[b"data"] = verdict
    return bench


def test_a_valid_message_costs_nobody_anything() -> None:
    bench = judged("ann", "bob", verdict=Verdict.ACCEPT)
    bench.copy("bob", bench.send("ann"))
    assert bench.parts("ann").topics[TOPIC].invalid_messages == 0
    assert bench.of("bob") == 0


def test_a_message_that_a_validator_rejects_costs_its_sender() -> None:
    bench = judged("ann", "bob", verdict=Verdict.REJECT)
    bench.send("ann")
    assert (bench.of("ann"), bench.of("bob")) == (-1, 0)


def test_two_peers_that_sent_the_same_bad_message_during_its_check_both_pay() -> None:
    bench = judged("ann", "bob", "cyd", verdict=Verdict.REJECT)
    bench.bench.answer_checks = False
    message = bench.send("ann")
    bench.copy("bob", message)
    bench.bench.answer(bench.bench.open_checks.pop())
    assert (bench.of("ann"), bench.of("bob"), bench.of("cyd")) == (-1, -1, 0)


def test_whoever_sends_a_rejected_message_later_pays_too() -> None:
    bench = judged("ann", "bob", verdict=Verdict.REJECT)
    message = bench.send("ann")
    bench.pass_time(60)
    bench.copy("bob", message)
    assert round(bench.of("bob"), 6) == -1


def test_an_ignored_message_costs_nothing_and_earns_nothing() -> None:
    bench = judged("ann", "bob", verdict=Verdict.IGNORE)
    message = bench.send("ann")
    bench.copy("bob", message)
    bench.heartbeats()
    assert bench.of("ann") == bench.of("bob") == 0


def test_a_message_that_nobody_had_time_to_look_at_costs_nothing() -> None:
    bench = judged("ann", "bob", verdict=Verdict.OVERLOADED)
    bench.copy("bob", bench.send("ann"))
    bench.heartbeats()
    assert bench.of("ann") == bench.of("bob") == 0


def test_a_forged_message_costs_its_sender_at_once_and_nobody_who_has_the_true_one() -> None:
    bench = judged("ann", "bob", "cyd", verdict=Verdict.ACCEPT)
    message = bench.message()
    true = signed("author", TOPIC, b"data", 1)
    bench.copy("ann", forged(message))
    assert bench.of("ann") == -1
    bench.copy("bob", true)
    bench.copy("cyd", true)
    bench.heartbeats()
    assert bench.of("bob") > 0
    assert bench.of("cyd") == 0


def test_a_message_that_breaks_the_rules_of_its_topic_costs_before_any_check() -> None:
    bench = judged("ann", verdict=Verdict.ACCEPT)
    bench.copy("ann", build_message(data=b"no signature", topics=(TOPIC,)))
    assert bench.of("ann") == -1


def test_a_message_on_a_topic_that_we_do_not_listen_to_costs_nothing() -> None:
    bench = judged("ann", verdict=Verdict.REJECT)
    bench.bench.send_message("ann", signed("author", "elsewhere", b"data", 1))
    assert bench.of("ann") == 0
    assert bench.bench.pubsub.sizes()["topic_scores"] == 0


def test_our_own_messages_cost_who_sends_them_back_but_not_those_of_our_last_life() -> None:
    bench = judged("ann", "bob", verdict=Verdict.ACCEPT)
    own = signed_message(bench.bench.key, b"ours", (TOPIC,), 7)
    bench.copy("ann", own)
    assert bench.of("ann") == 0, "we may have asked for it ourselves"
    bench.pass_time(121)
    bench.copy("ann", own)
    assert bench.of("ann") == -1


def test_a_peer_that_leaves_before_the_verdict_finds_its_score_when_it_is_back() -> None:
    bench = judged("ann", verdict=Verdict.REJECT)
    bench.bench.answer_checks = False
    bench.send("ann", 3)
    bench.bench.leave("ann")
    for check in bench.bench.open_checks:
        bench.bench.answer(check)
    bench.bench.join("ann")
    assert bench.of("ann") == -9


def test_a_message_on_several_topics_costs_on_each_that_we_listen_to() -> None:
    bench = ScoreBench("ann", topic=INVALID, other_topics=INVALID)
    bench.bench.verdicts[b"bad"] = Verdict.REJECT
    bench.bench.subscribe("u")
    bench.bench.send_message("ann", signed("author", (TOPIC, "u", "unknown"), b"bad", 1))
    assert bench.of("ann") == -2
    assert set(bench.parts("ann").topics) == {TOPIC, "u"}


# ---- what follows from it


def test_by_default_ten_bad_messages_at_once_put_a_peer_on_the_graylist() -> None:
    bench = gossipsub()
    bench.subscribe(TOPIC)
    bench.join("forger", TOPIC)
    bench.join("honest", TOPIC)
    for number in range(1, 31):
        bench.send_message("forger", forged(signed("author", TOPIC, b"false", number)))
    rejected = bench.events(trace.REJECTED, peer="forger")
    assert 5 < len(rejected) <= 10
    assert bench.events(trace.IGNORED, peer="forger", reason="gate_closed")
    assert bench.of(Drop) == []
    bench.send_message("honest", signed("author", TOPIC, b"true", 1))
    assert [message.data for message in bench.delivered()] == [b"true"]


def test_the_graylist_forgives_in_time() -> None:
    bench = gossipsub()
    bench.subscribe(TOPIC)
    bench.join("ann")
    for number in range(1, 31):
        bench.send_message("ann", forged(signed("author", TOPIC, b"false", number)))
    bench.run_until(60.0)
    bench.send_message("ann", signed("author", TOPIC, b"true", 1))
    assert [message.data for message in bench.delivered()] == [b"true"]


def test_without_a_score_a_peer_pays_with_its_connection() -> None:
    bench = gossipsub(score=None, max_rejections=5)
    bench.subscribe(TOPIC)
    bench.join("forger", TOPIC)
    for number in range(1, 10):
        bench.send_message("forger", forged(signed("author", TOPIC, b"false", number)))
    assert bench.of(Drop) == [Drop("forger", "too_many_rejections")]


def test_a_score_that_lets_bad_messages_pass_leaves_the_limit_in_place() -> None:
    bench = gossipsub(score=ScoreParameters(topics={TOPIC: only()}), max_rejections=5)
    bench.subscribe(TOPIC)
    bench.join("forger", TOPIC)
    for number in range(1, 10):
        bench.send_message("forger", forged(signed("author", TOPIC, b"false", number)))
    assert bench.of(Drop) == [Drop("forger", "too_many_rejections")]


# ---- memory


def test_bad_messages_are_remembered_as_long_as_their_ids_and_no_longer() -> None:
    bench = judged("ann", "bob", verdict=Verdict.REJECT)
    bench.send("ann", 10)
    assert bench.bench.pubsub.sizes()["score_deliveries"] == 10
    bench.pass_time(122)
    assert bench.bench.pubsub.sizes()["score_deliveries"] == 0


def test_forged_ids_which_anybody_can_make_up_are_not_remembered() -> None:
    bench = judged("ann", verdict=Verdict.ACCEPT)
    for _ in range(5):
        bench.copy("ann", forged(bench.message()))
    assert bench.of("ann") == -25
    assert bench.bench.pubsub.sizes()["score_deliveries"] == 0


def test_messages_are_remembered_only_while_a_copy_can_count() -> None:
    mesh = {"weight": -1, "decay": 0.9, "cap": 9, "threshold": 1, "window": 2, "activation": 5}
    bench = ScoreBench("ann", topic=only(mesh_deliveries=mesh))
    bench.send("ann", 10)
    assert bench.bench.pubsub.sizes()["score_deliveries"] == 10
    bench.heartbeats(4)
    assert bench.bench.pubsub.sizes()["score_deliveries"] == 0


def test_so_many_messages_are_remembered_at_most_and_what_had_to_go_is_told() -> None:
    mesh = {"weight": -1, "decay": 0.9, "cap": 9, "threshold": 1, "window": 60, "activation": 5}
    bench = ScoreBench("ann", topic=only(mesh_deliveries=mesh), max_records=5)
    bench.send("ann", 12)
    assert bench.bench.pubsub.sizes()["score_deliveries"] == 5
    bench.bench.verdicts[b"data"] = Verdict.REJECT
    bench.send("ann", 12)
    assert bench.bench.pubsub.sizes()["score_deliveries"] == 10
    bench.heartbeats()
    (dropped,) = bench.bench.events(trace.DROPPED, what="score_delivery")
    assert dropped.fields == {"what": "score_delivery", "reason": "score_full", "count": 14}


def test_topics_that_strangers_name_are_not_remembered() -> None:
    bench = gossipsub(multi_topic=True)
    bench.subscribe(TOPIC)
    bench.join("ann")
    for number in range(1, 9):
        topics = (TOPIC, *(f"made up {number} {each}" for each in range(20)))
        bench.send_message("ann", signed("author", topics, b"data", number))
    assert len(bench.delivered()) == 8
    assert set(score_of(bench).snapshot()["ann"].topics) == {TOPIC}

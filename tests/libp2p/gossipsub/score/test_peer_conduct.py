"""P5 to P7, slowness, and what becomes of a score when its peer leaves."""

from __future__ import annotations

import math

import pytest

from rumormill.core import trace
from rumormill.core.machine import Verdict
from tests.helpers.libp2p.scoring import FOREVER, TOPIC, ScoreBench, only

COLOCATION = {"weight": -1, "threshold": 1}
INVALID = only(invalid_messages={"weight": -1, "decay": 0.5})


# ---- P5


def test_what_the_application_thinks_counts_with_its_weight() -> None:
    opinion = {"ann": 3.0}
    bench = ScoreBench(
        "ann", "bob", application=lambda peer: opinion.get(peer, -1.0), application_weight=0.5
    )
    assert (bench.of("ann"), bench.of("bob")) == (1.5, -0.5)
    opinion["ann"] = -100.0
    bench.heartbeats()
    assert bench.of("ann") == -50


def test_an_application_that_fails_or_says_no_number_keeps_its_last_word_and_is_told() -> None:
    answers = iter([5.0, math.nan])
    bench = ScoreBench(application=lambda peer: next(answers))
    bench.bench.join("ann")
    assert bench.of("ann") == 5
    bench.heartbeats(2)
    assert bench.of("ann") == 5
    told = bench.bench.events(trace.DROPPED, what="application_score", peer="ann")
    assert [event.fields["reason"] for event in told] == ["application_failed"] * 2


def test_feedback_gives_and_takes_points_at_once_and_is_forgotten_by_and_by() -> None:
    bench = ScoreBench("ann", application_weight=2, feedback_decay=0.5)
    assert bench.score.feedback("ann", -4)
    assert bench.of("ann") == -8
    bench.heartbeats()
    assert bench.of("ann") == -4
    bench.heartbeats(20)
    assert bench.of("ann") == 0
    assert not bench.score.feedback("stranger", 1)
    with pytest.raises(ValueError, match="number"):
        bench.score.feedback("ann", math.nan)


# ---- P6


def test_peers_of_one_address_pay_for_the_square_of_how_many_they_are_too_many() -> None:
    bench = ScoreBench(colocation=COLOCATION)
    bench.bench.join("alone", address="/ip4/198.51.100.4/tcp/1")
    for number, peer in enumerate(("bob", "cyd", "dan")):
        bench.bench.join(peer, address=f"/ip4/203.0.113.5/tcp/{number}")
    bench.heartbeats()
    assert bench.of("alone") == 0
    assert [bench.of(peer) for peer in ("bob", "cyd", "dan")] == [-4, -4, -4]


def test_of_ipv6_the_address_counts_and_the_network_that_one_customer_has() -> None:
    bench = ScoreBench(colocation=COLOCATION)
    bench.bench.join("ann", address="/ip6/2001:db8:1:2::1/tcp/1")
    bench.bench.join("bob", address="/ip6/2001:db8:1:2:ffff::9/tcp/1")
    bench.bench.join("cyd", address="/ip6/2001:db8:1:3::1/tcp/1")
    bench.heartbeats()
    assert [bench.of(peer) for peer in ("ann", "bob", "cyd")] == [-1, -1, 0]
    bench.bench.join("dan", address="/ip6/2001:db8:1:2::1/tcp/9")
    bench.heartbeats()
    assert bench.of("ann") == -(2**2) - 1, "three of the network, two of the address"


def test_an_ipv4_address_is_the_same_in_the_form_of_ipv6() -> None:
    bench = ScoreBench(colocation=COLOCATION)
    bench.bench.join("ann", address="/ip4/203.0.113.5/tcp/1")
    bench.bench.join("bob", address="/ip6/::ffff:203.0.113.5/tcp/1")
    bench.heartbeats()
    assert bench.of("ann") == bench.of("bob") == -1


@pytest.mark.parametrize(
    "address",
    ["/ip4/127.0.0.1/tcp/1", "/ip6/::1/tcp/1", "", "/dns4/example.org/tcp/1", "nonsense",
     "/ip4/10.1.2.3/tcp/1", "/ip6/fd00::7/tcp/1"],
)  # fmt: skip
def test_any_number_may_be_where_it_is_allowed_or_nobody_can_tell(address: str) -> None:
    bench = ScoreBench(colocation={**COLOCATION, "allowed": ("10.0.0.0/8", "fd00::/8")})
    for peer in ("ann", "bob", "cyd"):
        bench.bench.join(peer, address=address)
    bench.heartbeats()
    assert [bench.of(peer) for peer in ("ann", "bob", "cyd")] == [0, 0, 0]
    assert bench.bench.pubsub.sizes()["score_addresses"] == 0


def test_who_left_no_longer_counts_and_its_address_is_forgotten() -> None:
    bench = ScoreBench(colocation={"weight": -1, "threshold": 2})
    for number in range(50):
        bench.bench.join(f"peer{number}", address=f"/ip6/2001:db8::{number}/tcp/1")
        bench.bench.leave(f"peer{number}")
    assert bench.bench.pubsub.sizes()["score_addresses"] == 0
    bench.bench.join("last", address="/ip6/2001:db8::1/tcp/1")
    assert bench.of("last") == 0


# ---- P7


def test_broken_rules_cost_the_square_of_what_is_above_the_threshold_and_decay() -> None:
    bench = ScoreBench("ann", behaviour={"weight": -1, "threshold": 0, "decay": 0.99})
    bench.score.penalise("nobody", "graft_in_backoff")
    assert bench.of("nobody") == bench.of("ann") == 0
    bench.score.penalise("ann", "graft_in_backoff")
    assert bench.of("ann") == -1
    bench.score.penalise("ann", "broken_promise", 1)
    assert bench.of("ann") == -4
    bench.heartbeats()
    assert bench.of("ann") == pytest.approx(-3.9204)


def test_broken_rules_up_to_the_threshold_are_forgiven() -> None:
    bench = ScoreBench("ann", behaviour={"weight": -10, "threshold": 6, "decay": FOREVER})
    bench.score.penalise("ann", "broken_promise", 6)
    assert bench.of("ann") == 0
    bench.score.penalise("ann", "broken_promise", 2)
    assert bench.of("ann") == -40


# ---- slowness


def test_lost_messages_cost_a_slow_peer_up_to_a_cap_and_are_soon_forgotten() -> None:
    slow = {"weight": -0.5, "threshold": 5, "decay": 0.5, "cap": 20}
    bench = ScoreBench("ann", slow_peers=slow)
    bench.score.slow("ann", 5)
    assert bench.of("ann") == 0
    bench.score.slow("ann", 3)
    assert bench.of("ann") == -1.5
    bench.score.slow("ann", 100_000)
    assert bench.of("ann") == -7.5
    bench.heartbeats(3)
    assert bench.of("ann") == 0


def test_by_default_slowness_alone_never_makes_a_peer_unheard() -> None:
    bench = ScoreBench("ann", thresholds={})
    for _ in range(50):
        bench.score.slow("ann", 1000)
        assert bench.of("ann") > bench.score.thresholds.gossip
        bench.heartbeats()


def test_slowness_and_rules_cost_nothing_where_they_are_off() -> None:
    bench = ScoreBench("ann", slow_peers=None, behaviour=False)
    bench.score.slow("ann", 100)
    bench.score.penalise("ann", "broken_promise", 100)
    assert bench.of("ann") == 0
    bench.heartbeats()
    assert bench.of("ann") == 0


# ---- coming and going


def in_debt(*peers: str, **parameters: float) -> ScoreBench:
    """Peers that sent a bad message each."""
    bench = ScoreBench(*peers, topic=INVALID, **parameters)
    bench.bench.verdicts[b"data"] = Verdict.REJECT
    for peer in peers:
        bench.send(peer)
        assert bench.of(peer) == -1
    return bench


def test_a_bad_score_is_kept_as_it_was_and_a_peer_that_is_back_finds_it() -> None:
    bench = in_debt("ann", retain_score=100.0)
    bench.bench.leave("ann")
    bench.pass_time(50)
    assert bench.of("ann") == -1, "nothing is forgotten while it is away"
    bench.bench.join("ann")
    assert bench.of("ann") == -1
    bench.heartbeats(20)
    assert bench.of("ann") == 0


def test_a_bad_score_is_forgotten_after_its_time() -> None:
    bench = in_debt("ann", retain_score=10.0)
    bench.bench.leave("ann")
    bench.pass_time(12)
    assert bench.of("ann") == 0
    assert bench.bench.pubsub.sizes()["retained_scores"] == 0


def test_a_good_score_is_gone_with_its_peer() -> None:
    first = {"weight": 1, "decay": FOREVER, "cap": 9}
    bench = ScoreBench("ann", topic=only(first_deliveries=first))
    bench.send("ann", 5)
    bench.heartbeats()
    bench.bench.leave("ann")
    assert bench.of("ann") == 0
    bench.bench.join("ann")
    assert bench.of("ann") == 0
    assert bench.bench.pubsub.sizes()["retained_scores"] == 0


def test_a_good_score_is_gone_with_all_that_was_bad_in_it_as_in_go() -> None:
    topic = only(
        first_deliveries={"weight": 1, "decay": FOREVER, "cap": 9},
        invalid_messages={"weight": -1, "decay": FOREVER},
    )
    bench = ScoreBench("ann", topic=topic)
    bench.send("ann", 5)
    bench.bench.verdicts[b"data"] = Verdict.REJECT
    bench.send("ann")
    bench.heartbeats()
    assert bench.of("ann") == pytest.approx(4)
    bench.bench.leave("ann")
    assert bench.bench.pubsub.sizes()["retained_scores"] == 0


def test_what_is_below_a_threshold_yet_is_not_washed_off_by_coming_again() -> None:
    bench = ScoreBench("ann", behaviour={"weight": -10, "threshold": 6, "decay": FOREVER})
    for _ in range(8):
        bench.score.penalise("ann", "broken_promise")
        bench.bench.leave("ann")
        bench.bench.join("ann")
    assert bench.of("ann") == -40


def test_a_peer_that_left_in_the_midst_of_a_deficit_finds_it_as_a_failure() -> None:
    mesh = {"weight": -1, "decay": FOREVER, "cap": 9, "threshold": 3, "window": 0, "activation": 1}
    topic = only(mesh_deliveries=mesh, mesh_failures={"weight": -2, "decay": FOREVER})
    bench = ScoreBench("ann", topic=topic)
    bench.graft("ann")
    bench.heartbeats(3)
    assert bench.of("ann") == -9
    bench.bench.leave("ann")
    bench.bench.join("ann")
    assert bench.of("ann") == -18


def test_a_clean_record_is_not_kept() -> None:
    bench = ScoreBench("ann", topic=INVALID)
    bench.graft("ann")
    bench.bench.leave("ann")
    assert bench.bench.pubsub.sizes()["retained_scores"] == 0


def test_so_many_bad_scores_are_kept_at_most_and_the_oldest_go_first() -> None:
    bench = in_debt(*(f"peer{number}" for number in range(10)), max_retained=4)
    for number in range(10):
        bench.bench.leave(f"peer{number}")
    assert bench.bench.pubsub.sizes()["retained_scores"] == 4
    assert [number for number in range(10) if bench.of(f"peer{number}")] == [6, 7, 8, 9]
    bench.heartbeats()
    (dropped,) = bench.bench.events(trace.DROPPED, what="retained_score")
    assert dropped.fields["count"] == 6


def test_nothing_is_kept_of_topics_and_peers_that_are_long_gone() -> None:
    bench = in_debt(*(f"peer{number}" for number in range(20)), retain_score=30.0)
    for number in range(20):
        bench.bench.leave(f"peer{number}")
    bench.pass_time(200)
    sizes = bench.bench.pubsub.sizes()
    assert [sizes[key] for key in sizes if "score" in key] == [0, 0, 0, 0, 0]


def test_what_happens_to_strangers_is_of_no_consequence() -> None:
    bench = ScoreBench(topic=INVALID)
    bench.graft("nobody")
    bench.prune("nobody")
    bench.score.slow("nobody", 3)
    bench.score.remove_peer("nobody", bench.now)
    assert bench.score.snapshot() == {}
    assert bench.of("nobody") == 0


def test_a_decay_that_is_longer_than_a_heartbeat_happens_as_often_as_it_says() -> None:
    bench = ScoreBench("ann", topic=INVALID, decay_interval=5)
    bench.bench.verdicts[b"data"] = Verdict.REJECT
    bench.send("ann")
    bench.heartbeats(4)
    assert bench.of("ann") == -1
    bench.heartbeats(1)
    assert bench.of("ann") == -0.25
    bench.heartbeats(5)
    assert bench.of("ann") == -0.0625


def test_the_topic_of_the_bench_is_the_only_one_that_counts() -> None:
    bench = ScoreBench("ann", topic=INVALID, other_topics=None)
    bench.score.grafted("ann", "elsewhere", bench.now)
    bench.graft("ann")
    assert set(bench.parts("ann").topics) == {TOPIC}

"""Whatever peers do, in whatever order: scores are numbers, are forgotten, and take no room."""

from __future__ import annotations

import math
from collections.abc import Callable

from hypothesis import given, settings
from hypothesis import strategies as st

from rumormill.core.machine import PeerJoined, Verdict
from rumormill.libp2p.gossipsub.features import MESHSUB_1_0
from tests.helpers.libp2p.scoring import TOPIC, ScoreBench, only

PEERS = ("ann", "bob", "cyd")
EVERYTHING = only(
    weight=3,
    time_in_mesh={"weight": 1, "quantum": 1, "cap": 10},
    first_deliveries={"weight": 1, "decay": 0.5, "cap": 10},
    mesh_deliveries={
        "weight": -1, "decay": 0.5, "cap": 5, "threshold": 3, "window": 1, "activation": 2,
    },
    mesh_failures={"weight": -1, "decay": 0.5},
    invalid_messages={"weight": -1, "decay": 0.5},
)  # fmt: skip
DEEDS = st.tuples(
    st.sampled_from(
        ("join", "leave", "graft", "prune", "send", "copy", "reject", "forge", "ignore", "penalise",
         "slow", "feedback", "heartbeat", "time", "new_weights")
    ),
    st.sampled_from(PEERS),
    st.integers(1, 50),
)  # fmt: skip


def with_everything() -> ScoreBench:
    return ScoreBench(
        topic=EVERYTHING, topic_score_cap=5, retain_score=5.0, max_retained=2, max_records=4,
        colocation={"weight": -1, "threshold": 1}, feedback_decay=0.5,
        application=lambda peer: -1.0 if peer == "bob" else 0.0,
        behaviour={"weight": -1, "threshold": 1, "decay": 0.5},
    )  # fmt: skip


def do(bench: ScoreBench, deed: str, peer: str, number: int) -> None:
    """One deed; those that a real node could not meet are not done."""
    there = peer in bench.bench.pubsub.peers
    message = bench.message(b"%d" % number)

    def say(verdict: str) -> None:
        bench.bench.verdicts[message.data] = verdict
        bench.copy(peer, message)

    deeds: dict[str, Callable[[], object]] = {
        "leave": lambda: bench.bench.leave(peer),
        "graft": lambda: bench.graft(peer),
        "prune": lambda: bench.prune(peer),
        "send": lambda: say(Verdict.ACCEPT),
        "copy": lambda: [
            bench.bench.send_message(each, message) for each in list(bench.bench.pubsub.peers)
        ],
        "reject": lambda: say(Verdict.REJECT),
        "forge": lambda: say(Verdict.FORGED),
        "ignore": lambda: say(Verdict.IGNORE),
        "penalise": lambda: bench.score.penalise(peer, "reason", number),
        "slow": lambda: bench.score.slow(peer, number),
        "feedback": lambda: bench.score.feedback(peer, number - 25),
        "heartbeat": bench.heartbeats,
        "time": lambda: bench.pass_time(number / 10),
        "new_weights": lambda: bench.score.set_topic(TOPIC, EVERYTHING),
    }
    if deed == "join" and not there:
        address = f"/ip4/203.0.113.{number % 2}/tcp/1"
        bench.bench.feed(PeerJoined(peer, MESHSUB_1_0, address=address))
    elif deed in deeds and (there or deed in ("heartbeat", "time", "new_weights")):
        deeds[deed]()


@settings(max_examples=60, deadline=None)
@given(st.lists(DEEDS, max_size=60))
def test_a_score_is_a_number_and_the_sum_of_its_parts_whatever_happens(
    deeds: list[tuple[str, str, int]],
) -> None:
    bench = with_everything()
    for deed in deeds:
        do(bench, *deed)
        for peer in PEERS:
            assert math.isfinite(bench.of(peer))
        sizes = bench.bench.pubsub.sizes()
        assert sizes["retained_scores"] <= 2
        assert sizes["score_deliveries"] <= 8
        assert sizes["score_addresses"] <= 5
    bench.heartbeats()
    for peer, parts in bench.score.snapshot().items():
        assert math.isclose(parts.total, bench.of(peer), abs_tol=1e-6)
    for record in bench.score._book:
        for counts in record.topics.values():
            assert math.isclose(counts.worth(), sum(counts.points()), abs_tol=1e-6)


@settings(max_examples=40, deadline=None)
@given(st.lists(DEEDS, max_size=40))
def test_when_all_is_quiet_everything_is_forgotten_and_nothing_takes_room(
    deeds: list[tuple[str, str, int]],
) -> None:
    bench = with_everything()
    for deed in deeds:
        do(bench, *deed)
    for peer in PEERS:
        do(bench, "prune", peer, 1)
    bench.pass_time(150)
    for peer in bench.bench.pubsub.peers:
        parts = bench.parts(peer)
        assert (parts.topics, parts.behaviour, parts.slow) == ({}, 0, 0)
        assert parts.total == parts.application + parts.colocation
    for peer in PEERS:
        do(bench, "leave", peer, 1)
    bench.pass_time(10)
    sizes = bench.bench.pubsub.sizes()
    assert {key: size for key, size in sizes.items() if "score" in key and size} == {}


@settings(max_examples=40, deadline=None)
@given(st.lists(DEEDS.filter(lambda deed: deed[0] != "feedback"), max_size=40))
def test_penalties_show_at_once(deeds: list[tuple[str, str, int]]) -> None:
    """A score that is asked for is never above what its parts say."""
    bench = with_everything()
    for deed in deeds:
        do(bench, *deed)
        for peer, parts in bench.score.snapshot().items():
            bad = parts.behaviour + parts.slow + parts.application
            assert bench.of(peer) <= 5 + bad + 1e-6

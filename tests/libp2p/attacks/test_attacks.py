"""Each attack fails against a small network, and some get further without their defence."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from rumormill.core.errors import ConfigError
from rumormill.core.trace import TraceEvent
from rumormill.libp2p.attacks import ATTACKS, Arena, Outcome, Size, find_attack, run_attack
from rumormill.libp2p.attacks.honest import usual_score

SMALL = Size(nodes=8, sybils=4)


@cache
def outcome_of(name: str, score: bool = True) -> Outcome:
    given = usual_score() if score else None
    return Arena(find_attack(name), SMALL, seed=2, score=given).run()


@pytest.mark.parametrize("name", ATTACKS)
def test_the_network_holds(name: str) -> None:
    outcome = outcome_of(name)
    assert outcome.failures == ()
    assert outcome.published > 0


@pytest.mark.parametrize(
    ("name", "short_of"),
    [
        ("cold boot", "of the meshes"),  # nothing else tells who passes on from who does not
        ("shared addresses", "of the meshes"),
        ("graft flood", "median score"),
        ("backoff overflow", "median score"),
    ],
)
def test_without_a_score_the_attack_gets_further(name: str, short_of: str) -> None:
    failures = outcome_of(name, score=False).failures
    assert any(short_of in each for each in failures), failures


def without(name: str, **changes: Any) -> Outcome:
    scenario = find_attack(name)._replace(**changes)
    return Arena(scenario, SMALL, seed=2, score=usual_score()).run()


def test_a_replay_is_delivered_again_unless_it_is_refused() -> None:
    outcome = without("replay", pubsub={"seen_ttl": 10.0})
    assert outcome.repeats > 0
    assert not outcome.passed


def test_a_cold_boot_is_slow_without_flood_publishing() -> None:
    plain, usual = without("cold boot", gossipsub={}), outcome_of("cold boot")
    assert plain.p99 is not None
    assert usual.p99 is not None
    assert plain.p99 > 2 * usual.p99


def test_equal_seeds_give_equal_traces_and_others_do_not() -> None:
    def trace(seed: int) -> list[TraceEvent]:
        events: list[TraceEvent] = []
        run_attack("degradation", nodes=6, sybils=2, seed=seed, seconds=15, sink=events.append)
        return events

    first = trace(1)
    assert len(first) > 1000
    assert trace(1) == first
    assert trace(2) != first


def test_attackers_leave_no_trace_of_their_own() -> None:
    nodes = set()
    run_attack(
        "eclipse of all", nodes=5, sybils=2, seconds=12, sink=lambda event: nodes.add(event.node)
    )
    assert nodes == {f"node{number:03}" for number in range(5)}


def test_an_attack_that_is_cut_short_before_its_defence_spoke_did_not_pass() -> None:
    outcome = run_attack("graft flood", nodes=5, sybils=1, seconds=9)
    assert outcome.failures != ()


def test_the_bar_moves_to_the_end() -> None:
    told: list[float] = []
    run_attack("calm", nodes=4, seconds=10, tell=told.append)
    assert told == sorted(told)
    assert told[-1] == 1.0


@pytest.mark.parametrize("name", ["cold boot", "cold-boot", "Cold_Boot"])
def test_names_are_found_however_they_are_written(name: str) -> None:
    assert find_attack(name) is ATTACKS["cold boot"]


def test_a_name_that_is_none_is_told_with_those_there_are() -> None:
    with pytest.raises(ConfigError, match="cold boot"):
        find_attack("warm boot")

"""Lookups in a made-up world: they end at the closest, and liars cannot keep them going."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rumormill.libp2p.discovery.kademlia.lookup import (
    MOST_ASKED,
    MOST_LIES,
    MOST_WAITING,
    Candidate,
    Lookup,
)


def candidate(place: int, named_by: str = "") -> Candidate:
    return Candidate(f"peer {place}", place, ("somewhere",), named_by)


Answers = Callable[[Candidate], "list[Candidate] | None"]


def run(lookup: Lookup, answers: Answers, rng: random.Random) -> list[Candidate]:
    """Answer questions in any order until the lookup is over; returns whom it asked."""
    asked: list[Candidate] = []
    waiting: list[Candidate] = []
    for _ in range(10_000):
        new = lookup.next()
        asked += new
        waiting += new
        if lookup.over:
            assert not waiting
            return asked
        each = waiting.pop(rng.randrange(len(waiting)))
        named = answers(each)
        if named is None:
            assert lookup.failed(each.peer)
        else:
            assert lookup.answered(each.peer, named)
    raise AssertionError("it does not end")


def new(target: int, seeds: list[int], concurrency: int = 3, resilience: int = 3) -> Lookup:
    return Lookup(
        target,
        map(candidate, seeds),
        own="peer 0",
        concurrency=concurrency,
        resilience=resilience,
    )


@settings(max_examples=25)
@given(st.integers(0, 1000), st.integers(5, 150), st.integers(1, 10))
def test_a_lookup_finds_the_closest_of_a_network_in_which_all_have_full_buckets(
    seed: int, size: int, concurrency: int
) -> None:
    rng = random.Random(seed)
    places = rng.sample(range(1, 2**32), size)
    target = rng.randrange(2**32)
    closest = sorted(places, key=lambda place: place ^ target)

    def answers(each: Candidate) -> list[Candidate]:
        buckets = Counter[int]()
        known = []
        for place in rng.sample(places, size):
            bucket = (place ^ each.place).bit_length()
            buckets[bucket] += 1
            if buckets[bucket] <= 20:
                known.append(place)
        named = sorted(known, key=lambda place: place ^ target)[:20]
        return [candidate(place, each.peer) for place in named]

    lookup = new(target, rng.sample(places, 3), concurrency)
    run(lookup, answers, rng)
    assert [each.place for each in lookup.closest(3)] == closest[:3]


def test_one_that_fails_is_not_asked_again_and_not_in_the_result() -> None:
    lookup = new(0, [1, 2, 3])
    rng = random.Random(1)
    asked = run(lookup, lambda each: None if each.place == 1 else [candidate(1)], rng)
    assert [each.place for each in asked].count(1) == 1
    assert [each.place for each in lookup.closest(9)] == [2, 3]
    assert (lookup.asked, lookup.failures) == (3, 1)


def test_no_more_questions_are_under_way_than_allowed() -> None:
    lookup = new(0, list(range(1, 50)), concurrency=4)
    assert [each.place for each in lookup.next()] == [1, 2, 3, 4]
    assert lookup.next() == [] and not lookup.over


def test_while_a_close_one_is_slow_not_everybody_near_at_hand_is_asked() -> None:
    lookup = new(0, list(range(1, 50)))
    asked = lookup.next()
    for _ in range(50):
        for each in [each for each in asked if each.place != 1]:
            lookup.answered(each.peer, [])
        asked = lookup.next()
    assert lookup.asked == 6 and not lookup.over
    lookup.answered("peer 1", [])
    assert lookup.next() == [] and lookup.over


def test_an_answer_of_somebody_who_was_not_asked_counts_for_nothing() -> None:
    lookup = new(0, [1])
    lookup.next()
    assert not lookup.answered("peer 9", [candidate(5)]) and not lookup.failed("peer 9")
    assert lookup.answered("peer 1", []) and not lookup.answered("peer 1", [candidate(5)])


def test_a_liar_with_endless_peers_that_do_not_exist_is_soon_not_believed() -> None:
    target = 2**64
    places = iter(range(1, 10**6))

    def answers(each: Candidate) -> list[Candidate] | None:
        if each.place == target + 999:
            return [candidate(target + next(places), each.peer) for _ in range(1000)]
        return [] if each.place > target + 999 else None

    lookup = new(target, [target + 999, target + 2000, target + 2001, target + 2002])
    run(lookup, answers, random.Random(1))
    assert lookup.failures <= MOST_LIES + 3
    assert [each.place - target for each in lookup.closest(9)] == [999, 2000, 2001, 2002]


@pytest.mark.parametrize("concurrency", [1, 3, 10])
def test_liars_that_name_each_other_without_an_end_are_bounded(concurrency: int) -> None:
    """Sybils that do answer: the lookup goes on with closer ones, but not for ever."""
    target = 2**200

    def answers(each: Candidate) -> list[Candidate]:
        distance = (each.place ^ target) // 2
        return [candidate(target ^ (distance - step), each.peer) for step in range(300)]

    lookup = new(target, [1], concurrency)
    run(lookup, answers, random.Random(1))
    assert lookup.asked <= MOST_ASKED
    assert len(lookup._waiting) <= MOST_WAITING

"""Graphs: their shapes, and that chance in them is the seed's."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumormill.core.errors import ConfigError
from rumormill.simulate import topology
from rumormill.simulate.topology import Pairs

NAMES = ["a", "b", "c", "d", "e"]


def degrees(pairs: Pairs) -> Counter[str]:
    return Counter(name for pair in pairs for name in pair)


def is_simple(pairs: Pairs) -> bool:
    distinct = {frozenset(pair) for pair in pairs}
    return len(distinct) == len(pairs) and all(len(pair) == 2 for pair in distinct)


def reachable(pairs: Pairs, start: str) -> set[str]:
    reached = {start}
    while True:
        more = {name for pair in pairs if reached & set(pair) for name in pair} - reached
        if not more:
            return reached
        reached |= more


def test_a_full_graph_has_every_pair_once() -> None:
    pairs = topology.full(NAMES)
    assert is_simple(pairs)
    assert degrees(pairs) == dict.fromkeys(NAMES, 4)


def test_line_ring_and_star() -> None:
    assert topology.line(["a", "b", "c"]) == [("a", "b"), ("b", "c")]
    assert topology.ring(["a", "b", "c"]) == [("a", "b"), ("b", "c"), ("c", "a")]
    assert topology.star(["a", "b", "c"]) == [("b", "a"), ("c", "a")]


@pytest.mark.parametrize("shape", [topology.full, topology.line, topology.ring, topology.star])
def test_small_graphs_are_simple_too(shape: object) -> None:
    assert callable(shape)
    assert [len(shape(NAMES[:size])) for size in (0, 1, 2)] == [0, 0, 1]


@given(st.integers(0, 40), st.integers(0, 12), st.integers())
def test_a_random_regular_graph_is_simple_regular_and_hangs_together(
    size: int, degree: int, seed: int
) -> None:
    names = [str(number) for number in range(size)]
    entropy = random.Random(seed)
    if degree >= size or size * degree % 2:
        with pytest.raises(ConfigError, match="degree"):
            topology.random_regular(names, degree, entropy)
        return
    pairs = topology.random_regular(names, degree, entropy)
    assert is_simple(pairs)
    assert degrees(pairs) == ({} if degree == 0 else dict.fromkeys(names, degree))
    if degree >= 2:
        assert reachable(pairs, names[0]) == set(names)


@given(st.integers(1, 40), st.integers(0, 12), st.integers())
def test_random_dials_are_simple_and_enough(size: int, dials: int, seed: int) -> None:
    names = [str(number) for number in range(size)]
    if dials >= size:
        with pytest.raises(ConfigError, match="dials"):
            topology.random_dials(names, dials, random.Random(seed))
        return
    pairs = topology.random_dials(names, dials, random.Random(seed))
    assert is_simple(pairs)
    assert all(degrees(pairs)[name] >= dials for name in names)
    assert all(count <= dials for count in Counter(dialer for dialer, _ in pairs).values())


def test_chance_is_the_seed_s() -> None:
    names = [str(number) for number in range(50)]
    for shape in (topology.random_regular, topology.random_dials):
        first, again = (shape(names, 4, random.Random(1)) for _ in range(2))
        assert first == again
        assert shape(names, 4, random.Random(2)) != first


def test_no_seed_gives_a_regular_graph_that_falls_apart() -> None:
    names = list("abcdefgh")  # two separate groups of four would be regular as well
    for seed in range(3000):
        pairs = topology.random_regular(names, 3, random.Random(seed))
        assert len(reachable(pairs, "a")) == 8, seed


def test_a_random_regular_graph_is_well_mixed() -> None:
    names = [str(number) for number in range(1000)]
    pairs = topology.random_regular(names, 6, random.Random(1))
    near, steps = {names[0]}, 0
    neighbours: dict[str, list[str]] = {name: [] for name in names}
    for a, b in pairs:
        neighbours[a].append(b)
        neighbours[b].append(a)
    while len(near) < 1000:
        near |= {other for name in near for other in neighbours[name]}
        steps += 1
    assert steps <= 7  # a ring of neighbourhoods would need more than 160

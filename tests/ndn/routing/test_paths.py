"""Which ways are found, and how they end: lines, rings, meshes, and any graph."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rumormill.ndn.routing.messages import Update
from tests.helpers.ndn.routers import Routers

LETTERS = "abcdefghijklmnopqrstuvwxyz"


def distances(names: str, pairs: Iterable[str], start: str) -> dict[str, int]:
    """Hops from one to all others, by breadth."""
    near: dict[str, set[str]] = {name: set() for name in names}
    for a, b in map(tuple, pairs):
        near[a].add(b)
        near[b].add(a)
    found, queue = {start: 0}, deque(start)
    while queue:
        name = queue.popleft()
        for other in near[name] - found.keys():
            found[other] = found[name] + 1
            queue.append(other)
    return found


def check_all_ways(net: Routers, names: str, pairs: list[str]) -> None:
    """Every router reaches every prefix by exactly the neighbours that lie on a shortest way, and
    by some that are as near as it is itself.
    """
    for target in names:
        hops = distances(names, pairs, target)
        for name in names:
            if name == target:
                continue
            found = net[name].hops(f"/{target}")
            if hops.get(name, 16) >= 16:
                assert found == {}, (name, target)
                continue
            neighbours = {pair.replace(name, "") for pair in pairs if name in pair}
            best = {each for each in neighbours if hops[each] < hops[name]}
            equal = {each for each in neighbours if hops[each] == hops[name] and hops[name] < 15}
            assert found == {each: hops[each] + 1 for each in best | equal}, (name, target)


def network(names: str, pairs: Iterable[str], **parameters: object) -> Routers:
    net = Routers()
    net.add(names, **parameters)
    for name in names:
        net.announce(name, f"/{name}")
    net.join(*pairs)
    return net


def ring(names: str) -> list[str]:
    return [a + b for a, b in zip(names, names[1:] + names[0], strict=True)]


def line(names: str) -> list[str]:
    return [a + b for a, b in itertools.pairwise(names)]


def test_a_line_is_known_from_end_to_end() -> None:
    net = network("abcdef", line("abcdef"))
    net.run(3.0)
    check_all_ways(net, "abcdef", line("abcdef"))


def test_nothing_is_reached_over_sixteen_hops() -> None:
    names = LETTERS[:20]
    net = network(names, line(names))
    net.run(5.0)
    assert net["a"].cost("/p") == 15
    assert net["a"].hops("/q") == {}


def test_two_ways_of_the_same_cost_are_both_there() -> None:
    net = network("abcd", ["ab", "ac", "bd", "cd"])
    net.run(3.0)
    assert net["a"].hops("/d") == {"b": 2, "c": 2}


def test_the_same_prefix_at_two_nodes_is_two_ways() -> None:
    net = network("abcde", line("abcde"))
    net.announce("a", "/t")
    net.announce("e", "/t")
    net.run(3.0)
    assert net["b"].hops("/t") == {"a": 1, "c": 3}
    assert net["c"].hops("/t") == {"b": 2, "d": 2}
    assert [net[name].nodes("/t") for name in "abcde"] == ["e", "ae", "ae", "ae", "a"]
    net.withdraw("e", "/t")
    net.run(3.0)
    assert [net[name].hops("/t") for name in "bcde"] == [{"a": 1}, {"b": 2}, {"c": 3}, {"d": 4}]
    assert net["a"].hops("/t") == {}


def test_in_a_ring_a_broken_line_is_gone_round() -> None:
    names = "abcdef"
    net = network(names, ring(names))
    net.run(3.0)
    check_all_ways(net, names, ring(names))
    net.part("ab")
    net.run(5.0)
    check_all_ways(net, names, ring(names)[1:])
    net.join("ab")
    net.run(5.0)
    check_all_ways(net, names, ring(names))


def test_the_hold_keeps_a_ring_from_counting_up() -> None:
    """What is withdrawn is gone at once, not after sixteen rounds."""
    names = "abcdef"
    net = network(names, ring(names), hold=1.0)
    net.run(3.0)
    before = net.packets
    net.withdraw("a", "/a")
    net.run(1.0)
    assert [net[name].hops("/a") for name in names] == [{}] * 6
    assert net.packets - before < 60


MESH = [a + b for place, a in enumerate("abcdefg") for b in "abcdefg"[place + 1 :]]


@pytest.mark.parametrize("hold", [0.0, 1.0])
@pytest.mark.parametrize("pairs", [ring("abcdefg"), MESH], ids=["ring", "mesh"])
def test_counting_up_ends(hold: float, pairs: list[str]) -> None:
    """The worst case: a node vanishes of which all others tell each other ways."""
    names = "abcdefg"
    net = network(names, pairs, hold=hold)
    net.run(5.0)
    before = sum(isinstance(m, Update) for n in names for f in net[n].faces for m in f.messages())
    net.part(*(pair for pair in pairs if "a" in pair))
    net.run(5.0)
    assert [net[name].hops("/a") for name in names] == [{}] * 7
    assert [net[name].vector.sizes()["routing_destinations"] for name in names[1:]] == [5] * 6
    after = sum(isinstance(m, Update) for n in names for f in net[n].faces for m in f.messages())
    assert after - before <= 16 * 2 * len(pairs)


def test_the_cost_of_a_hop_can_be_set() -> None:
    net = Routers()
    net.add("abc", hop_cost=5)
    net.announce("c", "/c")
    net.join("ab", "bc")
    net.run(3.0)
    assert (net["b"].cost("/c"), net["a"].cost("/c")) == (5, 10)


@st.composite
def graphs(draw: st.DrawFn) -> tuple[str, list[str]]:
    names = LETTERS[: draw(st.integers(2, 8))]
    everything = [a + b for place, a in enumerate(names) for b in names[place + 1 :]]
    return names, draw(st.lists(st.sampled_from(everything), unique=True, max_size=16))


@settings(max_examples=40)
@given(graphs(), st.data())
def test_after_a_quiet_time_all_ways_are_the_shortest(
    graph: tuple[str, list[str]], data: st.DataObject
) -> None:
    names, pairs = graph
    net = network(names, pairs)
    net.run(5.0)
    check_all_ways(net, names, pairs)
    for _ in range(data.draw(st.integers(0, 4))):
        # Lines come and go before the rest has settled.
        ends: bool = data.draw(st.booleans())
        if pairs and ends:
            pair = data.draw(st.sampled_from(pairs))
            pairs = [each for each in pairs if each != pair]
            net.part(pair)
        else:
            a, b = data.draw(st.permutations(names))[:2]
            if a + b not in pairs and b + a not in pairs:
                pairs = [*pairs, a + b]
                net.join(a + b)
        net.run(data.draw(st.sampled_from([0.0, 0.05, 0.3, 1.5])))
    net.run(20.0)
    check_all_ways(net, names, pairs)
    for name in names:
        assert net[name].vector.sizes()["routing_dirty"] == 0
        others = len(distances(names, pairs, name)) - 1
        assert net[name].vector.sizes()["routing_destinations"] == others


@settings(max_examples=15)
@given(graphs(), st.integers(0, 1000))
def test_with_loss_all_ways_are_found_too(graph: tuple[str, list[str]], seed: int) -> None:
    names, pairs = graph
    net = Routers(loss=0.1, seed=seed)
    net.add(names)
    for name in names:
        net.announce(name, f"/{name}")
    net.join(*pairs, uri="udp")
    net.run(120.0)
    check_all_ways(net, names, pairs)

"""Who is connected to whom: lists of pairs, the one that dials first.

>>> ring(["a", "b", "c"])
[('a', 'b'), ('b', 'c'), ('c', 'a')]
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import pairwise
from typing import TypeAlias

from rumormill.core.errors import ConfigError

Pairs: TypeAlias = list[tuple[str, str]]


def full(names: Sequence[str]) -> Pairs:
    """Everyone with everyone."""
    return [(a, b) for position, a in enumerate(names) for b in names[position + 1 :]]


def line(names: Sequence[str]) -> Pairs:
    """Each with the next."""
    return list(pairwise(names))


def ring(names: Sequence[str]) -> Pairs:
    """Each with the next, and the last with the first."""
    if len(names) < 3:
        return line(names)
    return [*line(names), (names[-1], names[0])]


def star(names: Sequence[str]) -> Pairs:
    """The first is the hub, the others dial it."""
    return [(name, names[0]) for name in names[1:]]


def random_dials(names: Sequence[str], dials: int, entropy: random.Random) -> Pairs:
    """Everyone dials ``dials`` others at random; two that dial each other are one pair.

    Nothing forces it to hang together; from three dials each, it as good as always does.

    >>> len(random_dials(list("abcdefgh"), 3, random.Random(1))) <= 24
    True
    """
    if not 0 <= dials < len(names):
        raise ConfigError("dials", f"must be below the number of nodes, {len(names)}, not {dials}")
    pairs: dict[tuple[str, str], None] = {}
    for position, name in enumerate(names):
        for drawn in entropy.sample(range(len(names) - 1), dials):
            other = names[drawn + (drawn >= position)]  # the range has everyone but ourselves
            if (other, name) not in pairs:
                pairs[name, other] = None
    return list(pairs)


def random_regular(names: Sequence[str], degree: int, entropy: random.Random) -> Pairs:
    """Everyone has exactly ``degree`` neighbours, and from degree 2 on it hangs together.

    >>> pairs = random_regular(list("abcdefgh"), 3, random.Random(1))
    >>> sorted("".join(name for pair in pairs for name in pair)) == sorted("abcdefgh" * 3)
    True
    """
    count = len(names)
    if not 0 <= degree < count:
        raise ConfigError("degree", f"must be below the number of nodes, {count}, not {degree}")
    if degree * count % 2:
        raise ConfigError("degree", f"{count} nodes cannot have {degree} neighbours each")
    order = list(range(count))
    entropy.shuffle(order)
    edges = _circulant(order, degree)
    if degree > 2:  # with degree 2 the shuffled ring is all that there is
        _shuffle_edges(edges, entropy)
        while not _connected(edges, count):
            _shuffle_edges(edges, entropy)
    return [(names[a], names[b]) for a, b in edges]


def _circulant(order: list[int], degree: int) -> list[tuple[int, int]]:
    """Everyone with the ``degree // 2`` next in the round; an odd degree adds who is opposite."""
    count = len(order)
    steps = range(1, degree // 2 + 1)
    edges = [(order[i], order[(i + step) % count]) for i in range(count) for step in steps]
    if degree % 2:
        half = count // 2
        edges += [(order[i], order[i + half]) for i in range(half)]
    return edges


def _shuffle_edges(edges: list[tuple[int, int]], entropy: random.Random) -> None:
    """Let pairs of edges swap their ends, which leaves every degree as it is."""
    present = set(map(frozenset, edges))  # asked for membership only: no order comes from it
    for _ in range(10 * len(edges)):
        i, j = entropy.randrange(len(edges)), entropy.randrange(len(edges))
        (a, b), (c, d) = edges[i], edges[j]
        if entropy.random() < 0.5:
            c, d = d, c
        first, second = frozenset((a, d)), frozenset((c, b))
        if len({a, b, c, d}) == 4 and first not in present and second not in present:
            present -= {frozenset((a, b)), frozenset((c, d))}
            present |= {first, second}
            edges[i], edges[j] = (a, d), (c, b)


def _connected(edges: list[tuple[int, int]], count: int) -> bool:
    neighbours: list[list[int]] = [[] for _ in range(count)]
    for a, b in edges:
        neighbours[a].append(b)
        neighbours[b].append(a)
    reached, frontier = [False] * count, [0]
    reached[0] = True
    while frontier:
        for neighbour in neighbours[frontier.pop()]:
            if not reached[neighbour]:
                reached[neighbour] = True
                frontier.append(neighbour)
    return all(reached)

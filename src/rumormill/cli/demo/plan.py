"""What a demo will do, decided before it starts: who connects to whom, who publishes, who dies."""

from __future__ import annotations

import random
from typing import NamedTuple

from rumormill.cli.sentences import UsageError

DEFAULT_SECONDS = 25.0
LINKS = 4
"""Connections that each node opens; each accepts about as many."""

PUBLISHERS = 3
KILL_AT, RETURN_AT, HOLD_AT = 0.3, 0.5, 0.7
"""Shares of the messages: after which one is killed, after which it is started again, and after
which publishing waits for it if it is not back yet, so that there is something left for it."""


class DemoPlan(NamedTuple):
    """One demo. Equal arguments give an equal plan."""

    network: str
    nodes: int
    messages: int
    rate: float
    seed: int
    links: tuple[tuple[int, ...], ...]
    """For each node, the nodes that it dials."""
    publishers: tuple[int, ...]
    victim: int

    @property
    def kill_after(self) -> int:
        """Messages published before the kill."""
        return max(1, round(self.messages * KILL_AT))

    @property
    def return_after(self) -> int:
        """Messages published before the killed node is started again."""
        return max(self.kill_after + 1, round(self.messages * RETURN_AT))

    @property
    def hold_after(self) -> int:
        """Messages published at most before the killed node is back."""
        return max(self.return_after + 1, round(self.messages * HOLD_AT))

    def publisher_of(self, number: int) -> int:
        """Who publishes message ``number``: each in turn."""
        return self.publishers[number % len(self.publishers)]

    def neighbours(self, node: int) -> tuple[int, ...]:
        """Everyone whom ``node`` is connected to, whoever dialed."""
        dialed = set(self.links[node])
        dialed_by = {other for other, links in enumerate(self.links) if node in links}
        return tuple(sorted(dialed | dialed_by))

    @property
    def connections(self) -> int:
        """Connections in all."""
        return sum(len(links) for links in self.links)


def plan_demo(
    network: str,
    nodes: int,
    messages: int | None,
    rate: float,
    seconds: float | None,
    seed: int,
) -> DemoPlan:
    """Make a plan; of messages and seconds, only one can be given: the rate does the rest.

    >>> plan_demo("gossipsub", nodes=4, messages=20, rate=10, seconds=None, seed=1).victim
    3
    """
    if messages is not None and seconds is not None:
        raise UsageError("give --messages or --seconds, not both: --rate connects them")
    if messages is None:
        messages = max(10, round(rate * (seconds or DEFAULT_SECONDS)))
    random_source = random.Random(seed)
    publishers = min(PUBLISHERS, nodes - 1)
    return DemoPlan(
        network=network,
        nodes=nodes,
        messages=messages,
        rate=rate,
        seed=seed,
        links=_draw_links(nodes, random_source),
        publishers=tuple(range(publishers)),
        # Not a publisher: what it had not sent yet would be lost for a reason that says nothing.
        victim=random_source.randrange(publishers, nodes),
    )


def _draw_links(nodes: int, random_source: random.Random) -> tuple[tuple[int, ...], ...]:
    """A ring, so that all hang together even without one of them, and chords drawn by lot."""
    linked: set[frozenset[int]] = set()
    dials: list[list[int]] = [[] for _ in range(nodes)]

    def dial(node: int, other: int) -> None:
        pair = frozenset((node, other))
        if node != other and pair not in linked:
            linked.add(pair)
            dials[node].append(other)

    for node in range(nodes):
        dial(node, (node + 1) % nodes)
    for node in range(nodes):
        others = [other for other in range(nodes) if frozenset((node, other)) not in linked]
        random_source.shuffle(others)
        for other in others:
            if len(dials[node]) < LINKS:
                dial(node, other)
    return tuple(tuple(sorted(links)) for links in dials)

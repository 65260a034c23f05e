"""What an act will do, decided before it starts: who connects to whom, who publishes, who dies."""

from __future__ import annotations

import random
from typing import NamedTuple

from rumormill.cli.words.sentences import UsageError
from rumormill.live.family import DemoAct

LINKS = 3
"""Nodes that each node connects to, if there are so many before it."""

FIRST, GROWTH = 1, 3
"""Nodes that are started first, and how many times more can follow those that are there."""

FEWEST_MESSAGES = 10
KILL_AT, RETURN_AT, HOLD_AT = 0.3, 0.5, 0.7
"""Shares of the messages: after which one is killed, after which it is started again, and after
which publishing waits for it if it is not back yet, so that there is something left for it."""


class Wishes(NamedTuple):
    """What the options say; None: as the act has it."""

    nodes: int | None = None
    messages: int | None = None
    rate: float | None = None
    seconds: float | None = None
    seed: int = 1


class Plan(NamedTuple):
    """One act, cast. Equal acts and wishes give an equal plan."""

    act: DemoAct
    publishers: tuple[int, ...]
    """The first nodes; all others subscribe."""
    waves: tuple[tuple[int, ...], ...]
    """Nodes that are started together: each connects to some of earlier waves."""
    links: tuple[tuple[int, ...], ...]
    """For each node, those that it connects to."""
    victim: int
    """One of the last subscribers, so that nobody depends on it."""

    @property
    def subscribers(self) -> tuple[int, ...]:
        """All that do not publish."""
        return tuple(range(len(self.publishers), self.act.nodes))

    def neighbours(self, number: int) -> int:
        """How many nodes a node is connected to, by its own doing or by theirs."""
        return sum(number in links for links in self.links) + len(self.links[number])

    @property
    def kill_after(self) -> int:
        """Messages published before the kill."""
        return max(1, round(self.act.messages * KILL_AT))

    @property
    def absence(self) -> float:
        """Seconds from the kill until the node is started again."""
        return self.act.messages * (RETURN_AT - KILL_AT) / self.act.rate

    @property
    def hold_after(self) -> int:
        """Messages published at most before the killed node is back."""
        return max(self.kill_after + 1, round(self.act.messages * HOLD_AT))

    def publisher_of(self, number: int) -> int:
        """Who publishes message ``number``: each in turn."""
        return self.publishers[number % len(self.publishers)]


def plan_act(act: DemoAct, wishes: Wishes) -> Plan:
    """Cast an act; of messages and seconds, only one can be wished for: the rate does the rest."""
    if wishes.messages is not None and wishes.seconds is not None:
        raise UsageError("give --messages or --seconds, not both: --rate connects them")
    nodes, rate = wishes.nodes or act.nodes, wishes.rate or act.rate
    seconds = wishes.seconds or act.messages / act.rate
    messages = wishes.messages or max(FEWEST_MESSAGES, round(rate * seconds))
    publishers = max(1, min(act.publishers, nodes // 3))
    waves, source = _waves(range(publishers, nodes)), random.Random(wishes.seed)
    victim = source.choice(waves[-1])
    if act.all_linked:
        waves.append(tuple(range(publishers)))  # so that each of them finds all subscribers
    else:
        waves[-1] = (*waves[-1], *range(publishers))
    links: list[tuple[int, ...]] = [()] * nodes
    there: list[int] = []
    for wave in waves:
        for node in wave:
            most = len(there) if act.all_linked else LINKS
            links[node] = tuple(sorted(source.sample(there, min(most, len(there)))))
        there += wave
    act = act._replace(nodes=nodes, rate=rate, messages=messages)
    return Plan(act, tuple(range(publishers)), tuple(waves), tuple(links), victim)


def _waves(nodes: range) -> list[tuple[int, ...]]:
    """
    >>> _waves(range(3, 10))
    [(3,), (4, 5, 6), (7, 8, 9)]
    """
    waves, size, begin = [], FIRST, nodes.start
    while begin < nodes.stop:
        waves.append(tuple(range(begin, min(begin + size, nodes.stop))))
        begin += size
        size = GROWTH * (begin - nodes.start)
    return waves

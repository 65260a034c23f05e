"""A trace with a network for each kind of alert, as few events as raise it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tests.helpers.second_opinion.by_hand import trace_of
from tests.helpers.second_opinion.oracle import Row

RAISED = {
    "parted": {("partition", None)},
    "eclipsed": {("eclipse", "n00")},
    "censored": {("censorship", "victim")},
    "silent": {("censorship", "hostile")},
    "rubbish": {("spam", "hostile")},
    "repeated": {("spam", "hostile")},
    "rude": {("misbehaviour", "hostile")},
    "greedy": {("misbehaviour", "hostile")},
    "broken": {("misbehaviour", "hostile")},
    "quiet": {("sybils", None)},
    "crowded": {("sybils", None)},
}
"""Kinds and nodes, by network."""


def troubled_trace() -> list[Row]:
    """All of them; events that an alert takes several of are beside each other."""
    victim_of = [f"s{number}" for number in range(10)]
    friends = [f"f{number}" for number in range(5)]
    return trace_of(
        parted=_lines(_parted()),
        eclipsed=_lines(_eclipsed()),
        censored=_lines(
            _spread(["victim"], 12, victim_of, reached=2), _spread(["other"], 12, victim_of)
        ),
        silent=_lines(_spread(friends, 130, [*friends, "hostile"])),
        rubbish=_lines(f"{second} a rejected @t <hostile count=30" for second in (1, 2)),
        repeated=_lines(f"{second} a duplicate @t <hostile count=60" for second in (1, 2)),
        rude=_lines(
            f"{second} {node} rejected @t <hostile reason=graft_in_backoff count=5"
            for second in (1, 2)
            for node in "ab"
        ),
        greedy=_lines(
            f"{second} a ignored <hostile reason=iwant_too_often count=300" for second in (1, 2)
        ),
        broken=_lines(
            f"{second} {node} protocol_error <hostile reason=bad_length"
            for second, node in enumerate("abcd")
        ),
        quiet=_lines(_scored(8, "mesh_deliveries=-9")),
        crowded=_lines(_scored(8, "colocation=-5", "mesh_failures=3")),
    )


def _lines(*parts: Iterator[str]) -> str:
    return "\n".join(line for part in parts for line in part)


def _parted() -> Iterator[str]:
    """Two pairs, for the whole of a minute."""
    for node, peer in ("ab", "ba", "cd", "dc"):
        yield f"0 {node} subscribed @t"
        yield f"0 {node} grafted @t <{peer}"
        yield f"59 {node} acknowledged"


def _eclipsed() -> Iterator[str]:
    """Everybody hears from the next six, but the first node from one of them alone."""
    nodes = [f"n{number:02}" for number in range(21)]
    for place, node in enumerate(nodes):
        yield f"1 {node} published"
        for step in range(1, 7):
            peer = nodes[(place + step) % len(nodes)]
            if place > 0:
                yield f"2 {node} delivered <{peer} count=10"
            elif step == 1:
                yield f"2 {node} delivered <{peer} count=60"
            else:
                yield f"2 {node} packet_received <{peer}"


def _scored(peers: int, *points: str) -> Iterator[str]:
    """One node thinks ill of many peers, and well of others."""
    for number in range(peers):
        yield f"{number} a scored <p{number} score={-4 if number % 4 < 2 else 1} {' '.join(points)}"


def _spread(
    publishers: Sequence[str], messages: int, members: Sequence[str], reached: int | None = None
) -> Iterator[str]:
    """Messages that go straight from their publisher to the members, or to the first of them."""
    yield from (f"0 {node} subscribed @t" for node in members)
    for number in range(messages):
        publisher, time = publishers[number % len(publishers)], 5 + number / 4
        message = f"@t #{publisher}-{number}"
        yield f"{time} {publisher} published {message}"
        for node in members[:reached]:
            if node != publisher:
                yield f"{time + 0.1} {node} delivered {message} <{publisher}"

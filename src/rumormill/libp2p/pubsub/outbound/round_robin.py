"""The order in which the copies of several messages leave, when they are published together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rumormill.core.machine import Peer


def round_robin(plans: Sequence[Sequence[Peer]]) -> Iterator[tuple[int, Peer]]:
    """Which message goes to whom next; ``plans`` are the peers of each message.

    One copy of each message, then a second one of each, and so on; and the copies of a round go to
    different peers as far as there are any. Peers pass on what came to them, so after the first
    round all of it is under way, while most of our own copies still wait for the line.

    >>> list(round_robin([("ann", "bob"), ("ann", "bob"), ("cyd",)]))
    [(0, 'ann'), (1, 'bob'), (2, 'cyd'), (0, 'bob'), (1, 'ann')]
    """
    rounds = max(map(len, plans), default=0)
    for done in range(rounds):
        for number, peers in enumerate(plans):
            if done < len(peers):
                yield number, peers[(number + done) % len(peers)]

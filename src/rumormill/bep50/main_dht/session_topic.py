"""What is going on for one topic on the main DHT."""

from __future__ import annotations

from collections.abc import Container

from rumormill.bep50.wire.items import Item
from rumormill.bep50.wire.topics import TopicName

MOST_CANDIDATES = 200
"""Addresses that one topic is given between two steady announcements; the rest is counted."""


class SessionTopic:
    """A joined topic: whom the searches found, and what is put."""

    __slots__ = (
        "failures", "found", "had_members", "name", "put_after", "read", "rounds", "stored",
        "waiting", "writing",
    )  # fmt: skip

    def __init__(self, name: TopicName) -> None:
        self.name = name
        self.read = False
        """Whether somebody answered when its item was read."""
        self.had_members = False
        """Whether the overlay had members at the last look."""
        self.rounds = 0
        """How often it was announced since it was joined, or lost its members."""
        self.found: dict[str, None] = {}
        """Addresses that the overlay was told of already."""
        self.writing: Item | None = None
        """What is being put."""
        self.waiting: tuple[Item, int | None] | None = None
        """What is to be put next, and the number that it is to replace."""
        self.put_after = 0.0
        self.failures = 0
        """Puts in a row that reached nobody."""
        self.stored: tuple[int, int] | None = None
        """The number that was put last, and how many nodes took it."""

    @property
    def putting(self) -> bool:
        """Whether anything is or will be put."""
        return self.writing is not None or self.waiting is not None

    def take_candidates(
        self, peers: tuple[str, ...], own: Container[str]
    ) -> tuple[tuple[str, ...], int]:
        """The addresses that are new, as far as there is room; and how many found none."""
        new = dict.fromkeys(each for each in peers if each not in self.found and each not in own)
        taken = tuple(new)[: MOST_CANDIDATES - len(self.found)]
        self.found |= dict.fromkeys(taken)
        return taken, len(new) - len(taken)

"""What a reader wants of a range: batches that cannot hold any of it are passed over unread."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

LONGEST_QUERY: Final = 4096
"""Characters of names that are sent to a node; with more it sends all topics."""


@dataclass
class Wanted:
    """Topics and times, and how many batches and rows were read or passed over.

    >>> wanted = Wanted(topics=frozenset({"rain"}))
    >>> wanted.may_be_in(frozenset({b"rain", b"snow"}), (0, 5)), wanted.may_be_in(None, (0, 5))
    (True, True)
    >>> wanted.may_be_in(frozenset({b"snow"}), (0, 5))
    False
    """

    topics: frozenset[str] | None = None
    pattern: str | None = None
    first_us: int | None = None
    last_us: int | None = None
    batches: int = 0
    """Batches that were read."""
    passed: int = 0
    """Rows that were not."""
    _decided: dict[frozenset[bytes], bool] = field(default_factory=dict)

    @property
    def by_topic(self) -> bool:
        """Whether topics matter."""
        return self.topics is not None or self.pattern is not None

    def may_be_in(self, topics: frozenset[bytes] | None, times: tuple[int, int]) -> bool:
        """Whether a batch of these topics (None: any) and times may hold something of it."""
        if self.first_us is not None and times[1] < self.first_us:
            return False
        if self.last_us is not None and times[0] > self.last_us:
            return False
        if topics is None or not self.by_topic:
            return True
        if topics not in self._decided:
            self._decided[topics] = self._any_of(topics)
        return self._decided[topics]

    def _any_of(self, topics: frozenset[bytes]) -> bool:
        names = [name.decode() for name in topics]
        if self.topics is not None and self.topics.isdisjoint(names):
            return False
        if self.pattern is None:
            return True
        found = pc.match_substring_regex(pa.array(names, pa.string()), self.pattern)
        return bool(pc.any(found).as_py())

    def query(self) -> dict[str, int | str]:
        """For a node, which answers with what may hold something of it; an older one with all."""
        found: dict[str, int | str] = {}
        if self.topics is not None:
            names = json.dumps(sorted(self.topics))
            found |= {"topics": names} if len(names) <= LONGEST_QUERY else {}
        if self.pattern is not None and len(self.pattern) <= LONGEST_QUERY:
            found["pattern"] = self.pattern
        if self.first_us is not None:
            found["first_us"] = max(0, self.first_us)
        if self.last_us is not None:
            found["last_us"] = max(0, self.last_us)
        return found


def read_query(query: dict[str, str]) -> Wanted:
    """What :meth:`Wanted.query` made; :class:`ValueError` in words for anything else."""
    topics, pattern = query.get("topics"), query.get("pattern")
    try:
        names = json.loads(topics) if topics is not None else None
    except RecursionError:
        raise ValueError("topics are nested too deep") from None
    if names is not None and not (
        isinstance(names, list) and all(isinstance(name, str) for name in names)
    ):
        raise ValueError("topics must be a JSON list of texts")
    if pattern is not None:
        pc.match_substring_regex(pa.array([""]), pattern)
    first, last = (int(query[key]) if key in query else None for key in ("first_us", "last_us"))
    return Wanted(None if names is None else frozenset(names), pattern, first, last)

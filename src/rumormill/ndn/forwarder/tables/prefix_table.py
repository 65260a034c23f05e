"""Values by prefix, and the one of a name's longest prefix."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Generic, TypeVar

from rumormill.ndn.wire.name import Name, prefix_ends

Value = TypeVar("Value")

FEW: Final = 24
"""So many lengths are tried one by one; with more, only those at which a component ends."""


class PrefixTable(Generic[Value]):
    """A dict by prefix that knows which lengths, in bytes, its prefixes have.

    Cutting a name at a length that one of the prefixes has is enough: what is equal to a prefix
    ends where a component ends (see :func:`rumormill.ndn.wire.name.is_prefix`).

    >>> from rumormill.ndn.wire.name import name_from_uri
    >>> table = PrefixTable[str]()
    >>> table.set(name_from_uri("/a"), "short"); table.set(name_from_uri("/a/b/c"), "long")
    >>> table.longest(name_from_uri("/a/b/c/d")), table.longest(name_from_uri("/a/b"))
    ('long', 'short')
    >>> table.longest(name_from_uri("/b")) is None
    True
    """

    __slots__ = ("_counts", "_lengths", "by_prefix")

    def __init__(self) -> None:
        self.by_prefix: dict[Name, Value] = {}
        self._counts: dict[int, int] = {}
        """How many prefixes there are of each length."""
        self._lengths: list[int] = []
        """The lengths, longest first."""

    def __len__(self) -> int:
        return len(self.by_prefix)

    def get(self, prefix: Name) -> Value | None:
        """The value of exactly this prefix."""
        return self.by_prefix.get(prefix)

    def set(self, prefix: Name, value: Value) -> None:
        """Give a prefix a value."""
        if prefix not in self.by_prefix:
            length = len(prefix)
            count = self._counts.get(length, 0)
            self._counts[length] = count + 1
            if not count:
                self._lengths = sorted(self._counts, reverse=True)
        self.by_prefix[prefix] = value

    def remove(self, prefix: Name) -> Value | None:
        """Forget a prefix; what its value was."""
        value = self.by_prefix.pop(prefix, None)
        if value is not None:
            length = len(prefix)
            self._counts[length] -= 1
            if not self._counts[length]:
                del self._counts[length]
                self._lengths.remove(length)
        return value

    def longest(self, name: Name) -> Value | None:
        """The value of the longest prefix of a name, or None."""
        by_prefix = self.by_prefix
        for length in self._lengths if len(self._lengths) <= FEW else self._ends(name):
            if length <= len(name):
                found = by_prefix.get(name[:length])
                if found is not None:
                    return found
        return None

    def above(self, name: Name) -> Iterator[Value]:
        """The values of all prefixes that are shorter than a name, longest first."""
        for length in self._ends(name):
            if length < len(name):
                found = self.by_prefix.get(name[:length])
                if found is not None:
                    yield found

    def _ends(self, name: Name) -> list[int]:
        counts = self._counts
        return [end for end in reversed(prefix_ends(name)) if end in counts]

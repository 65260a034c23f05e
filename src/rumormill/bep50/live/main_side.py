"""The main DHT as a bep50 network sees it: which addresses it gets, and which values it has."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from rumormill.bep50.live.contacts import known_peers
from rumormill.bep50.wire.addresses import is_ipv6
from rumormill.core.trace import TraceEvent


class StoredValues:
    """Remembers, by what the main DHT traces, how many of its nodes have taken which value."""

    def __init__(self, trace: Callable[[TraceEvent], None], happened: Callable[[], None]) -> None:
        self._trace = trace
        self._happened = happened
        self._newest: dict[str, tuple[int, int]] = {}

    def trace(self, event: TraceEvent) -> None:
        """Pass an event on, and let those who wait look again."""
        seq, stored = event.fields.get("seq"), event.fields.get("stored")
        if event.topic is not None and isinstance(seq, int) and isinstance(stored, int):
            self._newest[event.topic] = (seq, stored)
        self._trace(event)
        self._happened()

    def nodes(self, topic: str, seq: int) -> int | None:
        """How many nodes took the value with this number or a later one; None: not put yet."""
        newest, stored = self._newest.get(topic, (-1, 0))
        return stored if newest >= seq else None

    def forget(self, topic: str) -> None:
        """The topic was left."""
        self._newest.pop(topic, None)


def main_addresses(own: Iterable[str], name: str, nodes: Iterable[str]) -> tuple[str, ...]:
    """Our addresses for the main DHT: one of each IP version, of those only that its nodes have.

    >>> main_addresses(["127.0.0.1:1", "10.0.0.1:1", "[::1]:2"], "127.0.0.1:1", [])
    ('127.0.0.1:1', '[::1]:2')
    >>> main_addresses(["127.0.0.1:1", "[::1]:2"], "[::1]:2", ["127.0.0.9:6881"])
    ('127.0.0.1:1',)
    """
    found = {is_ipv6(each): each for each in (*own, name)}
    versions = {is_ipv6(each) for each in known_peers(nodes)}
    return tuple(each for each in found.values() if not versions or is_ipv6(each) in versions)

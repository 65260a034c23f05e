"""Discovery without a host: who stands for pubsub in tests of the ways."""

from __future__ import annotations

from collections.abc import Iterable


class Hungry:
    """A census of one topic that never has enough peers, unless a test says so."""

    def __init__(self, topic: str = "weather", wanted: int = 6) -> None:
        self._topic = topic
        self.count = wanted
        self.here = 0

    def topics(self) -> Iterable[str]:
        return [self._topic]

    def peers(self, topic: str) -> int:
        return self.here

    def wanted(self, topic: str) -> int:
        return self.count

    def lacks_mesh(self, topic: str) -> int:
        return 0

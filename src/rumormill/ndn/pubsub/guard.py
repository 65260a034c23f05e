"""How much we may be made to send to publishers that others name.

A notification says where its message is to be fetched, and nothing ties that to who sent it: with
it, anybody can make us send Interests to somebody else (reflection). So fetches are bounded in all,
by publisher and by topic; and publishers that we have had no message of yet, which is all that a
stranger can name without having a message there, share one small account of failures.
"""

from __future__ import annotations

from collections import OrderedDict

from rumormill.ndn.pubsub.parameters import PubSubParameters
from rumormill.ndn.wire.name import Name


class _Failures:
    """Failures that time has not paid for."""

    __slots__ = ("_count", "_since")

    def __init__(self, now: float) -> None:
        self._count = 0.0
        self._since = now

    def add(self, now: float, rate: float) -> None:
        self._count = self.open(now, rate) + 1.0
        self._since = now

    def open(self, now: float, rate: float) -> float:
        return max(0.0, self._count - (now - self._since) * rate)


class FetchGuard:
    """Who may be fetched from now.

    >>> guard = FetchGuard(PubSubParameters(stranger_failures=1))
    >>> stranger = guard.begin(b"\\x08\\x01a")
    >>> stranger, guard.refusal(b"\\x08\\x01b", now=0.0)
    (True, 'stranger_failures')
    >>> guard.end(b"\\x08\\x01a", stranger, came=True, now=0.0)
    >>> guard.refusal(b"\\x08\\x01b", now=0.0)
    ''
    """

    def __init__(self, parameters: PubSubParameters) -> None:
        self._parameters = parameters
        self._fetches = 0
        self._by_publisher: dict[Name, int] = {}
        self._known: OrderedDict[Name, _Failures] = OrderedDict()
        """Publishers that we have had a message of; who was so longest ago comes first."""
        self._strangers = _Failures(0.0)
        self._stranger_fetches = 0

    def refusal(self, publisher: Name, now: float) -> str:
        """Why nothing may be fetched from a publisher now; "" if it may."""
        parameters = self._parameters
        if self._fetches >= parameters.max_fetches:
            return "too_many_fetches"
        if self._by_publisher.get(publisher, 0) >= parameters.max_fetches_per_publisher:
            return "publisher_fetches"
        known = self._known.get(publisher)
        if known is not None:
            failures = known.open(now, parameters.publisher_failure_rate)
            return "publisher_failures" if failures >= parameters.publisher_failures else ""
        failures = self._strangers.open(now, parameters.stranger_failure_rate)
        if failures + self._stranger_fetches >= parameters.stranger_failures:
            return "stranger_failures"
        return ""

    def begin(self, publisher: Name) -> bool:
        """A fetch begins; returns whether it is from a stranger, which :meth:`end` asks for."""
        self._fetches += 1
        self._by_publisher[publisher] = self._by_publisher.get(publisher, 0) + 1
        if publisher in self._known:
            return False
        self._stranger_fetches += 1
        return True

    def end(self, publisher: Name, stranger: bool, came: bool | None, now: float) -> None:
        """A fetch is over. ``came``: whether it brought a message; None if we gave it up."""
        self._fetches -= 1
        left = self._by_publisher[publisher] - 1
        if left:
            self._by_publisher[publisher] = left
        else:
            del self._by_publisher[publisher]
        if stranger:
            self._stranger_fetches -= 1
        if came:
            self._met(publisher, now)
        elif came is False:
            known = self._known.get(publisher)
            if known is None:
                self._strangers.add(now, self._parameters.stranger_failure_rate)
            else:
                known.add(now, self._parameters.publisher_failure_rate)

    def _met(self, publisher: Name, now: float) -> None:
        known = self._known
        if publisher in known:
            known.move_to_end(publisher)
            return
        if len(known) >= self._parameters.max_publishers:
            known.popitem(last=False)
        known[publisher] = _Failures(now)

    def sizes(self) -> dict[str, int]:
        """What takes memory."""
        return {
            "fetches": self._fetches,
            "fetch_publishers": len(self._by_publisher),
            "publishers": len(self._known),
        }

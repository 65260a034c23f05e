"""How much we may be made to send to publishers that others name.

A notification says where its message is to be fetched, and nothing ties that to who sent it: with
it, anybody can make us send Interests to somebody else (reflection), three for one. So fetches are
bounded in all, by publisher and by topic, and those that fail are counted: for each publisher that
we have had a message of, and for all others together, since a stranger can invent as many as it
likes. Whose failures time has not paid for is strained: only a few fetches at once, and each is
tried once, so that we send no more than we get. Nobody is turned away for good, since it may be
somebody else who has made up the notifications.
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

    def add(self, now: float, rate: float, most: int) -> None:
        self._count = min(self.open(now, rate) + 1.0, most)
        self._since = now

    def open(self, now: float, rate: float) -> float:
        return max(0.0, self._count - (now - self._since) * rate)


class FetchGuard:
    """Who may be fetched from now.

    >>> guard = FetchGuard(PubSubParameters(stranger_failures=1))
    >>> guard.is_strained(b"\\x08\\x01a", now=0.0), guard.begin(b"\\x08\\x01a")
    (False, True)
    >>> guard.is_strained(b"\\x08\\x01b", now=0.0)
    True
    >>> guard.end(b"\\x08\\x01a", stranger=True, came=True, now=0.0)
    >>> guard.is_strained(b"\\x08\\x01b", now=0.0)
    False
    """

    def __init__(self, parameters: PubSubParameters) -> None:
        self._parameters = parameters
        self._fetches = 0
        self._by_publisher: dict[Name, int] = {}
        self._known: OrderedDict[Name, _Failures] = OrderedDict()
        """Publishers that we have had a message of; who was so longest ago comes first."""
        self._strangers = _Failures(0.0)
        self._stranger_fetches = 0

    def refusal(self, publisher: Name, strained: bool) -> str:
        """Why nothing may be fetched from a publisher now; "" if it may."""
        parameters = self._parameters
        if self._fetches >= parameters.max_fetches:
            return "too_many_fetches"
        of_publisher = self._by_publisher.get(publisher, 0)
        if of_publisher >= parameters.max_fetches_per_publisher:
            return "publisher_fetches"
        if strained:
            if publisher in self._known:
                return "publisher_failures" if of_publisher >= parameters.strained_fetches else ""
            if self._stranger_fetches >= parameters.strained_fetches:
                return "stranger_failures"
        return ""

    def is_strained(self, publisher: Name, now: float) -> bool:
        """Whether too many fetches have failed that time has not paid for. What is being fetched
        from strangers counts as if it had failed."""
        parameters = self._parameters
        known = self._known.get(publisher)
        if known is not None:
            failures = known.open(now, parameters.publisher_failure_rate)
            return failures >= parameters.publisher_failures
        failures = self._strangers.open(now, parameters.stranger_failure_rate)
        return failures + self._stranger_fetches >= parameters.stranger_failures

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
            parameters = self._parameters
            known = self._known.get(publisher)
            # Up to twice what is allowed, so that an end of it is in sight.
            if known is None:
                most = 2 * parameters.stranger_failures
                self._strangers.add(now, parameters.stranger_failure_rate, most)
            else:
                most = 2 * parameters.publisher_failures
                known.add(now, parameters.publisher_failure_rate, most)

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

"""What a meeting point keeps: who is found under which namespace, until when.

Registrations are numbered in the order of coming. A cookie is the number of the last one that an
answer had, so that nothing has to be kept for who asks; a few random bytes tell whether it is ours.
"""

from __future__ import annotations

import random
from collections import OrderedDict
from collections.abc import Iterator
from typing import NamedTuple

from rumormill.core.errors import RemoteProtocolError
from rumormill.core.machine import Peer

MOST_OF_PEER = 1000
"""Registrations of one peer, as the specification recommends."""

MOST_IN_ALL = 20_000
"""Registrations of all; one more is turned away."""

MOST_TOLD = 100
"""Registrations in one answer; a cookie leads to the next ones."""

COOKIE = 8
"""Bytes of a cookie before the namespace, as many as that of rust has."""


class Registration(NamedTuple):
    """One peer under one namespace."""

    number: int
    namespace: str
    peer: Peer
    record: bytes
    expires: float


class Registrations:
    """All registrations, in the order of coming."""

    def __init__(self, random: random.Random) -> None:
        self._epoch = random.randbytes(COOKIE // 2)
        self._by_key: OrderedDict[tuple[str, Peer], Registration] = OrderedDict()
        self._namespaces: dict[str, OrderedDict[Peer, Registration]] = {}
        self._by_peer: dict[Peer, int] = {}
        self._last = 0

    def __len__(self) -> int:
        return len(self._by_key)

    def add(self, namespace: str, peer: Peer, record: bytes, expires: float, now: float) -> bool:
        """Register a peer, or renew it; False if there is no room."""
        self._expire(now)
        self.remove(namespace, peer)
        if self._by_peer.get(peer, 0) >= MOST_OF_PEER or len(self._by_key) >= MOST_IN_ALL:
            return False
        self._last += 1
        registration = Registration(self._last, namespace, peer, record, expires)
        self._by_key[namespace, peer] = registration
        self._namespaces.setdefault(namespace, OrderedDict())[peer] = registration
        self._by_peer[peer] = self._by_peer.get(peer, 0) + 1
        return True

    def remove(self, namespace: str, peer: Peer) -> None:
        """Forget a registration, if there is one."""
        if self._by_key.pop((namespace, peer), None) is None:
            return
        peers = self._namespaces[namespace]
        del peers[peer]
        if not peers:
            del self._namespaces[namespace]
        self._by_peer[peer] -= 1
        if not self._by_peer[peer]:
            del self._by_peer[peer]

    def _expire(self, now: float) -> None:
        """Look at the two that came first: so there are never many that have run out."""
        for _ in range(2):
            first = next(iter(self._by_key.values()), None)
            if first is None:
                return
            if first.expires <= now:
                self.remove(first.namespace, first.peer)
            else:
                # It has a long time yet: it must not hide those behind it.
                self._by_key.move_to_end((first.namespace, first.peer))

    def of(
        self, namespace: str | None, cookie: bytes, limit: int | None, now: float
    ) -> tuple[list[Registration], bytes]:
        """Registrations that came after the cookie, the oldest first, and the next cookie.

        :class:`RemoteProtocolError` with ``bad_cookie`` for one that we have not given for this.
        """
        after = self._read_cookie(namespace, cookie) if cookie else 0
        most = min(limit or MOST_TOLD, MOST_TOLD)  # some write 0 for none
        found: list[Registration] = []
        for each in self._in_order(namespace):
            if len(found) == most:
                break
            if each.number > after and each.expires > now:
                found.append(each)
        last = found[-1].number if found else after
        words = b"" if namespace is None else namespace.encode("utf-8")
        return found, self._epoch + last.to_bytes(COOKIE // 2, "big") + words

    def _in_order(self, namespace: str | None) -> Iterator[Registration]:
        if namespace is not None:
            return iter(self._namespaces.get(namespace, {}).values())
        return iter(sorted(self._by_key.values(), key=lambda each: each.number))

    def _read_cookie(self, namespace: str | None, cookie: bytes) -> int:
        half = COOKIE // 2
        words = b"" if namespace is None else namespace.encode("utf-8")
        number = int.from_bytes(cookie[half:COOKIE], "big")
        known = cookie[:half] == self._epoch and number <= self._last
        if len(cookie) < COOKIE or not known or cookie[COOKIE:] != words:
            raise RemoteProtocolError("bad_cookie", "not one of ours for this namespace")
        return number

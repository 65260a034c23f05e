"""Messages under check: between their arrival and the verdict.

A message whose id is new is checked once. A copy that arrives meanwhile and has the same bytes
will get the same verdict: only its sender is noted. One with other bytes waits; if the first turns
out to be forged, it is tried next. Everything here is bounded, in all and per peer, so that a flood
of messages can only crowd out its own sender.
"""

from __future__ import annotations

from collections import deque
from typing import Literal, TypeAlias

from rumormill.core.machine import Peer
from rumormill.libp2p.wire.message import WireMessage

Copy: TypeAlias = Literal["new", "same", "kept", "refused"]


class PendingCheck:
    """One message under check, and the differing copies of it that wait."""

    __slots__ = ("copies", "holders", "message", "size", "source", "token")

    def __init__(self, token: int, message: WireMessage, source: Peer) -> None:
        self.token = token
        self.message = message
        self.source = source
        self.size = message.weight
        """Bytes of the message and of the copies."""
        self.copies: deque[tuple[Peer, WireMessage]] | None = None
        """Made for the first of them: most messages have none."""
        self.holders: dict[Peer, None] = {source: None}
        """Peers that have sent these very bytes: none of them needs them from us."""


class PendingChecks:
    """All messages under check."""

    __slots__ = (
        "_by_token", "_max_copies", "_most", "_most_bytes", "_next_token", "by_id", "bytes",
    )  # fmt: skip

    def __init__(self, most: int, max_copies: int, most_bytes: int) -> None:
        self._most = most
        self._most_bytes = most_bytes
        self.bytes = 0
        """Bytes of all messages under check and of their copies."""
        self._max_copies = max_copies
        self._next_token = 0
        self._by_token: dict[int, PendingCheck] = {}
        self.by_id: dict[bytes, PendingCheck] = {}
        """To look up in the midst of much work; not to be changed from outside."""

    def __len__(self) -> int:
        return len(self._by_token)

    def __contains__(self, message_id: bytes) -> bool:
        return message_id in self.by_id

    @property
    def full(self) -> bool:
        """Whether no further message can be taken under check."""
        return len(self._by_token) >= self._most or self.bytes >= self._most_bytes

    def begin(self, message: WireMessage, source: Peer) -> PendingCheck:
        """Take a message under check."""
        token = self._next_token
        self._next_token = token + 1
        check = PendingCheck(token, message, source)
        self._by_token[token] = self.by_id[message.id] = check
        self.bytes += check.size
        return check

    def add_copy(self, message: WireMessage, source: Peer) -> Copy:
        """A message arrived that may be a copy of one under check."""
        check = self.by_id.get(message.id)
        if check is None:
            return "new"
        if check.message.raw == message.raw:
            check.holders[source] = None
            return "same"
        # Nobody has a reason to send two versions of one message; and whoever has filled all the
        # places with forgeries would keep the true one out.
        copies = check.copies
        if copies is None:
            copies = check.copies = deque()
        second = source in check.holders or any(source == peer for peer, _ in copies)
        if second or len(copies) >= self._max_copies:
            return "refused"
        copies.append((source, message))
        check.size += message.weight
        self.bytes += message.weight
        return "kept"

    def end(self, token: int) -> PendingCheck | None:
        """The verdict came: no longer under check. None if the token is unknown."""
        check = self._by_token.pop(token, None)
        if check is not None:
            del self.by_id[check.message.id]
            self.bytes -= check.size
        return check

    def retry(self, forged: PendingCheck) -> PendingCheck | None:
        """Take the next copy of a forged message under check, if there is one."""
        if not forged.copies:
            return None
        source, message = forged.copies.popleft()
        check = self.begin(message, source)
        check.copies = forged.copies
        waiting = forged.size - forged.message.weight - check.size
        check.size += waiting
        self.bytes += waiting
        return check

"""What waits to be sent to one peer: control first, messages behind it, both bounded.

Messages wait in a :class:`~rumormill.libp2p.pubsub.backlog.Backlog`.

Control is kept as the state that the peer should learn, not as a list of packets: a GRAFT that was
overtaken by a PRUNE of the same topic is never sent, and a subscription that was taken back before
it left cancels out. So control cannot grow beyond the topics and ids there are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import IntEnum
from typing import Any

from rumormill.core.machine import Peer
from rumormill.core.protobuf import bytes_field
from rumormill.libp2p.pubsub.backlog import Backlog
from rumormill.libp2p.wire.control import ControlKind, MergeRule, Piece, Waiting
from rumormill.libp2p.wire.frames import length_prefixed, prefix_length
from rumormill.libp2p.wire.limits import RpcLimits
from rumormill.libp2p.wire.merging import IN_FIRST_RPC
from rumormill.libp2p.wire.rpc import Subscription, subscription_field


class Place(IntEnum):
    """Where a message stands that is to be sent to a peer."""

    NOWHERE = 0
    """There was no room for it."""
    NEXT = 1
    """The line is free: it leaves with the next write."""
    BEHIND = 2
    """Others wait before it."""


NOWHERE, NEXT, BEHIND = Place  # looked up once, not for every message


class PeerQueue:
    """The outbound side of one peer."""

    __slots__ = (
        "_control", "_messages", "_subscriptions", "crowded", "was_full", "writable",
    )  # fmt: skip

    def __init__(self, most_messages: int, most_bytes: int) -> None:
        self._messages = Backlog(most_messages, most_bytes)
        self._subscriptions: dict[str, Subscription] = {}
        self._control: dict[MergeRule, Waiting] = {}
        self.writable = True
        """Whether the line to the peer takes packets now."""
        self.crowded = False
        """Whether more than half of the room was taken since it was last half empty."""
        self.was_full = False
        """Whether a message found no room, or a publisher asked for it, since there was last room
        again."""

    # ---- filling

    def add_message(self, frame: bytes, source: Peer | None = None) -> Place:
        """Queue a whole RPC frame with one message, that came to us from ``source`` if it is not
        our own; says where it stands.
        """
        messages = self._messages
        waiting = messages.add(frame, source)
        if waiting is None:
            self.was_full = self.crowded = True
            return NOWHERE
        if waiting >= messages.half_messages or messages.bytes > messages.half_bytes:
            self.crowded = True
        return BEHIND if waiting or not self.writable else NEXT

    def full(self, size: int = 0) -> bool:
        """Whether a frame of ours of ``size`` bytes would find no room. One frame always fits."""
        return self._messages.full(size, None)

    def take_evicted(self) -> int:
        """How many messages were lost since the last time, so that those of others had room."""
        evicted, self._messages.evicted = self._messages.evicted, 0
        return evicted

    def announce(self, topic: str, subscribe: bool, other: bytes = b"") -> None:
        """Tell the peer that we joined or left a topic, and ``other`` fields beside it."""
        # Said but not sent yet: the newer word replaces the older, it does not follow it.
        self._subscriptions[topic] = Subscription(subscribe, topic, other)

    def control(self, kind: ControlKind[Any], entry: Any) -> int:
        """Tell the peer what an entry says; returns how much of it (ids, or 1) found no room."""
        waiting = self._control.get(kind.merge)
        if waiting is None:
            waiting = kind.merge()
        lost = waiting.add(kind, entry)
        if waiting:
            self._control[kind.merge] = waiting
        return lost

    # ---- emptying

    @property
    def waiting(self) -> int:
        """Messages that wait."""
        return len(self._messages)

    @property
    def has_control(self) -> bool:
        """Whether anything but messages waits."""
        return bool(self._subscriptions or self._control)

    def discard_messages(self) -> int:
        """Forget the messages; returns how many there were."""
        count = len(self._messages)
        self._messages.clear()
        return count

    def half_empty(self) -> bool:
        """Whether there is so much room again that a waiting publisher should go on."""
        return not self._messages.crowded

    def take(
        self, most_bytes: int, max_control_size: int, max_rpc_size: int, limits: RpcLimits
    ) -> bytes:
        """Up to about ``most_bytes`` of whole frames to send now, control first.

        Control that fits rides on the first message instead of in a packet of its own. No RPC holds
        more than ``max_control_size`` bytes of it, nor more entries and ids than ``limits`` allow.
        """
        frames: list[bytes] = []
        if self.has_control:
            frames = self._control_frames(max_control_size, max_rpc_size, limits)
        size = sum(map(len, frames))
        if self._messages and (size < most_bytes or not frames):
            frames += self._messages.take(most_bytes - size)
        return b"".join(frames)

    def _control_frames(
        self, max_control_size: int, max_rpc_size: int, limits: RpcLimits
    ) -> list[bytes]:
        """All control that waits as frames; the last one carries the first message too."""
        rpcs = self._control_rpcs(max_control_size, limits)
        frames = [length_prefixed(rpc) for rpc in rpcs[:-1]]
        last = rpcs[-1]
        if self._messages:
            # Two protobuf messages one behind the other are one message with the fields of both.
            frame = self._messages.first()
            message_rpc = frame[prefix_length(frame) :]
            if len(last) + len(message_rpc) <= max_rpc_size:
                self._messages.take(1)
                last += message_rpc
        frames.append(length_prefixed(last))
        return frames

    def _control_rpcs(self, max_control_size: int, limits: RpcLimits) -> list[bytes]:
        """All control that waits, packed into RPCs that stay within what is allowed."""
        announcements = [Piece(subscription_field(each)) for each in self._subscriptions.values()]
        first = self._control.pop(IN_FIRST_RPC, None)
        pieces = [
            piece
            for waiting in self._control.values()
            for piece in waiting.pieces(max_control_size // 2, limits.message_ids)
        ]
        self._subscriptions, self._control = {}, {}
        rpcs = list(_packed(announcements, max_control_size, limits.subscriptions, 0))
        control = list(
            _packed(pieces, max_control_size, limits.control_messages, limits.message_ids)
        )
        if first is not None:
            said = b"".join([piece.raw for piece in first.pieces(max_control_size, 0)])
            rpcs[:1] = [b"".join(rpcs[:1]) + bytes_field(3, said)]
        elif rpcs and control and len(rpcs[-1]) + len(control[0]) <= max_control_size:
            # Exactly one control field in an RPC: not every decoder merges two.
            rpcs[-1] += bytes_field(3, control.pop(0))
        return rpcs + [bytes_field(3, piece) for piece in control]


def _packed(
    pieces: Iterable[Piece], most_bytes: int, most_pieces: int, most_ids: int
) -> Iterator[bytes]:
    """The pieces joined into as few strings as possible, none above a limit if it can be."""
    current: list[bytes] = []
    size = ids = 0
    for piece in pieces:
        if current and (
            size + len(piece.raw) > most_bytes
            or len(current) >= most_pieces
            or ids + piece.ids > most_ids
        ):
            yield b"".join(current)
            current, size, ids = [], 0, 0
        current.append(piece.raw)
        size += len(piece.raw)
        ids += piece.ids
    if current:
        yield b"".join(current)

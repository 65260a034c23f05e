"""What waits to be sent to one peer: control first, messages behind it, both bounded.

The messages are a :class:`~rumormill.libp2p.pubsub.outbound.backlog.Backlog`. Of control, what is
urgent (IDONTWANT, GRAFT, PRUNE) leaves before what only tells of messages.

Control is kept as the state that the peer should learn, not as a list of packets: a GRAFT that was
overtaken by a PRUNE of the same topic is never sent, and a subscription that was taken back before
it left cancels out. So control cannot grow beyond the topics and ids there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import Any

from rumormill.core.protobuf import bytes_field
from rumormill.libp2p.pubsub.outbound.backlog import Backlog
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


class PeerQueue(Backlog):
    """The outbound side of one peer: its messages, and control before them."""

    __slots__ = ("_control", "_subscriptions", "_urgent", "writable")

    def __init__(self, most_messages: int, most_bytes: int) -> None:
        super().__init__(most_messages, most_bytes)
        self._subscriptions: dict[str, Subscription] = {}
        self._urgent: dict[MergeRule, Waiting] = {}
        self._control: dict[MergeRule, Waiting] = {}
        self.writable = True
        """Whether the line to the peer takes packets now."""

    # ---- control that waits

    def announce(self, topic: str, subscribe: bool, other: bytes = b"") -> None:
        """Tell the peer that we joined or left a topic, and ``other`` fields beside it."""
        # Said but not sent yet: the newer word replaces the older, it does not follow it.
        self._subscriptions[topic] = Subscription(subscribe, topic, other)

    def control(self, kind: ControlKind[Any], entry: Any) -> int:
        """Tell the peer what an entry says; returns how much of it (ids, or 1) found no room."""
        control = self._urgent if kind.urgent else self._control
        waiting = control.get(kind.merge)
        if waiting is not None:
            return waiting.add(kind, entry)
        waiting = kind.merge()
        lost = waiting.add(kind, entry)
        if waiting:
            control[kind.merge] = waiting
        return lost

    @property
    def has_control(self) -> bool:
        """Whether anything but messages waits."""
        return bool(self._subscriptions or self._urgent or self._control)

    # ---- emptying

    def packet(
        self, most_bytes: int, max_control_size: int, most_together: int, limits: RpcLimits
    ) -> bytes:
        """Up to about ``most_bytes`` of whole frames to send now, control first.

        Control that fits rides on the first message instead of in a packet of its own, unless both
        are more than ``most_together`` bytes. No RPC holds more than ``max_control_size`` bytes of
        it, nor more entries and ids than ``limits`` allow.
        """
        if not (self._subscriptions or self._urgent or self._control):
            return b"".join(self.take(most_bytes)) if self.count else b""
        frames = self._control_frames(max_control_size, most_together, limits)
        size = sum(map(len, frames))
        if self.count and size < most_bytes:
            frames += self.take(most_bytes - size)
        return b"".join(frames)

    def _control_frames(
        self, max_control_size: int, most_together: int, limits: RpcLimits
    ) -> list[bytes]:
        """All control that waits as frames; the last one carries the first message too."""
        rpcs = self._control_rpcs(max_control_size, limits)
        frames = [length_prefixed(rpc) for rpc in rpcs[:-1]]
        last = rpcs[-1]
        if self.count:
            # Two protobuf messages one behind the other are one message with the fields of both.
            frame = self.first()
            message_rpc = frame[prefix_length(frame) :]
            if len(last) + len(message_rpc) <= most_together:
                self.take(1)
                last += message_rpc
        frames.append(length_prefixed(last))
        return frames

    def _control_rpcs(self, max_control_size: int, limits: RpcLimits) -> list[bytes]:
        """All control that waits, packed into RPCs that stay within what is allowed."""
        rpcs: list[bytes] = []
        if self._subscriptions:
            words = [Piece(subscription_field(each)) for each in self._subscriptions.values()]
            rpcs = _packed(words, max_control_size, limits.subscriptions, 0)
            self._subscriptions = {}
        first = self._control.pop(IN_FIRST_RPC, None)
        pieces: list[Piece] = []
        for waiting in (*self._urgent.values(), *self._control.values()):
            pieces += waiting.pieces(max_control_size // 2, limits.message_ids)
        self._urgent, self._control = {}, {}
        control = _packed(pieces, max_control_size, limits.control_messages, limits.message_ids)
        if first is not None:
            said = b"".join([piece.raw for piece in first.pieces(max_control_size, 0)])
            rpcs[:1] = [b"".join(rpcs[:1]) + bytes_field(3, said)]
        elif rpcs and control and len(rpcs[-1]) + len(control[0]) <= max_control_size:
            # Exactly one control field in an RPC: not every decoder merges two.
            rpcs[-1] += bytes_field(3, control.pop(0))
        return rpcs + [bytes_field(3, piece) for piece in control]


def _packed(
    pieces: Sequence[Piece], most_bytes: int, most_pieces: int, most_ids: int
) -> list[bytes]:
    """The pieces joined into as few strings as possible, none above a limit if it can be."""
    together = b"".join([piece[0] for piece in pieces])
    if (
        len(together) <= most_bytes
        and len(pieces) <= most_pieces
        and sum([piece[1] for piece in pieces]) <= most_ids
    ):  # as nearly always
        return [together] if together else []
    packed: list[bytes] = []
    current: list[bytes] = []
    size = ids = 0
    for piece in pieces:
        if current and (
            size + len(piece.raw) > most_bytes
            or len(current) >= most_pieces
            or ids + piece.ids > most_ids
        ):
            packed.append(b"".join(current))
            current, size, ids = [], 0, 0
        current.append(piece.raw)
        size += len(piece.raw)
        ids += piece.ids
    if current:
        packed.append(b"".join(current))
    return packed

"""What waits to be sent to one peer: control first, messages behind it, both bounded.

Control is kept as the state that the peer should learn, not as a list of packets: a GRAFT that was
overtaken by a PRUNE of the same topic is never sent, and a subscription that was taken back before
it left cancels out. So control cannot grow beyond the topics and ids there are.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from rumormill.core.protobuf import bytes_field
from rumormill.libp2p.wire.frames import length_prefixed, prefix_length
from rumormill.libp2p.wire.rpc import (
    Control,
    Graft,
    IHave,
    IWant,
    Prune,
    Subscription,
    encode_control,
    encode_subscription,
)

MOST_WAITING_ID_BYTES = 2 * 1024 * 1024
"""Bytes of ids (of IHAVE and IWANT) that may wait for one peer: more would be stale when they
leave, and how long an id is, is the peer's choice."""

ID_COST = 32
"""What an id costs beside its own bytes."""

MOST_WAITING_PRUNES = 5000
"""Topics of PRUNE that may wait for one peer. Those we answer GRAFT with are the peer's choice."""


class PeerQueue:
    """The outbound side of one peer."""

    __slots__ = (
        "_bytes", "_graft", "_id_bytes", "_ihave", "_iwant", "_messages", "_most_bytes",
        "_most_messages", "_prune", "_subscriptions", "was_full", "writable",
    )  # fmt: skip

    def __init__(self, most_messages: int, most_bytes: int) -> None:
        self._most_messages = most_messages
        self._most_bytes = most_bytes
        self._messages: deque[bytes] = deque()
        self._bytes = 0
        self._subscriptions: dict[str, bool] = {}
        self._graft: dict[str, None] = {}
        self._prune: dict[str, Prune] = {}
        self._ihave: dict[str, dict[bytes, None]] = {}
        self._iwant: dict[bytes, None] = {}
        self._id_bytes = 0
        self.writable = True
        """Whether the line to the peer takes packets now."""
        self.was_full = False
        """Whether a message found no room since there was last room again."""

    # ---- filling

    def add_message(self, frame: bytes) -> bool:
        """Queue a whole RPC frame with one message; False if there is no room for it."""
        if self.full(len(frame)):
            self.was_full = True
            return False
        self._messages.append(frame)
        self._bytes += len(frame)
        return True

    def full(self, size: int = 0) -> bool:
        """Whether a frame of ``size`` bytes would find no room. One frame always fits."""
        return len(self._messages) >= self._most_messages or (
            self._bytes + size > self._most_bytes and bool(self._messages)
        )

    def announce(self, topic: str, subscribe: bool) -> None:
        """Tell the peer that we joined or left a topic."""
        # Said but not sent yet: the newer word replaces the older, it does not follow it.
        self._subscriptions[topic] = subscribe

    def graft(self, topic: str) -> None:
        """Tell the peer that it is in our mesh."""
        self._prune.pop(topic, None)
        self._graft[topic] = None

    def prune(self, prune: Prune) -> bool:
        """Tell the peer that it is no longer in our mesh; False if there is no room to say so."""
        self._graft.pop(prune.topic, None)
        if len(self._prune) >= MOST_WAITING_PRUNES and prune.topic not in self._prune:
            return False
        self._prune[prune.topic] = prune
        return True

    def ihave(self, topic: str, message_ids: list[bytes]) -> int:
        """Tell the peer what we have; returns how many ids found no room."""
        ids = self._ihave.get(topic, {})
        lost = self._add_ids(ids, message_ids)
        if ids:
            self._ihave[topic] = ids
        return lost

    def iwant(self, message_ids: list[bytes]) -> int:
        """Ask the peer for messages; returns how many ids found no room."""
        return self._add_ids(self._iwant, message_ids)

    def _add_ids(self, waiting: dict[bytes, None], message_ids: list[bytes]) -> int:
        cost = sum(map(len, message_ids)) + ID_COST * len(message_ids)
        if self._id_bytes + cost <= MOST_WAITING_ID_BYTES:
            waiting.update(dict.fromkeys(message_ids))
            self._id_bytes += cost
            return 0
        lost = 0
        for message_id in message_ids:
            cost = len(message_id) + ID_COST
            if message_id in waiting:
                continue
            if self._id_bytes + cost > MOST_WAITING_ID_BYTES:
                lost += 1
            else:
                waiting[message_id] = None
                self._id_bytes += cost
        return lost

    # ---- emptying

    @property
    def waiting(self) -> int:
        """Messages that wait."""
        return len(self._messages)

    @property
    def has_control(self) -> bool:
        """Whether anything but messages waits."""
        return bool(self._subscriptions or self._graft or self._prune or self._ihave or self._iwant)

    def discard_messages(self) -> int:
        """Forget the messages; returns how many there were."""
        count = len(self._messages)
        self._messages.clear()
        self._bytes = 0
        return count

    def half_empty(self) -> bool:
        """Whether there is so much room again that a waiting publisher should go on."""
        return (
            len(self._messages) * 2 <= self._most_messages and self._bytes * 2 <= self._most_bytes
        )

    def take(self, most_bytes: int, max_control_size: int, max_rpc_size: int) -> bytes:
        """Up to about ``most_bytes`` of whole frames to send now, control first.

        Control that fits rides on the first message instead of in a packet of its own.
        """
        frames: list[bytes] = []
        if self.has_control:
            frames = self._control_frames(max_control_size, max_rpc_size)
        size = sum(map(len, frames))
        messages = self._messages
        while messages and (size < most_bytes or not frames):
            frame = messages.popleft()
            size += len(frame)
            self._bytes -= len(frame)
            frames.append(frame)
        return b"".join(frames)

    def _control_frames(self, max_control_size: int, max_rpc_size: int) -> list[bytes]:
        """All control that waits as frames; the last one carries the first message too."""
        rpcs = self._control_rpcs(max_control_size)
        frames = [length_prefixed(rpc) for rpc in rpcs[:-1]]
        last = rpcs[-1]
        if self._messages:
            # Two protobuf messages one behind the other are one message with the fields of both.
            frame = self._messages[0]
            message_rpc = frame[prefix_length(frame) :]
            if len(last) + len(message_rpc) <= max_rpc_size:
                self._messages.popleft()
                self._bytes -= len(frame)
                last += message_rpc
        frames.append(length_prefixed(last))
        return frames

    def _control_rpcs(self, max_control_size: int) -> list[bytes]:
        """All control that waits, packed into RPCs that stay within the size allowed."""
        announcements = [
            bytes_field(1, encode_subscription(Subscription(on, topic)))
            for topic, on in self._subscriptions.items()
        ]
        rpcs = _packed(announcements, max_control_size)
        control = _packed(self._control_pieces(max_control_size // 2), max_control_size)
        self._subscriptions, self._graft, self._prune = {}, {}, {}
        self._ihave, self._iwant, self._id_bytes = {}, {}, 0
        if rpcs and control and len(rpcs[-1]) + len(control[0]) <= max_control_size:
            # Exactly one control field in an RPC: not every decoder merges two.
            rpcs[-1] += bytes_field(3, control.pop(0))
        return rpcs + [bytes_field(3, piece) for piece in control]

    def _control_pieces(self, most_id_bytes: int) -> list[bytes]:
        """The entries of the control field, each encoded, long lists of ids cut into several."""
        pieces = [encode_control(Control(graft=(Graft(topic),))) for topic in self._graft]
        pieces += [encode_control(Control(prune=(each,))) for each in self._prune.values()]
        for ids in _chunks(self._iwant, most_id_bytes):
            pieces.append(encode_control(Control(iwant=(IWant(ids),))))
        for topic, known in self._ihave.items():
            for ids in _chunks(known, most_id_bytes):
                pieces.append(encode_control(Control(ihave=(IHave(topic, ids),))))
        return pieces


def _packed(pieces: list[bytes], most_bytes: int) -> list[bytes]:
    """The pieces joined into as few strings as possible, none above ``most_bytes`` if it can be."""
    packed: list[bytes] = []
    current: list[bytes] = []
    size = 0
    for piece in pieces:
        if current and size + len(piece) > most_bytes:
            packed.append(b"".join(current))
            current, size = [], 0
        current.append(piece)
        size += len(piece)
    if current:
        packed.append(b"".join(current))
    return packed


def _chunks(message_ids: Iterable[bytes], most_bytes: int) -> list[tuple[bytes, ...]]:
    """Ids in groups of about ``most_bytes`` on the wire."""
    groups: list[tuple[bytes, ...]] = []
    current: list[bytes] = []
    size = 0
    for message_id in message_ids:
        if current and size + len(message_id) > most_bytes:
            groups.append(tuple(current))
            current, size = [], 0
        current.append(message_id)
        size += len(message_id) + 4  # tag and length
    if current:
        groups.append(tuple(current))
    return groups

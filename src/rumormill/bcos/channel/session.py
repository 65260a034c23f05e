"""One SDK that is connected: what it was told, what it was asked, and what it owes."""

from __future__ import annotations

from rumormill.bcos.amop.parcel import Parcel
from rumormill.bcos.amop.ports import PacketDone
from rumormill.bcos.amop.verification import Counter
from rumormill.bcos.links.outlet import Outlet
from rumormill.bcos.links.pending import Pending
from rumormill.bcos.wire.channel_packet import (
    HEADER_SIZE,
    KINDS,
    MESSAGES,
    ChannelPacket,
    encode_channel,
)
from rumormill.bcos.wire.frames import FrameReader
from rumormill.core import trace
from rumormill.core.limits import Work, WorkLimits
from rumormill.core.turn import Turn

Questions = Pending[tuple[int, bytes], ChannelPacket]
"""What the SDKs of a node have been asked, by connection and seq."""

OLDEST_PROTOCOL = 1
"""What an SDK speaks until it says otherwise."""

MOST_ANSWERS_DUE = 1_000_000


class Waiting:
    """Bytes that wait for all SDKs of a node, which may be ``most``."""

    __slots__ = ("_most", "bytes")

    def __init__(self, most: int) -> None:
        self._most = most
        self.bytes = 0

    @property
    def full(self) -> bool:
        """Whether nothing more may be put into a queue."""
        return self.bytes >= self._most


class Session:
    """The session of one SDK; a :class:`~rumormill.bcos.amop.ports.Subscriber`."""

    __slots__ = (
        "_counted", "_counter", "_questions", "_turn", "_waiting", "account", "answers_due",
        "connection", "full_since", "gone", "heard_at", "name", "outlet", "peer", "protocol",
        "reader", "requests", "unfinished", "work",
    )  # fmt: skip

    def __init__(
        self,
        turn: Turn,
        connection: int,
        outlet: Outlet,
        largest_packet: int,
        questions: Questions,
        counter: Counter,
        waiting: Waiting,
        account: bytes,
        called: str,
    ) -> None:
        self._turn = turn
        self._questions = questions
        self._counter = counter
        self._waiting = waiting
        self._counted = 0
        self.account = account
        """What its debts are kept under when it has left."""
        self.connection = connection
        self.name = f"sdk-{connection}"
        self.peer = called or self.name
        """Who it says it is, as in its own trace; one that has come twice has it twice."""
        self.outlet = outlet
        self.reader = FrameReader(HEADER_SIZE, largest_packet)
        self.unfinished = 0
        """Bytes of its packet that is not whole, as far as the server has counted them."""
        self.heard_at = turn.now
        self.full_since: float | None = None
        """When its socket took no more."""
        self.work = Work(WorkLimits(), turn.now)
        self.protocol = OLDEST_PROTOCOL
        self.requests: dict[bytes, int] = {}
        """Seqs of its own messages that wait for their answers, and how often each."""
        self.answers_due = 0
        """Multicasts that it got: some SDKs answer them, which nobody waits for."""
        self.gone = False

    # ---- what is sent to it

    @property
    def has_room(self) -> bool:
        """Whether it keeps up with what it is sent."""
        outlet = self.outlet
        return not self.gone and outlet.has_room and (outlet.free or not self._waiting.full)

    def set_ready(self, ready: bool) -> None:
        """Its socket takes more, or does not."""
        self.full_since = None if ready else self._turn.now
        self.outlet.set_ready(ready)
        self.count_waiting()

    def count_waiting(self) -> None:
        """Keep the sum of what waits for all."""
        self._waiting.bytes += self.outlet.waiting - self._counted
        self._counted = self.outlet.waiting

    def forget_waiting(self) -> None:
        """Nothing waits for it any more."""
        self._waiting.bytes -= self._counted
        self._counted = 0

    def reply(self, to: ChannelPacket, data: bytes, kind: int | None = None) -> None:
        """Answer a packet of the SDK, with the type of its own unless ``kind`` says another."""
        self.send(ChannelPacket(to.type if kind is None else kind, to.seq, 0, data))

    def send(self, packet: ChannelPacket) -> bool:
        """Send an answer; without room it is lost, as it would be on a broken connection."""
        return self._write(packet.type, encode_channel(packet)) or self._lost(packet)

    def push(self, parcel: Parcel, origin: str | None) -> bool:
        """Hand a multicast over; False if there is no room for it."""
        if not self._write(parcel.type, parcel.raw):
            return False
        self.answers_due = min(self.answers_due + 1, MOST_ANSWERS_DUE)
        return True

    def ask(self, parcel: Parcel, origin: str | None, timeout: float, done: PacketDone) -> None:
        """Hand a unicast over and wait for the answer.

        It has the publisher's seq, unless the connection has it in use already: two publishers may
        have chosen the same, and one that gets its own message takes it for the answer.
        """
        if self.gone:
            done(None, "left")
            return
        seq = parcel.seq
        while seq in self.requests or (self.connection, seq) in self._questions:
            seq = self._counter.next_seq()
        raw = parcel.raw if seq == parcel.seq else parcel.with_seq(seq).raw
        if not self._write(parcel.type, raw):
            done(None, "queue_full")
            return
        key = (self.connection, seq)
        self._questions.begin(key, self.connection, self._turn.now + timeout, done)

    def _write(self, kind: int, raw: bytes) -> bool:
        outlet = self.outlet
        if not outlet.free and self._waiting.full:
            return False
        if not outlet.write(raw):
            return False
        if outlet.waiting:
            self.count_waiting()
        self._turn.trace(
            trace.PACKET_SENT,
            peer=self.peer,
            size=len(raw),
            kind=KINDS.get(kind, "other"),
            messages=int(kind in MESSAGES),
        )
        return True

    def _lost(self, packet: ChannelPacket) -> bool:
        self._turn.trace(
            trace.DROPPED, peer=self.peer, what=KINDS.get(packet.type, "other"),
            reason="gone" if self.gone else "queue_full", count=1,
        )  # fmt: skip
        return False

    # ---- its own requests

    def begin_request(self, seq: bytes) -> None:
        """It waits for an answer with this seq."""
        self.requests[seq] = self.requests.get(seq, 0) + 1

    def end_request(self, seq: bytes) -> None:
        """It has its answer."""
        count = self.requests.pop(seq)
        if count > 1:
            self.requests[seq] = count - 1

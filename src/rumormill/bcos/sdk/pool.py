"""The nodes that we are connected to, all at once: who is there, who has to wait, who is dropped.

What a connection brings goes to the parts of the machine by :class:`Parts`.
"""

from __future__ import annotations

import random
from typing import Final, Protocol

from rumormill.bcos.certificates.identity import Identify
from rumormill.bcos.sdk.connection import Connection
from rumormill.bcos.sdk.parameters import SdkParameters
from rumormill.bcos.wire.channel_packet import SEQ_SIZE, ChannelPacket, decode_channel
from rumormill.core import trace
from rumormill.core.errors import RemoteProtocolError
from rumormill.core.limits import WORN_OUT
from rumormill.core.targets import Targets
from rumormill.core.timers import Alarm, Timers
from rumormill.core.transport import CloseTransport, RestTransport, TransportOpened
from rumormill.core.turn import Turn
from rumormill.core.words import in_words

PROTOCOL: Final = "channel"
"""What we speak with nodes, in trace events."""

WHICH_PORT: Final = "is it the port for other nodes?"
NO_CHANNEL: Final = f"what it says is not for SDKs; {WHICH_PORT}"
BEFORE_ANSWER: Final = "before it answered the handshake; its trace tells why"
"""What to tell who waits for a node that never was up."""

HELD_REST: Final = 0.1
"""Seconds that nothing is read for, again and again, while the application is behind."""

SEQS: Final = 64
"""Seqs that are made at once: the system takes its time for each call."""

USELESS_PACKET: Final = 25.0
"""Microseconds that a packet costs that is of no use, beside its bytes."""
BYTES_PER_MICROSECOND: Final = 2048
"""Of a packet: it was put together, and copied."""

SMALL_READ: Final = 512
"""Bytes. Who sends fewer at a time, and no whole packet with them, wastes our turns."""
PIECE: Final = 10.0
"""Microseconds that such a read costs."""


class Parts(Protocol):
    """What the rest of the machine hears of connections."""

    def node_up(self, connection: Connection) -> None:
        """A node can be used."""
        ...

    def node_down(self, connection: Connection, reason: str) -> None:
        """A node that could be used is gone."""
        ...

    def packet(self, connection: Connection, packet: ChannelPacket) -> None:
        """A packet of a node that can be used; may raise :class:`RemoteProtocolError`."""
        ...


class Pool:
    """All connections. Timers have a word and the number of a connection as their key."""

    def __init__(
        self,
        turn: Turn,
        parameters: SdkParameters,
        random: random.Random,
        identify: Identify,
        alarm: Alarm,
        parts: Parts,
    ) -> None:
        self._turn = turn
        self._parameters = parameters
        self._random = random
        self._seqs: list[bytes] = []
        self._identify = identify
        self._parts = parts
        self._connections: dict[int, Connection] = {}
        self._by_address: dict[str, Connection] = {}
        self._held = False
        self._reading = 0
        """Bytes of the packet at hand."""
        self._timers: Timers[tuple[str, int]] = Timers(alarm)
        self.targets = Targets(turn, parameters, random, alarm)

    def up(self) -> list[Connection]:
        """Those that can be used: in the order in which the user named them."""
        by_address = self._by_address
        found = (by_address.get(address) for address in self.targets.addresses())
        return [each for each in found if each is not None and each.up]

    def peers(self) -> tuple[str, ...]:
        """The nodes that can be used, each once."""
        return tuple(dict.fromkeys(each.peer for each in self.up()))

    def new_seq(self) -> bytes:
        """A seq that nobody has used before: 32 hex digits.

        Nobody may foresee it either: who sends a message under it first has ours dropped.
        """
        if not self._seqs:
            digits = b"%0*x" % (SEQ_SIZE * SEQS, self._random.getrandbits(4 * SEQ_SIZE * SEQS))
            self._seqs = [digits[at : at + SEQ_SIZE] for at in range(0, len(digits), SEQ_SIZE)]
        return self._seqs.pop()

    # ---- come and go

    def dial(self, address: str, keep: bool) -> None:
        """The user wants a node."""
        connection = self._by_address.get(address)
        peer = connection.peer if connection is not None and connection.up else None
        self.targets.want(address, keep, peer)

    def opened(self, input: TransportOpened) -> None:
        """A transport stands: begin the handshake."""
        address = self.targets.opened(input.dial)
        if address is None:
            self._turn.add(CloseTransport(input.connection, "not_wanted"))
            return
        try:
            peer = self._identify(input.credentials).node_id if input.credentials else ""
        except RemoteProtocolError as error:
            self._protocol_error(address, error)
            self._turn.add(CloseTransport(input.connection, error.reason))
            self.targets.failed(address, error.reason, in_words(error.reason, error.detail))
            return
        connection = Connection(
            self._turn, input.connection, address, peer or address, self._parameters
        )
        connection.uuid = self.new_seq().decode()
        self._connections[input.connection] = self._by_address[address] = connection
        self._set("handshake", connection, self._parameters.greeting_timeout)
        connection.begin(self.new_seq())

    def closed(self, number: int, reason: str) -> None:
        """The other end is gone."""
        connection = self._connections.get(number)
        if connection is not None:
            self._end(connection, reason, f"{in_words(reason)} {BEFORE_ANSWER}")

    def drop(self, connection: Connection, reason: str, problem: str = "") -> None:
        """Close a connection; a node to be kept is dialed again later.

        ``problem`` is for whoever waits for the node, where the reason alone does not say enough.
        """
        if not connection.gone:
            connection.outlet.close(reason)
            self._end(connection, reason, problem)

    def stop(self) -> None:
        """Close all, and dial none any more."""
        self.targets.stop()
        for connection in list(self._connections.values()):
            self.drop(connection, "shutdown")

    def _end(self, connection: Connection, reason: str, problem: str) -> None:
        was_up = connection.up
        connection.gone = True
        del self._connections[connection.number]
        self._by_address.pop(connection.address, None)
        for what in ("handshake", "beat", "idle"):
            self._timers.cancel((what, connection.number))
        if was_up:
            if connection.peer not in self.peers():
                self._turn.trace(trace.PEER_LEFT, peer=connection.peer, reason=reason)
            self._turn.trace(
                trace.CONNECTION_CLOSED, peer=connection.peer,
                address=connection.address, reason=reason,
            )  # fmt: skip
            self._parts.node_down(connection, reason)
        lasted = self._turn.now - connection.opened_at if was_up else None
        self.targets.failed(connection.address, reason, problem or in_words(reason), lasted)

    # ---- bytes

    def received(self, number: int, data: bytes) -> None:
        """Bytes of a node."""
        connection = self._connections.get(number)
        if connection is None:
            return  # it was dropped in this very turn
        if data:
            connection.read_at = self._turn.now
        whole = False
        try:
            for raw in connection.reader.feed(data):
                whole = True
                self._reading = len(raw)
                packet = decode_channel(raw)
                connection.trace_packet(trace.PACKET_RECEIVED, packet.type, len(raw))
                self._packet(connection, packet)
                if connection.gone:
                    return
        except RemoteProtocolError as error:
            self._protocol_error(connection.peer, error)
            self.drop(connection, error.reason, NO_CHANNEL)
            return
        if data and not whole and len(data) < SMALL_READ:
            connection.work.spend("pieces", PIECE)
        self._let_rest(connection)

    def write_ready(self, number: int, ready: bool) -> None:
        """The socket is full, or has room again."""
        connection = self._connections.get(number)
        if connection is not None:
            connection.outlet.set_ready(ready)

    def hold(self, paused: bool) -> None:
        """Read nothing while the application is behind; what we have to say still leaves."""
        self._held = paused
        for connection in self._connections.values():
            if paused:
                self._turn.add(RestTransport(connection.number, HELD_REST))
            else:
                connection.read_at = self._turn.now  # its silence was of our making

    def charge(
        self, connection: Connection, kind: str, cost: float = USELESS_PACKET, blame: bool = True
    ) -> None:
        """A node made us work, for the packet at hand; without ``blame``, for something."""
        cost += self._reading / BYTES_PER_MICROSECOND
        connection.work.spend(kind, cost, blame=blame)

    def _packet(self, connection: Connection, packet: ChannelPacket) -> None:
        if connection.up:
            self._parts.packet(connection, packet)
        elif connection.take_handshake(packet):
            self._now_up(connection)
        else:
            self._turn.trace(trace.IGNORED, peer=connection.peer, reason="before_handshake")
            self.charge(connection, "before_handshake")

    def _now_up(self, connection: Connection) -> None:
        self._timers.cancel(("handshake", connection.number))
        self._set("beat", connection, self._parameters.heartbeat_interval)
        self._set("idle", connection, self._parameters.silence_timeout)
        self._turn.trace(
            trace.CONNECTION_OPENED, peer=connection.peer,
            address=connection.address, outbound=True, protocol=connection.protocol,
        )  # fmt: skip
        if sum(each.peer == connection.peer for each in self.up()) == 1:
            self._turn.trace(
                trace.PEER_JOINED, peer=connection.peer, protocol=PROTOCOL, outbound=True
            )
        self.targets.reached(connection.address, connection.peer)
        self._parts.node_up(connection)

    def _let_rest(self, connection: Connection) -> None:
        seconds = connection.work.rest(self._turn.now)
        if seconds == WORN_OUT:
            reason = "too_much_work"
            detail = f"held back too long for {connection.work.reason}"
            self._protocol_error(connection.peer, RemoteProtocolError(reason, detail))
            self.drop(connection, reason)
            return
        if seconds:
            self._turn.trace(
                trace.HELD_BACK, peer=connection.peer,
                reason=connection.work.reason, seconds=seconds,
            )  # fmt: skip
        if self._held:
            seconds = max(seconds, HELD_REST)
        if seconds:
            self._turn.add(RestTransport(connection.number, seconds))

    def _protocol_error(self, peer: str, error: RemoteProtocolError) -> None:
        self._turn.trace(trace.PROTOCOL_ERROR, peer=peer, reason=error.reason, detail=error.detail)

    # ---- time

    def wake(self) -> None:
        """Dial, beat, and drop those who are silent."""
        self.targets.wake()
        for what, number in self._timers.due(self._turn.now):
            connection = self._connections.get(number)
            if connection is None:
                continue
            if what == "beat":
                connection.beat(self.new_seq())
                self._set("beat", connection, self._parameters.heartbeat_interval)
            elif what == "idle":
                self._look_at_idle(connection)
            else:
                seconds = self._parameters.greeting_timeout
                problem = f"no answer to the handshake within {seconds:g} s; {WHICH_PORT}"
                self.drop(connection, "handshake_timed_out", problem)

    def next_wake(self) -> tuple[float | None, ...]:
        """When :meth:`wake` has something to do."""
        return self.targets.next_wake(), self._timers.next_wake()

    def _look_at_idle(self, connection: Connection) -> None:
        if self._held:
            connection.read_at = self._turn.now  # its silence is of our making
        ends_at = connection.read_at + self._parameters.silence_timeout
        if ends_at <= self._turn.now:
            self.drop(connection, "timed_out")
        else:
            self._timers.set(("idle", connection.number), ends_at)

    def _set(self, what: str, connection: Connection, seconds: float) -> None:
        self._timers.set((what, connection.number), self._turn.now + seconds)

"""One connection of the HTTP side: uvicorn's, with an end to every wait.

uvicorn has a time-out between two requests and none within one: whoever sends half a header, or a
byte of it now and then, is waited for without end (its issue 157 asks for more since 2018). So each
connection here is in one of the phases below, and all but one have a time in which they must end.
"""

from __future__ import annotations

import asyncio
import json
import logging
from enum import Enum, auto
from typing import Any, Final, cast

import h11
from uvicorn.config import Config
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle
from uvicorn.server import ServerState

from rumormill.core.addresses import owner_of
from rumormill.live.transports.turns import Line, Turns
from rumormill.node.connections import Caller, Connections
from rumormill.node.guard import CALLER
from rumormill.node.settings import HttpLimits
from rumormill.node.tally import CLOSED, REFUSED, Tally

LEFTOVER_SECONDS: Final = 2.0
"""That we go on reading a body which we have already refused: whoever is cut off in the midst of
sending never sees the answer."""

log = logging.getLogger("rumormill.node.http")
# What a stranger sends is no news for the log: it is counted and answered.
log.setLevel(logging.ERROR)


class Phase(Enum):
    """What a connection waits for."""

    NEW = auto()
    """The first request; nothing came yet."""
    HEADER = auto()
    """The rest of a header."""
    BODY = auto()
    """The rest of a body."""
    LEFTOVER = auto()
    """The rest of a body that nobody reads: the answer is given."""
    ANSWER = auto()
    """Us."""
    IDLE = auto()
    """A further request."""
    CLOSING = auto()
    """The caller, to take the end of its answer."""


REASONS: Final = {
    Phase.NEW: "header_timeout",
    Phase.HEADER: "header_timeout",
    Phase.BODY: "body_timeout",
    Phase.LEFTOVER: "body_unread",
    Phase.IDLE: "idle_timeout",
    Phase.CLOSING: "answer_timeout",
}
"""What is counted when a phase takes too long; :attr:`Phase.ANSWER` takes as long as we do."""


class _Gate:
    """A socket that is read unless somebody holds it: uvicorn for want of room, or we because it is
    the turn of others. It stands for the transport where uvicorn wants to hold it.
    """

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._holders: set[str] = set()

    def hold(self, holder: str) -> None:
        """Do not read."""
        self._holders.add(holder)
        if not self._transport.is_closing():
            self._transport.pause_reading()

    def let_go(self, holder: str) -> None:
        """Read, if nobody else holds it."""
        self._holders.discard(holder)
        if not self._holders and not self._transport.is_closing():
            self._transport.resume_reading()

    def pause_reading(self) -> None:
        """uvicorn has no room."""
        self.hold("uvicorn")

    def resume_reading(self) -> None:
        """It has again."""
        self.let_go("uvicorn")


class HttpConnection(H11Protocol):
    """A connection with bounds on how long it may take."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        connections: Connections,
        turns: Turns,
        limits: HttpLimits,
        tally: Tally,
    ) -> None:
        loop = asyncio.get_running_loop()
        self._caller = Caller(connections, self._abort)
        super().__init__(config, server_state, {CALLER: self._caller}, loop)
        self.logger = log
        self._connections = connections
        self._turns = turns
        self._limits = limits
        self._tally = tally
        self._phase = Phase.NEW
        self._since = loop.time()
        self._received = 0
        self._timer: asyncio.TimerHandle | None = None
        self._unsent = 0
        self._write_timer: asyncio.TimerHandle | None = None

    # ---- what the loop calls

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Somebody has connected."""
        super().connection_made(transport)
        self._gate = _Gate(transport)
        self.flow = FlowControl(cast("asyncio.Transport", self._gate))
        self._line = Line(self._turns, self, self._take)
        host = self.client[0] if self.client else ""
        if self._connections.admit(self._caller, owner_of(host)):
            self._wait_until(self._limits.header_timeout)
        else:
            self._abort()

    def data_received(self, data: bytes) -> None:
        """Read on, when it is this connection's turn."""
        self._line.take(data)

    def _take(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        if self._phase is not Phase.BODY:
            self._received = 0
        self._received += len(data)
        super().data_received(data)
        self._look()

    def pause_reading(self) -> None:
        """Others have their turn first."""
        self._gate.hold("turn")

    def resume_reading(self) -> None:
        """Its turn has come."""
        self._gate.let_go("turn")

    def on_response_complete(self) -> None:
        """The answer is given."""
        super().on_response_complete()
        self._unset_keepalive_if_required()  # ours counts
        self._enter(self._phase_now(answered=True))

    def pause_writing(self) -> None:
        """The caller does not take its answer as fast as we give it."""
        super().pause_writing()
        self._watch_answer()

    def resume_writing(self) -> None:
        """It goes on."""
        super().resume_writing()
        self._unwatch_answer()

    def connection_lost(self, exc: Exception | None) -> None:
        """It is over."""
        self._line.end()
        self._stop_timer()
        self._unwatch_answer()
        self._connections.gone(self._caller)
        super().connection_lost(exc)
        self._unset_keepalive_if_required()

    # ---- phases

    def _look(self) -> None:
        """See in which phase it is, now that something came."""
        phase = self._phase_now(answered=self._phase is Phase.LEFTOVER)
        if phase is not self._phase:
            self._enter(phase)

    def _phase_now(self, answered: bool) -> Phase:
        if self.transport.is_closing():
            return Phase.CLOSING
        cycle: RequestResponseCycle | None = self.cycle
        owed = cycle is not None and not cycle.response_complete
        if self.conn.their_state is h11.SEND_BODY:
            return Phase.BODY if owed else Phase.LEFTOVER
        if owed:
            return Phase.ANSWER
        if self.conn.their_state is not h11.IDLE:
            return Phase.CLOSING
        # Empty lines are no beginning: who sends them still owes a header.
        return Phase.IDLE if answered and not self.conn.trailing_data[0] else Phase.HEADER

    def _enter(self, phase: Phase) -> None:
        before, self._phase = self._phase, phase
        limits = self._limits
        if before in (Phase.ANSWER, Phase.LEFTOVER) and phase is not Phase.LEFTOVER:
            self._connections.waits(self._caller)
            if self._caller.refused:
                self.transport.close()
                self._phase = phase = Phase.CLOSING
        if phase is Phase.HEADER:
            if before is not Phase.NEW:  # else it has had part of its time already
                self._wait_until(limits.header_timeout)
        elif phase is Phase.BODY:
            self._wait_until(limits.body_timeout)
        elif phase is Phase.LEFTOVER:
            self._wait_until(LEFTOVER_SECONDS)
        elif phase is Phase.ANSWER:
            self._stop_timer()
            self._connections.begins(self._caller)
        elif phase is Phase.IDLE:
            self._wait_until(limits.idle_timeout)
        else:
            self._wait_until(limits.answer_timeout)

    def _wait_until(self, seconds: float) -> None:
        self._stop_timer()
        self._since = self.loop.time()
        self._timer = self.loop.call_later(seconds, self._too_late)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _too_late(self) -> None:
        phase, limits = self._phase, self._limits
        if phase is Phase.BODY:
            allowed = limits.body_timeout + self._received / limits.slowest_rate
            left = self._since + allowed - self.loop.time()
            if left > 0:
                self._timer = self.loop.call_later(left, self._too_late)
                return
        self._tally.add(CLOSED, REASONS[phase], self._caller.address)
        if phase is Phase.HEADER:
            self._end_with(408, f"the headers took more than {limits.header_timeout:g} s")
        elif phase is Phase.BODY:
            seconds = self.loop.time() - self._since
            self._end_with(408, f"the body was not whole after {seconds:.0f} s")
        else:
            self._abort()

    # ---- answers that nobody takes

    def _watch_answer(self) -> None:
        self._unwatch_answer()
        self._unsent = self.transport.get_write_buffer_size()
        seconds = self._limits.answer_timeout
        self._write_timer = self.loop.call_later(seconds, self._answer_due)

    def _unwatch_answer(self) -> None:
        if self._write_timer is not None:
            self._write_timer.cancel()
            self._write_timer = None

    def _answer_due(self) -> None:
        taken = self._unsent - self.transport.get_write_buffer_size()
        if taken >= self._limits.slowest_rate * self._limits.answer_timeout:
            self._watch_answer()
            return
        self._tally.add(CLOSED, "answer_timeout", self._caller.address)
        self._abort()

    # ---- ends

    def send_400_response(self, msg: str) -> None:
        """What came is no HTTP."""
        self._tally.add(REFUSED, "400", self._caller.address)
        self._end_with(400, "this is no HTTP request")

    def _end_with(self, status: int, sentence: str) -> None:
        """Answer in place of the routes, if no answer has begun, and close."""
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            self._answer(status, sentence)
        self._give_up()
        self.transport.close()
        # Whoever does not take our last words has had time for it.
        self._stop_timer()
        self._timer = self.loop.call_later(LEFTOVER_SECONDS, self.transport.abort)

    def _answer(self, status: int, sentence: str) -> None:
        body = json.dumps({"error": sentence}).encode()
        headers: list[tuple[bytes, bytes]] = [
            (b"content-type", b"application/json"),
            (b"content-length", b"%d" % len(body)),
            (b"connection", b"close"),
        ]
        parts: tuple[Any, ...] = (
            h11.Response(status_code=status, headers=headers),
            h11.Data(data=body),
            h11.EndOfMessage(),
        )
        self.transport.write(b"".join(self.conn.send(part) or b"" for part in parts))

    def _abort(self) -> None:
        self._give_up()
        self.transport.abort()

    def _give_up(self) -> None:
        """Let the routes end: whatever they still answer goes nowhere."""
        cycle: RequestResponseCycle | None = self.cycle
        if cycle is not None and not cycle.response_complete:
            cycle.disconnected = True
            cycle.message_event.set()

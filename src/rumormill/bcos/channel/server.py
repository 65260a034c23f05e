"""The server of SDKs, without I/O: who may come, who has to go, and what all of them hold."""

from __future__ import annotations

from collections.abc import Collection
from hashlib import sha256

from rumormill.bcos.amop.amop import Amop
from rumormill.bcos.certificates.identity import Identify, Identity
from rumormill.bcos.channel import toll
from rumormill.bcos.channel.conversation import Conversation
from rumormill.bcos.channel.parameters import ChannelParameters
from rumormill.bcos.channel.rpc import Rpc
from rumormill.bcos.channel.session import Questions, Session, Waiting
from rumormill.bcos.channel.toll import Toll
from rumormill.bcos.links.outlet import Outlet
from rumormill.core import trace
from rumormill.core.errors import RemoteProtocolError
from rumormill.core.timers import Alarm, Timers
from rumormill.core.transport import CloseTransport
from rumormill.core.turn import Turn


class ChannelServer:
    """All sessions of SDKs of one node.

    ``identify`` reads certificates, and ``issuers`` are those of the node's own, one or one for
    each profile: with ``check_issuer``, only SDKs of theirs are let in.
    """

    def __init__(
        self,
        turn: Turn,
        amop: Amop,
        identify: Identify,
        issuers: Collection[str],
        parameters: ChannelParameters,
        alarm: Alarm,
    ) -> None:
        self._turn = turn
        self._amop = amop
        self._identify = identify
        self._issuers = issuers
        self._parameters = parameters
        self._sessions: dict[int, Session] = {}
        self._addresses: dict[int, str] = {}
        self._questions = Questions(alarm)
        self._idle: Timers[int] = Timers(alarm)
        self._unfinished = 0
        self._waiting = Waiting(parameters.max_queued_bytes)
        self._toll = Toll(turn, self.drop)
        self._conversation = Conversation(
            turn, amop, Rpc(turn.name, amop, parameters), self._questions, parameters,
            self._toll, self.drop,
        )  # fmt: skip

    # ---- what the transport tells

    def opened(self, connection: int, address: str, credentials: bytes) -> None:
        """An SDK has come."""
        try:
            identity = self._admit(credentials)
        except RemoteProtocolError as error:
            self._turn.trace(
                trace.CONNECTION_REFUSED, address=address, reason=error.reason, detail=error.detail
            )
            self._turn.add(CloseTransport(connection, error.reason))
            return
        parameters = self._parameters
        outlet = Outlet(self._turn, connection, parameters.session_queue_bytes)
        session = Session(
            self._turn, connection, outlet, parameters.largest_channel_packet, self._questions,
            self._amop.counter, self._waiting, sha256(credentials).digest(),
            identity.called,
        )  # fmt: skip
        self._toll.came(session)
        self._sessions[connection] = session
        self._addresses[connection] = address
        self._idle.set(connection, self._turn.now + parameters.session_timeout)
        self._turn.trace(
            trace.CONNECTION_OPENED, peer=session.peer, address=address, outbound=False,
            agency=identity.agency, name=identity.name,
        )  # fmt: skip

    def received(self, connection: int, data: bytes) -> None:
        """Bytes of an SDK; none at all after a rest."""
        session = self._sessions.get(connection)
        if session is None or not data:
            return
        session.heard_at = self._turn.now
        whole = False
        try:
            for raw in session.reader.feed(data):
                whole = True
                self._conversation.take(session, raw)
                if session.gone:
                    return
        except RemoteProtocolError as error:
            self._turn.trace(
                trace.PROTOCOL_ERROR, peer=session.peer, reason=error.reason, detail=error.detail
            )
            self.drop(session, error.reason)
            return
        if not whole and len(data) < toll.BYTES_PER_MICROSECOND:
            session.work.spend("pieces", toll.SMALL_READ)
        self._count_unfinished(session)
        if not session.gone:
            self._toll.collect(session)

    def closed(self, connection: int, reason: str) -> None:
        """An SDK is gone."""
        session = self._sessions.get(connection)
        if session is not None:
            self._forget(session, reason)

    def write_ready(self, connection: int, ready: bool) -> None:
        """A connection is full, or has room again."""
        session = self._sessions.get(connection)
        if session is not None:
            session.set_ready(ready)
            if not ready:
                until = self._turn.now + self._parameters.session_timeout
                self._idle.at_latest(connection, until)

    # ---- time

    def wake(self, now: float) -> None:
        """End questions that have taken too long, and sessions that say nothing."""
        self._questions.wake(now)
        for connection in self._idle.due(now):
            self._look_at(self._sessions[connection], now)

    def _look_at(self, session: Session, now: float) -> None:
        limit = self._parameters.session_timeout
        full_since = session.full_since
        if session.heard_at + limit <= now:
            self.drop(session, "idle")
        elif full_since is not None and full_since + limit <= now:
            self._turn.trace(
                trace.DROPPED, peer=session.peer, what="bytes", reason="too_slow",
                count=session.outlet.waiting,
            )  # fmt: skip
            self.drop(session, "too_slow")
        else:
            since = session.heard_at if full_since is None else min(full_since, session.heard_at)
            self._idle.set(session.connection, since + limit)

    def next_wake(self) -> float | None:
        """When the first of it is due."""
        times = (self._questions.next_wake(), self._idle.next_wake())
        return min((time for time in times if time is not None), default=None)

    # ---- ends

    def drop(self, session: Session, reason: str) -> None:
        """End a session."""
        if not session.gone:
            session.outlet.close(reason)
            self._forget(session, reason)

    def shutdown(self) -> None:
        """End all sessions."""
        for session in list(self._sessions.values()):
            self.drop(session, "shutdown")

    @property
    def sessions(self) -> int:
        """How many SDKs are connected."""
        return len(self._sessions)

    def sizes(self) -> dict[str, int]:
        """How much is kept, for tests of its bounds."""
        sessions = self._sessions.values()
        return {
            "sessions": len(self._sessions),
            "questions": len(self._questions),
            "unfinished_bytes": self._unfinished,
            "queued_bytes": self._waiting.bytes,
            "session_requests": sum(len(session.requests) for session in sessions),
            "session_timers": len(self._idle),
            **self._toll.sizes(),
        }

    def _admit(self, credentials: bytes) -> Identity:
        """Who the SDK is, if it may come in; raises :class:`RemoteProtocolError`."""
        most = self._parameters.max_sessions
        if len(self._sessions) >= most:
            raise RemoteProtocolError("too_many_sessions", f"{most} are there")
        identity = self._identify(credentials)
        if self._parameters.check_issuer and identity.issuer not in self._issuers:
            detail = f"issued by {identity.issuer!r}, the node's by {', '.join(self._issuers)!r}"
            raise RemoteProtocolError("issuer_mismatch", detail)
        return identity

    def _forget(self, session: Session, reason: str) -> None:
        connection = session.connection
        session.gone = True
        del self._sessions[connection]
        self._idle.cancel(connection)
        self._unfinished -= session.unfinished
        session.forget_waiting()
        self._toll.left(session)
        self._turn.trace(
            trace.CONNECTION_CLOSED, peer=session.peer, address=self._addresses.pop(connection),
            reason=reason,
        )  # fmt: skip
        self._amop.left(session)
        self._questions.lost(connection, "left")

    def _count_unfinished(self, session: Session) -> None:
        """What has begun to come takes memory; who has most of it goes when it is too much."""
        self._unfinished += session.reader.buffered - session.unfinished
        session.unfinished = session.reader.buffered
        while self._unfinished > self._parameters.max_unfinished_bytes:
            largest = max(self._sessions.values(), key=lambda each: each.unfinished)
            self._turn.trace(
                trace.DROPPED, peer=largest.peer, what="packet", reason="too_much_unfinished",
                count=1, size=largest.unfinished,
            )  # fmt: skip
            self.drop(largest, "too_much_unfinished")

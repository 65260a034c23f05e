"""The toll: what faces pay for what they make us do for nothing, and what becomes of who cannot.

A connection that has used up its allowance is not read for a while, so that its own flow control
holds it back; one that does nothing else is closed. All connections of one address have one
account, so that coming again clears no debts. Datagrams of who has used up its allowance are turned
away at the gate, unread (:mod:`rumormill.core.gate`).
"""

from __future__ import annotations

from collections.abc import Callable

from rumormill.core import trace
from rumormill.core.gate import Acquaintances, Gate, Held
from rumormill.core.limits import WORN_OUT, Accounts, Work
from rumormill.core.timers import Alarm, Timers
from rumormill.core.transport import RestTransport
from rumormill.core.turn import Turn
from rumormill.ndn.faces.datagram_face import DatagramFace
from rumormill.ndn.faces.parameters import FaceParameters
from rumormill.ndn.faces.stream_face import StreamFace
from rumormill.ndn.faces.transport_face import TransportFace

TOO_MUCH_WORK = "too_much_work"

_DUE = "gate"


class Toll:
    """Charges faces. ``close`` ends one that is worn out, ``acquaintances`` knows who speaks in
    datagrams.
    """

    def __init__(
        self,
        turn: Turn,
        parameters: FaceParameters,
        acquaintances: Acquaintances,
        alarm: Alarm,
        close: Callable[[StreamFace, str], None],
    ) -> None:
        self._turn = turn
        self._close = close
        limits = parameters.work_limits
        self._accounts: Accounts[str] = Accounts(limits, parameters.max_faces)
        self._timers: Timers[str] = Timers(alarm)
        self.gate = Gate(
            limits, parameters.strangers_share, acquaintances, parameters.max_udp_faces
        )

    def account_of(self, source: str) -> Work:
        """The account of all connections of a source."""
        return self._accounts.of(source, self._turn.now)

    def charge(self, face: TransportFace, kind: str, cost: float, blame: bool) -> None:
        """A face made us do work; with ``blame`` no honest one would have."""
        if isinstance(face, StreamFace):
            # An account that owes nothing may have been forgotten, and another one opened for the
            # same source since.
            face.work = self.account_of(face.source)
            face.work.spend(kind, cost, blame=blame)
            face.charged = True
        elif isinstance(face, DatagramFace):
            now = self._turn.now
            held = self.gate.charge(face.uri, kind, cost, now, proven=False, blame=blame)
            if held is not None:
                self._tell(face.node, face.uri, held)
            if self.gate.alert and (due := self.gate.next_wake()) is not None:
                self._timers.at_latest(_DUE, due)

    def collect(self, face: StreamFace) -> None:
        """Hold a connection back that was charged, if its allowance is used up."""
        face.charged = False
        seconds = face.work.rest(self._turn.now)
        if seconds == WORN_OUT:
            self._turn.trace(
                trace.PROTOCOL_ERROR, peer=face.node, address=face.uri, reason=TOO_MUCH_WORK,
                detail=f"held back too long, mostly for {face.work.reason}",
            )  # fmt: skip
            self._close(face, TOO_MUCH_WORK)
        elif seconds:
            self._turn.trace(
                trace.HELD_BACK,
                peer=face.node,
                address=face.uri,
                reason=face.work.reason,
                seconds=seconds,
            )
            self._turn.add(RestTransport(face.connection, seconds))

    def _tell(self, node: str | None, address: str, held: Held) -> None:
        self._turn.trace(
            trace.HELD_BACK, peer=node, address=address, reason=held.reason, seconds=held.seconds
        )
        if held.worn_out:
            detail = f"it is not heard for {held.seconds:g} s, mostly for {held.reason}"
            self._turn.trace(
                trace.PROTOCOL_ERROR,
                peer=node,
                address=address,
                reason=TOO_MUCH_WORK,
                detail=detail,
            )

    def wake(self, now: float) -> None:
        """Tell how many datagrams were turned away of those whose rest is over."""
        if not self._timers.due(now):
            return
        for each in self.gate.due(now):
            if each.packets:
                self._turn.trace(
                    trace.DROPPED, address=each.peer, what="datagram",
                    reason="held_back" if each.peer else each.reason, count=each.packets,
                )  # fmt: skip
            if each.held is not None and each.peer is not None:
                self._tell(None, each.peer, each.held)
        if (due := self.gate.next_wake()) is not None:
            self._timers.set(_DUE, due)

    def next_wake(self) -> float | None:
        """When :meth:`wake` has something to do."""
        return self._timers.next_wake()

    def sizes(self) -> dict[str, int]:
        """How much is kept, for tests of its bounds."""
        return {"face_accounts": len(self._accounts), **self.gate.sizes()}

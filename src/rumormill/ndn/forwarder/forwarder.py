"""The forwarder: what becomes of each Interest, Data and Nack."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from random import Random

from rumormill.core.timers import Alarm
from rumormill.core.turn import Turn
from rumormill.ndn.faces.face import Face
from rumormill.ndn.forwarder import hints, prices
from rumormill.ndn.forwarder.face_directory import FaceDirectory, NoFaces
from rumormill.ndn.forwarder.face_state import FaceState
from rumormill.ndn.forwarder.management.manager import Manager
from rumormill.ndn.forwarder.management.tables import Tables
from rumormill.ndn.forwarder.nacks import as_asked, least_severe
from rumormill.ndn.forwarder.parameters import ForwarderParameters
from rumormill.ndn.forwarder.scope import LOCALHOST, SCOPED, stays_here
from rumormill.ndn.forwarder.statistics import Statistics
from rumormill.ndn.forwarder.strategies.strategy import pending
from rumormill.ndn.forwarder.strategies.strategy_choice import StrategyChoice
from rumormill.ndn.forwarder.tables.content_store import ContentStore
from rumormill.ndn.forwarder.tables.dead_nonces import DeadNonces
from rumormill.ndn.forwarder.tables.fib import Fib, NextHop, RouteListener
from rumormill.ndn.forwarder.tables.pit import Pit
from rumormill.ndn.forwarder.tables.pit_entry import InRecord, PitEntry
from rumormill.ndn.forwarder.tally import Tally
from rumormill.ndn.security.signers import DigestSigner
from rumormill.ndn.wire.data import Data
from rumormill.ndn.wire.interest import NONCE_SIZE, Interest, with_hop_limit, with_nonce
from rumormill.ndn.wire.link import NackReason
from rumormill.ndn.wire.name import name_from_uri
from rumormill.ndn.wire.signature import Signer

Charge = Callable[[Face, str, float, bool], None]
"""Hears what a face made us do for nothing: a name for it, microseconds, and whether it is to
blame."""

NO_TOKEN = b""


def _free(face: Face, kind: str, cost: float, blame: bool) -> None:
    """Nobody pays for anything."""


class Forwarder:
    """The forwarder of a node; it is the sink of all packets that its faces bring.

    ``faces`` is what management makes and ends faces with, ``signer`` signs its answers. Neither
    faces nor their turns are its own: whoever owns them calls :meth:`wake` when ``alarm`` says so.
    What a face is given to send it may not answer at once, but only after the call has returned.
    """

    def __init__(
        self,
        turn: Turn,
        parameters: ForwarderParameters,
        random: Random,
        alarm: Alarm,
        faces: FaceDirectory | None = None,
        signer: Signer | None = None,
    ) -> None:
        self._turn = turn
        self._random = random
        self._most_seconds = parameters.max_lifetime
        self._always_tokens = parameters.pit_tokens
        self._regions = [name_from_uri(uri) for uri in parameters.regions]
        self._states: dict[int, FaceState] = {}
        self._pit = Pit(parameters, alarm)
        self._dead = DeadNonces(parameters.dead_nonce_seconds, parameters.max_dead_nonces, alarm)
        self._tally = Tally(turn, alarm)
        self.store = ContentStore(parameters.max_cs, parameters.max_cs_packets)
        self.fib = Fib(turn, parameters, alarm)
        self.strategies = StrategyChoice(turn, parameters)
        self.statistics = Statistics()
        self.charge: Charge = _free
        """Set by who owns the faces."""
        tables = Tables(
            self._states, self.fib, self._pit, self.store, self.strategies, self.statistics,
            self._tally, faces or NoFaces(),
        )  # fmt: skip
        self._manager = Manager(turn, parameters, tables, signer or DigestSigner(), alarm)
        self._manager.on_too_many = self._too_many_commands

    # ---- faces

    def face_up(self, face: Face) -> None:
        """A face is there."""
        self._states[face.id] = FaceState(face)
        self.fib.face_up(face)
        self._manager.face_up(face)

    def face_down(self, face: Face, reason: str) -> None:
        """A face is gone, and its routes with it; what waited for it goes elsewhere, or ends."""
        self.fib.remove_face(face)
        state = self._states.pop(face.id, None)
        if state is None:
            return
        self._manager.face_down(face)
        for entry in list(state.waiting):
            self._leave(entry, state)
        if state.asked:
            for entry in self._pit.waiting_on(face.id):
                del entry.outs[face.id]
                self._refused(entry, NackReason.NO_ROUTE)

    def on_route_change(self, listener: RouteListener) -> None:
        """Tell somebody of every change of a route."""
        self.fib.on_change(listener)

    # ---- Interests

    def interest(self, face: Face, interest: Interest, token: bytes) -> None:
        """An Interest came in."""
        state = self._states.get(face.id)
        if state is None:
            return
        self.statistics.in_interests += 1
        name = interest.name
        here = False
        if name.startswith(SCOPED):
            if self._stops_here(face, interest, token):
                return
            here = stays_here(name, face.local)
        hop_limit = interest.hop_limit
        if hop_limit is not None:
            if not hop_limit:
                self._waste(face, "interest", "hop_limit")
                return
            interest = with_hop_limit(interest, hop_limit - 1)
            here = here or hop_limit == 1
        nonce = interest.nonce
        if nonce is None:
            nonce = self._random.randbytes(NONCE_SIZE)
            interest = with_nonce(interest, nonce)
        if self._dead.has(name, nonce):
            self._loop(face, interest, token)
            return
        if (
            interest.forwarding_hint
            and self._regions
            and hints.leads_here(interest.forwarding_hint, self._regions)
        ):
            interest = hints.without_hint(interest)
        entry = self._pit.find(interest)
        if entry is None:
            self._new(state, interest, token, here)
        else:
            self._again(entry, state, interest, token, here)

    def _stops_here(self, face: Face, interest: Interest, token: bytes) -> bool:
        """Whether an Interest below /localhost or /localhop is not to be sent on."""
        if not face.local and interest.name.startswith(LOCALHOST):
            self._waste(face, "interest", "scope")
            self.charge(face, "scope", prices.FORBIDDEN, True)
            return True
        return self._manager.interest(face, interest, token)

    def _new(self, state: FaceState, interest: Interest, token: bytes, here: bool) -> None:
        """Nobody waits for this yet."""
        now = self._turn.now
        face = state.face
        data = self.store.find(interest, now)
        if data is not None:
            self.statistics.stored += 1
            self.statistics.out_data += 1
            face.send_data(data, token)
            return
        name = interest.name
        chosen = self.strategies.strategy(name).first(self._next_hops(interest), face, here)
        if not chosen:
            self._waste(face, "interest", "no_route")
            self._send_nack(face, interest, NackReason.NO_ROUTE, token)
            return
        if self._pit.crowded(state):
            self._make_room(state)
        entry = self._pit.insert(interest, here)
        expires = now + min(interest.lifetime / 1000, self._most_seconds)
        self._pit.wait(entry, state, interest, token, expires)
        for hop in chosen:
            self._send(entry, hop, interest, expires)

    def _again(
        self, entry: PitEntry, state: FaceState, interest: Interest, token: bytes, here: bool
    ) -> None:
        """Somebody waits for the same already, perhaps the same face."""
        now = self._turn.now
        face = state.face
        if _has_gone_round(entry, face.id, interest.nonce):
            self._loop(face, interest, token)
            return
        if face.id not in entry.ins and self._pit.crowded(state):
            self._make_room(state)
            if self._pit.find(interest) is not entry:  # just this one gave way
                self._new(state, interest, token, here)
                return
        expires = now + min(interest.lifetime / 1000, self._most_seconds)
        waits_already = face.id in entry.ins
        self._pit.wait(entry, state, interest, token, expires)
        strategy = self.strategies.strategy(interest.name)
        chosen = strategy.again(entry, self._next_hops(interest), face, here, now)
        if chosen:
            entry.interest, entry.here = interest, here
            for hop in chosen:
                self._send(entry, hop, interest, expires)
        elif waits_already:
            self._waste(face, "interest", "repeated")

    def _next_hops(self, interest: Interest) -> tuple[NextHop, ...]:
        if interest.forwarding_hint:
            return hints.next_hops(self.fib, interest)
        return self.fib.next_hops(interest.name)

    def _send(self, entry: PitEntry, hop: NextHop, interest: Interest, until: float) -> None:
        face = hop.face
        state = self._states[face.id]
        state.asked += 1
        self._pit.asked(entry, face.id, interest.nonce or b"", self._turn.now, until)
        token = NO_TOKEN
        if self._always_tokens or interest.can_be_prefix:
            token = self._pit.give_token(entry)
        if interest.forwarding_hint and hints.is_for(hop):
            interest = hints.without_hint(interest)
        self.statistics.out_interests += 1
        face.send_interest(interest, token)

    def _loop(self, face: Face, interest: Interest, token: bytes) -> None:
        """An Interest has come round in a circle: who sent it to us is told so."""
        self._waste(face, "interest", "loop")
        self._send_nack(face, interest, NackReason.DUPLICATE, token)

    def _make_room(self, state: FaceState) -> None:
        """Who has most Interests that wait loses the oldest of them, and is told so."""
        while self._pit.crowded(state):
            for loser, entry in self._pit.overdue(state, self._states.values()):
                face = loser.face
                self._tally.dropped(face, "interest", "too_many")
                self.charge(face, "too_many", prices.WASTE, False)
                self._tell(entry, entry.ins[face.id], NackReason.CONGESTION)
                self._leave(entry, loser)

    # ---- Data

    def data(self, face: Face, data: Data, token: bytes) -> None:
        """A Data came in."""
        state = self._states.get(face.id)
        if state is None:
            return
        state.answers += 1
        statistics = self.statistics
        statistics.in_data += 1
        if not face.local and data.name.startswith(LOCALHOST):
            self._waste(face, "data", "scope")
            self.charge(face, "scope", prices.FORBIDDEN, True)
            return
        entries = self._pit.matches(data, token, face.id)
        if not entries:
            statistics.unsolicited += 1
            self._unwanted(state, "data")
            return
        now = self._turn.now
        self.store.insert(data, now)
        for entry in entries:
            for id, record in entry.ins.items():
                if id != face.id and record.expires > now:
                    statistics.out_data += 1
                    record.state.face.send_data(data, record.token)
            statistics.satisfied += 1
            # What is in the store answers a copy that comes round later, too.
            if entry.interest.must_be_fresh or not self.store.keeps:
                self._bury(entry)
            self._pit.remove(entry)

    # ---- Nacks

    def nack(self, face: Face, interest: Interest, reason: int, token: bytes) -> None:
        """A Nack came in."""
        state = self._states.get(face.id)
        if state is None:
            return
        state.answers += 1
        self.statistics.in_nacks += 1
        entry = self._pit.refused(interest, token, face.id)
        if entry is None:
            self._unwanted(state, "nack")
            return
        entry.outs[face.id].nack = reason
        self._refused(entry, reason)

    def _refused(self, entry: PitEntry, reason: int) -> None:
        """One who was asked cannot answer: others are asked, or who waits is told."""
        interest = entry.interest
        strategy = self.strategies.strategy(interest.name)
        chosen = strategy.after_nack(entry, self._next_hops(interest), reason)
        for hop in chosen:
            self._send(entry, hop, interest, entry.expires)
        if chosen or pending(entry, self._turn.now):
            return
        told = least_severe(out.nack for out in entry.outs.values())
        for record in entry.ins.values():
            self._waste(record.state.face, "interest", "refused")
            self._tell(entry, record, told)
        self._unsatisfied(entry)

    def _tell(self, entry: PitEntry, record: InRecord, reason: int) -> None:
        """One who waits, and not only others for the same, gets no answer any more."""
        if record.expires > self._turn.now:
            self._send_nack(record.state.face, as_asked(entry, record), reason, record.token)

    def _send_nack(self, face: Face, interest: Interest, reason: int, token: bytes) -> None:
        self.statistics.out_nacks += 1
        face.send_nack(interest, reason, token)

    # ---- ends

    def _leave(self, entry: PitEntry, state: FaceState) -> None:
        """A face waits no more for an entry, which ends if it was the last."""
        if len(entry.ins) > 1:
            self._pit.leave(entry, state.face.id)
        else:
            self._unsatisfied(entry)

    def _unsatisfied(self, entry: PitEntry) -> None:
        self.statistics.unsatisfied += 1
        self._bury(entry)
        self._pit.remove(entry)

    def _bury(self, entry: PitEntry) -> None:
        """Remember the nonces of an entry that ends."""
        name, now = entry.interest.name, self._turn.now
        for out in entry.outs.values():
            self._dead.add(name, out.nonce, now)

    def _waste(self, face: Face, what: str, reason: str) -> None:
        """A packet was of no use."""
        self._tally.ignored(face, what, reason)
        self.charge(face, reason, prices.WASTE, False)

    def _unwanted(self, state: FaceState, what: str) -> None:
        """Nobody waits for an answer. Who gives no more of them than it was asked for is not to
        pay: others could ask it, and wait for nothing.
        """
        if state.answers > state.asked:
            self._waste(state.face, what, "unsolicited")
        else:
            self._tally.ignored(state.face, what, "late")

    def _too_many_commands(self, face: Face) -> None:
        self.charge(face, "commands", prices.COMMAND, False)

    # ---- time

    def wake(self, now: float) -> None:
        """End what has waited long enough."""
        for entry in self._pit.due(now):
            for record in entry.ins.values():
                self._waste(record.state.face, "interest", "timed_out")
            self._unsatisfied(entry)
        for part in self._parts():
            part.wake(now)

    def next_wake(self) -> float | None:
        """When :meth:`wake` wants to be called next."""
        times = [self._pit.next_wake(), *(part.next_wake() for part in self._parts())]
        return min((when for when in times if when is not None), default=None)

    def _parts(self) -> Iterable[Fib | DeadNonces | Tally | Manager]:
        return self.fib, self._dead, self._tally, self._manager

    def shutdown(self) -> None:
        """Tell what was counted and not told yet."""
        self._tally.tell()

    def sizes(self) -> dict[str, int]:
        """How much is kept, for tests of memory."""
        return {
            "forwarder_faces": len(self._states),
            "dead_nonces": len(self._dead),
            "tally": len(self._tally),
            "strategies": len(self.strategies),
            **self._pit.sizes(),
            **self.store.sizes(),
            **self.fib.sizes(),
            **self._manager.sizes(),
        }


def _has_gone_round(entry: PitEntry, face_id: int, nonce: bytes | None) -> bool:
    """Whether an Interest was here before, and comes by another face than the first time."""
    record = entry.ins.get(face_id)
    if record is not None and record.nonce == nonce:
        return False
    for other in entry.ins.values():
        if other.nonce == nonce:
            return True
    return any(out.nonce == nonce for out in entry.outs.values())

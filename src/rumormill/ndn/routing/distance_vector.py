"""Distance vector: neighbours find each other by hellos, and tell each other what they reach.

Who was dialed gets hellos, and whoever says hello gets them too. Each is answered by an empty Data.
When hellos and answers go both ways, all is told once, then changes alone, each update answered
before the next one leaves. A hello says what was told so far, in short, so that each side notices
what the other has missed. Who answers nothing any more is forgotten, with all that it reached.
"""

from __future__ import annotations

from collections.abc import Iterable
from random import Random
from typing import Protocol

from rumormill.core import trace
from rumormill.core.errors import LocalProtocolError, RemoteProtocolError
from rumormill.core.timers import Alarm
from rumormill.core.turn import Turn
from rumormill.ndn.faces.face import Face
from rumormill.ndn.routing.events import ROUTES_ASKED, ROUTING_RETRY
from rumormill.ndn.routing.hearing import SCOPED, Hearing
from rumormill.ndn.routing.mail import Mail
from rumormill.ndn.routing.messages import (
    EPOCH_SIZE,
    MOST_NODE_BYTES,
    Goodbye,
    Hello,
    Update,
    node_with_epoch,
)
from rumormill.ndn.routing.neighbour import HELLO_COST, NEVER_YET, Neighbour, Phase
from rumormill.ndn.routing.neighbourhood import AGAIN, EXPIRY, UPDATE, Neighbourhood
from rumormill.ndn.routing.parameters import RoutingParameters
from rumormill.ndn.routing.table import RouteSink, Table
from rumormill.ndn.routing.telling import Telling
from rumormill.ndn.routing.vector import Destination
from rumormill.ndn.wire.data import Data
from rumormill.ndn.wire.interest import Interest
from rumormill.ndn.wire.link import NackReason
from rumormill.ndn.wire.name import Name, name_to_uri

MOST_ERRORS = 8
"""Messages that cannot be read until whoever sends them is left alone."""

MOST_ATTEMPTS = 32
"""To which attempts of an update are counted; who answers none is given up by its hellos."""


class ReachUser(Protocol):
    """Who is told what can be reached elsewhere."""

    def reached(self, destination: Destination, reachable: bool) -> None:
        """A prefix of another node can be reached now, or no more."""
        ...


class DistanceVector:
    """All neighbours of a node that is called ``name``."""

    def __init__(
        self,
        turn: Turn,
        name: Name,
        routes: RouteSink,
        user: ReachUser,
        parameters: RoutingParameters,
        random: Random,
        alarm: Alarm,
    ) -> None:
        self._turn = turn
        self._user = user
        self._parameters = parameters
        self.node = node_with_epoch(name, random.randbytes(EPOCH_SIZE))
        """What this node is called in this life."""
        if len(self.node) > MOST_NODE_BYTES:
            raise LocalProtocolError(f"the name of a node must be shorter: {name_to_uri(name)}")
        self._mail = Mail(random)
        self._near = Neighbourhood(turn, self.node, parameters, random, alarm, self._mail)
        everybody = self._near.by_face.values
        self.table = Table(routes, self, parameters, alarm)
        self._hearing = self._near.hearing = Hearing(
            turn, self.node, self.table, everybody, parameters
        )
        self._telling = self._near.telling = Telling(
            turn, self.node, self.table, everybody, parameters, self._post_update,
            self._tell_later,
        )  # fmt: skip
        self._stopped = not parameters.announce

    # ---- what others ask

    def neighbours(self) -> list[Neighbour]:
        """Those that hellos go both ways with."""
        return [each for each in self._near.by_face.values() if each.phase is Phase.UP]

    def announced(self) -> Iterable[Name]:
        """Prefixes that neighbours are told to be here."""
        return self._telling.own

    def sizes(self) -> dict[str, int]:
        """How much is kept, for tests of memory."""
        everybody = self._near.by_face.values()
        return {
            "neighbours": len(self._near.by_face),
            "routing_timers": len(self._near.timers),
            "routing_told": sum(len(each.told.vector) for each in everybody),
            "routing_dirty": sum(len(each.told.dirty) for each in everybody),
            **self._hearing.sizes(),
            **self.table.sizes(),
        }

    # ---- what is registered here

    def announce(self, prefix: Name) -> None:
        """A prefix is registered here: neighbours are told, if it is for others at all."""
        if prefix.startswith(SCOPED):
            return
        if len(prefix) > self._parameters.max_prefix_bytes:
            self._turn.trace(trace.DROPPED, what="route", reason="prefix_too_long", count=1)
        else:
            self._telling.announce(prefix)

    def withdraw(self, prefix: Name) -> None:
        """It is registered here no more."""
        self._telling.withdraw(prefix)

    # ---- faces

    def face_up(self, face: Face, dialed: bool) -> None:
        """A face is there; whoever was dialed may be one of us. Again, when a face that is there
        is dialed, as may be with datagrams.
        """
        if dialed and not self._stopped:
            neighbour = self._near.by_face.get(face)
            if neighbour is not None:
                neighbour.dialed = True
            elif (neighbour := self._near.meet(face, dialed=True)) is not None:
                self._near.probe(neighbour)

    def face_down(self, face: Face, reason: str) -> None:
        """A face is gone, and what was reached by it too."""
        neighbour = self._near.by_face.get(face)
        if neighbour is not None:
            self._near.lose(neighbour, reason)
            self._near.remove(neighbour)

    # ---- packets

    def interest(self, face: Face, interest: Interest, token: bytes) -> None:
        """An Interest below :data:`~rumormill.ndn.routing.messages.PREFIX` came.

        Raises :class:`RemoteProtocolError` for what is no message, as decoders do.
        """
        if self._stopped or not self._mail.is_message(interest):
            face.send_nack(interest, NackReason.NO_ROUTE, token)
            return
        try:
            message = self._mail.read(interest)
        except RemoteProtocolError:
            self._bad_message(face)
            raise
        if message.node == self.node:
            self._ourselves(face)
            return
        if isinstance(message, Hello):
            answer = self._hello(face, message)
        elif isinstance(message, Update):
            answer = self._update(face, message)
        else:
            self._goodbye(face, message)
            answer = True
        if answer:
            face.send_data(self._mail.answer_to(interest), token)

    def data(self, face: Face, data: Data) -> None:
        """An answer to one of our messages came, perhaps."""
        neighbour = self._near.by_face.get(face)
        if neighbour is None:
            return
        unanswered = neighbour.told.unanswered
        is_update = unanswered is not None and unanswered.interest.name == data.name
        if not is_update and data.name not in neighbour.hellos:
            return
        neighbour.last_answer = self._turn.now
        if is_update:
            self._near.timers.cancel((neighbour, AGAIN))
            self._telling.answered(neighbour)
            return
        neighbour.hellos.clear()
        neighbour.answered = True
        if neighbour.phase is Phase.UP:
            self._near.hello_later(neighbour)
        else:
            self._near.perhaps_up(neighbour)

    def nack(self, face: Face, interest: Interest, reason: int) -> None:
        """Somebody has no use for a message of ours: a forwarder of other make."""
        neighbour = self._near.by_face.get(face)
        if neighbour is None or interest.name not in neighbour.hellos or neighbour.spoken:
            return
        neighbour.hellos.clear()
        if not neighbour.datagrams:
            self._near.leave_alone(neighbour, "nack")

    # ---- messages

    def _hello(self, face: Face, hello: Hello) -> bool:
        neighbour = self._near.by_face.get(face) or self._near.meet(face, dialed=False)
        if neighbour is None or hello.node == neighbour.former:
            return False
        if not neighbour.allowance.take(HELLO_COST, self._turn.now):
            self._turn.trace(
                trace.HELD_BACK, peer=face.node, address=face.uri, reason="hellos", seconds=0.0
            )
            return False
        if neighbour.phase is Phase.ALONE:
            neighbour.phase, neighbour.tries = Phase.PROBING, 0
        if hello.node != neighbour.node:
            if neighbour.node is not None:
                self._near.lose(neighbour, "restarted")
                neighbour.hello_at = NEVER_YET
                neighbour.former = neighbour.node
            neighbour.node = hello.node
            neighbour.heard.sequence = 0  # they begin anew in each life
        neighbour.spoken = True
        if neighbour.phase is Phase.UP:
            self._compare(neighbour, hello)
        elif not self._near.perhaps_up(neighbour):
            self._near.answer_hello(neighbour)
        return True

    def _compare(self, neighbour: Neighbour, hello: Hello) -> None:
        """Has one of us missed something?"""
        told = neighbour.told
        rested = self._turn.now - told.restarted_at >= self._parameters.answer_timeout
        if hello.wants_all and not told.full and rested:
            self._telling.restart(neighbour)
        if self._hearing.in_doubt(neighbour, hello):
            neighbour.heard.synced = False
            self._turn.trace(
                ROUTES_ASKED, peer=neighbour.face.node, address=neighbour.face.uri, reason="differs"
            )
            self._near.say_hello(neighbour)

    def _update(self, face: Face, update: Update) -> bool:
        neighbour = self._near.by_face.get(face)
        if neighbour is None or neighbour.phase is not Phase.UP or neighbour.node != update.node:
            # It thinks that we know each other, or is just ahead of us: it will tell us again.
            self._turn.trace(trace.IGNORED, peer=face.node, address=face.uri, reason="no_neighbour")
            return False
        return self._hearing.update(neighbour, update)

    def _goodbye(self, face: Face, goodbye: Goodbye) -> None:
        neighbour = self._near.by_face.get(face)
        if neighbour is not None and neighbour.node == goodbye.node:
            self._near.lose(neighbour, "goodbye")
            neighbour.former, neighbour.node = neighbour.node, None
            self._near.silent(neighbour)

    def _bad_message(self, face: Face) -> None:
        neighbour = self._near.by_face.get(face)
        if neighbour is not None:
            neighbour.errors += 1
            if neighbour.errors >= MOST_ERRORS:
                self._near.leave_alone(neighbour, "protocol_errors")

    def _ourselves(self, face: Face) -> None:
        neighbour = self._near.by_face.get(face)
        if neighbour is not None and neighbour.phase is not Phase.ALONE:
            self._near.leave_alone(neighbour, "ourselves")

    # ---- time

    def wake(self, now: float) -> None:
        """Say hello, tell changes, send again, and give up, as it is time."""
        self.table.wake(now)
        for neighbour, what in self._near.timers.due(now):
            if neighbour.face not in self._near.by_face:
                continue  # what was due before it has removed it
            if what == UPDATE:
                self._telling.tell(neighbour)
            elif what == AGAIN:
                self._send_again(neighbour)
            elif what == EXPIRY:
                self._near.expire(neighbour, now)
            elif neighbour.phase is Phase.UP:
                self._near.say_hello(neighbour)
            else:
                self._near.probe(neighbour)

    def next_wake(self) -> float | None:
        """When :meth:`wake` has something to do."""
        times = (self._near.timers.next_wake(), self.table.next_wake())
        return min((when for when in times if when is not None), default=None)

    def shutdown(self) -> None:
        """Say goodbye to all neighbours; nothing is told or heard any more."""
        for neighbour in self.neighbours():
            self._mail.send(neighbour.face, Goodbye(self.node))
        for neighbour in list(self._near.by_face.values()):
            self._near.remove(neighbour)
        self._stopped = True

    # ---- updates on their way

    def _post_update(self, neighbour: Neighbour, update: Update) -> Interest:
        self._again_later(neighbour, 1)
        return self._mail.send(neighbour.face, update)

    def _tell_later(self, neighbour: Neighbour, seconds: float) -> None:
        self._near.timers.at_latest((neighbour, UPDATE), self._turn.now + seconds)

    def _again_later(self, neighbour: Neighbour, attempt: int) -> None:
        parameters = self._parameters
        seconds = min(parameters.answer_timeout * 2.0 ** (attempt - 1), parameters.hello_interval)
        self._near.timers.set((neighbour, AGAIN), self._turn.now + seconds)

    def _send_again(self, neighbour: Neighbour) -> None:
        unanswered = neighbour.told.unanswered
        if unanswered is None:
            return
        attempt = min(unanswered.attempt + 1, MOST_ATTEMPTS)
        self._turn.trace(
            ROUTING_RETRY,
            peer=neighbour.face.node,
            address=neighbour.face.uri,
            what="update",
            attempt=attempt,
        )
        neighbour.told.unanswered = unanswered._replace(attempt=attempt)
        self._mail.send_again(neighbour.face, unanswered.interest)
        self._again_later(neighbour, attempt)

    # ---- the table's user

    def way_changed(self, destination: Destination) -> None:
        """What neighbours are to be told of this may be something else now."""
        self._telling.mark(destination)

    def reached(self, destination: Destination, reachable: bool) -> None:
        """There is a way now, or there is none any more."""
        self._user.reached(destination, reachable)

"""The neighbours of a node: how they are found and kept by hellos, and lost.

Who was dialed gets hellos, and whoever says hello gets them too. Each is answered by an empty Data.
A neighbour is up when both go both ways; only then what it tells counts, and it is told ours.
"""

from __future__ import annotations

from random import Random
from typing import Final, Literal, TypeAlias

from rumormill.core import trace
from rumormill.core.timers import Alarm, Timers
from rumormill.core.turn import Turn
from rumormill.ndn.faces.face import Face
from rumormill.ndn.routing.events import LEFT_ALONE, NEIGHBOUR_DOWN, NEIGHBOUR_UP, ROUTING_RETRY
from rumormill.ndn.routing.hearing import Hearing
from rumormill.ndn.routing.mail import Mail
from rumormill.ndn.routing.messages import Hello, name_without_epoch
from rumormill.ndn.routing.neighbour import Neighbour, Phase
from rumormill.ndn.routing.parameters import RoutingParameters
from rumormill.ndn.routing.telling import Telling
from rumormill.ndn.wire.name import Name, name_to_uri

PROTOCOL: Final = "rumormill-routing/1"
"""What neighbours speak, in trace events."""

STRANGER_PROBES: Final = 3
"""Hellos to somebody who said hello and answers none: by UDP it may be somebody else's address."""

JITTER: Final = 0.1
"""Of the time between two hellos, at most, so that not all neighbours say it at once."""

What: TypeAlias = Literal["hello", "again", "update", "expiry"]
HELLO: Final = "hello"  # the next hello is due, or the next probe
AGAIN: Final = "again"  # an update has not been answered
UPDATE: Final = "update"  # changes have waited for more of them
EXPIRY: Final = "expiry"  # no answer for long


class Neighbourhood:
    """All neighbours, by their faces; ``timers`` says when something is due for which of them."""

    hearing: Hearing
    telling: Telling
    """Both are made after this."""

    def __init__(
        self,
        turn: Turn,
        node: Name,
        parameters: RoutingParameters,
        random: Random,
        alarm: Alarm,
        mail: Mail,
    ) -> None:
        self._turn = turn
        self._node = node
        self._parameters = parameters
        self._random = random
        self._mail = mail
        self.by_face: dict[Face, Neighbour] = {}
        self.timers: Timers[tuple[Neighbour, What]] = Timers(alarm)

    # ---- the life of a neighbour

    def meet(self, face: Face, *, dialed: bool) -> Neighbour | None:
        """Somebody may be a neighbour; None if there is no room for one more."""
        if len(self.by_face) >= self._parameters.max_neighbours:
            self._turn.trace(
                trace.IGNORED, peer=face.node, address=face.uri, reason="too_many_neighbours"
            )
            return None
        neighbour = self.by_face[face] = Neighbour(face, self._parameters, dialed=dialed)
        return neighbour

    def probe(self, neighbour: Neighbour) -> None:
        """Say hello to somebody of whom we do not know whether it will answer."""
        parameters = self._parameters
        neighbour.phase = Phase.PROBING
        most = parameters.probes if neighbour.dialed else STRANGER_PROBES
        if neighbour.tries >= most:
            if neighbour.dialed and (neighbour.spoken or neighbour.datagrams):
                self.timers.set((neighbour, HELLO), self._turn.now + parameters.probe_interval)
                neighbour.tries = most - 1
            elif neighbour.dialed:
                self.leave_alone(neighbour, "silent")
                return
            else:
                self.remove(neighbour)
                return
        else:
            delay = min(parameters.answer_timeout * 2.0**neighbour.tries, parameters.hello_interval)
            self.timers.set((neighbour, HELLO), self._turn.now + delay)
        neighbour.tries += 1
        if neighbour.tries > 1:
            self._turn.trace(
                ROUTING_RETRY,
                peer=neighbour.face.node,
                address=neighbour.face.uri,
                what="hello",
                attempt=neighbour.tries,
            )
        self._send_hello(neighbour)

    def perhaps_up(self, neighbour: Neighbour) -> bool:
        """Do hellos go both ways now?"""
        if neighbour.node is None or not neighbour.answered:
            return False
        if not self._linked(neighbour.node):
            name = name_to_uri(name_without_epoch(neighbour.node))
            self._turn.trace(
                trace.PEER_JOINED, peer=name, protocol=PROTOCOL, outbound=neighbour.dialed
            )
        neighbour.face.node = name_to_uri(name_without_epoch(neighbour.node))
        neighbour.phase = Phase.UP
        neighbour.last_answer = self._turn.now
        neighbour.errors = 0
        self._turn.trace(
            NEIGHBOUR_UP, peer=neighbour.face.node, address=neighbour.face.uri, protocol=PROTOCOL,
            outbound=neighbour.dialed, node=name_to_uri(neighbour.node),
        )  # fmt: skip
        self.timers.set((neighbour, EXPIRY), self._turn.now + self._patience)
        self.hello_later(neighbour)
        self.telling.restart(neighbour)
        return True

    def lose(self, neighbour: Neighbour, reason: str) -> None:
        """What it has told counts no more, and it has to be told all again."""
        neighbour.answered = False
        neighbour.hellos.clear()
        neighbour.tries = 0
        for what in (HELLO, AGAIN, UPDATE, EXPIRY):
            self.timers.cancel((neighbour, what))
        if neighbour.phase is Phase.UP:
            neighbour.phase = Phase.PROBING
            self._turn.trace(
                NEIGHBOUR_DOWN, peer=neighbour.face.node, address=neighbour.face.uri, reason=reason
            )
            if neighbour.node is not None and not self._linked(neighbour.node):
                name = name_to_uri(name_without_epoch(neighbour.node))
                self._turn.trace(trace.PEER_LEFT, peer=name, reason=reason)
            self.hearing.forget(neighbour)
            neighbour.forget()
            neighbour.face.node = None

    def _linked(self, node: Name) -> bool:
        """Whether there is a link to a node; in traces it has its own name, not that of a face."""
        return any(other.node == node for other in self.by_face.values() if other.phase is Phase.UP)

    def silent(self, neighbour: Neighbour) -> None:
        """Somebody is lost whose face is still there: look for it, if it was we who wanted it."""
        if neighbour.dialed:
            self.timers.set((neighbour, HELLO), self._turn.now + self._parameters.hello_interval)
        else:
            self.remove(neighbour)

    def leave_alone(self, neighbour: Neighbour, reason: str) -> None:
        """Say nothing to it any more, unless it says hello."""
        self._turn.trace(
            LEFT_ALONE, peer=neighbour.face.node, address=neighbour.face.uri, reason=reason
        )
        self.lose(neighbour, reason)
        if neighbour.dialed:
            neighbour.phase = Phase.ALONE
        else:
            self.remove(neighbour)

    def remove(self, neighbour: Neighbour) -> None:
        """Forget that there was anybody."""
        self.lose(neighbour, "removed")
        del self.by_face[neighbour.face]

    @property
    def _patience(self) -> float:
        """Seconds that a neighbour may take to answer anything."""
        return self._parameters.hello_losses * self._parameters.hello_interval

    def expire(self, neighbour: Neighbour, now: float) -> None:
        """Give up who has answered nothing for long."""
        until = neighbour.last_answer + self._patience
        if now < until:
            self.timers.set((neighbour, EXPIRY), until)
        else:
            self.lose(neighbour, "silent")
            self.silent(neighbour)

    # ---- hellos

    def answer_hello(self, neighbour: Neighbour) -> None:
        """Who says hello is there: say it, too, unless we just have."""
        if self._turn.now - neighbour.hello_at >= self._parameters.answer_timeout:
            if neighbour.dialed:  # of others nobody knows whether it is their address
                neighbour.tries = 0
            self.probe(neighbour)

    def say_hello(self, neighbour: Neighbour) -> None:
        """A hello to a neighbour that is up; soon again if the last one was not answered."""
        if neighbour.hellos:
            self._turn.trace(
                ROUTING_RETRY,
                peer=neighbour.face.node,
                address=neighbour.face.uri,
                what="hello",
                attempt=len(neighbour.hellos),
            )
        self._send_hello(neighbour)
        self.hello_later(neighbour)

    def hello_later(self, neighbour: Neighbour) -> None:
        """The next hello to a neighbour that is up."""
        seconds = self._parameters.hello_interval
        if neighbour.hellos:
            # Each hello that is not answered doubles the time, so that a loss is mended soon and
            # who is gone is not flooded.
            seconds = min(
                seconds, self._parameters.answer_timeout * 2.0 ** (len(neighbour.hellos) - 1)
            )
        seconds *= 1.0 - JITTER * self._random.random()
        self.timers.set((neighbour, HELLO), self._turn.now + seconds)

    def _send_hello(self, neighbour: Neighbour) -> None:
        told = neighbour.told
        hello = Hello(
            self._node, told.sequence, told.vector.digest, wants_all=not neighbour.heard.synced
        )
        neighbour.hello_at = self._turn.now
        neighbour.sent_hello(self._mail.send(neighbour.face, hello).name)

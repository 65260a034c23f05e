"""Routes at the forwarder: asked for, asked for again, and withdrawn.

Each prefix has at most one command under way, and its next one says what is wanted by then. A
command is tried in all ways that the forwarder may want it (see :mod:`.commands`); which of them it
answers is known from then on. A round in which no way was answered, or in which all were refused,
is told to the user of the line, and another follows after a while.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from random import Random
from typing import Final, NamedTuple

from rumormill.core import trace
from rumormill.core.errors import LocalProtocolError
from rumormill.core.timers import Alarm, Timers
from rumormill.core.turn import Turn
from rumormill.core.words import printable
from rumormill.ndn.client.commands import (
    REGISTER,
    UNREGISTER,
    CommandWriter,
    Way,
    read_answer,
    ways_to,
)
from rumormill.ndn.client.parameters import ClientParameters
from rumormill.ndn.faces.face import Face
from rumormill.ndn.pubsub import events
from rumormill.ndn.wire.control import StatusCode
from rumormill.ndn.wire.data import Data
from rumormill.ndn.wire.interest import Interest
from rumormill.ndn.wire.link import NackReason
from rumormill.ndn.wire.name import Name, name_to_uri
from rumormill.ndn.wire.signature import Signer

MOST_TEXT: Final = 200
"""Characters of what a forwarder says that are told."""

MOST_REMEMBERED: Final = 64
"""Forwarders of which it is remembered how they want their commands."""

ANSWER: Final = "answer"
AGAIN: Final = "again"
"""Timers: until when a command must be answered, and when a route is asked for again."""


class _Route:
    """One prefix."""

    __slots__ = ("asked", "failures", "prefix", "refusal", "standing", "told", "tried", "wanted")

    def __init__(self, prefix: Name) -> None:
        self.prefix = prefix
        self.wanted = True
        self.standing: bool | None = False
        """Whether the forwarder has it; None if nobody knows."""
        self.asked = False
        """Whether a command is under way."""
        self.tried: list[Way] = []
        """The ways that came to nothing in this round."""
        self.refusal = ""
        """What the forwarder said in this round, if it refused."""
        self.failures = 0
        """Rounds that came to nothing."""
        self.told: str | None = None
        """The last that the user was told of it, since there is this forwarder."""


class _Command(NamedTuple):
    """A command that waits for its answer."""

    route: _Route
    verb: str
    way: Way


class Registration:
    """All routes, in the order in which they were asked for.

    ``tell`` hears how it went: the prefix, and what is wrong or "". ``unanswered`` hears when the
    forwarder has left a whole round without an answer.
    """

    def __init__(
        self,
        turn: Turn,
        parameters: ClientParameters,
        random: Random,
        alarm: Alarm,
        signer: Signer,
        tell: Callable[[Name, str], None],
        unanswered: Callable[[], None],
    ) -> None:
        self._turn = turn
        self._parameters = parameters
        self._tell = tell
        self._unanswered = unanswered
        self._writer = CommandWriter(turn, random, signer, parameters.command_lifetime)
        self._routes: dict[Name, _Route] = {}
        self._commands: dict[Name, _Command] = {}
        """By the name of the Interest."""
        self._waiting: OrderedDict[Name, _Route] = OrderedDict()
        """Routes that have to do with the forwarder, and whose turn has not come."""
        self._timers: Timers[tuple[str, Name]] = Timers(alarm)
        self._face: Face | None = None
        self._ways: list[Way] = []
        self._known: Way | None = None
        """What this forwarder has answered."""
        self._remembered: OrderedDict[str, Way] = OrderedDict()
        """What forwarders have answered, by their addresses."""
        self._stopped = False

    # ---- what is wanted

    def register(self, prefix: Name) -> None:
        """Want a route."""
        if self._stopped:
            return
        route = self._routes.get(prefix)
        if route is None:
            if len(self._routes) >= self._parameters.max_routes:
                raise LocalProtocolError(
                    f"there are {len(self._routes)} routes already, as max_routes allows"
                )
            route = self._routes[prefix] = _Route(prefix)
        elif not route.wanted:
            route.wanted, route.told, route.tried, route.failures = True, None, [], 0
        self._go_on(route)

    def unregister(self, prefix: Name) -> None:
        """Want it no more."""
        route = self._routes.get(prefix)
        if route is not None and route.wanted and not self._stopped:
            route.wanted, route.tried = False, []
            self._timers.cancel((AGAIN, prefix))
            self._go_on(route)

    def stop(self) -> None:
        """Want none any more: we are about to leave.

        With a connection all routes go anyway. By UDP nobody hears that we leave, so the forwarder
        is told, once; its answers are not waited for.
        """
        face = self._face
        if face is not None and face.uri.startswith("udp:"):
            way = self._known or self._ways[0]
            for route in self._routes.values():
                if route.standing is not False or route.asked:
                    face.send_interest(self._writer.command(UNREGISTER, route.prefix, way))
        self.line_down()
        self._routes.clear()
        self._stopped = True

    # ---- the forwarder comes and goes

    def line_up(self, face: Face) -> None:
        """There is a forwarder, which knows nothing of us."""
        self._face = face
        self._ways = ways_to(face, self._parameters)
        self._known = None
        remembered = self._remembered.get(face.uri)
        if remembered is not None and remembered in self._ways:
            self._ways.remove(remembered)
            self._ways.insert(0, remembered)
        for route in self._routes.values():
            self._waiting[route.prefix] = route
        self._send_waiting()

    def line_down(self) -> None:
        """It is gone, and all that it knew."""
        self._face = None
        for name in self._commands:
            self._timers.cancel((ANSWER, name))
        self._commands.clear()
        self._waiting.clear()
        for route in list(self._routes.values()):
            self._timers.cancel((AGAIN, route.prefix))
            route.standing = route.asked = False
            route.tried, route.failures, route.told = [], 0, None
            if not route.wanted:
                del self._routes[route.prefix]

    def unreachable(self, problem: str) -> None:
        """There has been no forwarder for so long that whoever waits for a route is to know."""
        for route in list(self._routes.values()):
            self._say(route, problem)

    # ---- commands

    def _go_on(self, route: _Route) -> None:
        """Do what is to be done for a route, unless something is under way."""
        if route.asked:
            return
        if self._face is not None and route.standing != route.wanted:
            self._waiting[route.prefix] = route
            self._send_waiting()
        elif not route.wanted:
            self._forget(route)

    def _forget(self, route: _Route) -> None:
        del self._routes[route.prefix]
        self._waiting.pop(route.prefix, None)
        self._timers.cancel((AGAIN, route.prefix))

    def _send_waiting(self) -> None:
        while self._waiting and len(self._commands) < self._parameters.max_commands:
            _, route = self._waiting.popitem(last=False)
            self._send(route, self._next_way(route) or self._ways[0])

    def _next_way(self, route: _Route) -> Way | None:
        """What to try next in this round; None if it is over."""
        known = self._known
        if known is not None:
            enough = route.tried.count(known) >= self._parameters.command_attempts
            return None if enough else known
        return next((way for way in self._ways if way not in route.tried), None)

    def _send(self, route: _Route, way: Way) -> None:
        assert self._face is not None
        if not route.tried:
            route.refusal = ""
        verb = REGISTER if route.wanted else UNREGISTER
        interest = self._writer.command(verb, route.prefix, way)
        route.asked = True
        self._commands[interest.name] = _Command(route, verb, way)
        until = self._turn.now + self._parameters.command_lifetime
        self._timers.set((ANSWER, interest.name), until)
        self._face.send_interest(interest)

    # ---- what becomes of them

    def data(self, data: Data) -> bool:
        """Something came from the forwarder: whether it is the answer to a command.

        Raises :class:`RemoteProtocolError` for an answer that cannot be believed; the true one may
        still come.
        """
        if data.name not in self._commands:
            return False
        answer = read_answer(data)
        command = self._take(data.name)
        if answer.code == StatusCode.OK:
            self._done(command)
        else:
            text = printable(answer.text[:MOST_TEXT])
            self._refused(command, f"{answer.code} {text}".rstrip())
        self._send_waiting()
        return True

    def nack(self, interest: Interest, reason: int) -> bool:
        """The forwarder says that an Interest cannot be answered: whether it was a command."""
        if interest.name not in self._commands:
            return False
        command = self._take(interest.name)
        if reason == NackReason.NO_ROUTE:
            self._refused(command, f"it takes no commands below /{command.way.scope}/nfd from us")
        else:
            self._refused(command, f"it sent a Nack with the reason {reason}")
        self._send_waiting()
        return True

    def _take(self, name: Name) -> _Command:
        command = self._commands.pop(name)
        self._timers.cancel((ANSWER, name))
        command.route.asked = False
        return command

    def _done(self, command: _Command) -> None:
        route, verb, way = command
        face = self._face
        assert face is not None
        self._known = way
        self._remember(face.uri, way)
        route.standing = verb == REGISTER
        route.tried, route.failures = [], 0
        if route.standing and route.wanted:
            if face.uri.startswith("udp:"):
                again = self._turn.now + self._parameters.refresh_interval
                self._timers.set((AGAIN, route.prefix), again)
            self._say(route, "")
        self._go_on(route)

    def _remember(self, uri: str, way: Way) -> None:
        self._remembered[uri] = way
        self._remembered.move_to_end(uri)
        if len(self._remembered) > MOST_REMEMBERED:
            self._remembered.popitem(last=False)

    def _refused(self, command: _Command, refusal: str) -> None:
        route = command.route
        route.refusal = refusal
        if command.verb == REGISTER:
            route.standing = False
        over = command.way == self._known
        self._failed(command, "refused", over=over)

    def _failed(self, command: _Command, reason: str, *, over: bool = False) -> None:
        """A command came to nothing: try another way, or end the round."""
        route, verb, way = command
        if (verb == REGISTER) != route.wanted:
            self._go_on(route)  # something else is wanted by now
            return
        route.tried.append(way)
        another = None if over else self._next_way(route)
        if another is not None:
            self._turn.trace(
                events.RETRIED, what=verb, reason=reason, attempt=len(route.tried) + 1,
                prefix=name_to_uri(route.prefix), scope=another.scope, form=another.form,
            )  # fmt: skip
            self._waiting[route.prefix] = route
            self._waiting.move_to_end(route.prefix, last=False)
            return
        route.tried = []
        if verb == REGISTER:
            self._not_registered(route)
        else:
            self._turn.trace(trace.DROPPED, what=verb, reason=reason, count=1)
            route.standing = False
            self._go_on(route)

    def _not_registered(self, route: _Route) -> None:
        assert self._face is not None
        uri, peer = name_to_uri(route.prefix), self._face.peer
        route.failures += 1
        self._timers.set((AGAIN, route.prefix), self._turn.now + self._delay(route.failures))
        if route.refusal:
            self._say(route, f"{peer} refused the route {uri}: {route.refusal}")
        else:
            self._say(route, f"{peer} did not answer when asked for the route {uri}")
            self._unanswered()

    def _delay(self, failures: int) -> float:
        parameters = self._parameters
        # The exponent is bounded because a float is.
        grown = parameters.command_retry * 2.0 ** min(failures - 1, 32)
        return min(grown, parameters.longest_command_retry)

    def _say(self, route: _Route, problem: str) -> None:
        if route.told != problem:
            route.told = problem
            self._tell(route.prefix, problem)

    # ---- time

    def wake(self, now: float) -> None:
        """Try again what was not answered, and ask again for what is due."""
        for what, name in self._timers.due(now):
            if what == ANSWER:
                if name in self._commands:  # it may have ended with what came before
                    command = self._take(name)
                    if command.verb == REGISTER:
                        command.route.standing = None
                    self._failed(command, "unanswered")
            elif (route := self._routes.get(name)) is not None and not route.asked:
                if route.standing:
                    route.standing = None  # by now it may have gone
                self._go_on(route)
        self._send_waiting()

    def next_wake(self) -> float | None:
        """When :meth:`wake` has something to do."""
        return self._timers.next_wake()

    def sizes(self) -> dict[str, int]:
        """How much is kept, for tests of memory."""
        return {
            "routes": len(self._routes),
            "commands": len(self._commands),
            "commands_waiting": len(self._waiting),
            "command_timers": len(self._timers),
            "known_forwarders": len(self._remembered),
        }

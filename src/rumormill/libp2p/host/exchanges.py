"""Questions and answers of the services beside pubsub: each on a stream, bounded in every way.

A service names protocols; whoever opens a stream of one may put questions on it, one after the
other, each a message with its length before it, and gets an answer to each. A question of ours has
a stream of its own. What breaks the rules costs its stream, and who does it time and again loses
its connection.
"""

from __future__ import annotations

from collections.abc import Callable

from rumormill.core.errors import RemoteProtocolError
from rumormill.core.limits import Allowance
from rumormill.core.timers import Timers
from rumormill.core.trace import IGNORED, PROTOCOL_ERROR
from rumormill.libp2p.discovery.effects import (
    Answer,
    Answered,
    Ask,
    Asked,
    DiscoveryInput,
    Refuse,
    Unanswered,
)
from rumormill.libp2p.host.parameters import HostParameters
from rumormill.libp2p.host.table import Link, Turn
from rumormill.libp2p.wire.frames import FrameReader, length_prefixed

LARGEST_QUESTION = 16_384
"""Bytes of a question; those of Kademlia and rendezvous carry a key and the asker's addresses."""

MOST_UNREAD = 256 * 1024
"""Bytes of answers that an asking peer may leave unread."""

FAULTS_RATE, FAULTS_BURST = 0.1, 8.0
"""Faults on one connection that cost a stream only: so many a second, so many at once."""

TOO_MANY_FAULTS = "too_many_service_faults"


class Question:
    """What we ask a peer, and the stream that it is asked on."""

    __slots__ = ("ask", "reader", "stream")

    def __init__(self, ask: Ask, stream: int) -> None:
        self.ask = ask
        self.stream = stream
        self.reader = FrameReader(ask.largest)


class Guest:
    """A stream on which a peer asks."""

    __slots__ = ("number", "protocol", "reader", "stream")

    def __init__(self, number: int, protocol: str, stream: int) -> None:
        self.number = number
        """What its questions are answered by."""
        self.protocol = protocol
        self.stream = stream
        self.reader = FrameReader(LARGEST_QUESTION)


class _Desk:
    """All that goes on with one connection."""

    __slots__ = ("asked", "faults", "guests", "questions")

    def __init__(self, parameters: HostParameters) -> None:
        self.questions: dict[int, Question] = {}
        """Ours, by stream."""
        self.guests: dict[int, Guest] = {}
        """Theirs, by stream."""
        self.asked = Allowance(parameters.questions_rate, parameters.questions_burst)
        self.faults = Allowance(FAULTS_RATE, FAULTS_BURST)


class Exchanges:
    """Owner of every stream of a service; see the module.

    ``heard`` takes what comes of it, ``close`` closes a connection.
    """

    def __init__(
        self,
        *,
        protocols: tuple[str, ...],
        parameters: HostParameters,
        turn: Turn,
        heard: Callable[[DiscoveryInput, float], None],
        close: Callable[[Link, str, float], None],
    ) -> None:
        self.protocols = protocols
        """The protocols that are served."""
        self._parameters = parameters
        self._turn = turn
        self._heard = heard
        self._close = close
        self._desks: dict[Link, _Desk] = {}
        self._guests: dict[int, tuple[Link, Guest]] = {}
        self._last_guest = 0
        self._timers: Timers[tuple[Link, int]] = Timers(turn.alarm)

    def __len__(self) -> int:
        """How many streams there are."""
        return sum(len(each.questions) + len(each.guests) for each in self._desks.values())

    def busy(self, link: Link) -> bool:
        """Whether something of ours is under way on a connection."""
        desk = self._desks.get(link)
        return desk is not None and bool(desk.questions)

    # ---- what we ask

    def ask(self, ask: Ask, link: Link, deadline: float, now: float) -> None:
        """Put a question to the peer at the other end of a connection."""
        desk = self._desk(link)
        if len(desk.questions) >= self._parameters.max_questions:
            self._heard(Unanswered(ask.request, ask.peer, "too_many_questions"), now)
            return
        stream = link.connection.open_stream(ask.protocols, now)
        link.streams[stream] = self
        desk.questions[stream] = Question(ask, stream)
        self._timers.set((link, stream), deadline)
        self._turn.touch(link)

    def _desk(self, link: Link) -> _Desk:
        desk = self._desks.get(link)
        if desk is None:
            desk = self._desks[link] = _Desk(self._parameters)
        return desk

    # ---- events of streams

    def opened(self, link: Link, stream: int, protocol: str, inbound: bool, now: float) -> None:
        """Both sides agreed: say our question, or wait for theirs."""
        desk = self._desk(link)
        if inbound:
            if len(desk.guests) >= self._parameters.max_service_streams:
                self._fault(link, stream, RemoteProtocolError("too_many_service_streams"), now)
                return
            self._last_guest += 1
            guest = desk.guests[stream] = Guest(self._last_guest, protocol, stream)
            self._guests[guest.number] = (link, guest)
            self._timers.set((link, stream), now + self._parameters.service_timeout)
            return
        question = desk.questions[stream]
        link.connection.write(stream, length_prefixed(question.ask.message))
        self._turn.touch(link)
        if not question.ask.answered:
            link.connection.close_stream(stream)
            self._end(link, stream)
            self._heard(Answered(question.ask.request, question.ask.peer, b""), now)

    def data(self, link: Link, stream: int, data: bytes, now: float) -> None:
        """A part of an answer, or of a question."""
        desk = self._desk(link)
        try:
            question = desk.questions.get(stream)
            if question is not None:
                self._take_answer(link, question, data, now)
            elif stream in desk.guests:
                self._take_questions(link, desk, desk.guests[stream], data, now)
        except RemoteProtocolError as error:
            self._fault(link, stream, error, now)

    def _take_answer(self, link: Link, question: Question, data: bytes, now: float) -> None:
        frames = question.reader.feed(data)
        if not frames:
            return
        link.connection.close_stream(question.stream)
        self._turn.touch(link)
        self._end(link, question.stream)
        self._heard(Answered(question.ask.request, question.ask.peer, frames[0]), now)

    def _take_questions(
        self, link: Link, desk: _Desk, guest: Guest, data: bytes, now: float
    ) -> None:
        began = guest.reader.pending > 0
        frames = guest.reader.feed(data)
        for frame in frames:
            if not desk.asked.take(1.0, now):
                raise RemoteProtocolError("asked_too_often")
            self._heard(Asked(guest.number, link.peer, guest.protocol, frame), now)
            if link.gone or guest.stream not in desk.guests:
                return
        # A question that has begun must come to its end; between two of them the peer has time.
        if not guest.reader.pending:
            seconds = self._parameters.service_idle_timeout
            self._timers.set((link, guest.stream), now + seconds)
        elif frames or not began:
            self._timers.set((link, guest.stream), now + self._parameters.service_timeout)

    def drained(self, link: Link, stream: int, now: float) -> None:
        """Nothing of ours waits for that."""

    def ended(self, link: Link, stream: int, now: float) -> None:
        """The peer will say no more: a question of ours stays without an answer."""
        desk = self._desk(link)
        link.connection.close_stream(stream)
        self._turn.touch(link)
        guest = desk.guests.get(stream)
        if guest is not None and guest.reader.pending:
            self._fault(link, stream, RemoteProtocolError("question_cut_short"), now)
            return
        self._lost(link, stream, "no_answer", now)

    def lost(self, link: Link, stream: int, reason: str, now: float) -> None:
        """The stream is gone, or did not come about."""
        self._lost(link, stream, reason, now)

    def _lost(self, link: Link, stream: int, reason: str, now: float) -> None:
        question = self._desk(link).questions.get(stream)
        self._end(link, stream)
        if question is not None:
            self._heard(Unanswered(question.ask.request, question.ask.peer, reason), now)

    # ---- what others get

    def answer(self, effect: Answer, now: float) -> None:
        """Answer a question, if its stream is still there."""
        found = self._guests.get(effect.exchange)
        if found is None or not effect.message:
            return
        link, guest = found
        link.connection.write(guest.stream, length_prefixed(effect.message))
        self._turn.touch(link)
        if link.connection.unsent(guest.stream) > MOST_UNREAD:
            self._fault(link, guest.stream, RemoteProtocolError("answers_unread"), now)

    def refuse(self, effect: Refuse, now: float) -> None:
        """A question gets no answer."""
        found = self._guests.get(effect.exchange)
        if found is None:
            return
        link, stream = found[0], found[1].stream
        if effect.fault:
            self._fault(link, stream, RemoteProtocolError(effect.reason, effect.detail), now)
            return
        self._turn.trace(now, IGNORED, link.peer, reason=effect.reason)
        link.connection.reset_stream(stream)
        self._turn.touch(link)
        self._end(link, stream)

    # ---- faults, time, and the end

    def _fault(self, link: Link, stream: int, error: RemoteProtocolError, now: float) -> None:
        """The peer broke the rules: that costs the stream, and at last the connection."""
        fields = {"reason": error.reason, "detail": error.detail}
        self._turn.trace(now, PROTOCOL_ERROR, link.peer, **fields)
        link.connection.reset_stream(stream)
        self._turn.touch(link)
        worn_out = not self._desk(link).faults.take(1.0, now)
        self._lost(link, stream, error.reason, now)
        if worn_out and not link.gone:
            self._close(link, TOO_MANY_FAULTS, now)

    def wake(self, now: float) -> None:
        """End exchanges that take too long; a peer that just asks nothing more is no fault."""
        for link, stream in self._timers.due(now):
            desk = self._desks.get(link)
            if desk is None:
                continue
            guest = desk.guests.get(stream)
            if guest is not None and guest.reader.pending:
                self._fault(link, stream, RemoteProtocolError("service_timeout"), now)
                continue
            link.connection.reset_stream(stream)
            self._turn.touch(link)
            self._lost(link, stream, "timeout", now)

    def next_wake(self) -> float | None:
        """When :meth:`wake` has something to do."""
        return self._timers.next_wake()

    def _end(self, link: Link, stream: int) -> None:
        link.streams.pop(stream, None)
        self._timers.cancel((link, stream))
        desk = self._desks.get(link)
        if desk is not None:
            desk.questions.pop(stream, None)
            guest = desk.guests.pop(stream, None)
            if guest is not None:
                del self._guests[guest.number]

    def disconnected(self, link: Link, now: float) -> None:
        """``link`` is gone, and everything on it."""
        desk = self._desks.pop(link, None)
        if desk is None:
            return
        for stream in (*desk.questions, *desk.guests):
            self._timers.cancel((link, stream))
        for guest in desk.guests.values():
            del self._guests[guest.number]
        for question in desk.questions.values():
            self._heard(Unanswered(question.ask.request, question.ask.peer, "disconnected"), now)

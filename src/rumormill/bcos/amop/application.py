"""The application in this process: it subscribes and publishes like an SDK, without a session.

A message for it is checked first (its validators), then delivered. A unicast is answered for it
when it is delivered, unless it has said that it answers a topic itself.
"""

from __future__ import annotations

from random import Random
from typing import NamedTuple

from rumormill.bcos.amop.amop import Amop
from rumormill.bcos.amop.parcel import Parcel, new_parcel
from rumormill.bcos.amop.ports import PacketDone
from rumormill.bcos.amop.unicast import Flight
from rumormill.bcos.effects import (
    Forget,
    Multicast,
    Request,
    Respond,
    SetResponder,
    Unicast,
    UnicastEnded,
)
from rumormill.bcos.wire.channel_packet import SEQ_SIZE, ChannelPacket, ChannelType, Result
from rumormill.bcos.wire.topic_body import LONGEST_TOPIC, decode_body, encode_body
from rumormill.bcos.wire.topic_state import can_travel
from rumormill.core import trace
from rumormill.core.errors import LocalProtocolError, RemoteProtocolError
from rumormill.core.machine import (
    Check,
    Checked,
    CheckedMany,
    Deliver,
    Hold,
    Published,
    Subscribe,
    Unsubscribe,
    Verdict,
)
from rumormill.core.message import Message
from rumormill.core.receipt import Receipt
from rumormill.core.timers import Alarm, Timers
from rumormill.core.turn import Turn

MOST_OPEN = 4096
"""Messages that are checked, or that the application has not answered yet."""
MOST_OPEN_BYTES = 128 * 1024 * 1024

ApplicationInput = (
    Subscribe
    | Unsubscribe
    | Checked
    | CheckedMany
    | Hold
    | Unicast
    | Multicast
    | Forget
    | Respond
    | SetResponder
)
"""What it takes; the machine that it is a part of hands it over."""


class _Open(NamedTuple):
    """A message that is being checked, or waits for the application's answer."""

    parcel: Parcel
    message: Message
    done: PacketDone | None
    """Of a unicast: who waits for the answer."""


class Application:
    """The application as a :class:`~.ports.Subscriber`."""

    name = "application"
    peer: str | None = None
    gone = False

    def __init__(self, turn: Turn, amop: Amop, random: Random, network: str, alarm: Alarm) -> None:
        self._turn = turn
        self._amop = amop
        self._random = random
        self._network = network
        self._topics: dict[str, None] = {}
        self._responders: dict[str, None] = {}
        self._held = False
        self._last_token = 0
        self._open: dict[int, _Open] = {}
        self._open_bytes = 0
        self._open_timers: Timers[int] = Timers(alarm)
        self._flights: dict[int, tuple[Parcel, Flight | None]] = {}
        self._flight_timers: Timers[int] = Timers(alarm)

    def handle(self, input: ApplicationInput) -> None:
        """Take one input of the application."""
        match input:
            case Subscribe(topic):
                self._subscribe(topic)
            case Unsubscribe(topic):
                self._unsubscribe(topic)
            case Multicast():
                self._multicast(input)
            case Unicast():
                self._unicast(input)
            case Checked():
                self._checked(input)
            case CheckedMany(answers):
                for answer in answers:
                    self._checked(answer)
            case Respond(token, data):
                self._respond(token, data)
            case Forget(token):
                self._forget(token)
            case SetResponder(topic, wanted):
                self._set_responder(topic, wanted)
            case Hold(paused):
                self._held = paused

    # ---- what it listens to

    def _subscribe(self, topic: str) -> None:
        _check_name(topic)
        if topic not in self._topics:
            self._topics[topic] = None
            self._listen(topic)
            self._turn.trace(trace.SUBSCRIBED, topic)

    def _unsubscribe(self, topic: str) -> None:
        if topic in self._topics:
            del self._topics[topic]
            self._listen(topic)
            self._turn.trace(trace.UNSUBSCRIBED, topic)

    def _set_responder(self, topic: str, wanted: bool) -> None:
        if wanted:
            _check_name(topic)
            self._responders[topic] = None
        else:
            self._responders.pop(topic, None)
        self._listen(topic)

    def _listen(self, topic: str) -> None:
        """Who answers a topic listens to it, too."""
        wanted = topic in self._topics or topic in self._responders
        listeners = self._amop.listeners
        if wanted != listeners.listens(self, topic):
            (listeners.add if wanted else listeners.take_away)(self, topic)

    # ---- as a subscriber

    @property
    def has_room(self) -> bool:
        """Whether it takes more now."""
        return not self._held and len(self._open) < MOST_OPEN and self._open_bytes < MOST_OPEN_BYTES

    def push(self, parcel: Parcel, origin: str | None) -> bool:
        """A multicast came. Messages that it has no time for are the subscription's to drop."""
        if len(self._open) >= MOST_OPEN or self._open_bytes >= MOST_OPEN_BYTES:
            return False
        self._take(parcel, origin, None)
        return True

    def ask(self, parcel: Parcel, origin: str | None, timeout: float, done: PacketDone) -> None:
        """A unicast came."""
        if parcel.type != ChannelType.REQUEST:
            done(None, "not_supported")  # it verifies nobody
        elif not self.has_room:
            done(None, "queue_full")
        else:
            token = self._take(parcel, origin, done)
            self._open_timers.set(token, self._turn.now + timeout)

    def _take(self, parcel: Parcel, origin: str | None, done: PacketDone | None) -> int:
        mode = "multicast" if done is None else "unicast"
        message = Message(
            parcel.topic, parcel.payload, None, parcel.id, self._network, origin, self._turn.now,
            {"mode": mode},
        )  # fmt: skip
        self._last_token += 1
        token = self._last_token
        self._open[token] = _Open(parcel, message, done)
        self._open_bytes += len(parcel.raw)
        self._turn.add(Check(token, message, origin))
        return token

    def _checked(self, answer: Checked) -> None:
        opened = self._open.get(answer.token)
        if opened is None:
            return  # its time was over before
        _, message, done = opened
        if answer.verdict != Verdict.ACCEPT:
            self._turn.trace(
                trace.REJECTED if answer.verdict == Verdict.REJECT else trace.IGNORED,
                message.topic, message.id, message.received_from,
                reason=answer.detail or answer.verdict,
            )  # fmt: skip
            self._close(answer.token, None, answer.verdict)
            return
        self._turn.add(Deliver(message))
        self._turn.trace(
            trace.DELIVERED, message.topic, message.id, message.received_from,
            size=len(message.data),
        )  # fmt: skip
        if done is None:
            self._close(answer.token, None, "")
        elif message.topic in self._responders:
            self._turn.add(Request(answer.token, message))
        else:
            self._close(answer.token, b"", "")

    def _respond(self, token: int, data: bytes) -> None:
        if token not in self._open:
            self._turn.trace(trace.DROPPED, what="answer", reason="too_late", count=1)
            return
        self._close(token, data, "")

    def _close(self, token: int, data: bytes | None, problem: str) -> None:
        """A message is done with; who asked hears the answer, or that there is none."""
        parcel, _, done = self._open.pop(token)
        self._open_bytes -= len(parcel.raw)
        self._open_timers.cancel(token)
        if done is None:
            return
        if data is None:
            done(None, problem)
        else:
            body = encode_body(parcel.topic, data)
            done(ChannelPacket(ChannelType.RESPONSE, parcel.seq, Result.OK, body), "")

    # ---- as a publisher

    def _multicast(self, input: Multicast) -> None:
        parcel = self._new(ChannelType.MULTICAST, input.topic, input.data)
        spread = self._amop.multicast(parcel, self, input.everywhere)
        self._turn.trace(
            trace.PUBLISHED, parcel.topic, parcel.id, size=len(input.data), mode="multicast",
            peers=len(spread.reached) + len(spread.queued), dropped=len(spread.dropped),
        )  # fmt: skip
        receipt = Receipt(
            parcel.id, parcel.topic, spread.reached, spread.queued, spread.dropped,
            {"here": spread.here},
        )  # fmt: skip
        self._turn.add(Published(receipt))

    def _unicast(self, input: Unicast) -> None:
        parcel, token = self._new(ChannelType.REQUEST, input.topic, input.data), input.token
        self._turn.trace(
            trace.PUBLISHED, parcel.topic, parcel.id, input.node,
            size=len(input.data), mode="unicast", peers=1, dropped=0,
        )  # fmt: skip
        self._flights[token] = (parcel, None)
        self._flight_timers.set(token, self._turn.now + input.timeout)

        def outcome(result: int, body: bytes, node: str | None) -> None:
            self._ended(token, result, body, node)

        flight = self._amop.unicast(parcel, self, outcome, input.node)
        if token in self._flights:
            self._flights[token] = (parcel, flight)

    def _ended(self, token: int, result: int, body: bytes, node: str | None) -> None:
        parcel, _ = self._flights.pop(token)
        self._flight_timers.cancel(token)
        data = b""
        if result == Result.OK:
            try:
                _, data = decode_body(body)
            except RemoteProtocolError as error:
                self._turn.trace(
                    trace.PROTOCOL_ERROR, parcel.topic, parcel.id, node,
                    reason="bad_answer", detail=str(error),
                )  # fmt: skip
        self._turn.add(UnicastEnded(token, parcel.id, result, data, node))

    def _forget(self, token: int) -> None:
        _, flight = self._flights.pop(token, (None, None))
        self._flight_timers.cancel(token)
        if flight is not None:
            flight.stop()

    def _new(self, kind: int, topic: str, data: bytes) -> Parcel:
        _check_name(topic)
        seq = b"%0*x" % (SEQ_SIZE, self._random.getrandbits(4 * SEQ_SIZE))
        return new_parcel(kind, seq, topic, data)

    # ---- time

    def wake(self, now: float) -> None:
        """End what has taken too long."""
        for token in self._open_timers.due(now):
            self._close(token, None, "timed_out")
        for token in self._flight_timers.due(now):
            parcel, flight = self._flights.pop(token)
            if flight is not None:
                flight.stop()
            self._turn.add(UnicastEnded(token, parcel.id, Result.TIMED_OUT, b""))

    def next_wake(self) -> float | None:
        """When the first of it ends."""
        times = (self._open_timers.next_wake(), self._flight_timers.next_wake())
        return min((time for time in times if time is not None), default=None)

    def sizes(self) -> dict[str, int]:
        """How much is kept, for tests of its bounds."""
        return {
            "open_messages": len(self._open),
            "open_bytes": self._open_bytes,
            "application_unicasts": len(self._flights),
        }


def _check_name(topic: str) -> None:
    if not can_travel(topic):
        raise LocalProtocolError(
            f"{topic[:40]!r} cannot be a topic: it needs 1 to {LONGEST_TOPIC} bytes of UTF-8,"
            " and no tabulator"
        )

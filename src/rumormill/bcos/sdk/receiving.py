"""Messages that come: each is checked, delivered, and a unicast one is answered.

A unicast message that a validator refuses, or that there is no room for, is not answered: its node
then tries another subscriber, or tells the publisher that nobody took it. It must not hear that
somebody has it.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from rumormill.bcos.effects import Request
from rumormill.bcos.links.pending import Pending
from rumormill.bcos.sdk.connection import Connection
from rumormill.bcos.sdk.parameters import SdkParameters
from rumormill.bcos.sdk.pool import Pool
from rumormill.bcos.sdk.recent_ids import RecentIds
from rumormill.bcos.sdk.subscriptions import Subscriptions
from rumormill.bcos.wire.channel_packet import ChannelPacket, ChannelType, id_of_seq
from rumormill.bcos.wire.topic_body import encode_body
from rumormill.core import trace
from rumormill.core.machine import Check, Checked, Deliver, Verdict
from rumormill.core.message import Message
from rumormill.core.timers import Alarm
from rumormill.core.turn import Turn

UNICAST_FIELDS: Final[Mapping[str, str]] = MappingProxyType({"mode": "unicast"})
MULTICAST_FIELDS: Final[Mapping[str, str]] = MappingProxyType({"mode": "multicast"})


class _Arrival(NamedTuple):
    """A message between its arrival and its end."""

    connection: Connection
    message: Message
    name: str
    """The topic on the wire."""
    seq: bytes
    unicast: bool
    """Whether somebody waits for an answer."""


class Receiving:
    """Takes messages from all nodes."""

    def __init__(
        self,
        turn: Turn,
        parameters: SdkParameters,
        network: str,
        pool: Pool,
        subscriptions: Subscriptions,
        alarm: Alarm,
    ) -> None:
        self._turn = turn
        self._parameters = parameters
        self._network = network
        self._pool = pool
        self._subscriptions = subscriptions
        self._last_token = 0
        self._checks: dict[int, _Arrival] = {}
        self._check_bytes = 0
        self._ids = RecentIds(parameters.max_ids)
        self._answers: Pending[int, bytes] = Pending(alarm)
        """What the application is answering."""

    def sizes(self) -> dict[str, int]:
        """What takes memory."""
        return {
            "checking": len(self._checks), "answering": len(self._answers), "ids": len(self._ids),
        }  # fmt: skip

    def message(
        self, connection: Connection, packet: ChannelPacket, name: str, data: bytes
    ) -> None:
        """A message to the topic ``name`` has come."""
        unicast = packet.type == ChannelType.REQUEST
        message_id = id_of_seq(packet.seq)
        topic = self._subscriptions.topic_of(name)
        if topic is None:
            self._turn.trace(
                trace.IGNORED, name, message_id, connection.peer, reason="not_subscribed"
            )
            self._pool.charge(connection, "not_subscribed")
            return
        if not unicast and self._is_duplicate(connection, packet.seq, topic):
            return
        full = (
            len(self._checks) >= self._parameters.max_checks
            or self._check_bytes >= self._parameters.max_check_bytes
        )
        if full:
            if not unicast:
                self._ids.forget(packet.seq)
            self._lost(topic, message_id, connection.peer, "too_many_checks")
            return
        message = Message(
            topic, data, None, message_id, self._network, connection.peer, self._turn.now,
            UNICAST_FIELDS if unicast else MULTICAST_FIELDS,
        )  # fmt: skip
        self._last_token += 1
        arrival = _Arrival(connection, message, name, packet.seq, unicast)
        self._checks[self._last_token] = arrival
        self._check_bytes += len(data)
        self._turn.add(Check(self._last_token, message, connection.peer))

    def _is_duplicate(self, connection: Connection, seq: bytes, topic: str) -> bool:
        first = self._ids.add(seq, connection.number)
        if first is None:
            return False
        self._turn.trace(trace.DUPLICATE, topic, id_of_seq(seq), connection.peer)
        if first == connection.number:
            self._pool.charge(connection, "duplicates")
        return True  # that it comes by each of our nodes is our own doing

    def checked(self, answer: Checked) -> None:
        """What validators say of it."""
        arrival = self._checks.pop(answer.token, None)
        if arrival is None:
            return
        message = arrival.message
        self._check_bytes -= len(message.data)
        if answer.verdict == Verdict.ACCEPT:
            self._deliver(answer.token, arrival)
            return
        if answer.verdict == Verdict.OVERLOADED and not arrival.unicast:
            self._ids.forget(arrival.seq)
        event = trace.REJECTED if answer.verdict == Verdict.REJECT else trace.IGNORED
        self._turn.trace(
            event, message.topic, message.id, message.received_from,
            reason=answer.detail or answer.verdict,
        )  # fmt: skip

    def respond(self, token: int, data: bytes) -> None:
        """The application's answer; one that comes too late is counted."""
        if not self._answers.answer(token, data):
            self._lost(None, None, None, "answer_too_late", "answer")

    def node_down(self, connection: Connection, reason: str) -> None:
        """Nobody waits for the answers any more that were to go to a node."""
        self._answers.lost(connection.number, reason)

    def wake(self) -> None:
        """Give up answers that take too long."""
        self._answers.wake(self._turn.now)

    def next_wake(self) -> float | None:
        """When :meth:`wake` has something to do."""
        return self._answers.next_wake()

    def _deliver(self, token: int, arrival: _Arrival) -> None:
        message = arrival.message
        self._turn.trace(
            trace.DELIVERED, message.topic, message.id, message.received_from,
            size=len(message.data), sender=None,
        )  # fmt: skip
        self._turn.add(Deliver(message))
        if not arrival.unicast:
            return
        if not self._subscriptions.is_answered(message.topic):
            self._answer(arrival, b"")
        elif len(self._answers) >= self._parameters.max_answers:
            self._lost(
                message.topic, message.id, message.received_from, "too_many_answers", "answer"
            )
        else:
            self._ask_application(token, arrival)

    def _ask_application(self, token: int, arrival: _Arrival) -> None:
        message = arrival.message

        def done(data: bytes | None, problem: str) -> None:
            if data is None:
                self._lost(message.topic, message.id, message.received_from, problem, "answer")
            else:
                self._answer(arrival, data)

        until = self._turn.now + self._parameters.answer_timeout
        self._answers.begin(token, arrival.connection.number, until, done)
        self._turn.add(Request(token, message))

    def _answer(self, arrival: _Arrival, data: bytes) -> None:
        message = arrival.message
        if len(data) > self._parameters.largest_message(len(arrival.name.encode())):
            problem = "answer_too_large"
        elif arrival.connection.gone:
            problem = "left"
        else:
            body = encode_body(arrival.name, data)
            arrival.connection.send(ChannelType.RESPONSE, arrival.seq, body)
            return
        self._lost(message.topic, message.id, message.received_from, problem, "answer")

    def _lost(
        self,
        topic: str | None,
        message_id: bytes | None,
        peer: str | None,
        reason: str,
        what: str = "message",
    ) -> None:
        self._turn.trace(trace.DROPPED, topic, message_id, peer, what=what, reason=reason, count=1)

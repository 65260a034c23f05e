"""The subscriber's node: a message finds somebody who listens here."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from random import Random

from rumormill.bcos.amop.attempts import Attempts
from rumormill.bcos.amop.listeners import Listeners
from rumormill.bcos.amop.parcel import Parcel
from rumormill.bcos.amop.ports import PacketDone, Subscriber
from rumormill.bcos.channel.parameters import ChannelParameters
from rumormill.bcos.wire.channel_packet import ChannelPacket, Result
from rumormill.core import trace
from rumormill.core.turn import Turn

Answered = Callable[[int, bytes], None]
"""Hears the result and the body of a response."""


class Delivery:
    """Hands messages to the subscribers of this node, wherever they came from."""

    def __init__(
        self, turn: Turn, listeners: Listeners, random: Random, parameters: ChannelParameters
    ) -> None:
        self._turn = turn
        self._listeners = listeners
        self._random = random
        self._timeout = parameters.subscriber_timeout
        self._patience = parameters.node_timeout

    def to_one(
        self, parcel: Parcel, origin: str | None, sender: Subscriber | None, answered: Answered
    ) -> None:
        """A unicast: one subscriber at random gets it; who does not answer is followed by another.

        The publisher itself gets it only if nobody else listens. With nobody left the body goes
        back as it came, with the result 104. None is tried after the time that the publisher's node
        waits for us.
        """
        until = self._turn.now + self._patience

        def candidates() -> list[Subscriber]:
            if self._turn.now >= until:
                return []
            listening = [each for each in self._listeners.of(parcel.topic) if each.has_room]
            return [each for each in listening if each is not sender] or listening

        def ask(subscriber: Subscriber, done: PacketDone) -> None:
            subscriber.ask(parcel, origin, self._timeout, done)

        def ended(answer: ChannelPacket | None, subscriber: Subscriber | None) -> None:
            if answer is None:
                answered(Result.NO_SUBSCRIBER, parcel.body)
            else:
                answered(answer.result, answer.data)

        Attempts(self._random, candidates, ask, partial(self._failed, parcel), ended).go_on()

    def to_all(self, parcel: Parcel, origin: str | None, sender: Subscriber | None) -> int:
        """A multicast: all subscribers but the publisher itself get it; returns how many do."""
        count = 0
        for subscriber in self._listeners.of(parcel.topic):
            if subscriber is sender:
                continue
            if subscriber.push(parcel, origin):
                count += 1
            else:
                self._turn.trace(
                    trace.DROPPED, parcel.topic, parcel.id, subscriber.peer,
                    what="message", reason="queue_full", count=1,
                )  # fmt: skip
        return count

    def _failed(self, parcel: Parcel, subscriber: Subscriber, problem: str) -> None:
        self._turn.trace(
            trace.DROPPED, parcel.topic, parcel.id, subscriber.peer,
            what="request", reason=problem, count=1,
        )  # fmt: skip

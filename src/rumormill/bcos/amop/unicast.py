"""The publisher's node: a unicast finds a node that has a subscriber, and the answer its way back.

One of those that have the topic is chosen at random, this node among them. A node that cannot be
reached or says nothing in time is followed by another; what a node answers is final, be it that its
subscribers have failed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from random import Random

from rumormill.bcos.amop.attempts import Attempts
from rumormill.bcos.amop.delivery import Delivery
from rumormill.bcos.amop.in_flight import InFlight
from rumormill.bcos.amop.listeners import Listeners
from rumormill.bcos.amop.parcel import Parcel
from rumormill.bcos.amop.ports import Kind, Nodes, Subscriber
from rumormill.bcos.amop.verification import Verification
from rumormill.bcos.wire.channel_packet import ChannelPacket, Result, decode_channel
from rumormill.core import trace
from rumormill.core.errors import RemoteProtocolError
from rumormill.core.turn import Turn

Outcome = Callable[[int, bytes, str | None], None]
"""Hears the result, the body of the response, and the node that it came from."""

Search = Attempts[str, ChannelPacket]


class Flight:
    """A unicast on its way; its room is given back when it ends or is stopped."""

    __slots__ = ("_in_flight", "_over", "_sender", "_size", "search")

    def __init__(self, in_flight: InFlight, sender: str, size: int) -> None:
        self._in_flight = in_flight
        self._sender = sender
        self._size = size
        self._over = False
        self.search: Search | None = None

    def land(self) -> None:
        """It has ended."""
        if not self._over:
            self._over = True
            self._in_flight.give_back(self._sender, self._size)
            # The search knows us, and the message: a circle would keep that in memory, beyond
            # what may be in flight, until the collector comes by.
            self.search = None

    def stop(self) -> None:
        """Nobody waits for the answer any more."""
        search = self.search
        self.land()
        if search is not None:
            search.stop()


class Unicasts:
    """Sends the unicasts of this node's publishers."""

    def __init__(
        self,
        turn: Turn,
        nodes: Nodes,
        listeners: Listeners,
        delivery: Delivery,
        verification: Verification,
        random: Random,
        in_flight: InFlight,
        node_timeout: float,
    ) -> None:
        self._turn = turn
        self._nodes = nodes
        self._listeners = listeners
        self._delivery = delivery
        self._verification = verification
        self._random = random
        self._in_flight = in_flight
        self._node_timeout = node_timeout

    def begin(
        self, parcel: Parcel, sender: Subscriber, outcome: Outcome, only: str | None = None
    ) -> Flight | None:
        """Send it; with ``only``, to that node whatever it says that it listens to.

        None if the publisher has too much in flight; ``outcome`` has heard 103 then.
        """
        if not self._in_flight.take(sender.name, len(parcel.raw)):
            self._turn.trace(
                trace.DROPPED, parcel.topic, parcel.id, sender.peer,
                what="request", reason="too_many_requests", count=1,
            )  # fmt: skip
            outcome(Result.BANDWIDTH, b"", None)
            return None
        flight = Flight(self._in_flight, sender.name, len(parcel.raw))

        def candidates() -> list[str]:
            if sender.gone:
                return []  # nobody waits for the answer
            return [only] if only is not None else self.candidates(parcel.topic, sender)

        def ask(node: str, done: Callable[[ChannelPacket | None, str], None]) -> None:
            self._ask(node, parcel, sender, done)

        def ended(answer: ChannelPacket | None, node: str | None) -> None:
            flight.land()
            if answer is None:
                outcome(Result.NO_NODE, b"", None)
            else:
                outcome(answer.result, answer.data, node)

        flight.search = Attempts(
            self._random, candidates, ask, partial(self._failed, parcel), ended
        )
        flight.search.go_on()
        return flight

    def candidates(self, topic: str, sender: Subscriber | None = None) -> list[str]:
        """Nodes that a message of the topic may go to, this one among them.

        Not this one for the sake of the publisher itself, unless there is no other; nor for that of
        subscribers who have no room.
        """
        found = self._verification.routable(topic)
        here = [each for each in self._listeners.of(topic) if each.has_room]
        others = len(here) > 1 or (here and here[0] is not sender)
        if others or (here and not found):
            found.append(self._turn.name)
        return found

    def _ask(
        self,
        node: str,
        parcel: Parcel,
        sender: Subscriber,
        done: Callable[[ChannelPacket | None, str], None],
    ) -> None:
        if node == self._turn.name:

            def answered(result: int, body: bytes) -> None:
                done(ChannelPacket(parcel.type, parcel.seq, result, body), "")

            self._delivery.to_one(parcel, None, sender, answered)
            return

        def heard(payload: bytes | None, problem: str) -> None:
            if payload is None:
                done(None, problem)
                return
            try:
                answer = decode_channel(payload)
            except RemoteProtocolError as error:
                self._turn.trace(
                    trace.PROTOCOL_ERROR, peer=node, reason="bad_answer", detail=str(error)
                )
                done(None, "bad_answer")
            else:
                done(answer, "")

        self._nodes.ask(node, Kind.UNICAST, parcel.raw, self._node_timeout, heard)

    def _failed(self, parcel: Parcel, node: str, problem: str) -> None:
        self._turn.trace(
            trace.DROPPED, parcel.topic, parcel.id, node, what="request", reason=problem, count=1
        )

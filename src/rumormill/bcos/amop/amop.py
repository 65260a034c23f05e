"""AMOP on one node: what its publishers send, and what comes from other nodes, finds its way."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random

from rumormill.bcos.amop.delivery import Delivery
from rumormill.bcos.amop.in_flight import InFlight, Room
from rumormill.bcos.amop.listeners import PUBLISHERS_OF, Listeners
from rumormill.bcos.amop.multicast import FORWARDED, Multicasts, Spread
from rumormill.bcos.amop.parcel import Parcel, read_parcel
from rumormill.bcos.amop.ports import Board, Nodes, Subscriber
from rumormill.bcos.amop.unicast import Flight, Outcome, Unicasts
from rumormill.bcos.amop.verification import Counter, Verification
from rumormill.bcos.channel.parameters import ChannelParameters
from rumormill.bcos.wire.channel_packet import (
    ChannelPacket,
    ChannelType,
    Result,
    encode_channel,
)
from rumormill.bcos.wire.p2p_packet import P2PPacket
from rumormill.bcos.wire.verification import PUSH_CHANNEL, TopicStatus
from rumormill.core import trace
from rumormill.core.errors import RemoteProtocolError
from rumormill.core.turn import Turn

ANSWERED = "answered"  # a unicast has ended; fields: result. peer: who passed it on


class Amop:
    """The AMOP of one node.

    Publishers and subscribers are SDKs with a session, or the application in this process; both are
    :class:`~.ports.Subscriber`.
    """

    def __init__(
        self,
        turn: Turn,
        board: Board,
        nodes: Nodes,
        random: Random,
        parameters: ChannelParameters,
    ) -> None:
        self._turn = turn
        self.nodes = nodes
        self.counter = Counter()
        self.listeners = Listeners(turn, board)
        self.verification = Verification(
            turn, nodes, self.listeners, random, self.counter, parameters.subscriber_timeout
        )
        self.listeners.on_unpublished = self.verification.publishers_left
        self._in_flight = InFlight(
            Room(
                parameters.max_session_requests,
                parameters.max_session_request_bytes,
                parameters.max_request_bytes,
            )
        )
        self._delivery = Delivery(turn, self.listeners, random, parameters)
        self._multicasts = Multicasts(turn, nodes, self._delivery, self.verification)
        self._unicasts = Unicasts(
            turn, nodes, self.listeners, self._delivery, self.verification, random,
            self._in_flight, parameters.node_timeout,
        )  # fmt: skip

    # ---- the subscribers and publishers of this node

    def subscribe(self, subscriber: Subscriber, topics: Iterable[str]) -> int:
        """A subscriber listens to these topics, and no others; returns how many have changed."""
        new, gone = self.listeners.set(subscriber, topics)
        for topic in new:
            if topic.startswith(PUBLISHERS_OF):
                self.verification.publisher_came(topic.removeprefix(PUSH_CHANNEL))
        return len(new) + gone

    def left(self, subscriber: Subscriber) -> None:
        """A subscriber is gone; it has ended its own questions."""
        self.listeners.remove(subscriber)

    def unicast(
        self, parcel: Parcel, sender: Subscriber, outcome: Outcome, only: str | None = None
    ) -> Flight | None:
        """Send a unicast; see :meth:`Unicasts.begin`."""

        def ended(result: int, body: bytes, node: str | None) -> None:
            self._turn.trace(ANSWERED, parcel.topic, parcel.id, node, result=result)
            outcome(result, body, node)

        return self._unicasts.begin(parcel, sender, ended, only)

    def multicast(self, parcel: Parcel, sender: Subscriber, everywhere: bool = False) -> Spread:
        """Send a multicast."""
        return self._multicasts.send(parcel, sender, everywhere)

    def holders(self, topic: str) -> list[str]:
        """Other nodes that messages of a topic may go to."""
        return self.verification.routable(topic)

    def judged(self, publisher: Subscriber, status: TopicStatus) -> None:
        """A publisher says how a verification went; raises :class:`RemoteProtocolError`."""
        self.verification.judged(publisher, status)

    # ---- other nodes

    def received(self, node: str, packet: P2PPacket) -> bool:
        """A packet of AMOP of another node, no answer; False if it was of no use to anybody."""
        try:
            parcel = read_parcel(packet.payload)
        except RemoteProtocolError as error:
            self._turn.trace(
                trace.PROTOCOL_ERROR, peer=node, reason=error.reason, detail=error.detail
            )
            return False
        if parcel.type == ChannelType.MULTICAST:
            return self._multicasts.received(node, packet.type, parcel)
        return self._asked(node, packet, parcel)

    def topics_changed(self, node: str) -> None:
        """Another node has sent its list of topics."""
        self.verification.topics_changed(node)

    def topics_confirmed(self, node: str) -> None:
        """Another node has said that its list is the one we know."""
        self.verification.ask_again(node)

    def node_left(self, node: str) -> None:
        """The connection to another node has ended."""
        self.verification.node_left(node)

    def sizes(self) -> dict[str, int]:
        """How much is kept, for tests of its bounds."""
        return {
            **self.listeners.sizes(),
            **self.verification.sizes(),
            **self._in_flight.sizes(),
        }

    def _asked(self, node: str, packet: P2PPacket, parcel: Parcel) -> bool:
        """A unicast of another node's publisher, for a subscriber of this one."""
        size = len(parcel.raw)
        if not self._in_flight.take(node, size):
            self._turn.trace(
                trace.DROPPED, parcel.topic, parcel.id, node,
                what="request", reason="too_many_requests", count=1,
            )  # fmt: skip
            self._answer(node, packet, parcel, Result.BANDWIDTH, b"")
            return False

        def answered(result: int, body: bytes) -> None:
            self._in_flight.give_back(node, size)
            self._answer(node, packet, parcel, result, body)

        self._turn.trace(
            FORWARDED, parcel.topic, parcel.id, node, mode="unicast", size=len(parcel.payload)
        )
        self._delivery.to_one(parcel, node, None, answered)
        return True

    def _answer(
        self, node: str, packet: P2PPacket, parcel: Parcel, result: int, body: bytes
    ) -> None:
        answer = encode_channel(ChannelPacket(ChannelType.RESPONSE, parcel.seq, result, body))
        if not self.nodes.answer(node, packet, answer):
            self._turn.trace(
                trace.DROPPED, parcel.topic, parcel.id, node,
                what="answer", reason="not_sent", count=1,
            )  # fmt: skip

"""The machine of a node: links to other nodes, sessions of SDKs, and AMOP between them."""

from __future__ import annotations

from collections.abc import Collection
from random import Random

from rumormill.bcos.amop.amop import Amop
from rumormill.bcos.amop.application import Application
from rumormill.bcos.certificates.identity import Identify, identity_of, node_identity_of
from rumormill.bcos.channel.parameters import ChannelParameters
from rumormill.bcos.channel.server import ChannelServer
from rumormill.bcos.effects import BcosInput
from rumormill.bcos.node.links import Access, Everybody
from rumormill.bcos.node.parameters import NodeParameters
from rumormill.bcos.node.peers import Peers
from rumormill.bcos.node.topic_board import TopicBoard
from rumormill.core.limits import WorkLimits
from rumormill.core.machine import Shutdown
from rumormill.core.timers import NEVER, Alarm
from rumormill.core.transport import (
    BytesReceived,
    CloseTransport,
    Dial,
    Listening,
    TransportClosed,
    TransportFailed,
    TransportOpened,
    WriteReady,
)
from rumormill.core.turn import Turn

CHANNEL = "channel"
"""The service that SDKs connect to; every other connection is one of nodes."""


class NodeMachine:
    """A node without I/O: see :mod:`rumormill.core.machine`.

    ``node_id`` is its own, and ``issuers`` who issued its certificates. ``identify`` reads
    the certificates of nodes, ``identify_sdk`` those of SDKs.
    """

    def __init__(
        self,
        node_id: str,
        issuers: Collection[str],
        random: Random,
        node: NodeParameters | None = None,
        channel: ChannelParameters | None = None,
        *,
        access: Access | None = None,
        identify: Identify = node_identity_of,
        identify_sdk: Identify = identity_of,
        network: str = "bcos",
        work_limits: WorkLimits | None = None,
    ) -> None:
        node = node or NodeParameters()
        channel = channel or ChannelParameters()
        turn = self._turn = Turn(node_id)
        alarm = self._alarm = Alarm()
        self.node_id = node_id
        self.board = TopicBoard()
        self.peers = Peers(
            turn, node_id, self.board, node, identify, access or Everybody(),
            Random(random.getrandbits(64)), alarm, work_limits or WorkLimits(),
        )  # fmt: skip
        self.amop = Amop(turn, self.board, self.peers, Random(random.getrandbits(64)), channel)
        self.peers.amop = self.amop
        self.channel = ChannelServer(turn, self.amop, identify_sdk, issuers, channel, alarm)
        self.application = Application(
            turn, self.amop, Random(random.getrandbits(64)), network, alarm
        )
        self._sdks: set[int] = set()
        """Connections of SDKs."""
        self._stopped = False

    def handle(self, input: BcosInput, now: float) -> list[object]:
        """Take one input; return what follows from it."""
        self._turn.begin(now)
        match input:
            case BytesReceived(connection, data):
                self._side(connection).received(connection, data)
            case WriteReady(connection, ready):
                self._side(connection).write_ready(connection, ready)
            case TransportOpened():
                self._opened(input)
            case TransportClosed(connection, reason):
                self._side(connection).closed(connection, reason)
                self._sdks.discard(connection)
            case TransportFailed():
                self.peers.failed(input)
            case Dial():
                self.peers.dial(input)
            case Shutdown():
                self._shutdown()
            case Listening():
                pass
            case _:
                self.application.handle(input)
        return self._turn.take()

    def wake(self, now: float) -> list[object]:
        """A timer may be due; return what follows."""
        if now < self._alarm.soonest:
            return []
        self._turn.begin(now)
        parts = (self.peers, self.channel, self.application)
        for part in parts:
            part.wake(now)
        times = [part.next_wake() for part in parts]
        self._alarm.soonest = min((when for when in times if when is not None), default=NEVER)
        return self._turn.take()

    def next_wake(self) -> float | None:
        """When :meth:`wake` wants to be called next."""
        soonest = self._alarm.soonest
        return None if soonest == NEVER else soonest

    def holders(self, topic: str) -> list[str]:
        """Nodes with subscribers that a message of the application would get to; this one, too."""
        here = self.amop.listeners.of(topic)
        others = any(subscriber is not self.application for subscriber in here)
        return self.amop.holders(topic) + ([self.node_id] if others else [])

    def sizes(self) -> dict[str, int]:
        """How much is kept, for tests of memory."""
        return {
            "sdk_connections": len(self._sdks),
            **self.board.sizes(),
            **self.peers.sizes(),
            **self.amop.sizes(),
            **{f"channel_{name}": size for name, size in self.channel.sizes().items()},
            **self.application.sizes(),
        }

    def _opened(self, event: TransportOpened) -> None:
        if self._stopped:
            self._turn.add(CloseTransport(event.connection, "shutdown"))
        elif event.service == CHANNEL:
            self._sdks.add(event.connection)
            self.channel.opened(event.connection, event.address, event.credentials)
        else:
            self.peers.opened(event)

    def _side(self, connection: int) -> ChannelServer | Peers:
        return self.channel if connection in self._sdks else self.peers

    def _shutdown(self) -> None:
        """SDKs first: what they wait for may still be answered by what their nodes are told."""
        self._stopped = True
        self.channel.shutdown()
        self.peers.shutdown()

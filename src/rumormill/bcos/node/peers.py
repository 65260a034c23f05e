"""The other nodes, as AMOP sees them: who has which topics, and how packets get there and back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from random import Random

from rumormill.bcos.amop.ports import NodeFacts, PayloadDone
from rumormill.bcos.certificates.identity import Identify
from rumormill.bcos.node.amop_side import AmopSide
from rumormill.bcos.node.dial_list import DialList
from rumormill.bcos.node.link import Link
from rumormill.bcos.node.links import Access, Links
from rumormill.bcos.node.parameters import NodeParameters
from rumormill.bcos.node.questions import Done, Questions
from rumormill.bcos.node.reach import Reach
from rumormill.bcos.node.relay import Relay
from rumormill.bcos.node.topic_board import TopicBoard
from rumormill.bcos.node.topic_sync import TopicSync
from rumormill.bcos.wire.p2p_packet import Module, P2PPacket
from rumormill.bcos.wire.routed import ROUTED_MODULE
from rumormill.core import trace
from rumormill.core.limits import WorkLimits
from rumormill.core.timers import NEVER, Alarm, Timers
from rumormill.core.transport import Dial, TransportFailed, TransportOpened
from rumormill.core.turn import Turn

NODE_REACHED = "node_reached"  # there is a way by others to a node without a link; fields: seq
NODE_LOST = "node_lost"  # there is none any more

PRIVATE = "#!$"
"""What the names of private topics, and of the channels that verify them, begin with."""

ACCESS = "access"
"""Key of the timer for looking at the white and black lists again."""


class Peers:
    """All other nodes; implements :class:`~rumormill.bcos.amop.ports.Nodes`."""

    amop: AmopSide

    def __init__(
        self,
        turn: Turn,
        own_id: str,
        board: TopicBoard,
        parameters: NodeParameters,
        identify: Identify,
        access: Access,
        random: Random,
        alarm: Alarm,
        work_limits: WorkLimits,
    ) -> None:
        self._turn = turn
        self._parameters = parameters
        self._relay = Relay()
        self._timers: Timers[str] = Timers(alarm)
        self._links = Links(turn, own_id, parameters, identify, access, work_limits, alarm)
        self._links.user = self
        self._traffic = self._links.traffic
        self._dials = DialList(turn, parameters, random, self._links.__contains__, alarm)
        self._links.dials = self._dials
        self._questions = Questions(lambda: turn.now, self.send, alarm)
        self._sync = TopicSync(turn, board, parameters, self, alarm)
        delay, retry = parameters.topic_delay, parameters.topic_interval
        self._reach = (
            Reach(turn, own_id, self, delay, retry, alarm) if parameters.multi_hop else None
        )

    # ---- what the transport and the user say

    def dial(self, wanted: Dial) -> None:
        """The user wants an address."""
        self._dials.dial(wanted.address, wanted.keep)

    def opened(self, event: TransportOpened) -> None:
        """A connection stands."""
        self._timers.at_latest(ACCESS, self._turn.now + self._parameters.dial_interval)
        self._links.opened(event)

    def failed(self, event: TransportFailed) -> None:
        """A connection came to nothing."""
        self._dials.transport_failed(event.dial, event.reason)

    def received(self, connection: int, data: bytes) -> None:
        """Bytes came."""
        self._links.received(connection, data)

    def closed(self, connection: int, reason: str) -> None:
        """A connection is gone."""
        self._links.closed(connection, reason)

    def write_ready(self, connection: int, ready: bool) -> None:
        """A connection is full, or has room again."""
        self._links.write_ready(connection, ready)

    def shutdown(self) -> None:
        """Dial nothing any more, and end all links."""
        self._dials.stop()
        self._sync.stop()
        self._timers.cancel(ACCESS)
        self._links.shutdown()

    # ---- what AMOP wants: see Nodes

    def holders(self, topic: str) -> Sequence[str]:
        """Ids of those that can be reached and have the topic in their list."""
        return self._sync.known.holders(topic)

    def connected(self) -> Sequence[str]:
        """Ids of those that can be reached."""
        further = [] if self._reach is None else self._reach.nodes()
        return self._links.nodes() + further

    def linked_nodes(self) -> Sequence[str]:
        """Ids of those that there is a link to."""
        return self._links.nodes()

    def topics_of(self, node: str) -> Sequence[str]:
        """The topics of a node, sorted; empty if it is not there."""
        return self._sync.known.of(node)

    def push(self, node: str, kind: int, payload: bytes) -> bool:
        """Send a packet of AMOP that nobody answers; False if it cannot leave."""
        return self.send(node, P2PPacket(Module.AMOP, kind, self._questions.new_seq(), payload))

    def ask(self, node: str, kind: int, payload: bytes, timeout: float, done: PayloadDone) -> None:
        """Send a packet of AMOP and wait for the answer."""
        self.ask_packet(node, Module.AMOP, kind, payload, timeout, partial(_hand_over, done))

    def answer(self, node: str, packet: P2PPacket, payload: bytes) -> bool:
        """Answer a packet that a node has sent and waits for; False if it cannot leave."""
        return self.send(node, P2PPacket(-packet.protocol, packet.type, packet.seq, payload))

    def relay_targets(self, topic: str, source: str, everywhere: bool) -> Sequence[str]:
        """Whom a multicast that came from ``source`` is passed on to; nobody unless relaying.

        Of a private topic, only the node of its publisher knows who may have it.
        """
        if not self._parameters.relay or topic.startswith(PRIVATE):
            return []
        nodes = self._links.nodes() if everywhere else self.holders(topic)
        return [node for node in nodes if node != source and node in self._links]

    @property
    def relays(self) -> bool:
        """Whether multicasts of others are passed on."""
        return self._parameters.relay

    def first_time(self, message_id: bytes) -> bool:
        """Whether a multicast is to be handled: False if messages are relayed, and we had it."""
        if not self._parameters.relay:
            return True
        return not self._relay.seen(message_id, self._turn.now)

    def facts(self, node: str) -> NodeFacts:
        """Where a node is, and what its certificate says; of one without a link, nothing."""
        link = self._links.link_of(node)
        if link is None:
            return NodeFacts("", "", "")
        return NodeFacts(link.address, link.identity.agency, link.identity.name)

    def free(self, node: str) -> bool:
        """Whether what is sent to the node leaves at once."""
        by = node if self._reach is None else self._reach.next_hop(node) or node
        link = self._links.link_of(node) or self._links.link_of(by)
        return link is not None and link.outlet.free

    # ---- the way out

    def send(self, node: str, packet: P2PPacket) -> bool:
        """Hand a packet to a node, by its link or by others; False if it cannot leave."""
        link = self._links.link_of(node)
        if link is not None:
            return self._traffic.write(link, packet)
        if self._reach is not None and self._reach.reaches(node):
            return self._reach.send(node, packet)
        self._turn.trace(trace.DROPPED, peer=node, what="packet", reason="not_connected", count=1)
        return False

    def send_by_link(self, node: str, packet: P2PPacket) -> bool:
        """Hand a packet to a neighbour; False if it cannot leave."""
        link = self._links.link_of(node)
        return link is not None and self._traffic.write(link, packet)

    def ask_packet(
        self, node: str, protocol: int, kind: int, payload: bytes, timeout: float, done: Done
    ) -> None:
        """Send a packet and wait for its answer."""
        self._questions.ask(node, protocol, kind, payload, timeout, done)

    # ---- the way in

    def packet(self, link: Link, packet: P2PPacket) -> None:
        """A packet came over a link."""
        if packet.protocol == ROUTED_MODULE and self._reach is not None:
            self._reach.received(link.node, packet)
        else:
            self._dispatch(link.node, link.node, packet)

    def arrived(self, source: str, by: str, packet: P2PPacket) -> None:
        """A packet came from a node that is further away, by way of a neighbour."""
        self._dispatch(source, by, packet)

    def _dispatch(self, node: str, by: str, packet: P2PPacket) -> None:
        protocol = packet.protocol
        if protocol in (-Module.AMOP, -Module.TOPIC):
            if not self._questions.answered(node, packet):
                self._ignore(by, packet, "late_answer")
        elif protocol == Module.AMOP:
            if not self.amop.received(node, packet):
                self._useless(by, packet, "useless_amop")
        elif protocol == Module.TOPIC:
            self._sync.received(node, packet)
        else:
            # Other modules, and those of groups: there is no chain here.
            self._ignore(by, packet, "unknown_protocol")

    def _ignore(self, by: str, packet: P2PPacket, reason: str) -> None:
        self._useless(by, packet, reason)
        self._turn.trace(trace.IGNORED, peer=by, reason=reason, protocol=packet.protocol)

    def _useless(self, by: str, packet: P2PPacket, reason: str) -> None:
        link = self._links.link_of(by)
        if link is not None:
            self._traffic.useless(link, reason, len(packet.payload))

    def charge_work(self, node: str, what: str, cost: float, blame: bool) -> None:
        """A node has made us work; one without a link has nothing that could be held back."""
        link = self._links.link_of(node)
        if link is not None:
            self._traffic.charge(link, what, cost, blame=blame)

    # ---- nodes come and go

    def joined(self, node: str) -> None:
        """There is a link to a node."""
        self._sync.joined(node)
        if self._reach is not None:
            self._reach.joined(node)

    def switched(self, node: str) -> None:
        """Another link to the node is used from now on."""
        self.joined(node)

    def parted(self, node: str, reason: str) -> None:
        """There is no link to a node any more; there may be another way to it."""
        self._questions.lost(node, "left")
        if self._reach is not None:
            self._reach.parted(node)
            seq = self._reach.seq_by_way(node)
            if seq is not None:
                self.in_reach(node, seq, True)
                return
        self._forget(node)

    def linked(self, node: str) -> bool:
        """Whether there is a link to a node."""
        return node in self._links

    def in_reach(self, node: str, seq: int, new: bool) -> None:
        """A node that has no link can be reached, or has a new seq."""
        if new:
            self._turn.trace(NODE_REACHED, peer=node, seq=seq)
            self._sync.joined(node, direct=False)
        self._sync.heard(node, seq)

    def out_of_reach(self, node: str) -> None:
        """A node that has no link cannot be reached any more."""
        self._turn.trace(NODE_LOST, peer=node)
        self._forget(node)

    def _forget(self, node: str) -> None:
        self._questions.lost(node, "left")
        self._sync.left(node)
        self.amop.node_left(node)

    # ---- topics

    def topics_changed(self, node: str, names: Iterable[str]) -> None:
        """A node has other topics now; these have come or gone.

        AMOP looks at all topics of the node to find the private ones, which takes its time: so
        only if one of these is private.
        """
        if any(name.startswith(PRIVATE) for name in names):
            self.amop.topics_changed(node)
        else:
            self.amop.topics_confirmed(node)

    def topics_confirmed(self, node: str) -> None:
        """A node has the topics that it had."""
        self.amop.topics_confirmed(node)

    def seq_heard(self, node: str) -> None:
        """A node has a new seq."""
        if self._reach is not None:
            self._reach.seq_heard(node)

    def seq_of(self, node: str) -> int:
        """The topic seq that a node told last."""
        return self._sync.heard_seq(node)

    # ---- time

    def wake(self, now: float) -> None:
        """Do what is due."""
        for _ in self._timers.due(now):
            self._links.look_at_access()
            if len(self._links):
                self._timers.set(ACCESS, now + self._parameters.dial_interval)
        for part in self._parts():
            part.wake(now)

    def next_wake(self) -> float:
        """When :meth:`wake` has something to do."""
        times = [part.next_wake() for part in self._parts()]
        times.append(self._timers.next_wake())
        return min((when for when in times if when is not None), default=NEVER)

    def _parts(self) -> list[Links | DialList | Questions | TopicSync | Reach]:
        reach = [] if self._reach is None else [self._reach]
        return [self._links, self._dials, self._questions, self._sync, *reach]

    def sizes(self) -> dict[str, int]:
        """How much is kept, for tests of memory."""
        reach = {} if self._reach is None else self._reach.sizes()
        return {
            "dials": len(self._dials),
            "questions": len(self._questions),
            "relayed": len(self._relay),
            **self._links.sizes(),
            **self._sync.sizes(),
            **reach,
        }


def _hand_over(done: PayloadDone, packet: P2PPacket | None, problem: str) -> None:
    done(None if packet is None else packet.payload, problem)

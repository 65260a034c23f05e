"""The links to other nodes: who may have one, which of two stays, and when one is over.

A node is known by its certificate, and has one link. When two nodes dial each other at once, there
are two for a moment. Nodes of other make close the one that came later on their side, which may be
both in the end. So here neither is closed at once: the one that was opened by the node with the
smaller id is used, and the other closed after :data:`GRACE` if both still stand. Both ends choose
the same, and if the other end has closed one in the meantime, the one that is left stays.
"""

from __future__ import annotations

from typing import Protocol

from rumormill.bcos.certificates.identity import Identify, Identity
from rumormill.bcos.links.outlet import Outlet
from rumormill.bcos.node.dial_list import DialList, Target
from rumormill.bcos.node.link import Link
from rumormill.bcos.node.parameters import NodeParameters
from rumormill.bcos.node.traffic import Traffic
from rumormill.bcos.wire.frames import FrameReader
from rumormill.bcos.wire.p2p_packet import HEADER_SIZE, P2PPacket
from rumormill.core import trace
from rumormill.core.errors import RemoteProtocolError
from rumormill.core.limits import Work, WorkLimits
from rumormill.core.timers import Alarm, Timers
from rumormill.core.transport import CloseTransport, TransportOpened
from rumormill.core.turn import Turn
from rumormill.core.words import in_words, short

GRACE = 1.0
"""Seconds that two links to the same node stand side by side."""

LONG_GRACE = 10.0
"""The same if the other node has opened both: which of them came first, only it can say."""

FRESH = 5.0
"""Seconds in which a second link counts as opened at the same time as the first."""

QUIET_INTERVALS = 2.5
"""Topic intervals without a byte after which a link gives way to a new one: who restarts need not
wait until its old link is dropped."""

USUAL_INTERVAL = 5.0
"""Seconds between the topic seqs of nodes of other make."""


class Access(Protocol):
    """White and black lists."""

    def refuses(self, node_id: str) -> str:
        """Why a node may not be connected; "" if it may."""
        ...


class Everybody:
    """Refuses nobody."""

    def refuses(self, node_id: str) -> str:
        """Never."""
        return ""


class LinkUser(Protocol):
    """What is told of the links."""

    def joined(self, node: str) -> None:
        """There is a link to a node."""
        ...

    def switched(self, node: str) -> None:
        """Another link to the node is used from now on."""
        ...

    def parted(self, node: str, reason: str) -> None:
        """There is no link to the node any more."""
        ...

    def packet(self, link: Link, packet: P2PPacket) -> None:
        """A packet came; :class:`RemoteProtocolError` is charged to the node."""
        ...


class Links:
    """All links, by connection and by node."""

    def __init__(
        self,
        turn: Turn,
        own_id: str,
        parameters: NodeParameters,
        identify: Identify,
        access: Access,
        work_limits: WorkLimits,
        alarm: Alarm,
    ) -> None:
        self._turn = turn
        self._own_id = own_id
        self._parameters = parameters
        self._identify = identify
        self._access = access
        self._work_limits = work_limits
        self._quiet = QUIET_INTERVALS * max(USUAL_INTERVAL, parameters.topic_interval)
        self._by_connection: dict[int, Link] = {}
        self._by_node: dict[str, Link] = {}
        """The link that is used."""
        self._spare: dict[str, Link] = {}
        """The other of two, for a moment."""
        self._timers: Timers[int | str] = Timers(alarm)
        """Keys: a connection that may be idle, a node that has two links."""
        self.traffic = Traffic(turn, parameters, self._packet, self._close)
        self.user: LinkUser
        self.dials: DialList

    def __contains__(self, node: object) -> bool:
        return node in self._by_node

    def __len__(self) -> int:
        return len(self._by_node)

    def _packet(self, link: Link, packet: P2PPacket) -> None:
        if not link.spoken:
            link.spoken = True
            self.dials.spoke(link.node)
        self.user.packet(link, packet)

    def nodes(self) -> list[str]:
        """Ids of those that have a link, the oldest first."""
        return list(self._by_node)

    def link_of(self, node: str) -> Link | None:
        """The link that is used to reach a node."""
        return self._by_node.get(node)

    # ---- opening

    def opened(self, event: TransportOpened) -> None:
        """A connection stands, and its other end has proved itself to the transport."""
        target = None if event.dial is None else self.dials.opened(event.dial)
        if event.dial is not None and target is None:
            self._turn.add(CloseTransport(event.connection, "cancelled"))
            return
        try:
            identity = self._identify(event.credentials)
        except RemoteProtocolError as error:
            self._refuse(event, None, trace.CONNECTION_FAILED, error.reason, error.detail)
            if target is not None:
                self.dials.refused(target, error.detail or in_words(error.reason))
            return
        if identity.node_id == self._own_id:
            self._refuse(event, None, trace.CONNECTION_REFUSED, "self")
            if target is not None:
                self.dials.is_ourselves(target)
            return
        self._admit(event, identity, target)

    def _admit(self, event: TransportOpened, identity: Identity, target: Target | None) -> None:
        node = identity.node_id
        reason = self._access.refuses(node)
        if not reason and node not in self._by_node and len(self) >= self._parameters.max_peers:
            reason = "too_many_peers"
        if reason:
            self._refuse(event, node, trace.CONNECTION_REFUSED, reason)
            if target is not None:
                problem = f"we refuse the node {short(node)} there: {in_words(reason)}"
                self.dials.refused(target, problem)
            return
        known = self._by_node.get(node)
        if known is not None and self._stale(known):
            self._close(known, "stale")
            known = self._by_node.get(node)
        if known is None:
            self._join(self._new_link(event, identity))
        elif node in self._spare or self._turn.now - known.opened_at > FRESH:
            self._refuse(event, node, trace.CONNECTION_REFUSED, "duplicate")
        else:
            self._second(known, self._new_link(event, identity))
        if target is not None:
            self.dials.reached(target, node, spoken=self._by_node[node].spoken)

    def _stale(self, link: Link) -> bool:
        return self._turn.now - link.read_at > self._quiet

    def _new_link(self, event: TransportOpened, identity: Identity) -> Link:
        now, parameters = self._turn.now, self._parameters
        link = Link(
            event.connection,
            identity,
            event.address,
            event.dial is not None,
            Outlet(self._turn, event.connection, parameters.queue_bytes),
            FrameReader(HEADER_SIZE, parameters.largest_packet),
            Work(self._work_limits, now),
            now,
        )
        self._by_connection[link.connection] = link
        self._timers.set(link.connection, now + parameters.idle_timeout)
        self._turn.trace(
            trace.CONNECTION_OPENED, peer=link.node, address=link.address, outbound=link.dialed
        )
        return link

    def _join(self, link: Link) -> None:
        self._by_node[link.node] = link
        self._turn.trace(
            trace.PEER_JOINED, peer=link.node, protocol="bcos", outbound=link.dialed,
            address=link.address, name=link.identity.name, agency=link.identity.agency,
        )  # fmt: skip
        self.user.joined(link.node)

    def _second(self, first: Link, second: Link) -> None:
        node = first.node
        by_them = not first.dialed and not second.dialed
        self._timers.set(node, self._turn.now + (LONG_GRACE if by_them else GRACE))
        ours = self._own_id < node
        if first.dialed is not second.dialed and second.dialed is ours:
            self._by_node[node], self._spare[node] = second, first
            self.user.switched(node)
        else:
            self._spare[node] = second

    def _refuse(
        self, event: TransportOpened, node: str | None, what: str, reason: str, detail: str = ""
    ) -> None:
        self._turn.trace(what, peer=node, address=event.address, reason=reason, detail=detail)
        self._turn.add(CloseTransport(event.connection, reason))

    # ---- bytes

    def received(self, connection: int, data: bytes) -> None:
        """Bytes came; none at all when a rest is over."""
        link = self._by_connection.get(connection)
        if link is not None and data:
            self.traffic.read(link, data)
            self._bound_unfinished()

    def _bound_unfinished(self) -> None:
        """What has begun to come takes memory; who has most of it goes when it is too much."""
        while self.traffic.unfinished > self._parameters.max_peer_unfinished_bytes:
            largest = max(self._by_connection.values(), key=lambda each: each.unfinished)
            self._turn.trace(
                trace.DROPPED, peer=largest.node, what="bytes", reason="too_much_unfinished",
                count=largest.unfinished,
            )  # fmt: skip
            self._close(largest, "too_much_unfinished")

    def write_ready(self, connection: int, ready: bool) -> None:
        """The socket is full, or has room again."""
        link = self._by_connection.get(connection)
        if link is None:
            return
        link.outlet.set_ready(ready)
        if ready:
            link.full_since = None
        elif link.full_since is None:
            link.full_since = self._turn.now
            until = self._turn.now + self._parameters.idle_timeout
            self._timers.at_latest(connection, until)

    # ---- ending

    def closed(self, connection: int, reason: str) -> None:
        """The transport says that a connection is gone."""
        link = self._by_connection.get(connection)
        if link is not None:
            self._gone(link, reason)

    def drop(self, node: str, reason: str) -> None:
        """End all links to a node."""
        for link in (self._spare.get(node), self._by_node.get(node)):
            if link is not None:
                self._close(link, reason)

    def shutdown(self) -> None:
        """End all links to all nodes."""
        for node in self.nodes():
            self.drop(node, "shutdown")

    def _close(self, link: Link, reason: str) -> None:
        if not link.closing:
            link.outlet.close(reason)
            self._gone(link, reason)

    def _gone(self, link: Link, reason: str) -> None:
        """Forget a link; another one to the same node takes its place."""
        link.closing = True
        self.traffic.forget(link)
        node = link.node
        del self._by_connection[link.connection]
        self._timers.cancel(link.connection)
        self._turn.trace(trace.CONNECTION_CLOSED, peer=node, address=link.address, reason=reason)
        spare = self._spare.pop(node, None)
        self._timers.cancel(node)
        if spare is link:
            return
        if spare is not None:
            self._by_node[node] = spare
            self.user.switched(node)
            return
        del self._by_node[node]
        self._turn.trace(trace.PEER_LEFT, peer=node, reason=reason)
        self.dials.lost(node, reason)
        self.user.parted(node, reason)

    # ---- time

    def wake(self, now: float) -> None:
        """Drop who has been silent or full for too long, and the lesser of two links."""
        for key in self._timers.due(now):
            if isinstance(key, str):
                spare = self._spare.get(key)
                if spare is not None:
                    self._close(spare, "duplicate")
            elif key in self._by_connection:
                self._look_at(self._by_connection[key], now)

    def _look_at(self, link: Link, now: float) -> None:
        limit = self._parameters.idle_timeout
        if now - link.read_at >= limit:
            self._close(link, "idle")
        elif link.full_since is not None and now - link.full_since >= limit:
            self._turn.trace(
                trace.DROPPED, peer=link.node, what="bytes", reason="too_slow",
                count=link.outlet.waiting,
            )  # fmt: skip
            self._close(link, "too_slow")
        else:
            full_since = link.read_at if link.full_since is None else link.full_since
            self._timers.set(link.connection, min(link.read_at, full_since) + limit)

    def next_wake(self) -> float | None:
        """When :meth:`wake` has something to do."""
        return self._timers.next_wake()

    def look_at_access(self) -> None:
        """The lists may have changed: who is on them now has to go."""
        for node in self.nodes():
            reason = self._access.refuses(node)
            if reason:
                self.drop(node, reason)

    def sizes(self) -> dict[str, int]:
        """How much is kept, for tests of memory."""
        links = self._by_connection.values()
        return {
            "links": len(self._by_connection),
            "nodes": len(self._by_node),
            "spare_links": len(self._spare),
            "link_timers": len(self._timers),
            "bytes_waiting": sum(link.outlet.waiting for link in links),
            "bytes_unfinished": self.traffic.unfinished,
        }

"""The byte level: machines that say ``OpenTransport(address)`` and ``WriteBytes``.

Every node has an address, such as ``10.0.0.1:4001``, in whatever notation its family has. It is a
name and nothing else: no byte leaves the process. A connection behaves as TCP does: it takes a
round trip to stand, keeps the order, cuts what was written wherever it likes, stalls in a
partition and is reset at last. A node may have credentials, which the other end is shown as a
secure transport does, and further ports at which it offers other services.
"""

from __future__ import annotations

from itertools import count
from typing import TypeAlias

from rumormill.core.addresses import Addresses
from rumormill.core.errors import ConfigError, LocalProtocolError
from rumormill.core.machine import Checked
from rumormill.core.transport import (
    BytesReceived,
    CancelTransport,
    CloseTransport,
    Dial,
    DialEnded,
    Listening,
    OpenTransport,
    RestTransport,
    TransportClosed,
    TransportFailed,
    TransportInput,
    TransportOpened,
    WriteBytes,
    WriteReady,
)
from rumormill.simulate.connection import End
from rumormill.simulate.link import Link
from rumormill.simulate.node import Node
from rumormill.simulate.world import Adapter, World, nothing_to_do

FIRST_EPHEMERAL_PORT = 49152
EPHEMERAL_PORTS = 16384
PORT = 4001
"""Of addresses that the simulation makes up."""

TransportLevelInput: TypeAlias = TransportInput | Dial | Checked
"""What a machine of this level is fed, beside the commands of the script."""


class _Attempt:
    """A dial on its way."""

    __slots__ = ("address", "dial", "node", "over", "round_trip", "service", "target", "waits")

    def __init__(
        self, node: Node, dial: int, address: str, target: str | None, service: str
    ) -> None:
        self.node = node
        self.dial = dial
        self.address = address
        self.target = target
        self.service = service
        self.round_trip = 0.0
        self.over = False
        self.waits = False  # nobody has answered yet, not even to refuse


class _Accepting(End):
    """The side that is dialed: it knows of the connection when the first packet is there."""

    __slots__ = ("opened",)

    opened: TransportOpened

    def accept(self, _: None) -> None:
        """The handshake is done on this side too."""
        if self._blocked and self.open:
            self._held.append((self.accept, None))
        elif self.open and self.node.alive:
            self.node.ends[self.key] = self
            self.node.feed(self.opened)
        else:
            self.close(None, "reset")


class TransportAdapter(Adapter):
    """Carries bytes between machines that open, write to and close TCP connections.

    Whoever closes a connection gets a ``TransportClosed`` for it too, as from a real socket.
    """

    unit = "bytes"
    received = BytesReceived
    writable = WriteReady
    left = TransportClosed

    def __init__(
        self, world: World, addresses: Addresses, chunk: tuple[int, int], connect_timeout: float
    ) -> None:
        super().__init__(world)
        self._addresses = addresses
        self._smallest, self._largest = chunk
        if not 1 <= self._smallest <= self._largest:
            raise ConfigError("chunk", f"needs 1 <= smallest <= largest, not {chunk}")
        self._connect_timeout = connect_timeout
        self._owners: dict[tuple[str, int], str] = {}  # by host and port
        self._services: dict[tuple[str, int], tuple[str, str]] = {}  # further ports: and of what
        self._links: dict[tuple[str, str], Link] = {}
        self._attempts: dict[tuple[str, int], _Attempt] = {}
        self._connections = count(1)
        handlers = self.handlers
        handlers[OpenTransport] = self._on_open
        handlers[CancelTransport] = self._on_cancel
        handlers[WriteBytes] = self._on_write
        handlers[CloseTransport] = self._on_close
        handlers[RestTransport] = self._on_rest
        handlers[DialEnded] = nothing_to_do

    def added(self, node: Node) -> None:
        """Give the node its address and let it listen there."""
        if not node.address:
            number = len(self._owners) + 1
            host = f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"
            node.address = self._addresses.text(host, PORT)
        host, port, _ = self._addresses.parse(node.address)
        taken = (host, port) in self._services
        if taken or self._owners.setdefault((host, port), node.name) != node.name:
            raise LocalProtocolError(f"{node.address} is the address of another node")
        for service, port in node.services.items():
            known = self._services.setdefault((host, port), (node.name, service))
            if known != (node.name, service) or (host, port) in self._owners:
                raise LocalProtocolError(f"the port {port} of {node.name!r} is in use already")
        self.clock.soon(node.feed, Listening((node.address,)))

    def address_of(self, node: Node, service: str) -> str:
        """Where a node listens for a service."""
        if service not in node.services:
            return super().address_of(node, service)
        return self._addresses.text(
            self._addresses.parse(node.address).host, node.services[service]
        )

    def connect(self, a: Node, b: Node, link: Link, back: Link, protocol: str | None) -> None:
        """Say what lies between the two, and let ``a`` dial ``b``."""
        self._links[a.name, b.name] = link
        self._links[b.name, a.name] = back
        self.clock.soon(a.feed, Dial(b.address))

    def disconnect(self, a: Node, b: Node, reason: str) -> None:
        """Reset every connection between the two."""
        ends = [end for end in a.ends.values() if end.other.node is b]
        ends += [end for end in b.ends.values() if end.other.node is a]
        if not ends:
            raise LocalProtocolError(f"{a.name!r} and {b.name!r} are not connected")
        for end in ends:
            end.reset(reason)

    def crashed(self, node: Node) -> None:
        """What it was dialing is no longer wanted."""
        for key in [key for key, attempt in self._attempts.items() if attempt.node is node]:
            self._attempts.pop(key).over = True

    def healed(self) -> None:
        """Dials that a partition swallowed get through now."""
        for attempt in self._attempts.values():
            if attempt.waits:
                self.clock.schedule(self.clock.now + attempt.round_trip, self._answer, attempt)

    def overflowed(self, end: End) -> None:
        """A byte stream with a hole is of no use to anyone."""
        end.reset("send_backlog")

    # ---- dialing

    def _on_open(self, node: Node, effect: OpenTransport) -> None:
        target, service = self._owner(effect.address)
        attempt = _Attempt(node, effect.dial, effect.address, target, service)
        if target is not None:
            attempt.round_trip = self._link(node.name, target).latency
            attempt.round_trip += self._link(target, node.name).latency
        else:
            attempt.round_trip = 2 * self.world.link.latency
        self._attempts[node.name, effect.dial] = attempt
        self.clock.schedule(self.clock.now + attempt.round_trip, self._answer, attempt)

    def _owner(self, address: str) -> tuple[str | None, str]:
        """Who listens at an address, and for which service; nobody at what is none."""
        try:
            host, port, _ = self._addresses.parse(address)
        except LocalProtocolError:
            return None, ""
        owner = self._owners.get((host, port))
        return (owner, "") if owner else self._services.get((host, port), (None, ""))

    def _on_cancel(self, node: Node, effect: CancelTransport) -> None:
        attempt = self._attempts.pop((node.name, effect.dial), None)
        if attempt is not None:
            attempt.over = True

    def _answer(self, attempt: _Attempt) -> None:
        """The round trip of the handshake is over: what came back?"""
        if attempt.over:
            return
        target = None if attempt.target is None else self.world.nodes[attempt.target]
        if target is None or (not target.alive and not target.vanished):
            self._fail(attempt, "refused")
        elif target.vanished or self.world.apart(attempt.node, target):
            if not attempt.waits:
                attempt.waits = True
                patience = max(0.0, self._connect_timeout - attempt.round_trip)
                self.clock.schedule(self.clock.now + patience, self._give_up, attempt)
        else:
            self._open(attempt, target)

    def _give_up(self, attempt: _Attempt) -> None:
        if not attempt.over:
            self._fail(attempt, "timeout")

    def _fail(self, attempt: _Attempt, reason: str) -> None:
        self._end_attempt(attempt)
        attempt.node.feed(TransportFailed(attempt.dial, reason))

    def _end_attempt(self, attempt: _Attempt) -> None:
        attempt.over = True
        self._attempts.pop((attempt.node.name, attempt.dial), None)

    def _open(self, attempt: _Attempt, target: Node) -> None:
        self._end_attempt(attempt)
        node, number = attempt.node, next(self._connections)
        there, back = self._link(node.name, target.name), self._link(target.name, node.name)
        port = FIRST_EPHEMERAL_PORT + number % EPHEMERAL_PORTS
        address = self._addresses.text(self._addresses.parse(node.address).host, port)
        near = End(self, node, number, target.name, there)
        far = _Accepting(self, target, number, node.name, back)
        far.opened = TransportOpened(number, address, None, attempt.service, node.credentials)
        End.pair(near, far)
        node.ends[number] = near
        arrives = near.arrival(0, self.clock.now)
        assert arrives is not None  # every link of this adapter is reliable
        self.clock.schedule(arrives, far.accept)
        credentials = target.credentials
        node.feed(TransportOpened(number, attempt.address, attempt.dial, "", credentials))

    def _link(self, a: str, b: str) -> Link:
        link = self._links.get((a, b), self.world.link)
        if not link.reliable:
            raise LocalProtocolError(f"TCP from {a!r} to {b!r} needs a link that is reliable")
        return link

    # ---- connections

    def _on_write(self, node: Node, effect: WriteBytes) -> None:
        end, data = node.ends.get(effect.connection), effect.data
        if end is None:
            self.record.drop(node, str(effect.connection), "not_connected", len(data), self.unit)
        elif len(data) <= self._smallest:
            if data:
                end.send(data)
        else:
            self._write_in_chunks(end, data)

    def _write_in_chunks(self, end: End, data: bytes) -> None:
        start, size = 0, self._smallest
        while start < len(data) and end.open:
            if self._smallest < self._largest:
                size = end.node.random.randint(self._smallest, self._largest)
            end.send(data[start : start + size])
            start += size

    def _on_close(self, node: Node, effect: CloseTransport) -> None:
        end = node.ends.get(effect.connection)
        if end is not None:
            end.close(effect.reason)

    def _on_rest(self, node: Node, effect: RestTransport) -> None:
        end = node.ends.get(effect.connection)
        if end is not None:
            end.rest(effect.seconds)

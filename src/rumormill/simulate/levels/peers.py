"""The packet level: machines that say ``Send(peer, packet)`` and know peers by name."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from rumormill.core.errors import LocalProtocolError
from rumormill.core.machine import (
    Checked,
    Connect,
    Drop,
    PeerJoined,
    PeerLeft,
    Received,
    Send,
    Writable,
)
from rumormill.core.trace import CONNECTION_FAILED
from rumormill.core.transport import HoldPeer, RestPeer
from rumormill.simulate.connection import End
from rumormill.simulate.link import Link
from rumormill.simulate.node import Node
from rumormill.simulate.world import Adapter, World

PeerLevelInput: TypeAlias = PeerJoined | PeerLeft | Received | Writable | Checked
"""What a machine of this level is fed, beside the commands of the script."""


class _Line(NamedTuple):
    """All that is needed to join two nodes, again if need be."""

    link: Link
    back: Link
    protocol: str | None


class PeerAdapter(Adapter):
    """Carries packets between machines; whoever drops a peer gets a ``PeerLeft`` for it too."""

    unit = "packet"
    received = Received
    writable = Writable
    left = PeerLeft

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self._lines: dict[tuple[str, str], _Line] = {}  # dialer and dialed, as last connected
        self._broken: dict[tuple[str, str], None] = {}  # by a crash or partition, not on purpose
        self.handlers[Send] = self._on_send
        self.handlers[Drop] = self._on_drop
        self.handlers[Connect] = self._on_connect
        self.handlers[HoldPeer] = self._on_hold
        self.handlers[RestPeer] = self._on_rest

    # ---- effects

    def _on_send(self, node: Node, effect: Send) -> None:
        end = node.ends.get(effect.peer)
        if end is not None:
            end.send(effect.packet)
        else:
            size = len(effect.packet)
            self.record.drop(node, effect.peer, "not_connected", size, self.unit)

    def _on_drop(self, node: Node, effect: Drop) -> None:
        end = node.ends.get(effect.peer)
        if end is not None:
            self._forget(node.name, effect.peer)
            end.close(effect.reason)

    def _on_connect(self, node: Node, effect: Connect) -> None:
        round_trip = 2 * self.world.link.latency
        self.clock.schedule(self.clock.now + round_trip, self._dial, (node, effect.peer))

    def _on_hold(self, node: Node, effect: HoldPeer) -> None:
        end = node.ends.get(effect.peer)
        if end is not None:
            end.pause(effect.held)

    def _on_rest(self, node: Node, effect: RestPeer) -> None:
        end = node.ends.get(effect.peer)
        if end is not None:
            end.rest(effect.seconds)

    def _dial(self, wish: tuple[Node, str]) -> None:
        node, peer = wish
        if not node.alive or peer in node.ends:
            return
        target = self.world.nodes.get(peer)
        problem = ""
        if target is None or not target.alive:
            problem = "refused"
        elif self.world.apart(node, target):
            problem = "timeout"
        elif _common_protocol(node, target) is None:
            problem = "no_common_protocol"
        else:
            self.connect(node, target, self.world.link, self.world.link, None)
        if problem:
            self.record.event(node.name, CONNECTION_FAILED, address=peer, reason=problem)

    # ---- joining and parting

    def connect(self, a: Node, b: Node, link: Link, back: Link, protocol: str | None) -> None:
        """Make the two peers of each other; if a partition is between them, once it is over."""
        self._finish_leftovers(a, b)
        spoken = _common_protocol(a, b) if protocol is None else protocol
        if spoken is None:
            raise LocalProtocolError(f"{a.name!r} and {b.name!r} have no protocol in common")
        self._forget(a.name, b.name)
        self._lines[a.name, b.name] = _Line(link, back, protocol)
        if self.world.apart(a, b):
            self._broken[a.name, b.name] = None
            return
        near, far = End(self, a, b.name, b.name, link), End(self, b, a.name, a.name, back)
        End.pair(near, far)
        a.ends[b.name], b.ends[a.name] = near, far
        self.clock.soon(a.feed, PeerJoined(b.name, spoken, True, b.address))
        self.clock.soon(b.feed, PeerJoined(a.name, spoken, False, a.address))

    def disconnect(self, a: Node, b: Node, reason: str) -> None:
        """Part the two at once; what is under way between them is lost."""
        end = a.ends.get(b.name) or b.ends.get(a.name)
        if end is None and not self._forget(a.name, b.name):
            raise LocalProtocolError(f"{a.name!r} and {b.name!r} are not connected")
        self._forget(a.name, b.name)
        if end is not None:
            end.reset(reason)

    def _finish_leftovers(self, a: Node, b: Node) -> None:
        """One side may not have heard yet that the last connection is over."""
        near, far = a.ends.get(b.name), b.ends.get(a.name)
        if near is not None and near.other is far:
            raise LocalProtocolError(f"{a.name!r} and {b.name!r} are connected already")
        for end in (near, far):
            if end is not None:
                end.finish("closed")

    def _forget(self, a: str, b: str) -> bool:
        for pair in ((a, b), (b, a)):
            if self._lines.pop(pair, None) is not None:
                self._broken.pop(pair, None)
                return True
        return False

    # ---- what breaks and comes back

    def crashed(self, node: Node) -> None:
        """Remember whom to join it with when it comes back."""
        for peer in node.ends:
            self._break(node.name, peer)

    def timed_out(self, end: End) -> None:
        """Remember to join the two when the partition is over."""
        self._break(end.node.name, end.key)

    def restarted(self, node: Node, reconnect: bool) -> None:
        """Join the node with those that it was connected to, as far as they are there."""
        for pair in [pair for pair in self._broken if node.name in pair]:
            if reconnect:
                self._mend(pair)
            else:
                self._forget(*pair)

    def healed(self) -> None:
        """Join those that lost each other by a partition that is over."""
        for pair in list(self._broken):
            self._mend(pair)

    def _break(self, a: str, b: str) -> None:
        pair = (a, b) if (a, b) in self._lines else (b, a)
        if pair in self._lines:
            self._broken[pair] = None

    def _mend(self, pair: tuple[str, str]) -> None:
        a, b = (self.world.nodes[name] for name in pair)
        if a.alive and b.alive and not self.world.apart(a, b):
            del self._broken[pair]
            self.connect(a, b, *self._lines[pair])


def _common_protocol(a: Node, b: Node) -> str | None:
    """The first protocol of ``a`` that ``b`` has too; machines without protocols speak any."""
    spoken = getattr(a.machine, "protocols", None)
    understood = getattr(b.machine, "protocols", None)
    if spoken is None or understood is None:
        return next(iter(spoken or understood or ()), "")
    return next((protocol for protocol in spoken if protocol in understood), None)

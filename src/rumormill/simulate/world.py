"""What the parts of a simulation share: the nodes, what lies between them, and the adapters."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar

from rumormill.core.errors import LocalProtocolError
from rumormill.core.machine import Check, Checked, Deliver, Published, PublishedMany, RoomAgain
from rumormill.core.trace import TraceEvent
from rumormill.simulate.clock import Clock
from rumormill.simulate.connection import End
from rumormill.simulate.link import Link
from rumormill.simulate.node import Handlers, Node
from rumormill.simulate.record import Record


class World:
    """The nodes and what lies between them."""

    def __init__(
        self,
        clock: Clock,
        record: Record,
        link: Link,
        check: Callable[[str, Any], str],
        check_delay: float,
        tcp_timeout: float,
    ) -> None:
        self.clock = clock
        self.record = record
        self.link = link
        """Between two nodes of which nothing else was said."""
        self.tcp_timeout = tcp_timeout
        self.nodes: dict[str, Node] = {}
        self._check = check
        self._check_delay = check_delay
        self._groups: Mapping[str, int] = {}

    def node(self, name: str) -> Node:
        """The node of that name; an error if there is none."""
        node = self.nodes.get(name)
        if node is None:
            raise LocalProtocolError(f"there is no node {name!r}")
        return node

    def living(self, name: str) -> Node:
        """The node of that name, which must not have crashed."""
        node = self.node(name)
        if not node.alive:
            raise LocalProtocolError(f"{name!r} has crashed")
        return node

    # ---- partitions

    def apart(self, a: Node, b: Node) -> bool:
        """Whether a partition lies between the two."""
        groups = self._groups
        return bool(groups) and groups.get(a.name, -1) != groups.get(b.name, -1)

    def divide(self, groups: Mapping[str, int]) -> None:
        """From now on only nodes of the same group reach each other; without groups, all do."""
        self._groups = groups
        for end in self._all_ends():
            apart = self.apart(end.node, end.other.node)
            if apart and not end.cut:
                end.stall(self.tcp_timeout)
            elif end.cut and not apart:
                end.resume()

    def _all_ends(self) -> Iterator[End]:
        for node in self.nodes.values():
            for end in list(node.ends.values()):
                yield end
                yield end.other  # which its own node may not know of yet

    # ---- checks

    def on_check(self, node: Node, effect: Check) -> None:
        """Check a message; a node has one processor, so one check waits for the other."""
        done = max(node.busy_until, self.clock.now) + self._check_delay
        node.busy_until = done
        self.clock.schedule(done, self._checked, (node, effect))

    def _checked(self, job: tuple[Node, Check]) -> None:
        node, effect = job
        if node.alive:
            node.feed(Checked(effect.token, self._check(node.name, effect.subject)))


def nothing_to_do(node: Node, effect: Any) -> None:
    """Carry out an effect that only tells the application something."""


class Adapter:
    """Stands between the effects and inputs of one kind of machine and the links."""

    unit: ClassVar[str]
    """What its ends carry, in the words of the trace."""
    received: ClassVar[Callable[..., object]]
    """Its input for data: what the machine calls the other side, and the bytes."""
    writable: ClassVar[Callable[..., object]]
    """Its input for the water marks: the other side, and whether there is room."""
    left: ClassVar[Callable[..., object]]
    """Its input for the end: the other side, and a reason."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.clock = world.clock
        self.record = world.record
        self.handlers = Handlers(
            {
                TraceEvent: self.record.on_trace_event,
                Deliver: self.record.on_deliver,
                Published: self.record.on_published,
                PublishedMany: self.record.on_published_many,
                RoomAgain: nothing_to_do,
                Check: world.on_check,
            }
        )

    def added(self, node: Node) -> None:
        """A node was added or has been restarted."""

    def address_of(self, node: Node, service: str) -> str:
        """Where a node listens for a service."""
        if service:
            raise LocalProtocolError(f"{node.name!r} has no service {service!r}")
        return node.address

    def crashed(self, node: Node) -> None:
        """A node has crashed; its ends are still there."""

    def restarted(self, node: Node, reconnect: bool) -> None:
        """A node was restarted, and :meth:`added` has been called."""

    def healed(self) -> None:
        """The groups that can reach each other have changed."""

    def timed_out(self, end: End) -> None:
        """An end has lost patience with a partition."""

    def overflowed(self, end: End) -> None:
        """More was sent than the link has room for, and the excess is lost."""

    def connect(self, a: Node, b: Node, link: Link, back: Link, protocol: str | None) -> None:
        """Connect two nodes, ``a`` being the one that dials."""
        raise NotImplementedError

    def disconnect(self, a: Node, b: Node, reason: str) -> None:
        """End whatever connects two nodes."""
        raise NotImplementedError

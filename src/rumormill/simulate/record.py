"""What a simulation writes down: trace events, deliveries, receipts, drops."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

from rumormill.core.errors import LocalProtocolError
from rumormill.core.machine import Deliver, Published, PublishedMany
from rumormill.core.message import Message
from rumormill.core.receipt import Receipt
from rumormill.core.trace import DROPPED, TraceEvent, type_of_field
from rumormill.simulate.clock import Clock
from rumormill.simulate.node import Node

# Kinds of trace events that only a simulation has.
NODE_CRASHED = "node_crashed"  # fields: silent
NODE_RESTARTED = "node_restarted"  # fields: life
PARTITIONED = "partitioned"  # fields: groups
HEALED = "healed"

SCRIPT = "simulation"
"""The node in trace events (and livelocks) that belong to no node."""


class Record:
    """The book of one simulation. Everything is counted; what is kept whole can be chosen."""

    def __init__(
        self,
        clock: Clock,
        *,
        keep_trace: bool,
        keep_deliveries: bool,
        sink: Callable[[TraceEvent], object] | None,
    ) -> None:
        self.trace: list[TraceEvent] = []
        self.trace_counts: Counter[str] = Counter()
        self.deliveries: dict[str, list[Message]] = {}
        self.delivery_counts: Counter[str] = Counter()
        self.receipts: dict[str, list[Receipt]] = {}
        self.drops: Counter[str] = Counter()
        self._clock = clock
        self._keep_deliveries = keep_deliveries
        self._kept = keep_trace and sink is None
        self._sink = self.trace.append if self._kept else sink

    def add_node(self, name: str) -> None:
        """Open the pages of a new node."""
        self.deliveries[name] = []
        self.receipts[name] = []
        self.delivery_counts[name] = 0

    def trace_lines(self) -> Iterator[str]:
        """The trace as lines of JSON."""
        if not self._kept:
            raise LocalProtocolError("this simulation does not keep its trace")
        return (event.to_json_line() for event in self.trace)

    def emit(self, event: TraceEvent) -> None:
        """Write down an event."""
        self.trace_counts[event.event] += 1
        if self._sink is not None:
            self._sink(event)

    def drop(self, node: Node, peer: str, reason: str, size: int, what: str) -> None:
        """Write down that something of ``node`` for ``peer`` will not arrive."""
        self.drops[reason] += 1
        fields: dict[str, type_of_field] = {
            "what": what,
            "reason": reason,
            "count": 1,
            "size": size,
        }
        self.emit(TraceEvent(self._clock.now, node.name, DROPPED, None, None, peer, fields))

    def event(self, node: str, event: str, **fields: type_of_field) -> None:
        """Write down an event that the simulation itself brought about."""
        self.emit(TraceEvent(self._clock.now, node, event, fields=fields))

    # ---- handlers of effects

    def on_trace_event(self, node: Node, event: TraceEvent) -> None:
        """A machine's trace event."""
        self.trace_counts[event.event] += 1
        if self._sink is not None:
            self._sink(event)

    def on_deliver(self, node: Node, effect: Deliver) -> None:
        """A message for the application of ``node``."""
        self.delivery_counts[node.name] += 1
        if self._keep_deliveries:
            self.deliveries[node.name].append(effect.message)

    def on_published(self, node: Node, effect: Published) -> None:
        """The receipt of a message that the application of ``node`` published."""
        if self._keep_deliveries:
            self.receipts[node.name].append(effect.receipt)

    def on_published_many(self, node: Node, effect: PublishedMany) -> None:
        """The receipts of several that it published together."""
        if self._keep_deliveries:
            self.receipts[node.name] += effect.receipts

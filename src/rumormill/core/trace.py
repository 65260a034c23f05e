"""Trace events: everything that happens, in one schema for every family.

A machine returns trace events among its effects; who listens (counters, a spool, a test, a
dashboard) is not its business. The first six columns are the same for every event; what only one
kind of event knows goes into ``fields``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import NamedTuple

from rumormill.core.agent import our_agent
from rumormill.core.message import NO_FIELDS
from rumormill.core.topic import Capabilities

type_of_field = str | int | float | bool | None
"""What ``fields`` may hold: plain values, so that an event becomes a row as it is."""


class TraceEvent(NamedTuple):
    """Something that happened on one node at one time.

    >>> event = TraceEvent(12.5, "node-a", "delivered", topic="weather", message_id=b"\\x07")
    >>> event.to_json_line()
    '{"time":12.5,"node":"node-a","event":"delivered","topic":"weather","message_id":"07","peer":null}'
    """

    time: float
    node: str
    event: str
    topic: str | None = None
    message_id: bytes | None = None
    peer: str | None = None
    fields: Mapping[str, type_of_field] = NO_FIELDS

    def to_json_line(self) -> str:
        """One line of JSON without spaces; equal events give equal lines."""
        row: dict[str, type_of_field] = {
            "time": self.time,
            "node": self.node,
            "event": self.event,
            "topic": self.topic,
            "message_id": None if self.message_id is None else self.message_id.hex(),
            "peer": self.peer,
        }
        row.update(self.fields)
        return json.dumps(row, separators=(",", ":"), ensure_ascii=False)


# The kinds of events. A family may add kinds of its own; these mean the same in each of them.
NETWORK_OPENED = "network_opened"  # first of a node's run; fields: agent, and what is promised
PEER_JOINED = "peer_joined"  # a peer that speaks our protocol is there; fields: protocol, outbound
PEER_LEFT = "peer_left"  # fields: reason
CONNECTION_OPENED = "connection_opened"  # handshake done; fields: address, outbound
CONNECTION_CLOSED = "connection_closed"  # fields: address, reason
CONNECTION_FAILED = "connection_failed"  # never became usable; fields: address, reason, detail
CONNECTION_REFUSED = "connection_refused"  # over a limit of ours; fields: address, reason
DIAL_SCHEDULED = "dial_scheduled"  # a retry was put off; fields: address, delay, attempt
PEER_IDENTIFIED = "peer_identified"  # fields: agent, protocols
SUBSCRIBED = "subscribed"  # we joined the topic
UNSUBSCRIBED = "unsubscribed"  # we left it
RELAY_BEGAN = "relay_began"  # we joined the topic to pass its messages on, wanted by nobody here
RELAY_ENDED = "relay_ended"
PEER_SUBSCRIBED = "peer_subscribed"  # fields: direct: only our own messages go to it by this
PEER_UNSUBSCRIBED = "peer_unsubscribed"
PUBLISHED = "published"  # our own message; fields: size, peers, dropped
DELIVERED = "delivered"  # first copy, passed on to the application; fields: size, sender
RELAYED = "relayed"  # first copy of what we only relay, about to be passed on; fields: size, sender
DUPLICATE = "duplicate"  # another copy
REJECTED = "rejected"  # not passed on, the sender pays; fields: reason
IGNORED = "ignored"  # not passed on, nobody pays; fields: reason
DROPPED = "dropped"  # lost for want of room; fields: what, reason, count
FILTERED = "filtered"  # delivered, but not to a subscription whose filter says no; fields: reason
SPARED = "spared"  # a copy not sent, as the peer said IDONTWANT; fields: reason
SLOW_PEER = "slow_peer"  # it takes less than it is sent, told once a heartbeat; fields: lost
HELD_BACK = "held_back"  # nothing is taken of a peer for a while; fields: reason, seconds
PROTOCOL_ERROR = "protocol_error"  # a peer broke the protocol; fields: reason, detail
PACKET_SENT = "packet_sent"  # fields: size, and counts by kind
PACKET_RECEIVED = "packet_received"  # fields: size, and counts by kind
ASKED = "asked"  # we asked the peer for this message (IWANT); what it brings is a recovery
GRAFTED = "grafted"  # peer is in our mesh now; fields: by ("us" or "peer")
PRUNED = "pruned"  # peer left our mesh; fields: by, reason
EXCHANGE_SENT = "exchange_sent"  # a PRUNE of ours names others; fields: peers, records
EXCHANGE_RECEIVED = "exchange_received"  # a PRUNE names others to us; fields: peers, known, usable
EXCHANGE_CONNECTED = "exchange_connected"  # one of these is there; fields: named_by
SCORED = "scored"  # a peer's score moved; fields: score, before, level, and what it is made of
SOURCE_PAUSED = "source_paused"  # a subscription is full, peers are being held back
SOURCE_RESUMED = "source_resumed"

# What a peer can bring about as often as it likes is summed up where traces are kept: an event with
# a ``count`` stands for so many (``since``: when the first happened; ``time``: the last).
REPEATABLE = frozenset(
    (
        REJECTED, IGNORED, DROPPED, FILTERED, SPARED, HELD_BACK, PROTOCOL_ERROR,
        CONNECTION_REFUSED, CONNECTION_FAILED, PACKET_SENT, PACKET_RECEIVED,
    )
)  # fmt: skip
"""Kinds of which only the number matters: who, why, how many, how large."""
FOLLOWED = frozenset((DUPLICATE, ASKED))
"""Kinds of which it matters, too, which message they are about: readers follow messages by them."""


def network_opened(time: float, node: str, capabilities: Capabilities) -> TraceEvent:
    """The first event of a node's run: who it is, and what its network promises.

    Whoever opens a node says it, a live network or a simulation; no machine does.

    >>> event = network_opened(12.5, "node-a", Capabilities(1000, all_subscribers=False))
    >>> event.event, event.fields["all_subscribers"]
    ('network_opened', False)
    """
    fields: dict[str, type_of_field] = {"agent": our_agent(), **capabilities.promises}
    return TraceEvent(time, node, NETWORK_OPENED, fields=fields)


def count_of(event: TraceEvent) -> int:
    """How many happenings an event stands for.

    >>> count_of(TraceEvent(12.5, "node-a", "rejected", fields={"count": 20}))
    20
    >>> count_of(TraceEvent(12.5, "node-a", "rejected"))
    1
    """
    count = event.fields.get("count", 1) if event.fields else 1
    return count if isinstance(count, int) else 1

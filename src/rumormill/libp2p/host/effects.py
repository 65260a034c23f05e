"""What goes into a host and what comes out of it: the seam between a node and its driver."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias, TypeGuard

from rumormill.core.machine import (
    Check,
    Checked,
    CheckedMany,
    Connect,
    Deliver,
    Drop,
    Hold,
    Publish,
    Published,
    PublishedMany,
    RoomAgain,
    Send,
    Shutdown,
    Subscribe,
    Unsubscribe,
)
from rumormill.core.trace import TraceEvent
from rumormill.core.transport import (
    Dial,
    DialEnded,
    HoldPeer,
    RestPeer,
    TransportEffect,
    TransportInput,
)
from rumormill.libp2p.discovery.effects import (
    DatagramReceived,
    LinkChanged,
    PeersWanted,
    SendDatagram,
)
from rumormill.libp2p.effects import Blacklist, FromRouter, PubsubEffect, RouterInput, TopicCommand

PubsubCommand: TypeAlias = (
    Publish
    | CheckedMany
    | Checked
    | Subscribe
    | Unsubscribe
    | Blacklist
    | RouterInput
    | TopicCommand
)
"""What is for pubsub, and only passes through."""

HostInput: TypeAlias = (
    TransportInput
    | PubsubCommand
    | Dial
    | Hold
    | Shutdown
    | DatagramReceived
    | LinkChanged
    | PeersWanted
)
"""What a host takes: from its transport, for its pubsub, and from its user."""

HostEffect: TypeAlias = (
    TransportEffect
    | DialEnded
    | Deliver
    | Check
    | Published
    | PublishedMany
    | RoomAgain
    | FromRouter
    | SendDatagram
    | TraceEvent
)
"""What a host wants done: by its transport, by whoever checks messages, and told to its user."""

OF_CONNECTIONS = frozenset({Send, HoldPeer, RestPeer, Drop, Connect})
"""What pubsub wants done on connections."""


def for_driver(effects: Sequence[PubsubEffect]) -> TypeGuard[Sequence[HostEffect]]:
    """Whether none of what pubsub wants done concerns connections: then it is for our driver."""
    return OF_CONNECTIONS.isdisjoint(map(type, effects))

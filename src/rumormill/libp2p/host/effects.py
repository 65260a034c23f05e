"""What goes into a host and what comes out of it: the seam between a node and its driver."""

from __future__ import annotations

from typing import TypeAlias

from rumormill.core.machine import (
    Check,
    Checked,
    CheckedMany,
    Deliver,
    Hold,
    Publish,
    Published,
    RoomAgain,
    Shutdown,
    Subscribe,
    Unsubscribe,
)
from rumormill.core.trace import TraceEvent
from rumormill.core.transport import Dial, DialEnded, TransportEffect, TransportInput

PubsubCommand: TypeAlias = Publish | CheckedMany | Checked | Subscribe | Unsubscribe
"""What is for pubsub, and only passes through."""

HostInput: TypeAlias = TransportInput | PubsubCommand | Dial | Hold | Shutdown
"""What a host takes: from its transport, for its pubsub, and from its user."""

HostEffect: TypeAlias = (
    TransportEffect | DialEnded | Deliver | Check | Published | RoomAgain | TraceEvent
)
"""What a host wants done: by its transport, by whoever checks messages, and told to its user."""

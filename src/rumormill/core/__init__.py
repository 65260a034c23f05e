"""What every room shares: message, topic, machine, effects, trace events, errors.

The names below are what most code needs; inputs and effects stand in :mod:`~rumormill.core.machine`
and :mod:`~rumormill.core.transport`.
"""

from __future__ import annotations

from rumormill.core.errors import (
    ClosedError,
    ConfigError,
    ConnectError,
    LocalProtocolError,
    MessageTooLargeError,
    NotReadyError,
    RejectedError,
    RemoteProtocolError,
    RumormillError,
)
from rumormill.core.machine import Machine, Peer, Verdict
from rumormill.core.message import Message
from rumormill.core.receipt import Receipt
from rumormill.core.topic import Capabilities, check_topic
from rumormill.core.trace import TraceEvent

__all__ = [
    "Capabilities",
    "ClosedError",
    "ConfigError",
    "ConnectError",
    "LocalProtocolError",
    "Machine",
    "Message",
    "MessageTooLargeError",
    "NotReadyError",
    "Peer",
    "Receipt",
    "RejectedError",
    "RemoteProtocolError",
    "RumormillError",
    "TraceEvent",
    "Verdict",
    "check_topic",
]

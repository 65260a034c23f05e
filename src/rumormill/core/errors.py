"""Errors, sorted by who is at fault.

    RumormillError
    ├── ConfigError             the configuration: names the key
    ├── LocalProtocolError      our caller used a machine or a network wrongly
    │   ├── ClosedError         the network or the subscription is closed
    │   ├── MessageTooLargeError   a message that no peer would take
    │   └── RejectedError       our own validator refused our own message
    ├── RemoteProtocolError     a peer broke the protocol: it pays, the user never sees this raised
    ├── ConnectError            a peer that the user asked for could not be reached
    └── NotReadyError           nobody to publish to, within the time the user gave

A machine raises only :class:`LocalProtocolError` and :class:`ConfigError` to its caller.
:class:`RemoteProtocolError` is raised inside the decoders and caught by the machine that owns
the peer, which turns it into a trace event and a penalty.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rumormill.core.receipt import Receipt


class RumormillError(Exception):
    """Everything that rumormill raises on purpose."""


class ConfigError(RumormillError):
    """A wrong configuration value; ``key`` is the name the user wrote.

    >>> raise ConfigError("D_low", "must not be above D (7 > 6)")
    Traceback (most recent call last):
    ...
    rumormill.core.errors.ConfigError: D_low: must not be above D (7 > 6)
    """

    def __init__(self, key: str, problem: str) -> None:
        super().__init__(f"{key}: {problem}")
        self.key = key
        self.problem = problem


class LocalProtocolError(RumormillError):
    """Our own caller asked for something that cannot be done."""


class ClosedError(LocalProtocolError):
    """The network or subscription was closed before the call."""


class MessageTooLargeError(LocalProtocolError):
    """The message would not fit into one packet of this network.

    >>> print(MessageTooLargeError(size=3_000_000, limit=1_048_576))
    the message has 3000000 bytes, this network carries at most 1048576
    >>> print(MessageTooLargeError(size=11, limit=10, topic="blocks"))
    the message has 11 bytes, the topic 'blocks' carries at most 10
    """

    def __init__(self, size: int, limit: int, topic: str | None = None) -> None:
        carrier = "this network" if topic is None else f"the topic {topic!r}"
        super().__init__(f"the message has {size} bytes, {carrier} carries at most {limit}")
        self.size = size
        self.limit = limit
        self.topic = topic
        """None where the limit has nothing to do with the topic."""


class RejectedError(LocalProtocolError):
    """A validator of our own refused the message that we wanted to publish."""


class RemoteProtocolError(RumormillError):
    """A peer sent what the protocol forbids; ``reason`` is a short name for counters.

    >>> error = RemoteProtocolError("frame_too_large", "a frame of 9 MB, 1 MB allowed")
    >>> error.reason
    'frame_too_large'
    """

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(f"{reason}: {detail}" if detail else reason)
        self.reason = reason
        self.detail = detail


class ConnectError(RumormillError):
    """A peer could not be reached; the sentence names its address and why."""


class NotReadyError(RumormillError):
    """Nobody listened to the topic within the time that the caller gave.

    ``receipt``: of the last try, where the network has to try to know.
    """

    def __init__(self, problem: str, receipt: Receipt | None = None) -> None:
        super().__init__(problem)
        self.receipt = receipt

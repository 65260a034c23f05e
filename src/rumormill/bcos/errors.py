"""What a publisher hears when a message had no good end."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from rumormill.bcos.wire.channel_packet import Result
from rumormill.core.errors import RumormillError

SENTENCES: Final[Mapping[int, str]] = MappingProxyType(
    {
        Result.UNREACHABLE: "no node is connected",
        Result.NO_NODE: "no node has a subscriber of the topic that can be reached",
        Result.UNAVAILABLE: "the subscriber's node has no connection to it",
        Result.TIMED_OUT: "no answer came in time, and the message may have arrived",
        Result.BANDWIDTH: "there was no room for the message, or a limit of the node was reached",
        Result.NO_SUBSCRIBER: "no subscriber on the node that was chosen has answered",
        Result.BAD_ANSWER: "the answer cannot be read",
    }
)


class AmopError(RumormillError):
    """A message had no good end; ``code`` is the protocol's number for it.

    >>> print(AmopError(100, "weather"))
    'weather': no node has a subscriber of the topic that can be reached (100)
    """

    def __init__(self, code: int, topic: str) -> None:
        problem = SENTENCES.get(code, "the node has refused the message")
        super().__init__(f"{topic!r}: {problem} ({code})")
        self.code = code
        self.topic = topic

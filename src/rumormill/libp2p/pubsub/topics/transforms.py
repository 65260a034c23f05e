"""Transforms: what a topic's data is on the wire, and what the application sees of it.

A topic may have one (``transforms``): compression, as on Ethereum's topics, or one of the user's
own. It works before a message's id is made, as in rust and js: id functions and validators see the
application's data. Peers get the message as it came, byte for byte.

What a peer sends may inflate to far more than it is. So each transform has a limit, ``max_size``,
and a message that would go beyond it is rejected like one that cannot be read at all: its sender
pays, as for any other bad message.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Protocol, runtime_checkable

from rumormill.core.errors import ConfigError, LocalProtocolError, RemoteProtocolError
from rumormill.libp2p.wire.message import WireMessage
from rumormill.system.packages import require

ETHEREUM_PAYLOAD: Final = 10 * 1024 * 1024
"""Bytes: ``MAX_PAYLOAD_SIZE`` of Ethereum's networks."""

MOST_INFLATED: Final = 22
"""Bytes that one of snappy can stand for: its densest element has 3 and makes 64."""

BAD_DATA: Final = "bad_data"
"""Why a message is rejected whose data a transform of the user's own cannot read."""

TOO_LARGE: Final = "inflates_too_large"
"""Why a message is rejected whose data would become more than its transform allows."""


@runtime_checkable
class DataTransform(Protocol):
    """What happens to the data of a topic on its way out, and back on its way in.

    Both must be functions of their arguments alone: peers have to come to the same.
    """

    @property
    def max_size(self) -> int:
        """Bytes of data that the application publishes and gets at most."""
        ...

    def outbound(self, topic: str, data: bytes) -> bytes:
        """What the application publishes, as it is to be on the wire."""
        ...

    def inbound(self, topic: str, data: bytes) -> bytes:
        """What is on the wire, as the application is to see it.

        Whatever it raises means that the data is bad, and the message is rejected; a
        :class:`RemoteProtocolError` with its own reason. It must not make more than
        :attr:`max_size` bytes.
        """
        ...


@dataclass(frozen=True, slots=True)
class SnappyTransform:
    """snappy in its block format, without frames around it, as Ethereum's topics have it.

    >>> snappy = SnappyTransform(max_size=1000)
    >>> snappy.outbound("blocks", b"rain")
    b'\\x04\\x0crain'
    >>> snappy.inbound("blocks", snappy.outbound("blocks", b"rain" * 251))
    Traceback (most recent call last):
    ...
    rumormill.core.errors.RemoteProtocolError: inflates_too_large: to 1004 bytes, 1000 allowed
    """

    max_size: int = ETHEREUM_PAYLOAD

    def __post_init__(self) -> None:
        if self.max_size < 1:
            raise ConfigError("max_size", f"must be positive (got {self.max_size})")
        require(("cramjam",), "rumormill[snappy]", "snappy", key="transform")

    def outbound(self, topic: str, data: bytes) -> bytes:
        """See :class:`DataTransform`."""
        from cramjam import snappy

        return bytes(snappy.compress_raw(data))

    def inbound(self, topic: str, data: bytes) -> bytes:
        """See :class:`DataTransform`; what it says its size is is looked at before it inflates."""
        from cramjam import DecompressionError, snappy

        try:
            size = snappy.decompress_raw_len(data)
            if size > self.max_size:
                problem = f"to {size} bytes, {self.max_size} allowed"
                raise RemoteProtocolError(TOO_LARGE, problem)
            if size > MOST_INFLATED * len(data):
                raise RemoteProtocolError(TOO_LARGE, f"{len(data)} bytes cannot become {size}")
            return bytes(snappy.decompress_raw(data))
        except DecompressionError:
            raise RemoteProtocolError("bad_snappy", f"{len(data)} bytes") from None


TRANSFORMS: dict[str, type[SnappyTransform]] = {"snappy": SnappyTransform}
"""Transforms that have a name, for settings that are text."""


def transform_named(choice: object, key: str = "transform") -> object:
    """The transform behind a name; whatever is no text as it is. ``key`` is where it stands.

    >>> transform_named("snappy")
    SnappyTransform(max_size=10485760)
    """
    if not isinstance(choice, str):
        return choice
    try:
        return TRANSFORMS[choice]()
    except KeyError:
        known = ", ".join(TRANSFORMS)
        raise ConfigError(key, f"{choice!r} is none of {known}") from None


def open_message(message: WireMessage, transform: DataTransform) -> str | None:
    """Put what the application sees into a message of a peer; if it cannot be, says why."""
    try:
        data = transform.inbound(message.topics[0], message.data)
    except RemoteProtocolError as error:
        return error.reason
    except Exception:  # whatever the user's own transform raises on strange data
        return BAD_DATA
    if type(data) is not bytes:
        return BAD_DATA
    if len(data) > transform.max_size:
        return TOO_LARGE
    message.open(data)
    return None


def outbound(topic: str, data: bytes, transform: DataTransform) -> bytes:
    """What is to be on the wire for data of our own."""
    try:
        wire = transform.outbound(topic, data)
    except Exception as error:
        problem = f"the transform of {topic!r} cannot take the data: {error!r}"
        raise LocalProtocolError(problem) from error
    if type(wire) is not bytes:
        raise LocalProtocolError(f"the transform of {topic!r} must return bytes")
    return wire

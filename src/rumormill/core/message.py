"""A message, as the application sees it: the same shape in every family."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

NO_FIELDS: Mapping[str, Any] = MappingProxyType({})


class Message(NamedTuple):
    """One message delivered on one topic.

    A named tuple rather than a frozen dataclass: one is made per delivery, and a tuple costs a
    third of the time.

    >>> message = Message("weather", b"rain at noon", sender="12D3KooW...", id=b"\\x01")
    >>> message.text
    'rain at noon'
    """

    topic: str
    data: bytes
    sender: str | None = None
    """Who wrote it, in the family's own notation; None where the family has no authors."""
    id: bytes = b""
    network: str = ""
    received_from: str | None = None
    """The peer that handed it to us; None for our own messages."""
    received_at: float = 0.0
    """Seconds since the epoch."""
    fields: Mapping[str, Any] = NO_FIELDS
    """What this family adds, such as ``sequence`` (libp2p) or ``seq`` (bep50)."""

    @property
    def text(self) -> str:
        """The data as UTF-8 text; undecodable bytes become U+FFFD."""
        return self.data.decode("utf-8", "replace")

    def to_json(self) -> dict[str, Any]:
        """The message as a JSON object: ``data`` as text, or ``data_base64`` if it is not UTF-8."""
        return {
            "topic": self.topic,
            **bytes_as_json("data", self.data),
            "sender": self.sender,
            "id": self.id.hex(),
            "received_at": self.received_at,
            "received_from": self.received_from,
            **self.fields,
        }


def bytes_as_json(name: str, data: bytes) -> dict[str, str]:
    """Bytes as a field of a JSON object: as text, or as ``NAME_base64`` if they are not UTF-8.

    >>> bytes_as_json("data", b"rain"), bytes_as_json("data", b"\\xff")
    ({'data': 'rain'}, {'data_base64': '/w=='})
    """
    try:
        return {name: data.decode("utf-8")}
    except UnicodeDecodeError:
        return {f"{name}_base64": base64.b64encode(data).decode("ascii")}

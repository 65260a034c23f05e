"""Which protocol an SDK and its node speak (0x14), and whether both are still there (0x13)."""

from __future__ import annotations

from typing import Final

from rumormill.bcos.wire.json_text import number_of, read_object, write_json
from rumormill.core.errors import RemoteProtocolError

NODE_VERSION: Final = "2.9.1"
"""Whose behaviour we show. SDKs shake hands with nodes from 2.1 on."""
OLDEST: Final = 1
NEWEST: Final = 3


class NoCommonProtocolError(RemoteProtocolError):
    """The SDK speaks no protocol that we speak."""


def agree(data: bytes) -> int:
    """The protocol that the SDK's offer leads to; raises :class:`RemoteProtocolError`.

    >>> agree(b'{"minimumSupport":1,"maximumSupport":9,"clientType":"java-sdk"}')
    3
    """
    offer = read_object(data)
    low, high = number_of(offer, "minimumSupport"), number_of(offer, "maximumSupport")
    if low > NEWEST or high < OLDEST or low > high:
        raise NoCommonProtocolError(
            "no_common_protocol", f"{low} to {high} offered, {OLDEST} to {NEWEST} spoken"
        )
    return min(high, NEWEST)


def agreed(protocol: int) -> bytes:
    """What the SDK is told."""
    return write_json({"nodeVersion": NODE_VERSION, "protocol": protocol}) + b"\n"


def heartbeat_answer(protocol: int, data: bytes) -> bytes | None:
    """What a heartbeat is answered with; None if with nothing.

    >>> heartbeat_answer(1, b"0"), heartbeat_answer(1, b""), heartbeat_answer(3, b"")
    (b'1', None, b'{"heartBeat":1}\\n')
    """
    if protocol > OLDEST:
        return b'{"heartBeat":1}\n'
    return b"1" if data == b"0" else None

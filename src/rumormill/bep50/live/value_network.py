"""Publishing on a network of values: bytes, anything bencoded, torrents."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

from rumormill.bep50.wire.bencode import encode, encode_given
from rumormill.bep50.wire.items import LARGEST_PUBLISHED, torrent_value
from rumormill.core.errors import LocalProtocolError, MessageTooLargeError
from rumormill.core.receipt import Receipt
from rumormill.live.network import Network, as_bytes

LARGEST_DATA = LARGEST_PUBLISHED - len(b"999:")
"""Bytes of a message: with its length before it, it is the largest value to publish."""


class ValueNetwork(Network):
    """A network whose topics have a value, which each publication replaces."""

    async def publish(
        self,
        topic: str | Sequence[str],
        data: bytes,
        *,
        cas: int | None = None,
        ready: float | None = None,
        timeout: float = 5.0,
    ) -> Receipt:
        """Publish ``data`` as the newest value of a topic whose key we have.

        It gets the number (``seq``) after the newest that we and our neighbours know; the receipt
        has it in its ``fields``. With ``cas``, only if the newest value has this number
        (:class:`CasMismatch`). Returns when the first neighbour has it, or all have answered, or
        after ``timeout`` seconds: ``reached`` are those who have it, ``queued`` those who have not
        answered yet. Without neighbours it is kept for those who come, and the receipt is empty;
        with ``ready``, wait up to so many seconds for the first (:class:`NotReadyError`). With
        ``main_dht`` nobody need be there: ``stored`` in the receipt's ``fields`` says how many
        nodes of the main DHT have taken it then.
        """
        data = as_bytes(data)
        if len(data) > LARGEST_DATA:
            raise MessageTooLargeError(len(data), LARGEST_DATA)
        return await self._publish_value(topic, encode(data), cas, ready, timeout)

    async def publish_value(
        self,
        topic: str,
        value: Any,
        *,
        cas: int | None = None,
        ready: float | None = None,
        timeout: float = 5.0,
    ) -> Receipt:
        """Publish anything that can be bencoded: numbers, text, lists, dicts. See :meth:`publish`.

        Subscribers get the bencoding as ``data``, with ``bencoded`` in its ``fields``, unless it is
        a mere text or bytes.
        """
        return await self._publish_value(topic, encode_given(value), cas, ready, timeout)

    async def publish_torrent(
        self,
        topic: str,
        info_hash: bytes | str,
        *,
        cas: int | None = None,
        ready: float | None = None,
        timeout: float = 5.0,
    ) -> Receipt:
        """Publish the newest version of a torrent (BEP 46): its info hash, as bytes or in hex."""
        if isinstance(info_hash, str):
            try:
                info_hash = bytes.fromhex(info_hash)
            except ValueError:
                raise LocalProtocolError(f"the info hash {info_hash!r} is not hex") from None
        return await self._publish_value(topic, torrent_value(info_hash), cas, ready, timeout)

    @abstractmethod
    async def _publish_value(
        self,
        topic: str | Sequence[str],
        value: bytes,
        cas: int | None,
        ready: float | None,
        timeout: float,
    ) -> Receipt:
        """Publish a bencoded value."""

"""What a :class:`~rumormill.bep50.main_dht.client.MainClient` is asked, and what it answers.

``token`` is any number that the caller chose: the answer carries it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from rumormill.bep50.wire.items import Item

# ---- inputs


class MainContact(NamedTuple):
    """Nodes of the main DHT to begin with; ``own`` are our own addresses, which are never asked."""

    peers: tuple[str, ...]
    own: tuple[str, ...] = ()


class ReadItem(NamedTuple):
    """Find the newest value of an item; answered by :class:`ItemRead`."""

    token: int
    public_key: bytes
    salt: bytes = b""


class WriteItem(NamedTuple):
    """Put the item on the nodes nearest to its target; answered by :class:`ItemWritten`.

    ``cas``: only where the value that is there has this number. ``refresh``: it is the hourly
    repetition, which can be left out while enough others hold the same.
    """

    token: int
    item: Item
    cas: int | None = None
    refresh: bool = False


# ---- effects


class ItemSeen(NamedTuple):
    """A genuine value, newer than what this search had found; the search goes on."""

    token: int
    item: Item


class ItemRead(NamedTuple):
    """The end of :class:`ReadItem`: the newest genuine value, or None, and how many answered."""

    token: int
    item: Item | None
    answered: int


class ItemWritten(NamedTuple):
    """The end of :class:`WriteItem`.

    ``stored``: nodes that took the item; in a skipped repetition, those that hold it.
    ``refused``: how many gave which error code.
    ``silent``: nodes that did not answer the put.
    ``newer``: a genuine value with a higher number that stood in the way; nothing was put then.
    """

    token: int
    stored: int
    refused: Mapping[int, int]
    silent: int = 0
    newer: Item | None = None
    skipped: bool = False

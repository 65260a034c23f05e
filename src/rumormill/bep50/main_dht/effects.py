"""What the machines of the main DHT are told, and what they want done.

:class:`~rumormill.bep50.main_dht.client.MainClient` reads and writes items; in what it is asked and
answers ``token`` is any number that the caller chose. :class:`MainSession` in ``session.py`` says
when, and what libtorrent is to do beside.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, TypeAlias

from rumormill.bep50.effects import Contact, Offer
from rumormill.bep50.wire.items import Item
from rumormill.bep50.wire.topics import TopicName
from rumormill.core.machine import Received, Send
from rumormill.core.trace import TraceEvent

# ---- the client's inputs


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


# ---- the client's effects


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


# ---- the session's inputs


class StartMain(NamedTuple):
    """libtorrent listens at ``peers``; ``nodes`` are those to join by, ``own`` our own addresses.

    ``own`` are of our overlay socket: that is what is announced.
    """

    own: tuple[str, ...]
    nodes: tuple[str, ...]
    peers: tuple[str, ...]


class TableSize(NamedTuple):
    """The answer to :class:`AskTableSize`: how many nodes libtorrent's table has."""

    nodes: int


class PeersFound(NamedTuple):
    """libtorrent found addresses that were announced under ``target``."""

    target: bytes
    peers: tuple[str, ...]


class JoinMain(NamedTuple):
    """Look for the members of a topic and for its item, and announce ourselves."""

    topic: TopicName


class LeaveMain(NamedTuple):
    """Do no more for the topic; nodes forget our announcement within the hour."""

    topic: TopicName


class PutOnMain(NamedTuple):
    """Put an item of a joined topic on the main DHT; ``cas`` as in :class:`WriteItem`."""

    item: Item
    cas: int | None = None


class Hurry(NamedTuple):
    """We are about to close: put what waits at once."""


# ---- the session's effects


class AddNodes(NamedTuple):
    """Tell libtorrent of nodes of the DHT."""

    peers: tuple[str, ...]


class AskTableSize(NamedTuple):
    """Has libtorrent found the DHT? It does not tell, so it is asked: :class:`TableSize`."""


class Announce(NamedTuple):
    """Let libtorrent search for who was announced, and announce this ``port`` of ours."""

    target: bytes
    port: int


class SearchPeers(NamedTuple):
    """The same without a word about ourselves."""

    target: bytes


ClientInput: TypeAlias = Received | MainContact | ReadItem | WriteItem
ClientEffect: TypeAlias = Send | TraceEvent | ItemSeen | ItemRead | ItemWritten
"""What the client takes and gives."""

LibtorrentOrder: TypeAlias = AddNodes | AskTableSize | Announce | SearchPeers
"""What libtorrent is to do."""

SessionInput: TypeAlias = (
    StartMain | TableSize | PeersFound | JoinMain | LeaveMain | PutOnMain | Hurry
    | ItemSeen | ItemRead | ItemWritten
)  # fmt: skip
SessionEffect: TypeAlias = (
    LibtorrentOrder | MainContact | ReadItem | WriteItem | Contact | Offer | TraceEvent
)
"""What the session takes and gives."""

"""One topic as we take part in it: its newest item, and an overlay for each IP family.

The specification wants each topic to be a node of its own, with its own table and transactions. The
item is one for both families: what comes in over IPv4 goes out over IPv6 too.
"""

from __future__ import annotations

from hashlib import sha1
from typing import Any, Protocol

from rumormill.bep50.overlay.duties import Common, Duties, Search
from rumormill.bep50.overlay.members.routing_table import Entry
from rumormill.bep50.overlay.overlay import Overlay
from rumormill.bep50.overlay.values.acknowledgements import Acknowledgements
from rumormill.bep50.wire.items import Item, torrent_of
from rumormill.bep50.wire.krpc import PutTemplate
from rumormill.bep50.wire.topics import TopicName
from rumormill.core.machine import Deliver, Peer
from rumormill.core.message import Message
from rumormill.core.trace import DELIVERED, TraceEvent, type_of_field

JOINED = "joined"
"""The kind of trace event that says: we found members, and know the newest value they know."""


class Checking(Protocol):
    """Knows which items are under check."""

    def of_topic(self, topic: TopicNode) -> bool:
        """Whether an item of the topic is."""
        ...


class TopicNode:
    """What we know of one topic."""

    __slots__ = (
        "_checking", "_common", "_duties", "_families", "_network", "_outbox", "_sender",
        "_told_joined", "acknowledgements", "delivered_seq", "item", "message_id", "name",
        "overlays", "own", "public_key", "refused", "salt", "seq", "source", "subscribed", "target",
        "template", "text",
    )  # fmt: skip

    def __init__(
        self, name: TopicName, common: Common, duties: Duties, checking: Checking, network: str
    ) -> None:
        self._common = common
        self._duties = duties
        self._checking = checking
        self._network = network
        self._outbox = common.outbox
        self.name = name
        self.text = name.text
        self.target = name.target
        self.public_key = name.public_key
        self.salt = name.salt
        self.subscribed = False
        """Whether the application wants the values; a publisher may take part without."""
        self.item: Item | None = None
        self.seq = -1
        """The item's number, -1 if there is none."""
        self.message_id = b""
        """The item's id as a message."""
        self.template: PutTemplate | None = None
        """Puts of the item, made when the first is needed."""
        self.refused: Item | None = None
        """The last genuine item that a validator of the user did not want."""
        self.source: Peer | None = None
        """Who gave us the item; None if no peer did."""
        self.own = False
        """Whether we published it ourselves."""
        self.delivered_seq = -1
        self.acknowledgements = Acknowledgements(name.text, common.outbox)
        """Our own publications that a peer has neither taken nor refused."""
        self._told_joined = False
        self._sender = name.public_key.hex()
        self._families: list[Overlay | None] = [None, None]
        self.overlays: tuple[Overlay, ...] = ()
        """Those in use: of IPv4, of IPv6 or both."""

    def overlay(self, peer: Peer) -> Overlay:
        """The overlay of the peer's IP family."""
        ipv6 = peer[0] == "["
        found = self._families[ipv6]
        if found is None:
            found = self._families[ipv6] = Overlay(self._common, self._duties, self, ipv6)
            self.overlays = (*self.overlays, found)
        return found

    def overlay_if_any(self, peer: Peer) -> Overlay | None:
        """The same, but none is made."""
        return self._families[peer[0] == "["]

    def entry(self, peer: Peer) -> Entry | None:
        """The peer's entry in the table of its family."""
        overlay = self._families[peer[0] == "["]
        return None if overlay is None else overlay.table.entry(peer)

    # ---- the item

    def hold(self, item: Item, source: Peer | None, own: bool = False) -> None:
        """Keep a newer item that is known to be genuine."""
        self.item = item
        self.seq = item.seq
        self.source = source
        self.own = own
        self.message_id = message_id(self.target, item)
        self.template = None

    def put_template(self) -> PutTemplate:
        """What makes the puts of the item that is held."""
        if self.template is None:
            assert self.item is not None
            own_id, read_only = self._common.id, self._common.parameters.read_only
            self.template = PutTemplate(own_id, self.item, self.target, read_only)
        return self.template

    def deliver(self, now: float) -> None:
        """Hand the item to the application, once, if it wants it."""
        item = self.item
        if item is None or not self.subscribed or self.delivered_seq >= item.seq:
            return
        self.delivered_seq = item.seq
        data, fields = content(item)
        outbox, sender = self._outbox, self._sender
        message = Message(
            self.text, data, sender, self.message_id, self._network, self.source, now, fields
        )
        # Made without `emit`: there is one for each message.
        traced: dict[str, type_of_field] = {"size": len(data), "sender": sender}
        outbox.effects += (
            Deliver(message),
            TraceEvent(
                now, outbox.name, DELIVERED, self.text, self.message_id, self.source, traced
            ),
        )

    # ---- questions

    def tell_joined(self) -> None:
        """Trace it when we have joined, and again after we had lost everybody."""
        if not self._told_joined and self.joined:
            self._told_joined = True
            self._outbox.emit(JOINED, self.text)

    def lost_everybody(self) -> None:
        """Nobody is left of one family; perhaps there is one of the other."""
        self._told_joined = self.joined

    @property
    def joined(self) -> bool:
        """Whether somebody answered and nobody whom we asked at first is still to answer."""
        found = False
        for overlay in self.overlays:
            if overlay.catching or overlay.busy:
                return False
            found = found or (overlay.search is Search.DONE and len(overlay.table) > 0)
        return found and not self.checking

    @property
    def populated(self) -> bool:
        """Whether it has members, as far as we know."""
        return any(overlay.table.entries for overlay in self.overlays)

    @property
    def checking(self) -> bool:
        """Whether an item is under check."""
        return self._checking.of_topic(self)

    @property
    def trying(self) -> bool:
        """Whether a contact was not tried to the end yet."""
        return any(overlay.owed for overlay in self.overlays)

    @property
    def pending(self) -> int:
        """Entries that lack the newest item and that we wait for, to put it to them."""
        return sum(overlay.pending for overlay in self.overlays)


def message_id(target: bytes, item: Item) -> bytes:
    """The id of an item as a message: the same wherever it is seen."""
    named = target + item.seq.to_bytes(8, "big") + item.value
    return sha1(named, usedforsecurity=False).digest()


def content(item: Item) -> tuple[bytes, dict[str, Any]]:
    """The data of the message, and what this family says of it beside.

    >>> content(Item(bytes(32), b"", 7, b"5:hello", bytes(64)))
    (b'hello', {'seq': 7})
    >>> content(Item(bytes(32), b"", 7, b"li1ei2ee", bytes(64)))
    (b'li1ei2ee', {'seq': 7, 'bencoded': True})
    """
    value = item.value
    fields: dict[str, Any] = {"seq": item.seq}
    if value[0] in b"0123456789":
        return value[value.index(b":") + 1 :], fields
    fields["bencoded"] = True
    info_hash = torrent_of(value)
    if info_hash is not None:
        fields["info_hash"] = info_hash.hex()
    return value, fields

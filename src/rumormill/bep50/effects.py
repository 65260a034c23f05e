"""Inputs and effects of the overlay's machine, beyond those that every family shares.

A peer is its address as text, so ``Send`` and ``Received`` of ``rumormill.core.machine`` are one
datagram each. Topics in commands and in what goes to the user are text (``PUBLICKEYHEX[:SALT]``);
topics as packets name them are the 20 bytes of the item's target.
"""

from __future__ import annotations

from typing import NamedTuple

from rumormill.bep50.wire.items import Item
from rumormill.core.errors import LocalProtocolError
from rumormill.core.machine import Peer


class CasMismatch(LocalProtocolError):
    """A publication was meant to replace another value than the one that is there.

    >>> raise CasMismatch(expected=6, found=7)
    Traceback (most recent call last):
    ...
    rumormill.bep50.effects.CasMismatch: the value to replace has seq 6, but the newest has seq 7
    """

    def __init__(self, expected: int, found: int | None) -> None:
        newest = "there is none yet" if found is None else f"the newest has seq {found}"
        super().__init__(f"the value to replace has seq {expected}, but {newest}")
        self.expected = expected
        self.found = found


# ---- inputs


class Listening(NamedTuple):
    """The addresses that we can be reached at; the last one is our name in traces."""

    peers: tuple[Peer, ...]


class Contact(NamedTuple):
    """Addresses that may be members of ``topic``, or of any topic if that is None.

    For each address and topic one :class:`ContactEnded` says what became of it.
    """

    topic: bytes | None
    peers: tuple[Peer, ...]


class Join(NamedTuple):
    """Take part in the topic's overlay without a subscription: a publisher does."""

    topic: str


class Publish(NamedTuple):
    """Publish a bencoded value on a topic that we take part in and whose key we have.

    ``cas``: only if the newest value that we know of has this number.
    """

    topic: str
    value: bytes
    cas: int | None = None


class Offer(NamedTuple):
    """A signed item that was found outside the overlay, such as on the main DHT."""

    item: Item


class Restore(NamedTuple):
    """What :meth:`~rumormill.bep50.overlay.node.Node.state` gave in an earlier run.

    It counts for topics that are joined now or later; items and nodes are checked anew.
    """

    state: bytes


# ---- effects


class Acknowledged(NamedTuple):
    """``peer`` has our own publication now."""

    topic: str
    message_id: bytes
    peer: Peer


class Refused(NamedTuple):
    """``peer`` does not take our own publication, and asking again would not help."""

    topic: str
    message_id: bytes
    peer: Peer
    code: int
    text: str


class ContactEnded(NamedTuple):
    """What became of an address of :class:`Contact`: the first time it was tried.

    ``problem`` is empty for a member of the topic, else ``no_answer``, ``unknown_topic`` or
    ``not_a_member`` (a node that does not know what a topic is).
    """

    peer: Peer
    topic: bytes
    problem: str = ""

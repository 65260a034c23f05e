"""Inputs and effects of this family's machines, beyond those that every family shares.

A peer is its address as text, so ``Send`` and ``Received`` of ``rumormill.core.machine`` are one
datagram each. Topics in commands and in what goes to the user are text (``PUBLICKEYHEX[:SALT]``);
topics as packets name them are the 20 bytes of the item's target.

The unions at the end say which machine takes and gives which: the overlay's node, and the whole
machine around it (:class:`~rumormill.bep50.machine.Bep50Machine`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from rumormill.bep50.wire.items import Item
from rumormill.core.errors import LocalProtocolError, NotReadyError
from rumormill.core.machine import (
    Check,
    Checked,
    CheckedMany,
    Deliver,
    Peer,
    Published,
    Received,
    Send,
    Subscribe,
    Unsubscribe,
)
from rumormill.core.receipt import Receipt
from rumormill.core.trace import TraceEvent
from rumormill.core.transport import Listening

if TYPE_CHECKING:
    from rumormill.bep50.main_dht.effects import LibtorrentOrder, PeersFound, StartMain, TableSize


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
    """Pass a bencoded value on, once, on a topic that we take part in and whose key we have.

    ``cas``: only if the newest value that we know of has this number.
    """

    topic: str
    value: bytes
    cas: int | None = None


class PublishValue(NamedTuple):
    """Publish a bencoded value, and see to it that somebody has it.

    Answered by one :class:`PublicationDone` or :class:`PublicationFailed` with the same ``token``.
    ``ready``: wait so many seconds for the first member of the topic. ``timeout``: seconds that
    each step may take.
    """

    token: int
    topic: str
    value: bytes
    cas: int | None = None
    ready: float | None = None
    timeout: float = 5.0


class ForgetPublication(NamedTuple):
    """Nobody waits any more for what becomes of a publication."""

    token: int


class Offer(NamedTuple):
    """A signed item that was found outside the overlay, such as on the main DHT."""

    item: Item


class Restore(NamedTuple):
    """What :meth:`~rumormill.bep50.overlay.node.OverlayNode.state` gave in an earlier run.

    It counts for topics that are joined now or later; items and nodes are checked anew.
    """

    state: bytes


class Bootstrap(NamedTuple):
    """Addresses as the user wrote them, to begin with on all topics; hosts may be names."""

    addresses: tuple[str, ...]


class Reach(NamedTuple):
    """Begin with an address that the user wants; answered by :class:`Reached`."""

    token: int
    address: str


class NameResolved(NamedTuple):
    """The answer to :class:`ResolveName`: all that the name stands for, none if it was not found.

    ``problem`` is a sentence for who asked.
    """

    address: str
    peers: tuple[Peer, ...]
    problem: str = ""


class Drain(NamedTuple):
    """We are about to close: hurry, and say :class:`Drained` when nothing is on its way.

    Or after ``timeout`` seconds.
    """

    timeout: float


# ---- effects


class ContactEnded(NamedTuple):
    """What became of an address of :class:`Contact`: the first time it was tried.

    ``problem`` is empty for a member of the topic, else ``no_answer``, ``unknown_topic`` or
    ``not_a_member`` (a node that does not know what a topic is).
    """

    peer: Peer
    topic: bytes
    problem: str = ""


class PublicationDone(NamedTuple):
    """A publication came to its end: who has it (reached), who may yet get it, who will not."""

    token: int
    receipt: Receipt


class PublicationFailed(NamedTuple):
    """A publication could not be made, or was in vain."""

    token: int
    error: LocalProtocolError | NotReadyError


class ResolveName(NamedTuple):
    """Find out what the host of an address stands for; answered by :class:`NameResolved`."""

    address: str


class Reached(NamedTuple):
    """What became of :class:`Reach`; ``problem`` is empty for a peer that is good for a topic.

    Else it is one of :class:`ContactEnded`, or ``ourselves``, ``no_socket`` (of its IP version) or
    ``name_not_found``, with a ``detail``.
    """

    token: int
    peer: Peer
    problem: str = ""
    detail: str = ""


class Drained(NamedTuple):
    """Nothing is on its way any more, or it took too long."""

    complete: bool


# ---- who takes and gives what

OverlayInput: TypeAlias = (
    Received | Subscribe | Unsubscribe | Checked | CheckedMany | Listening
    | Contact | Join | Publish | Offer | Restore
)  # fmt: skip
"""What a node of overlays takes."""

OverlayEffect: TypeAlias = Send | Deliver | Check | Published | TraceEvent | ContactEnded
"""What it gives."""

Bep50Input: TypeAlias = (
    "Received | Subscribe | Unsubscribe | Checked | CheckedMany | Listening"
    " | Contact | Join | Offer | Restore | PublishValue | ForgetPublication"
    " | Bootstrap | Reach | NameResolved | Drain | StartMain | TableSize | PeersFound"
)
"""What the whole machine takes."""

Bep50Effect: TypeAlias = (
    "Send | Deliver | Check | Published | TraceEvent | ContactEnded"
    " | PublicationDone | PublicationFailed | ResolveName | Reached | Drained | LibtorrentOrder"
)
"""What the whole machine gives."""

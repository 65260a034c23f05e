"""The machine: protocol logic without clock, socket, thread, task, logger or entropy of its own.

A machine gets inputs and the time and returns effects. Whoever drives it (``rumormill.live`` on
asyncio, ``rumormill.simulate`` in virtual time, a test by hand) carries the effects out and calls
back:

* after every :meth:`Machine.handle` and :meth:`Machine.wake`, ask :meth:`Machine.next_wake`;
* when that time has come, call :meth:`Machine.wake`. Calling it early is harmless.

Inputs and effects are named tuples: immutable, cheap to make, easy to read in a failing test.
:class:`~rumormill.core.trace.TraceEvent` is an effect like the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias, TypeVar

from rumormill.core.message import Message
from rumormill.core.receipt import Receipt
from rumormill.core.trace import TraceEvent

Peer: TypeAlias = str
"""A peer's identity as text, in the family's own notation."""

InputT = TypeVar("InputT", contravariant=True)
EffectT = TypeVar("EffectT", covariant=True)


class Machine(Protocol[InputT, EffectT]):
    """What every protocol machine looks like from outside.

    ``InputT`` is the union of the inputs that it takes (a packet, a peer event, a command of the
    user), ``EffectT`` the union of what it may want done. Whoever feeds less than a machine takes,
    or carries out more than it returns, fits it as well.
    """

    def handle(self, input: InputT, now: float) -> Sequence[EffectT]:
        """Take one input; return what follows from it."""
        ...

    def wake(self, now: float) -> Sequence[EffectT]:
        """A timer may be due; return what follows. Harmless when called early."""
        ...

    def next_wake(self) -> float | None:
        """When :meth:`wake` wants to be called next: a time that may already be past, or None."""
        ...


# ---- effects that every family shares


class Send(NamedTuple):
    """Hand ``packet`` to ``peer``."""

    peer: Peer
    packet: bytes


class Deliver(NamedTuple):
    """Pass ``message`` to the application's subscriptions of its topic."""

    message: Message


class Connect(NamedTuple):
    """A peer that the machine would like to be connected to, and where it may be found."""

    peer: Peer
    addresses: tuple[str, ...] = ()
    trusted: bool = False
    """Whether the user named it, and not some other peer."""


class Drop(NamedTuple):
    """End the connection to ``peer``; ``reason`` is a short name for counters."""

    peer: Peer
    reason: str


class Published(NamedTuple):
    """The answer to a publication: where the message goes."""

    receipt: Receipt


class PublishedMany(NamedTuple):
    """The answer to :class:`PublishMany`: a receipt for each message, in the order given."""

    receipts: tuple[Receipt, ...]


class RoomAgain(NamedTuple):
    """``peer``'s queue was full and now has room: a waiting publisher may go on."""

    peer: Peer


class Check(NamedTuple):
    """Is this message genuine and welcome? The answer comes back as :class:`Checked`.

    ``subject`` is the family's own form of the message with all that a check needs; the driver
    finds the check by the family. ``peer`` is who sent it to us, ``cost`` what the check takes, in
    microseconds, roughly: dear ones wait for cheap ones of others.
    """

    token: int
    subject: Any
    peer: Peer | None = None
    cost: float = 0.0


# ---- inputs that every family shares


class Checked(NamedTuple):
    """The answer to :class:`Check`; ``verdict`` is one of :class:`Verdict`."""

    token: int
    verdict: str
    detail: str = ""


class CheckedMany(NamedTuple):
    """Several answers at once: a driver that checks in groups saves a turn for each of them."""

    answers: Sequence[Checked]


class Verdict:
    """What a check can find. Plain strings, so that they go into traces as they are."""

    ACCEPT = "accept"
    REJECT = "reject"
    """Genuine, but unwelcome: not passed on, and whoever sent it pays."""
    IGNORE = "ignore"
    """Not passed on; nobody pays."""
    FORGED = "forged"
    """Not from its author. The id is not marked as seen: the next copy may be the true one."""
    OVERLOADED = "overloaded"
    """Nobody had time to look. Not marked as seen either."""


class PeerJoined(NamedTuple):
    """``peer`` is connected and speaks ``protocol``; ``outbound`` if we dialed it.

    ``address`` is where it is, as far as its connection shows; "" if unknown.
    """

    peer: Peer
    protocol: str
    outbound: bool = False
    address: str = ""


class PeerLeft(NamedTuple):
    """``peer`` is gone."""

    peer: Peer
    reason: str = "closed"


class Received(NamedTuple):
    """``packet`` came from ``peer``."""

    peer: Peer
    packet: bytes


class Writable(NamedTuple):
    """Whether more can be handed to ``peer`` now; a machine keeps packets back while it cannot."""

    peer: Peer
    ready: bool


class Subscribe(NamedTuple):
    """The application wants the messages of ``topic``."""

    topic: str


class Unsubscribe(NamedTuple):
    """The application no longer wants the messages of ``topic``.

    ``quietly``: without a word to anybody, because the node is about to shut down. Who is told that
    we leave expects us to stay away for a while; a node that is started again should not have to.
    """

    topic: str
    quietly: bool = False


class Publish(NamedTuple):
    """The application publishes ``data``; several topics only where the network allows it."""

    topics: tuple[str, ...]
    data: bytes


class PublishMany(NamedTuple):
    """The application publishes several messages at once: all of them, or none.

    Not every machine takes it. One that does gives each peer another order of them, so that all are
    under way as soon as one copy of each has left, however slow the line is.
    """

    topics: tuple[str, ...]
    several: Sequence[bytes]


class Hold(NamedTuple):
    """While ``paused``, grant no peer room for more messages: the application is behind."""

    paused: bool


class Shutdown(NamedTuple):
    """Leave: say goodbye on every connection and close it."""


NetworkInput: TypeAlias = Subscribe | Unsubscribe | Checked | CheckedMany
"""What every network tells its machine, whatever the family."""

MessageInput: TypeAlias = NetworkInput | Publish | Hold | Shutdown
"""What a network of messages tells its machine: one that has a queue for each peer, and that can
be held back."""


__all__ = [
    "Check", "Checked", "CheckedMany", "Connect", "Deliver", "Drop", "Hold",
    "Machine", "MessageInput", "NetworkInput", "Peer", "PeerJoined", "PeerLeft", "Publish",
    "PublishMany", "Published", "PublishedMany", "Received", "RoomAgain", "Send", "Shutdown",
    "Subscribe", "TraceEvent", "Unsubscribe", "Verdict", "Writable",
]  # fmt: skip

"""Inputs and effects of this family's two machines, the node and the SDK.

What they share with others is in :mod:`rumormill.core.machine` and :mod:`rumormill.core.transport`.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from rumormill.core.machine import Hold, NetworkInput, Shutdown
from rumormill.core.message import Message
from rumormill.core.receipt import Receipt
from rumormill.core.transport import Dial, TransportInput

# ---- inputs


class Unicast(NamedTuple):
    """The application wants one subscriber of ``topic`` to get ``data``, and its answer.

    With ``node``, one on that node. It ends with a :class:`UnicastEnded` of the same token.
    """

    token: int
    topic: str
    data: bytes
    timeout: float
    node: str | None = None


class Multicast(NamedTuple):
    """The application wants all subscribers of ``topic`` to get ``data``.

    ``everywhere``: it goes to every node, whether or not it has said that it listens (broadcast).
    Answered with :class:`~rumormill.core.machine.Published` by a node, and with
    :class:`MulticastEnded` by an SDK, which has to hear from its node first.
    """

    token: int
    topic: str
    data: bytes
    timeout: float
    everywhere: bool = False


class Forget(NamedTuple):
    """Nobody waits any more for what has this token."""

    token: int


class Respond(NamedTuple):
    """The application's answer to a :class:`Request`; one that comes too late is counted."""

    token: int
    data: bytes


class SetResponder(NamedTuple):
    """Whether the application answers unicasts of ``topic`` itself, by :class:`Respond`.

    Without it they are answered for it, with nothing, when they are delivered. Who answers a topic
    listens to it, too.
    """

    topic: str
    wanted: bool


class Watch(NamedTuple):
    """Somebody wants to know, or no longer wants to, which nodes have subscribers of ``topic``.

    As often as it was begun, it has to be ended. Changes come as trace events.
    """

    topic: str
    watching: bool


# ---- effects


class UnicastEnded(NamedTuple):
    """How a :class:`Unicast` went: ``result`` as in :class:`Result`, ``data`` the answer's."""

    token: int
    id: bytes
    result: int
    data: bytes
    node: str | None = None
    """Who passed it on, as far as we know."""


class MulticastEnded(NamedTuple):
    """How a :class:`Multicast` of an SDK went."""

    token: int
    receipt: Receipt
    result: int


class Request(NamedTuple):
    """A unicast message that the application answers itself; it was delivered, too."""

    token: int
    message: Message


BcosInput: TypeAlias = (
    NetworkInput
    | Hold
    | Shutdown
    | TransportInput
    | Dial
    | Unicast
    | Multicast
    | Forget
    | Respond
    | SetResponder
)
"""What both machines take."""

SdkInput: TypeAlias = BcosInput | Watch
"""What the machine of an SDK takes."""

"""What the application tells the machine about messages in parts, and what it is told."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from rumormill.core.machine import Peer
from rumormill.libp2p.effects import RouterInput
from rumormill.libp2p.gossipsub.partial.message import MakeMessage, PartialMessage


@dataclass(frozen=True, slots=True)
class OpenPartial(RouterInput):
    """Exchange parts on a topic, from now on and in place of what was said before.

    Without ``request`` we get whole messages all the same, and give parts to others that want them.
    ``make`` is asked for the message of a group that a peer began; without it, the application is
    told what came, and may publish a message of its own for that group.
    """

    topic: str
    request: bool = True
    make: MakeMessage | None = None


@dataclass(frozen=True, slots=True)
class ClosePartial(RouterInput):
    """Exchange no more parts on a topic, and forget those that there are."""

    topic: str


@dataclass(frozen=True, slots=True)
class PublishPartial(RouterInput):
    """Offer a message in parts, or say that an offered one has changed.

    The same object stays with the machine for some heartbeats: it is asked for parts when peers
    say what they lack, and gets the parts that they send.
    """

    topic: str
    message: PartialMessage


class PartialPublished(NamedTuple):
    """The answer to :class:`PublishPartial`: who was told or sent something now."""

    topic: str
    group_id: bytes
    peers: tuple[Peer, ...]


class PartialNews(NamedTuple):
    """A peer sent parts that are new to us, or anything of a group that we have no message for."""

    topic: str
    group_id: bytes
    peer: Peer
    message: PartialMessage | None
    """The message that has taken the parts; None if there is none."""
    data: bytes | None = None
    """What came, where there is no message for it."""
    metadata: bytes | None = None
    """Which parts the peer has, by its own word."""

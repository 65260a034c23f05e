"""What goes into the mDNS machine and what comes out of it."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from rumormill.core.machine import Peer, Shutdown
from rumormill.core.trace import TraceEvent
from rumormill.core.transport import Listening

Link: TypeAlias = str
"""One network that this machine is on, and one version of IP: ``eth0/4``."""


class LinkUp(NamedTuple):
    """There is a network on which we can be heard; ``host`` is our IP address there."""

    link: Link
    host: str


class LinkDown(NamedTuple):
    """It is gone."""

    link: Link


class Heard(NamedTuple):
    """Somebody at the IP address ``host`` said something to all on a link."""

    link: Link
    host: str
    packet: bytes


class Say(NamedTuple):
    """Say something to all on a link."""

    link: Link
    packet: bytes


class FoundNearby(NamedTuple):
    """There is a libp2p node on a network of ours, and this is where it says that it is."""

    peer: Peer
    addresses: tuple[str, ...]


MdnsInput: TypeAlias = LinkUp | LinkDown | Heard | Listening | Shutdown
"""What the machine takes. :class:`Listening` has the addresses as they are bound: one at all
addresses of this machine (``/ip4/0.0.0.0/tcp/4001``) is told on each link with the address there.
"""

MdnsEffect: TypeAlias = Say | FoundNearby | TraceEvent
"""What it wants done."""

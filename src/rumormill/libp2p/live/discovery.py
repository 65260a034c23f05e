"""The discovery of a live node, made of the ways that its settings ask for."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TypeVar

from rumormill.libp2p.discovery.census import PubsubCensus
from rumormill.libp2p.discovery.discovery import Discovery
from rumormill.libp2p.discovery.kademlia.kademlia import Kademlia
from rumormill.libp2p.discovery.mdns.way import Mdns
from rumormill.libp2p.discovery.remembered import BOOTSTRAP_FIRST, Remembered, RememberedPeer
from rumormill.libp2p.discovery.rendezvous.rendezvous import Rendezvous
from rumormill.libp2p.discovery.way import Way
from rumormill.libp2p.live.settings import Libp2pSettings
from rumormill.libp2p.pubsub.pubsub import Pubsub
from rumormill.libp2p.stack.keys import PrivateKey

WayType = TypeVar("WayType", bound=Way)


def make_discovery(
    settings: Libp2pSettings,
    identity: PrivateKey,
    pubsub: Pubsub,
    remembered: Sequence[RememberedPeer] = (),
) -> Discovery | None:
    """None if no way was asked for: then nothing is served, and nobody is looked for.

    ``remembered`` are the peers of the file ``remember_peers``.
    """
    ways = make_ways(settings, identity)
    if settings.live.remember_peers is not None:
        delay = BOOTSTRAP_FIRST if settings.live.bootstrap else 0.0
        ways.append(Remembered(remembered, useful=pubsub.protocols, delay=delay))
    if not ways:
        return None
    return Discovery(
        node=identity.peer,
        ways=ways,
        census=PubsubCensus(pubsub, settings.discovery.discovery_peers),
        random=random.Random(random.SystemRandom().getrandbits(128)),
        parameters=settings.discovery,
    )


def make_ways(settings: Libp2pSettings, identity: PrivateKey) -> list[Way]:
    """A way for each name in ``discovery``, and for each service that is on."""
    ways: list[Way] = []
    if Kademlia.name in settings.discovery.discovery:
        ways.append(Kademlia(settings.kademlia))
    if Rendezvous.name in settings.discovery.discovery or settings.rendezvous.rendezvous_server:
        ways.append(Rendezvous(identity, settings.rendezvous))
    if Mdns.name in settings.discovery.discovery:
        ways.append(Mdns(settings.mdns))
    return ways


def way_of(discovery: Discovery | None, kind: type[WayType]) -> WayType | None:
    """The way of a kind, if the node has it."""
    ways = () if discovery is None else discovery.ways
    return next((way for way in ways if isinstance(way, kind)), None)

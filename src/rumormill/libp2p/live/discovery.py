"""The discovery of a live node, made of the ways that its settings ask for."""

from __future__ import annotations

import random

from rumormill.libp2p.discovery.census import PubsubCensus
from rumormill.libp2p.discovery.discovery import Discovery
from rumormill.libp2p.discovery.way import Way
from rumormill.libp2p.live.settings import Libp2pSettings
from rumormill.libp2p.pubsub.pubsub import Pubsub
from rumormill.libp2p.stack.keys import PrivateKey


def make_discovery(
    settings: Libp2pSettings, identity: PrivateKey, pubsub: Pubsub
) -> Discovery | None:
    """None if no way was asked for: then nothing is served, and nobody is looked for."""
    ways = make_ways(settings, identity)
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
    return []

"""Parts of a live node that its settings choose: the router, and where authors are kept."""

from __future__ import annotations

from pathlib import Path

from rumormill.libp2p.gossipsub.router import GossipsubRouter
from rumormill.libp2p.live.author_file import AuthorFile
from rumormill.libp2p.live.settings import Libp2pSettings
from rumormill.libp2p.pubsub.floodsub import FloodsubRouter
from rumormill.libp2p.pubsub.inbound.replays import AuthorStore
from rumormill.libp2p.pubsub.randomsub import RandomsubRouter
from rumormill.libp2p.pubsub.router import Router


def make_author_store(settings: Libp2pSettings) -> AuthorStore | None:
    """Where it is kept how far each author has come; None if nowhere."""
    store = settings.live.replay_store
    if isinstance(store, Path):
        return AuthorFile(store, settings.pubsub.max_authors)
    return store


def make_router(name: str, settings: Libp2pSettings) -> Router:
    """The router of a network."""
    if name == "floodsub":
        return FloodsubRouter()
    if name == "randomsub":
        return RandomsubRouter(settings.randomsub)
    return GossipsubRouter(settings.router, settings.score)

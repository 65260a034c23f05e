"""Looks after the files of topics that a network has open: new keys in, what was learned out.

What 'rumormill topic rotate' and 'rumormill topic trust' write is noticed within seconds. What
nodes have learned of trust is written, so that after a restart a revocation is not forgotten, and
a grant from before it, played back, counts for nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rumormill.core.errors import ConfigError
from rumormill.core.trace import DROPPED
from rumormill.libp2p.descriptor.commands import KnowEdges, KnowTopic
from rumormill.libp2p.descriptor.descriptor import AuthMode
from rumormill.libp2p.descriptor.edges import TrustEdge
from rumormill.libp2p.descriptor.private_topics import PrivateTopics
from rumormill.libp2p.live.topic_file import KEYS, TRUST, TopicFile, load_edges, load_keys
from rumormill.libp2p.live.topic_maker import edges_and, locked
from rumormill.live.files.private import replace_whole

INTERVAL = 2.0
"""Seconds between two looks."""


class TopicWatch:
    """Looks at the files of topics as long as a network is open."""

    def __init__(
        self,
        feed: Callable[[Any], None],
        known: PrivateTopics,
        emit: Callable[..., None],
    ) -> None:
        self._feed = feed
        self._known = known
        self._emit = emit
        self._topics: dict[str, TopicFile] = {}
        self._seen: dict[str, tuple[object, object, int]] = {}
        self._task: asyncio.Task[None] | None = None

    def add(self, topic: TopicFile) -> None:
        """Look after a topic's files from now on; raises what is wrong with them now."""
        if topic.topic_id in self._topics:
            return
        state = self._state(topic)
        self._take(topic, *_contents(topic))
        self._topics[topic.topic_id], self._seen[topic.topic_id] = topic, state
        if self._task is None:
            self._task = asyncio.ensure_future(self._watch())

    async def close(self) -> None:
        """Write for the last time; raises what is wrong with it."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
        for name, topic in self._topics.items():
            if topic.descriptor.auth.mode is AuthMode.WOT:
                await asyncio.to_thread(self._save, topic, self._edges(name))

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(INTERVAL)
            await self._look()

    async def _look(self) -> None:
        for name, topic in list(self._topics.items()):
            state = self._state(topic)  # before they are read: what changes meanwhile is seen later
            if self._seen[name] == state:
                continue
            try:
                self._take(topic, *await asyncio.to_thread(_contents, topic))
                if topic.descriptor.auth.mode is AuthMode.WOT:
                    await asyncio.to_thread(self._save, topic, self._edges(name))
                self._seen[name] = state
            except (ConfigError, OSError) as error:
                self._emit(
                    DROPPED, name, what="topic_file", reason="not_read_or_saved",
                    detail=str(error), count=1,
                )  # fmt: skip

    def _take(self, topic: TopicFile, keys: Sequence[bytes], edges: Sequence[TrustEdge]) -> None:
        """Tell the machine what the files hold."""
        self._feed(KnowTopic(topic.descriptor, keys))
        if edges:
            self._feed(KnowEdges(topic.topic_id, edges))

    def _edges(self, name: str) -> tuple[TrustEdge, ...]:
        found = self._known.topic(name)
        return () if found is None else found.trust.counting()

    def _save(self, topic: TopicFile, edges: tuple[TrustEdge, ...]) -> None:
        with locked(topic):
            raw = edges_and(topic, edges)
            if raw is not None:
                replace_whole(topic.beside(TRUST), raw)

    def _state(self, topic: TopicFile) -> tuple[object, object, int]:
        """Differs if a file or what we know has changed."""
        found = self._known.topic(topic.topic_id)
        changes = 0 if found is None else found.trust.changes
        return _stamp(topic.beside(KEYS)), _stamp(topic.beside(TRUST)), changes


def _contents(topic: TopicFile) -> tuple[Sequence[bytes], Sequence[TrustEdge]]:
    """What the files hold; each edge is verified, so thousands take a while."""
    descriptor = topic.descriptor
    keys = load_keys(topic.beside(KEYS), descriptor)
    trusting = descriptor.auth.mode is AuthMode.WOT
    return keys, load_edges(topic.beside(TRUST), descriptor) if trusting else ()


def _stamp(path: Path) -> object:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino

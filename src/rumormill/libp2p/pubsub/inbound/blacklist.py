"""Peers that a node has nothing to do with, by its user's choice."""

from __future__ import annotations

from collections.abc import Iterable

from rumormill.core.errors import LocalProtocolError
from rumormill.core.machine import Peer
from rumormill.libp2p.stack.peer_id import from_text, to_text


class BlacklistedPeers:
    """The list: as names, for connections, and as bytes, for the authors of messages."""

    __slots__ = ("_peers", "authors")

    def __init__(self, peers: Iterable[Peer] = ()) -> None:
        self._peers: set[Peer] = set()
        self.authors: set[bytes] = set()
        """The same as messages name them: looked up for every message, if there are any."""
        for peer in peers:
            self.add(peer)

    def __contains__(self, peer: Peer) -> bool:
        return peer in self._peers

    def __len__(self) -> int:
        return len(self._peers)

    def add(self, peer: Peer) -> None:
        """One more, however its id is spelled."""
        name, author = _both(peer)
        self._peers.add(name)
        self.authors.add(author)

    def remove(self, peer: Peer) -> None:
        """One less."""
        name, author = _both(peer)
        self._peers.discard(name)
        self.authors.discard(author)


def _both(peer: Peer) -> tuple[Peer, bytes]:
    """The peer as connections name it, and as messages do; in simulations names are no ids."""
    try:
        raw = from_text(peer)
    except LocalProtocolError:
        return peer, peer.encode()
    return to_text(raw), raw

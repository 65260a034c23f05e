"""The test extension: whoever has it says so once. Implementations try their extensions with it."""

from __future__ import annotations

from rumormill.core.machine import Peer
from rumormill.libp2p.gossipsub.extensions.extensions import Extension
from rumormill.libp2p.pubsub.router import PubsubServices
from rumormill.libp2p.wire.extensions import TEST_EXTENSION

EXTENSION_TESTED = "extension_tested"
"""A trace event: a peer sent us the message of the test extension."""


class ProbeExtension(Extension):
    """Sends one empty message to everybody who has the extension too."""

    name = "test"
    number = field = TEST_EXTENSION

    def __init__(self, pubsub: PubsubServices) -> None:
        super().__init__()
        self._pubsub = pubsub

    def agreed(self, peer: Peer, now: float) -> None:
        """Say it."""
        self._pubsub.outbox.extension(peer, self.field, b"")

    def handle(self, peer: Peer, inside: bytes, now: float) -> None:
        """A peer said it."""
        self._pubsub.emit(EXTENSION_TESTED, peer=peer)

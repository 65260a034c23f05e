"""How each implementation is spoken to: router, signatures, message ids.

Two nodes with different ids flood each other well and never understand each other's gossip, so
each pair of tests says by which ids it goes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from tests.helpers.interop.our_node import TOPIC

Signing = Literal["StrictSign", "StrictNoSign"]

OWN_IDS = {"rust": "rust_text", "js": "js_pubkey", "py": "origin_bytes", "go": "origin_bytes"}
"""The ids that each library has by default, for signed messages."""

RESTLESS: dict[str, dict[str, Any]] = {
    "rust": {
        "heartbeat_initial_delay": 0.2,
        "heartbeat_interval": 0.3,
        "history_length": 100,
        "history_gossip": 50,
        "prune_backoff": 600,
    },
    "js": {
        "heartbeatInterval": 300,
        "mcacheLength": 100,
        "mcacheGossip": 50,
        "pruneBackoff": 600_000,
    },
    "py": {
        "heartbeat_interval": 0.3,
        "gossip_history": 100,
        "gossip_window": 50,
        "degree": 1,
        "degree_low": 1,
        "degree_high": 1,
    },
    "go": {
        "HeartbeatInterval": 0.3,
        "HistoryLength": 100,
        "HistoryGossip": 50,
        "PruneBackoff": 600,
    },
}
"""Options of each router: a quick heartbeat with a long memory, so that gossip comes soon and
nothing is forgotten where the machine is slow. Whoever pruned it stays out of its mesh; py would
not gossip to such a peer, so it has room for one peer only."""

OUR_RESTLESS: dict[str, Any] = {
    "heartbeat_interval": 0.3,
    "mcache_len": 100,
    "mcache_gossip": 50,
    "prune_backoff": 600,
}

MIB = 1024 * 1024
LARGEST = {"rust": MIB, "js": MIB, "py": MIB - 1024, "go": MIB}
"""Bytes of the largest message that tests send: py takes no packet above 1 MiB, all included."""

LARGE: dict[str, dict[str, Any]] = {
    "rust": {"max_transmit_size": 4 * MIB},
    "js": {},
    "py": {},
    "go": {"MaxMessageSize": 4 * MIB},
}
"""Options with which each router takes messages of that size."""


class Dialect(NamedTuple):
    """One way to speak with one implementation."""

    peer: str
    router: str
    """Ours: gossipsub or floodsub."""
    signing: Signing
    message_id: str

    @property
    def ours(self) -> dict[str, Any]:
        """Arguments of ``open_node``."""
        return {"router": self.router, "signing": self.signing, "message_id": self.message_id}

    def theirs(self, options: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Arguments of the peer's ``start``."""
        options, router = dict(options or {}), self.router
        arguments: dict[str, Any] = {"topics": [TOPIC], "policy": self.signing}
        if self.peer == "rust" and router == "floodsub":
            # Its floodsub sends and takes one packet a stream, and signs nothing: it speaks with
            # its like only. Its gossipsub has floodsub peers as guests.
            router, options = "gossipsub", {**options, "support_floodsub": True}
        if router == "gossipsub" and self.message_id != OWN_IDS[self.peer]:
            arguments["message_id"] = self.message_id
        return {**arguments, "router": router, "options": options}


def dialect(
    peer: str,
    router: str = "gossipsub",
    signing: Signing = "StrictSign",
    message_id: str | None = None,
) -> Dialect:
    """By default the library's own ids, and hashes where messages have no author."""
    if message_id is None:
        message_id = OWN_IDS[peer] if signing == "StrictSign" else "sha256"
    return Dialect(peer, router, signing, message_id)

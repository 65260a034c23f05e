"""A libp2p node without I/O: its connections, its streams, identify and ping, pubsub on top."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rumormill.libp2p.host.effects import HostEffect, HostInput, PubsubCommand
    from rumormill.libp2p.host.host import Host
    from rumormill.libp2p.host.keeper import STREAM_REFUSED
    from rumormill.libp2p.host.parameters import HostParameters
    from rumormill.libp2p.host.pubsub_feed import PubsubMachine
    from rumormill.libp2p.host.pubsub_streams import PUBSUB_UNAVAILABLE, STREAM_LOST

__all__ = [
    "PUBSUB_UNAVAILABLE",
    "STREAM_LOST",
    "STREAM_REFUSED",
    "Host",
    "HostEffect",
    "HostInput",
    "HostParameters",
    "PubsubCommand",
    "PubsubMachine",
]

_HOMES = {
    "Host": "host",
    "HostEffect": "effects",
    "HostInput": "effects",
    "HostParameters": "parameters",
    "PUBSUB_UNAVAILABLE": "pubsub_streams",
    "PubsubCommand": "effects",
    "PubsubMachine": "pubsub_feed",
    "STREAM_LOST": "pubsub_streams",
    "STREAM_REFUSED": "keeper",
}


def __getattr__(name: str) -> Any:
    # When it is asked for: whoever wants parameters or an address need not load cryptography.
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)

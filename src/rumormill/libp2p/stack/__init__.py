"""The libp2p stack as machines: multistream, Noise, yamux, identify, ping, keys, addresses."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rumormill.libp2p.stack.address_book import AddressBook
    from rumormill.libp2p.stack.connection import Connection
    from rumormill.libp2p.stack.events import ConnectionEvent
    from rumormill.libp2p.stack.identify import IdentifyInfo
    from rumormill.libp2p.stack.keys import PrivateKey, PublicKey
    from rumormill.libp2p.stack.limits import ConnectionLimits
    from rumormill.libp2p.stack.multiaddr import Multiaddr
    from rumormill.libp2p.stack.multistream import Negotiation
    from rumormill.libp2p.stack.peer_id import PeerNames

__all__ = [
    "AddressBook",
    "Connection",
    "ConnectionEvent",
    "ConnectionLimits",
    "IdentifyInfo",
    "Multiaddr",
    "Negotiation",
    "PeerNames",
    "PrivateKey",
    "PublicKey",
]

_HOMES = {
    "AddressBook": "address_book",
    "Connection": "connection",
    "ConnectionEvent": "events",
    "ConnectionLimits": "limits",
    "IdentifyInfo": "identify",
    "Multiaddr": "multiaddr",
    "Negotiation": "multistream",
    "PeerNames": "peer_id",
    "PrivateKey": "keys",
    "PublicKey": "keys",
}


def __getattr__(name: str) -> Any:
    # When it is asked for: whoever wants parameters or an address need not load cryptography.
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)

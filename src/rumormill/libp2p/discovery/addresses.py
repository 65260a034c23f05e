"""Which addresses are worth dialing on somebody's word, and which are worth telling to whom."""

from __future__ import annotations

from collections.abc import Iterable

from rumormill.core.errors import LocalProtocolError, RemoteProtocolError
from rumormill.libp2p.stack.multiaddr import Multiaddr
from rumormill.libp2p.stack.reach import Reach, reach_of

MOST_ADDRESSES = 8
"""Addresses of one peer that are kept, dialed or told."""


def usable(
    peer: str, addresses: Iterable[bytes | str | Multiaddr], *, near: Reach, only_public: bool
) -> tuple[str, ...]:
    """Those of a peer's addresses that make sense between us and somebody who is so near.

    Loopback is the machine of whoever says it: it is for those who are on it. A network of
    somebody's own is not for those who come from outside. Each is without the peer's name; what is
    no address of ours, or of somebody else, is left out.

    >>> places = ["/ip4/127.0.0.1/tcp/1", "/ip4/10.0.0.1/tcp/1", "/ip4/8.8.8.8/tcp/1"]
    >>> usable("", places, near=Reach.PRIVATE, only_public=False)
    ('/ip4/10.0.0.1/tcp/1', '/ip4/8.8.8.8/tcp/1')
    """
    found: dict[str, None] = {}
    for each in addresses:
        address = _read(each)
        if address is None or address.peer not in (None, peer):
            continue
        if suits(reach_of(address), near, only_public):
            found[str(address.without_peer())] = None
            if len(found) == MOST_ADDRESSES:
                break
    return tuple(found)


def suits(reach: Reach, near: Reach, only_public: bool) -> bool:
    """Whether an address that reaches so far is of use to somebody who is so near."""
    if reach is Reach.PUBLIC:
        return True
    if only_public or reach is Reach.NOWHERE:
        return False
    return near is Reach.LOOPBACK or (reach is Reach.PRIVATE and near is Reach.PRIVATE)


def _read(address: bytes | str | Multiaddr) -> Multiaddr | None:
    try:
        if isinstance(address, bytes):
            return Multiaddr.from_bytes(address)
        return Multiaddr.parse(address) if isinstance(address, str) else address
    except (LocalProtocolError, RemoteProtocolError):
        return None  # quic, a relay: nothing wrong with it

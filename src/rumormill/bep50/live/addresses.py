"""The addresses of this family for its transport: ``127.0.0.1:6881`` and ``[::1]:6881``."""

from __future__ import annotations

import re

from rumormill.bep50.wire.addresses import parse_address, peer_text
from rumormill.core.addresses import Endpoint

_IPV4 = re.compile(r"[0-9.]+", re.ASCII)


class PeerAddresses:
    """Reads and writes addresses; a host may be a name where a user writes it.

    >>> PeerAddresses().parse("[0::1]:6881"), PeerAddresses().parse("localhost:6881")
    (Endpoint(host='::1', port=6881, version=6), Endpoint(host='localhost', port=6881, version=None))
    """  # noqa: E501

    def parse(self, text: str) -> Endpoint:
        """Where an address leads."""
        host, port = parse_address(text)
        if ":" in host:
            return Endpoint(host, port, 6)
        return Endpoint(host, port, 4 if _IPV4.fullmatch(host) else None)

    def text(self, host: str, port: int) -> str:
        """The peer at an IP address and a port."""
        return peer_text(host, port)


ADDRESSES = PeerAddresses()

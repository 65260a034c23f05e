"""The addresses of this family for its transport: ``/ip4/127.0.0.1/tcp/4001``."""

from __future__ import annotations

from rumormill.core.addresses import Endpoint
from rumormill.libp2p.stack.multiaddr import Multiaddr

VERSIONS = {"ip4": 4, "dns4": 4, "ip6": 6, "dns6": 6}


class Multiaddrs:
    """Reads and writes multiaddrs.

    >>> Multiaddrs().parse("/dns4/example.org/tcp/4001")
    Endpoint(host='example.org', port=4001, version=4)
    >>> Multiaddrs().text("::1", 4001)
    '/ip6/::1/tcp/4001'
    """

    def parse(self, text: str) -> Endpoint:
        """Where an address leads, whoever is to answer there."""
        address = Multiaddr.parse(text)
        return Endpoint(address.host, address.port, VERSIONS.get(address.family))

    def text(self, host: str, port: int) -> str:
        """The address of an IP address and a port."""
        return f"/{'ip6' if ':' in host else 'ip4'}/{host}/tcp/{port}"

"""How the main DHT is joined: the public one, or a private one by its nodes."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Sequence
from typing import Any, NamedTuple

from rumormill.bep50.live.libtorrent_dht import is_private, session_settings
from rumormill.bep50.live.mainline_parameters import MainlineParameters
from rumormill.bep50.wire.addresses import parse_address, parse_peer, peer_text
from rumormill.core.errors import ConfigError


class Plan(NamedTuple):
    """What libtorrent is told."""

    settings: dict[str, Any]
    nodes: list[tuple[str, int]]
    """IP address and port of the nodes to begin with; none for the public DHT."""


async def plan_of(parameters: MainlineParameters, own: Sequence[str]) -> Plan:
    """The plan for a node whose sockets have the addresses ``own``.

    Raises :class:`ConfigError` for a host that nobody knows, and rather than to ask public nodes
    from an address that is this machine's alone.
    """
    listen = _listen_interfaces(parameters, own)
    hosts = [parse_address(each)[0] for each in listen]
    if not parameters.main_dht_nodes and all(_is_loopback(host) for host in hosts):
        raise ConfigError("main_dht_nodes", "must be given where we listen on this machine only")
    nodes = await _resolved(parameters.main_dht_nodes)
    private = bool(nodes) and is_private(host for host, _ in nodes)
    return Plan(session_settings(",".join(listen), public=not nodes, private=private), nodes)


def _listen_interfaces(parameters: MainlineParameters, own: Sequence[str]) -> list[str]:
    if parameters.main_dht_listen is not None:
        return [parameters.main_dht_listen]
    hosts = dict.fromkeys(parse_peer(each)[0] for each in own)
    outward = [host for host in hosts if not _is_loopback(host)]
    return [peer_text(host, 0) for host in outward or hosts]


async def _resolved(addresses: Sequence[str]) -> list[tuple[str, int]]:
    loop = asyncio.get_running_loop()
    nodes: dict[tuple[str, int], None] = {}
    for address in addresses:
        host, port = parse_address(address)
        try:
            found = await loop.getaddrinfo(host, port, type=socket.SOCK_DGRAM)
        except OSError as error:
            problem = f"cannot find the host of {address}: {error.strerror}"
            raise ConfigError("main_dht_nodes", problem) from None
        nodes |= {(str(each[4][0]), port): None for each in found}
    return list(nodes)


def _is_loopback(host: str) -> bool:
    return host == "localhost" or host == "::1" or host.startswith("127.")

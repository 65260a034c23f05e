"""How the main DHT is joined: the public one, or a private one by its nodes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from rumormill.bep50.live.addresses import ADDRESSES
from rumormill.bep50.live.libtorrent_dht import is_private, session_settings
from rumormill.bep50.main_dht.parameters import SessionParameters
from rumormill.bep50.wire.addresses import (
    is_ipv6,
    known_peers,
    parse_address,
    parse_peer,
    peer_text,
)
from rumormill.core.errors import ConfigError, ConnectError
from rumormill.live.transports.udp import resolve_all


class Plan(NamedTuple):
    """What libtorrent is told."""

    settings: dict[str, Any]
    nodes: tuple[str, ...]
    """Nodes to begin with; none for the public DHT."""


async def plan_of(parameters: SessionParameters, own: Sequence[str]) -> Plan:
    """The plan for a node whose sockets have the addresses ``own``.

    Raises :class:`ConfigError` for a host that nobody knows, and rather than to ask public nodes
    from an address that is this machine's alone.
    """
    listen = _listen_interfaces(parameters, own)
    hosts = [parse_address(each)[0] for each in listen]
    if not parameters.main_dht_nodes and all(_is_loopback(host) for host in hosts):
        raise ConfigError("main_dht_nodes", "must be given where we listen on this machine only")
    nodes = await _resolved(parameters.main_dht_nodes)
    private = bool(nodes) and is_private(parse_peer(node)[0] for node in nodes)
    return Plan(session_settings(",".join(listen), public=not nodes, private=private), nodes)


def _listen_interfaces(parameters: SessionParameters, own: Sequence[str]) -> list[str]:
    if parameters.main_dht_listen is not None:
        return [parameters.main_dht_listen]
    hosts = dict.fromkeys(parse_peer(each)[0] for each in own)
    outward = [host for host in hosts if not _is_loopback(host)]
    return [peer_text(host, 0) for host in outward or hosts]


async def _resolved(addresses: Sequence[str]) -> tuple[str, ...]:
    nodes: dict[str, None] = {}
    for address in addresses:
        try:
            nodes |= dict.fromkeys(await resolve_all(address, ADDRESSES))
        except ConnectError as error:
            raise ConfigError("main_dht_nodes", str(error)) from None
    return tuple(nodes)


def _is_loopback(host: str) -> bool:
    return host == "localhost" or host == "::1" or host.startswith("127.")


def main_addresses(own: Iterable[str], name: str, nodes: Iterable[str]) -> tuple[str, ...]:
    """Our addresses for the main DHT: one of each IP version, of those only that its nodes have.

    >>> main_addresses(["127.0.0.1:1", "10.0.0.1:1", "[::1]:2"], "127.0.0.1:1", [])
    ('127.0.0.1:1', '[::1]:2')
    >>> main_addresses(["127.0.0.1:1", "[::1]:2"], "[::1]:2", ["127.0.0.9:6881"])
    ('127.0.0.1:1',)
    """
    found = {is_ipv6(each): each for each in (*own, name)}
    versions = {is_ipv6(each) for each in known_peers(nodes)}
    return tuple(each for each in found.values() if not versions or is_ipv6(each) in versions)

"""What the commands need to know of each family: how its addresses, topics and keys look.

Nothing of a family is imported before one of its networks is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from rumormill.core.topic import check_topic


class Commands(NamedTuple):
    """One family as the command line sees it."""

    listen: str
    """Where a node listens that was not told: any free port, reachable from this machine only."""
    check_address: Callable[[str], object]
    """Raises :class:`LocalProtocolError` for what is no address."""
    topic: Callable[[str], str]
    """The topic in its one true form; raises :class:`LocalProtocolError` for what is no topic."""
    create_key: Callable[[Path], Any]
    """Writes a new key to a file."""
    describe_key: Callable[[Any], dict[str, Any]]
    """What everyone may know of a key, its id first."""
    key_line: Callable[[Any], str] | None = None
    """What ``keygen`` prints, if not all that everyone may know: one word, for a shell."""
    swaps: bool = False
    """Whether a publication can name the value that it replaces (``--cas``)."""
    visitor: Mapping[str, Any] = MappingProxyType({})
    """Settings of a publisher that nobody can reach, and that is gone soon."""
    to_publish: str = ""
    """What a publisher has to give, beside the peers to reach."""


def commands_of(network: str) -> Commands:
    """The commands' side of a network's family."""
    return BEP50 if network == "bep50" else LIBP2P


# ---- libp2p


def _check_multiaddr(address: str) -> None:
    from rumormill.libp2p.stack.multiaddr import Multiaddr

    Multiaddr.parse(address)


def _create_identity(path: Path) -> Any:
    from rumormill.libp2p.live.key_file import create_key

    return create_key(path)


def _describe_identity(key: Any) -> dict[str, Any]:
    public = key.public_key
    return {"id": key.peer, "type": public.type.name.lower(), "public_key": public.data.hex()}


LIBP2P = Commands(
    listen="/ip4/127.0.0.1/tcp/0",
    check_address=_check_multiaddr,
    topic=check_topic,
    create_key=_create_identity,
    describe_key=_describe_identity,
)


# ---- bep50


def _check_host_and_port(address: str) -> None:
    from rumormill.bep50.wire.addresses import parse_address

    parse_address(address)


def _topic_of_a_key(topic: str) -> str:
    from rumormill.bep50.wire.topics import parse_topic

    return parse_topic(check_topic(topic)).text


def _create_item_key(path: Path) -> Any:
    from rumormill.bep50.live.key_file import create_item_key

    return create_item_key(path)


def _describe_item_key(key: Any) -> dict[str, Any]:
    public = key.public_key.hex()
    return {"id": public, "type": "ed25519", "public_key": public}


BEP50 = Commands(
    listen="127.0.0.1:0",
    check_address=_check_host_and_port,
    topic=_topic_of_a_key,
    create_key=_create_item_key,
    describe_key=_describe_item_key,
    key_line=lambda key: str(key.public_key.hex()),
    swaps=True,
    visitor=MappingProxyType({"read_only": True}),
    to_publish=" --key-file KEYFILE",
)

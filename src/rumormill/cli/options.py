"""What several commands take: networks, addresses, settings, and how each is checked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from rumormill.cli.families import BEP50, LIBP2P, commands_of
from rumormill.cli.sentences import UsageError
from rumormill.core.errors import LocalProtocolError

LOOPBACK = LIBP2P.listen
"""Where a libp2p node listens that was not told."""

NOT_SETTINGS = {
    "network": "--network",
    "listen": "--listen",
    "bootstrap": "--peer",
    "peer": "--peer",
    "topics": "--topic",
    "spool": "--spool",
}


class NetworkName(StrEnum):
    """The networks that there are."""

    gossipsub = "gossipsub"
    floodsub = "floodsub"
    bep50 = "bep50"


@dataclass(frozen=True)
class NetworkPlan:
    """One network to open: what the options, or one table of a configuration file, say."""

    name: str
    listen: tuple[str, ...] = ()
    peers: tuple[str, ...] = ()
    """Must be there at the start, one of them at least."""
    bootstrap: tuple[str, ...] = ()
    """Are dialed again and again until they are there."""
    key_file: Path | None = None
    topics: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)

    def checked(self, listen: str = "--listen", peers: str = "--peer") -> NetworkPlan:
        """The plan with its topics in their one true form, if they and its addresses can be such;
        errors name the keys given.
        """
        from rumormill.live.families import family_of

        family_of(self.name).load()  # what is missing is told now
        check_addresses(listen, self.listen, self.name)
        check_addresses(peers, (*self.peers, *self.bootstrap), self.name)
        topics = tuple(usable_topic(topic, self.name) for topic in self.topics)
        return self if topics == self.topics else replace(self, topics=topics)


def plan_network(
    network: NetworkName,
    *,
    topics: Iterable[str],
    listen: Iterable[str] | None,
    peers: Iterable[str] | None,
    key_file: Path | None,
    settings: Mapping[str, Any],
) -> NetworkPlan:
    """The plan that a command's options make."""
    rest = dict(settings)
    if "key_file" in rest:
        if key_file is not None:
            raise UsageError("give --key-file or --set key_file=..., not both")
        key_file = Path(rest.pop("key_file"))
    return NetworkPlan(
        name=network.value,
        listen=tuple(listen or ()),
        peers=tuple(peers or ()),
        key_file=key_file,
        topics=tuple(topics),
        settings=rest,
    ).checked()


def usable_topic(topic: str, network: str = "gossipsub") -> str:
    """``topic`` in its one true form, or :class:`UsageError` if nothing can be called that."""
    try:
        return commands_of(network).topic(topic)
    except LocalProtocolError as error:
        raise UsageError(str(error)) from error


def check_addresses(option: str, addresses: Iterable[str], network: str = "gossipsub") -> None:
    """Raise :class:`UsageError` for the first address that is none."""
    check = commands_of(network).check_address
    for address in addresses:
        try:
            check(address)
        except LocalProtocolError as error:
            raise UsageError(f"{option} {error}") from error


def parse_settings(pairs: Iterable[str]) -> dict[str, Any]:
    """``key=value`` pairs as a mapping; the network turns each text into what its key wants.

    >>> parse_settings(["D=8", "message_id=sha256"])
    {'D': '8', 'message_id': 'sha256'}
    """
    settings: dict[str, Any] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        key = key.strip()
        if not equals or not key:
            raise UsageError(f"--set takes key=value, not {pair!r}")
        if key in NOT_SETTINGS:
            raise UsageError(f"--set cannot set {key}: {NOT_SETTINGS[key]} does")
        if key in settings:
            raise UsageError(f"--set gives {key} twice")
        settings[key] = value.strip()
    return settings


Topic = Annotated[
    str,
    typer.Argument(
        metavar="TOPIC", help="Name of the topic; in bep50, PUBLIC_KEY or PUBLIC_KEY:SALT."
    ),
]
Network = Annotated[NetworkName, typer.Option("--network", help="Which network to speak.")]
Listen = Annotated[
    list[str] | None,
    typer.Option(
        "--listen",
        metavar="ADDR",
        help=f"Listen here, as in /ip4/0.0.0.0/tcp/4001 (bep50: 0.0.0.0:6881); can be given again. "
        f"Without it: {LOOPBACK} (bep50: {BEP50.listen}), any free port on this machine.",
    ),
]
Peer = Annotated[
    list[str] | None,
    typer.Option(
        "--peer",
        metavar="ADDR",
        help="Connect to this node, as in /ip4/192.0.2.7/tcp/4001/p2p/12D3Koo... "
        "(bep50: 192.0.2.7:6881); can be given again.",
    ),
]
KeyFile = Annotated[
    Path | None,
    typer.Option(
        "--key-file",
        metavar="FILE",
        help="The node's identity, as 'rumormill keygen' makes it. Without it: a new one. "
        "In bep50: the key of the topic, for who publishes.",
    ),
]
Setting = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Any setting of the network, as in D=8; can be given again.",
    ),
]
Trace = Annotated[
    Path | None,
    typer.Option("--trace", metavar="FILE", help="Write every trace event, one JSON line each."),
]
Spool = Annotated[
    Path | None,
    typer.Option(
        "--spool",
        metavar="DIR",
        help="Keep delivered messages and trace events in this folder, for Spark and for later.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object a line.")]

"""The keys of gossipsub, floodsub and randomsub, and the part that each of them belongs to.

A key goes to the router, pubsub, the host, its connections, or this room.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, get_type_hints

from pydantic import TypeAdapter, ValidationError

from rumormill.core.errors import ConfigError
from rumormill.core.parameters import Parameters
from rumormill.libp2p.discovery.kademlia.parameters import KademliaParameters
from rumormill.libp2p.discovery.mdns.parameters import MdnsParameters
from rumormill.libp2p.discovery.parameters import DiscoveryParameters
from rumormill.libp2p.discovery.rendezvous.parameters import RendezvousParameters
from rumormill.libp2p.gossipsub.defence.gater_parameters import GaterParameters
from rumormill.libp2p.gossipsub.parameters import GossipsubParameters
from rumormill.libp2p.gossipsub.score.parameters import ScoreParameters
from rumormill.libp2p.gossipsub.score.setting import ScoreSetting
from rumormill.libp2p.host.parameters import HostParameters
from rumormill.libp2p.pubsub.inbound.replays import AuthorStore
from rumormill.libp2p.pubsub.parameters import PubsubParameters
from rumormill.libp2p.pubsub.randomsub import RandomsubParameters
from rumormill.libp2p.pubsub.router import Router
from rumormill.libp2p.stack.limits import ConnectionLimits
from rumormill.libp2p.stack.multiaddr import Multiaddr
from rumormill.live.configuration.parameters import LiveParameters
from rumormill.live.configuration.setting_keys import Key, keys_of, part_of
from rumormill.live.family import SettingsPage


class Libp2pParameters(LiveParameters):
    """What this room needs to know of a libp2p network."""

    router: Router | None = None
    """A router of the user's own, in place of the network's."""
    replay_store: Path | AuthorStore | None = None
    """Where ``refuse_replays`` keeps over a restart how far each author has come: a file, which is
    made if it does not exist, or an ``AuthorStore``."""
    remember_peers: Path | None = None
    """A file in which the node keeps whom it knew, so that it finds its network again after a
    restart; it is made if it does not exist. They are tried after ``bootstrap``."""

    @classmethod
    def check_address(cls, address: str) -> None:
        """A multiaddr with TCP in it."""
        Multiaddr.parse(address)


ROUTERS: Mapping[str, tuple[type[Parameters], ...]] = {
    "gossipsub": (GossipsubParameters, ScoreSetting),
    "randomsub": (RandomsubParameters,),
}
"""Of the networks whose router has parameters: which."""


DISCOVERY: tuple[type[Parameters], ...] = (
    DiscoveryParameters, KademliaParameters, RendezvousParameters, MdnsParameters,
)  # fmt: skip
"""Where the keys of discovery are: those of all ways, and those of each."""


class Libp2pSettings(NamedTuple):
    """The settings of one libp2p network, each with the part that it belongs to."""

    live: Libp2pParameters
    host: HostParameters
    pubsub: PubsubParameters
    router: GossipsubParameters
    """Without meaning for the other networks."""
    score: ScoreParameters | None
    """None where peers are not scored; without meaning for the other networks, too."""
    randomsub: RandomsubParameters
    """Without meaning for the other networks."""
    discovery: DiscoveryParameters
    kademlia: KademliaParameters
    rendezvous: RendezvousParameters
    mdns: MdnsParameters


def known_keys(network: str) -> dict[str, Key]:
    """Every key of the network, by name."""
    parts: list[type[Parameters]] = [
        Libp2pParameters, HostParameters, PubsubParameters, *DISCOVERY,
    ]  # fmt: skip
    parts += ROUTERS.get(network, ())
    keys = {name: key for part in parts for name, key in keys_of(part).items()}
    del keys["connection"]
    hints = get_type_hints(ConnectionLimits)
    for field in dataclasses.fields(ConnectionLimits):
        keys[field.name] = Key(field.name, hints[field.name], field.default)
    return keys


def read_settings(network: str, values: Mapping[str, Any]) -> Libp2pSettings:
    """Sort out values that are known to have keys here."""
    connection = _connection_limits(values)
    if connection is not None:
        values = {**values, "connection": connection}
    settings = Libp2pSettings(
        live=part_of(Libp2pParameters, values),
        host=part_of(HostParameters, values),
        pubsub=part_of(PubsubParameters, values),
        router=part_of(GossipsubParameters, values),
        score=part_of(ScoreSetting, values).parameters,
        randomsub=part_of(RandomsubParameters, values),
        discovery=part_of(DiscoveryParameters, values),
        kademlia=part_of(KademliaParameters, values),
        rendezvous=part_of(RendezvousParameters, values),
        mdns=part_of(MdnsParameters, values),
    )
    _check_rendezvous(settings)
    if settings.live.replay_store is not None and not settings.pubsub.refuse_replays:
        raise ConfigError("replay_store", "is of no use without refuse_replays=true")
    return settings


def _check_rendezvous(settings: Libp2pSettings) -> None:
    asked_for = "rendezvous" in settings.discovery.discovery
    if settings.rendezvous.rendezvous and not asked_for:
        raise ConfigError("rendezvous", 'is of no use without discovery=["rendezvous"]')
    if asked_for and not settings.rendezvous.rendezvous:
        raise ConfigError("discovery", 'rendezvous needs the addresses of points: set "rendezvous"')


def _connection_limits(values: Mapping[str, Any]) -> ConnectionLimits | None:
    """Limits of connections are a plain dataclass: types are looked at here."""
    hints = get_type_hints(ConnectionLimits)
    own = {key: value for key, value in values.items() if key in hints}
    for key, value in own.items():
        try:
            own[key] = TypeAdapter(hints[key]).validate_python(value)
        except ValidationError as error:
            message = error.errors()[0]["msg"]
            problem = f"{message[0].lower()}{message[1:]} (got {value!r})"
            raise ConfigError(key, problem) from None
    return ConnectionLimits(**own) if own else None


def settings_page() -> SettingsPage:
    """The page of these keys in the documentation."""
    return SettingsPage(
        "settings.md",
        "gossipsub",
        """# Settings of gossipsub, floodsub and randomsub

The same keys everywhere: `rumormill.open("gossipsub", D=8)`, `--set D=8` on the command line, and
`D = 8` in a table of `node.toml`. A wrong value or an unknown key is named in one sentence.
Each has all but those under the name of another one. This page is made by `make docs`.
""",
        {
            "The network": (LiveParameters, Libp2pParameters),
            "gossipsub": (GossipsubParameters, GaterParameters, ScoreSetting),
            "randomsub": (RandomsubParameters,),
            "Messages and topics": (PubsubParameters,),
            "Finding peers": DISCOVERY,
            "Peers and connections": (HostParameters,),
            "Limits of one connection": (ConnectionLimits,),
        },
    )

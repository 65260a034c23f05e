"""The keys of ndn, and the part that each of them belongs to.

A network is a node with a forwarder inside, or a program on somebody's forwarder; each takes all
keys, and looks at its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path, PurePath
from typing import Any, Literal, NamedTuple

from pydantic import field_validator

from rumormill.core.errors import ConfigError, LocalProtocolError
from rumormill.core.parameters import Parameters
from rumormill.live.configuration.parameters import LiveParameters
from rumormill.live.configuration.setting_keys import Key, keys_of, part_of
from rumormill.live.family import SettingsPage
from rumormill.live.transports.unix import unix_path
from rumormill.ndn.client.parameters import ClientParameters
from rumormill.ndn.faces.addresses import read_address
from rumormill.ndn.faces.parameters import FaceParameters
from rumormill.ndn.forwarder.parameters import ForwarderParameters, StrategyName
from rumormill.ndn.pubsub.parameters import PubSubParameters
from rumormill.ndn.routing.parameters import RoutingParameters
from rumormill.ndn.routing.static_route import read_static_route
from rumormill.ndn.wire.name import Name, name_from_uri, name_to_uri

Role = Literal["auto", "node", "client"]

STRATEGIES: tuple[StrategyName, ...] = ("best-route", "multicast")


class NdnParameters(LiveParameters):
    """What this room needs to know of an ndn network."""

    role: Role = "auto"
    """``node``: with a forwarder of its own. ``client``: a program on the forwarders of
    ``bootstrap``, which are somebody else's. ``auto``: a client, if there are such and nothing to
    ``listen`` on; else a node."""
    listen: tuple[str, ...] = ()
    """Where a node listens: ``tcp://0.0.0.0:6363``, ``udp://0.0.0.0:6363`` (one for each version
    of IP), ``unix:///run/ndn.sock``, of which who may write to the file may connect. Without it, on
    a free port that only this machine reaches."""
    bootstrap: tuple[str, ...] = ()
    """Forwarders that are dialed at the start, and again whenever they are lost: the neighbours of
    a node; for a client those that it may use, the first that is up."""
    key_file: Path | None = None
    """The key that signs, as ``rumormill keygen --network ndn`` makes it. Without it messages and
    acknowledgements carry a digest, which anybody can make."""
    prefix: str = ""
    """What we are called: our messages are found below it. Without it, a name made of the key, or a
    new one for every run."""
    trust: tuple[str, ...] = ()
    """Whose signatures count: ``/weather=alice.pub`` (below this prefix only the keys given so),
    ``alice.pub`` (known, where there is no such rule), ``/weather/open=open`` (no rule here). A key
    is a file or its text; a file of ``node.toml``, too, is looked for where the node was started.
    Without a rule digests are accepted, and signatures of known keys."""
    strategies: tuple[str, ...] = ()
    """Strategies of some prefixes, where they differ from ``strategy``: ``/weather=multicast``."""

    @classmethod
    def check_address(cls, address: str) -> None:
        """``tcp://HOST:PORT``, ``udp://HOST:PORT`` or ``unix:///PATH``."""
        check_address(address)

    @field_validator("trust", "strategies", mode="before")
    @classmethod
    def _one_or_many_rules(cls, value: Any) -> Any:
        several = (value,) if isinstance(value, str | PurePath) else value
        if not isinstance(several, list | tuple):
            return several
        return tuple(str(each) if isinstance(each, PurePath) else each for each in several)

    @field_validator("prefix")
    @classmethod
    def _prefix(cls, value: str) -> str:
        if not value:
            return value
        name = _name("prefix", value)
        if not name:
            raise ConfigError("prefix", "the root is nobody's")
        return name_to_uri(name)

    @field_validator("strategies")
    @classmethod
    def _strategies(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for rule in value:
            read_strategy(rule)
        return value


def check_address(address: str) -> None:
    """Raise :class:`LocalProtocolError` for what is no address."""
    if read_address(address).scheme == "unix":
        unix_path(address)


def read_strategy(rule: str) -> tuple[Name, StrategyName]:
    """A prefix and its strategy.

    >>> read_strategy("/weather=multicast")
    (b'\\x08\\x07weather', 'multicast')
    """
    prefix, _, word = rule.rpartition("=")
    for strategy in STRATEGIES:
        if word == strategy and prefix:
            return _name("strategies", prefix), strategy
    known = " or ".join(STRATEGIES)
    raise ConfigError("strategies", f"must be /PREFIX={known}, not {rule!r}")


def _name(key: str, text: str) -> Name:
    try:
        return name_from_uri(text)
    except LocalProtocolError as error:
        raise ConfigError(key, str(error)) from None


class NdnSettings(NamedTuple):
    """The settings of one ndn network, each with the part that it belongs to."""

    live: NdnParameters
    pubsub: PubSubParameters
    faces: FaceParameters
    forwarder: ForwarderParameters
    routing: RoutingParameters
    client: ClientParameters

    @property
    def is_client(self) -> bool:
        """Whether it is a program on somebody's forwarder."""
        live = self.live
        if live.role == "auto":
            return bool(live.bootstrap) and not live.listen
        return live.role == "client"

    @property
    def static_addresses(self) -> tuple[str, ...]:
        """Where routes by hand lead."""
        return tuple(read_static_route(route).address for route in self.routing.routes)


PARTS: tuple[type[Parameters], ...] = (
    NdnParameters,
    PubSubParameters,
    FaceParameters,
    ForwarderParameters,
    RoutingParameters,
    ClientParameters,
)


def known_keys(network: str) -> dict[str, Key]:
    """Every key of the network, by name."""
    return {name: key for part in PARTS for name, key in keys_of(part).items()}


def read_settings(network: str, values: Mapping[str, Any]) -> NdnSettings:
    """Sort out values that are known to have keys here."""
    if values.get("strategy") == "multicast":
        values = {"reaches": "all", **values}  # what the trace says of messages
    settings = NdnSettings(
        live=part_of(NdnParameters, values),
        pubsub=part_of(PubSubParameters, values),
        faces=part_of(FaceParameters, values),
        forwarder=part_of(ForwarderParameters, values),
        routing=part_of(RoutingParameters, values),
        client=part_of(ClientParameters, values),
    )
    if settings.is_client and settings.live.listen:
        raise ConfigError("listen", "a client listens nowhere; that is for nodes")
    return settings


def settings_page() -> SettingsPage:
    """The page of these keys in the documentation."""
    return SettingsPage(
        "ndn-settings.md",
        "ndn",
        """# Settings of ndn

The same keys everywhere: `rumormill.open("ndn", prefix="/alice")`, `--set prefix=/alice` on the
command line, and `prefix = "/alice"` in a table of `node.toml`. A wrong value or an unknown key is
named in one sentence. What the family is: [ndn.md](ndn.md). This page is made by `make docs`.
""",
        {
            "The network": (LiveParameters, NdnParameters),
            "Publishing and subscribing": (PubSubParameters,),
            "Connections and datagrams": (FaceParameters,),
            "A client and its forwarders": (ClientParameters,),
            "The forwarder of a node": (ForwarderParameters,),
            "A node and its neighbours": (RoutingParameters,),
        },
    )

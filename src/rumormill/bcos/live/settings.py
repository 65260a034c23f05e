"""The keys of bcos, and the part that each of them belongs to.

A network is a node or an SDK, as its certificates say; each takes all keys, and looks at its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import Field, field_validator

from rumormill.bcos.certificates.access import node_ids
from rumormill.bcos.channel.parameters import ChannelParameters
from rumormill.bcos.node.parameters import NodeParameters
from rumormill.bcos.sdk.parameters import SdkParameters
from rumormill.core.addresses import HostPort
from rumormill.core.parameters import Parameters
from rumormill.live.configuration.parameters import LiveParameters
from rumormill.live.configuration.setting_keys import Key, keys_of, part_of
from rumormill.live.family import SettingsPage

ADDRESSES = HostPort()
"""How this family writes addresses: ``127.0.0.1:30300``."""


class BcosParameters(LiveParameters):
    """What this room needs to know of a bcos network."""

    certificates: Path | None = None
    """The folder with ``ca.crt`` and either ``node.crt`` and ``node.key`` or ``sdk.crt`` and
    ``sdk.key``: with the former the network is a node, with the latter an SDK."""
    listen: tuple[str, ...] = ()
    """Where a node listens for nodes, as ``0.0.0.0:30300``; an SDK listens nowhere."""
    channel_listen: tuple[str, ...] = ()
    """Where a node listens for SDKs, as ``0.0.0.0:20200``; without it there are none."""
    channel_profile: Literal["both", "secp256k1", "rsa"] = "both"
    """Which certificates a node shows to SDKs: by what they can use (the RSA ones are those in
    ``channel_cert/``), or always the same. An SDK shows its RSA ones with ``rsa``."""
    bootstrap: tuple[str, ...] = ()
    """Nodes that are dialed at the start, and again whenever they are lost."""
    key_file: Path | None = None
    """Not for this family: it has certificates."""
    whitelist: tuple[str, ...] = ()
    """Ids of the nodes that may connect to a node; empty means all that are certified."""
    blacklist: tuple[str, ...] = ()
    """Ids of nodes that may not, whatever else is said."""
    mode: Literal["multicast", "unicast"] = "multicast"
    """Whether what is published goes to all subscribers, or to one of them that answers."""
    private_key: Path | None = None
    """The key (PEM, secp256k1) by which an SDK proves that it may have private topics."""
    public_keys: tuple[Path, ...] = ()
    """Keys (PEM) of those that may have what an SDK publishes on private topics."""
    private_topics: tuple[str, ...] = ()
    """Which topics are private, if there is a ``private_key`` or ``public_keys``; empty: all."""
    handshake_timeout: float = Field(default=10.0, gt=0, allow_inf_nan=False)
    """Seconds that a TLS handshake may take."""
    max_handshakes: int = Field(default=128, ge=1)
    """TLS handshakes of others that may be under way at once, and no more than 64 of one address;
    with one more, one that has taken longer than a second makes room."""

    @classmethod
    def check_address(cls, address: str) -> None:
        """``HOST:PORT``."""
        ADDRESSES.parse(address)

    @field_validator("channel_listen", mode="before")
    @classmethod
    def _one_or_many_channels(cls, value: Any) -> Any:
        return cls._one_or_many(value)

    @field_validator("channel_listen")
    @classmethod
    def _channel_addresses(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return cls._addresses(value)

    @field_validator("key_file")
    @classmethod
    def _no_key_file(cls, value: Path | None) -> Path | None:
        if value is not None:
            raise ValueError("bcos has certificates instead: give their folder as certificates")
        return value

    @field_validator("whitelist", "blacklist", mode="before")
    @classmethod
    def _one_or_many_nodes(cls, value: Any) -> Any:
        return (value,) if isinstance(value, str) else value

    @field_validator("whitelist", "blacklist")
    @classmethod
    def _nodes(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return node_ids(value)


class BcosSettings(NamedTuple):
    """The settings of one bcos network, each with the part that it belongs to."""

    live: BcosParameters
    node: NodeParameters
    channel: ChannelParameters
    sdk: SdkParameters


PARTS: tuple[type[Parameters], ...] = (
    BcosParameters,
    NodeParameters,
    ChannelParameters,
    SdkParameters,
)


def known_keys(network: str) -> dict[str, Key]:
    """Every key of the network, by name."""
    return {name: key for part in PARTS for name, key in keys_of(part).items()}


def read_settings(network: str, values: Mapping[str, Any]) -> BcosSettings:
    """Sort out values that are known to have keys here."""
    return BcosSettings(
        live=part_of(BcosParameters, values),
        node=part_of(NodeParameters, values),
        channel=part_of(ChannelParameters, values),
        sdk=part_of(SdkParameters, values),
    )


def settings_page() -> SettingsPage:
    """The page of these keys in the documentation."""
    return SettingsPage(
        "bcos-settings.md",
        "bcos",
        """# Settings of bcos

The same keys everywhere: `rumormill.open("bcos", mode="unicast")`, `--set mode=unicast` on the
command line, and `mode = "unicast"` in a table of `node.toml`. A wrong value or an unknown key is
named in one sentence. What the family is: [bcos.md](bcos.md). This page is made by `make docs`.
""",
        {
            "The network": (LiveParameters, BcosParameters),
            "A node among nodes": (NodeParameters,),
            "A node and its SDKs": (ChannelParameters,),
            "An SDK": (SdkParameters,),
        },
    )

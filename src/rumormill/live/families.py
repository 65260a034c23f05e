"""The families of networks: which networks each has, what can be set, and what opens one.

A family is loaded when its first network is asked for, so that nobody waits for, or needs to
install, what he does not use. To add one: a module with ``known_keys`` and ``read_settings``, a
class derived from ``Network``, and a line in :data:`FAMILIES`.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from rumormill.core.errors import ConfigError

if TYPE_CHECKING:
    from rumormill.live.network import Network
    from rumormill.live.parameters import LiveParameters
    from rumormill.live.setting_keys import Key


class Settings(Protocol):
    """What the settings of every family have."""

    @property
    def live(self) -> LiveParameters:
        """What concerns this room."""
        ...


class Family(NamedTuple):
    """Where the parts of one family are, and what must be installed for it."""

    settings_module: str
    network_module: str
    network_class: str
    extra: str = ""
    """The extra of this distribution that brings ``packages``."""
    packages: tuple[str, ...] = ()

    def known_keys(self, network: str) -> dict[str, Key]:
        """Every key of the network, by name."""
        keys: dict[str, Key] = importlib.import_module(self.settings_module).known_keys(network)
        return keys

    def read_settings(self, network: str, values: Mapping[str, Any]) -> Settings:
        """The settings as the network wants them."""
        settings: Settings = importlib.import_module(self.settings_module).read_settings(
            network, values
        )
        return settings

    def load(self) -> type[Network]:
        """The class of the network, with all that it needs."""
        kind: type[Network] = getattr(
            importlib.import_module(self.network_module), self.network_class
        )
        return kind

    def require(self, network: str) -> None:
        """Raise :class:`ConfigError` with the command that helps, if a package is missing."""
        for package in self.packages:
            if find_spec(package) is None:
                raise ConfigError(
                    "network",
                    f"{network} needs {package}, which is not installed; "
                    f"pip install 'rumormill[{self.extra}]' brings it",
                )


_LIBP2P = Family(
    "rumormill.libp2p.live.settings", "rumormill.libp2p.live.network", "Libp2pNetwork"
)  # fmt: skip
_BEP50 = Family(
    "rumormill.bep50.live.settings", "rumormill.bep50.live.network", "Bep50Network",
    extra="bep50", packages=("bencode2",),
)  # fmt: skip

FAMILIES: Mapping[str, Family] = {"bep50": _BEP50, "floodsub": _LIBP2P, "gossipsub": _LIBP2P}
"""The family of each network, by the name that the user writes."""


def family_of(network: str) -> Family:
    """The family of a network; :class:`ConfigError` if there is no such network, or if a package
    that it needs is not installed.
    """
    family = FAMILIES.get(network)
    if family is None:
        raise ConfigError("network", f"must be one of {', '.join(FAMILIES)}, not {network!r}")
    family.require(network)
    return family

"""The keys of bep50, and the part that each of them belongs to.

A key goes to the overlay, to our client or our session on the main DHT, or to this room.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import Field

from rumormill.bep50.main_dht.parameters import MainParameters, SessionParameters
from rumormill.bep50.overlay.parameters import OverlayParameters
from rumormill.bep50.wire.addresses import parse_address
from rumormill.core.parameters import Parameters
from rumormill.live.configuration.parameters import LiveParameters
from rumormill.live.configuration.setting_keys import Key, keys_of, part_of
from rumormill.live.family import SettingsPage


class Bep50Parameters(LiveParameters):
    """What this room needs to know of a bep50 network."""

    listen: tuple[str, ...] = ()
    """One IPv4 and one IPv6 address at most, as ``0.0.0.0:6881``; by default any free port."""
    bootstrap: tuple[str, ...] = ()
    """Nodes that may know our topics; they are asked until one does, and whenever none is left."""
    key_file: Path | None = None
    """The key that signs what we publish; nobody needs one to listen."""
    state_file: Path | None = None
    """Keeps our node id, the nodes and the newest values that we know over a restart; it is made if
    it does not exist."""
    state_interval: float = Field(default=60.0, gt=0, allow_inf_nan=False)
    """Seconds between two looks at whether the state has to be written."""

    @classmethod
    def check_address(cls, address: str) -> None:
        """``HOST:PORT``."""
        parse_address(address)


class Bep50Settings(NamedTuple):
    """The settings of one bep50 network, each with the part that it belongs to."""

    live: Bep50Parameters
    overlay: OverlayParameters
    main: MainParameters
    session: SessionParameters


PARTS: tuple[type[Parameters], ...] = (
    Bep50Parameters,
    OverlayParameters,
    MainParameters,
    SessionParameters,
)


def known_keys(network: str) -> dict[str, Key]:
    """Every key of the network, by name."""
    return {name: key for part in PARTS for name, key in keys_of(part).items()}


def read_settings(network: str, values: Mapping[str, Any]) -> Bep50Settings:
    """Sort out values that are known to have keys here."""
    return Bep50Settings(
        live=part_of(Bep50Parameters, values),
        overlay=part_of(OverlayParameters, values),
        main=part_of(MainParameters, values),
        session=part_of(SessionParameters, values),
    )


def settings_page() -> SettingsPage:
    """The page of these keys in the documentation."""
    return SettingsPage(
        "bep50-settings.md",
        "bep50",
        """# Settings of bep50

The same keys everywhere: `rumormill.open("bep50", query_timeout=1)`, `--set query_timeout=1` on the
command line, and `query_timeout = 1` in a table of `node.toml`. A wrong value or an unknown key is
named in one sentence. What the family is: [bep50.md](bep50.md). This page is made by `make docs`.
""",
        {
            "The network": (LiveParameters, Bep50Parameters),
            "The overlay": (OverlayParameters,),
            "The main DHT": (SessionParameters,),
            "Items on the main DHT": (MainParameters,),
        },
    )

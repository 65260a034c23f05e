"""All keys of a network in one flat list, wherever they belong inside.

The same keys in ``rumormill.open(...)``, in ``--set key=value`` and in ``node.toml``. The family
gives each to the part that has it. Text is turned into what the key wants, since that is all a
command line has.

>>> settings = read_settings("gossipsub", {"D": "8", "max_connections": 16})
>>> settings.router.D, settings.host.max_connections
(8, 16)
>>> read_settings("gossipsub", {"D_lo": 4})
Traceback (most recent call last):
...
rumormill.core.errors.ConfigError: D_lo: there is no such key (did you mean D_low?)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rumormill.live.families import family_of
from rumormill.live.parameters import LiveParameters
from rumormill.live.setting_keys import Key, known_values


def read_settings(network: str, given: Mapping[str, Any]) -> Any:
    """Sort out what the user gave; :class:`ConfigError` names the first key that is wrong."""
    family = family_of(network)
    values = known_values(family.known_keys(network), given)
    return family.read_settings(network, values)


def known_keys(network: str) -> dict[str, Key]:
    """Every key of the network, by name.

    >>> known_keys("floodsub")["max_connections"].default
    256
    """
    return family_of(network).known_keys(network)


__all__ = ["Key", "LiveParameters", "known_keys", "read_settings"]

"""All keys of a network in one flat list, wherever they belong inside.

The same keys in ``rumormill.open(...)``, in ``--set key=value`` and in ``node.toml``. The family
gives each to the part that has it. Text is turned into what the key wants, since that is all a
command line has.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rumormill.live.configuration.setting_keys import Key, known_values
from rumormill.live.family import Settings
from rumormill.live.family.families import family_of


def read_settings(network: str, given: Mapping[str, Any]) -> Settings:
    """Sort out what the user gave; :class:`ConfigError` names the first key that is wrong."""
    family = family_of(network)
    values = known_values(family.known_keys(network), given)
    return family.read_settings(network, values)


def known_keys(network: str) -> dict[str, Key]:
    """Every key of the network, by name."""
    return family_of(network).known_keys(network)


__all__ = ["Key", "known_keys", "read_settings"]

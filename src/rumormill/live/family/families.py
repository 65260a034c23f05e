"""The families of networks that are installed, found by the entry point group
``rumormill.families``.

Each entry point names one :class:`~rumormill.live.family.Family` object::

    [project.entry-points."rumormill.families"]
    pigeons = "pigeons.family:FAMILY"

A family that cannot be loaded harms nobody else: it is warned of, and whoever asks for a network
that is not there is told of it.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import NamedTuple

from rumormill.core.errors import ConfigError
from rumormill.live.family import Family
from rumormill.system.packages import require

GROUP = "rumormill.families"
"""The group of entry points."""

log = logging.getLogger("rumormill")


class Registry(NamedTuple):
    """What was found."""

    families: tuple[Family, ...]
    """In their order."""
    networks: Mapping[str, Family]
    """The family of each network, by the name that a user writes."""
    problems: tuple[str, ...]
    """Of each family that could not be loaded, or brought a name that was taken, a sentence."""


def load(points: Iterable[EntryPoint]) -> Registry:
    """Load the families that these entry points name."""
    found: list[Family] = []
    problems: list[str] = []
    for point in points:
        try:
            family = point.load()
            if not isinstance(family, Family):
                raise TypeError(f"{point.value} is no Family")
        except Exception as error:
            problems.append(f"the family {point.name} ({_source(point)}) cannot be loaded: {error}")
        else:
            found.append(family)
    families = sorted(found, key=lambda family: (family.order, family.name))
    networks: dict[str, Family] = {}
    for family in families:
        for network in family.networks:
            holder = networks.setdefault(network, family)
            if holder is not family:
                problems.append(
                    f"the families {holder.name} and {family.name} both have a network {network}; "
                    f"that of {holder.name} is used"
                )
    return Registry(tuple(families), networks, tuple(problems))


def _source(point: EntryPoint) -> str:
    return point.value if point.dist is None else f"of {point.dist.name}"


@cache
def registry() -> Registry:
    """The families that are installed; looked for once, and warned of what is wrong with them."""
    found = load(entry_points(group=GROUP))
    for problem in found.problems:
        log.warning("%s", problem)
    return found


def families() -> tuple[Family, ...]:
    """Every family that is installed."""
    return registry().families


def network_names() -> tuple[str, ...]:
    """Every network that can be asked for."""
    return tuple(registry().networks)


def default_network() -> str:
    """The network that commands speak when they are not told which."""
    names = network_names()
    if not names:
        raise ConfigError("network", _no_network("there is none"))
    return names[0]


def find_family(network: str) -> Family:
    """The family of a network; :class:`ConfigError` if there is no such network.

    What the family needs may not be installed: see :func:`family_of`.
    """
    family = registry().networks.get(network)
    if family is None:
        known = ", ".join(network_names())
        raise ConfigError("network", _no_network(f"must be one of {known}, not {network!r}"))
    return family


def _no_network(problem: str) -> str:
    return "; ".join((problem, *registry().problems))


def family_of(network: str) -> Family:
    """The family of a network that is about to be used: what it needs is installed, or else
    :class:`ConfigError` names the command that helps.
    """
    family = find_family(network)
    require(family.packages, family.extra or family.name, network)
    return family

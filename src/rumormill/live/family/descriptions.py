"""What a family tells of itself: of keys and addresses, of its settings, of scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple


class Description(NamedTuple):
    """What everyone may know of a key, an address or a topic: for ``rumormill id``."""

    kind: str
    """``key``, ``address``, ``topic``, or what else the family has."""
    fields: Mapping[str, Any]


class KeyOption(NamedTuple):
    """Something that ``keygen`` makes as many of as it is told, as in ``--pigeons 3``."""

    name: str
    """With underscores, where the option has dashes."""
    help: str
    default: int


class FolderKey(NamedTuple):
    """One key of a folder of keys, and what everyone may know of it."""

    id: str
    kind: str
    folder: Path
    new: bool
    """False if it was there before."""


class SettingsPage(NamedTuple):
    """A page of the documentation: every key of a network, part by part."""

    file: str
    network: str
    introduction: str
    parts: Mapping[str, Sequence[type]]
    """Of each part the classes that hold its keys; what a later one says of a key counts."""


class ScoreAdvice(NamedTuple):
    """What conduct on a topic should be worth: for ``rumormill score explain``."""

    parameters: Mapping[str, Any]
    explanation: tuple[str, ...]
    """A line for each choice."""
    tables: str
    """The same parameters as they are written in ``node.toml``."""

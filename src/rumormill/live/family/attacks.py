"""Attacks on a network: which a user wants, and what came of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple


class AttackWish(NamedTuple):
    """Which attacks on a network a user wants run, and how large."""

    names: tuple[str, ...] = ()
    """All, if there is none."""
    nodes: int = 20
    sybils: int = 20
    """For each honest node."""
    seeds: tuple[int, ...] = (1,)
    """Each attack is run with each of them."""
    score: bool = True
    spool: Path | None = None
    """Where the trace of the honest nodes is kept."""


class AttackOutcome(NamedTuple):
    """What came of one attack, with each seed."""

    attack: str
    shown: Mapping[str, str]
    """By column, what a table says."""
    failures: tuple[str, ...]
    """What fell short, a sentence each."""
    runs: Sequence[Mapping[str, Any]]
    """All figures of each run, for programs."""
    networks: tuple[str, ...]
    """What each run is called in the spool."""


AttackProgress = Callable[[str, float], object]
"""Hears the name of the attack that runs, and which part of all is done."""

"""What ``rumormill pipeline run`` can be told."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field, field_validator

from rumormill.capture.schema import KINDS
from rumormill.core.errors import ConfigError
from rumormill.core.parameters import Parameters


class RunParameters(Parameters):
    """One run of the pipeline.

    >>> RunParameters(spools=("spool", "http://127.0.0.1:7700"), tables="tables").nodes
    ['http://127.0.0.1:7700']
    >>> RunParameters(spools=(), tables="tables")
    Traceback (most recent call last):
    ...
    rumormill.core.errors.ConfigError: spools: name a spool's folder, or the address of a node
    """

    spools: tuple[str, ...]
    """Folders, and addresses of nodes that serve theirs."""
    tables: Path
    once: bool = False
    """Read what there is, refine all of it, and end."""
    kinds: tuple[str, ...] = KINDS
    """Which records to read."""
    token: str | None = Field(default=None, repr=False)
    """What the nodes ask for."""
    delay: float = Field(default=30.0, ge=0)
    """Seconds that an event may be late, by the clock of the events, before its minute is over."""
    margin: float = Field(default=120.0, gt=0)
    """Seconds after its publication that a copy of a message still counts as one."""
    interval: float = Field(default=1.0, ge=0)
    """Seconds between two batches."""
    rows_per_batch: int = Field(default=1_000_000, ge=1)
    """Records that one batch has at most."""
    compact_after: int = Field(default=200, ge=2)
    """Folders of a table that are put together when there are so many."""
    fail_on_data_loss: bool = True
    """End with an error when records are gone or spoilt, rather than skip and count them."""

    @field_validator("spools")
    @classmethod
    def _some_spools(cls, spools: tuple[str, ...]) -> tuple[str, ...]:
        if not spools:
            raise ConfigError("spools", "name a spool's folder, or the address of a node")
        return spools

    @field_validator("kinds")
    @classmethod
    def _known_kinds(cls, kinds: tuple[str, ...]) -> tuple[str, ...]:
        for kind in kinds:
            if kind not in KINDS:
                raise ConfigError("kinds", f"must be among {', '.join(KINDS)}, not {kind!r}")
        return kinds

    @property
    def folders(self) -> list[str]:
        """Those of the spools that are folders."""
        return [spool for spool in self.spools if not _is_address(spool)]

    @property
    def nodes(self) -> list[str]:
        """Those of the spools that a node serves."""
        return [spool for spool in self.spools if _is_address(spool)]


def _is_address(spool: str) -> bool:
    return spool.startswith(("http://", "https://"))

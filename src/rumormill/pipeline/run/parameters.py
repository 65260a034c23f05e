"""What ``rumormill pipeline run`` can be told."""

from __future__ import annotations

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
    tables: str
    """A folder, a URI, or a catalog: :func:`rumormill.system.tables_location.parse_tables`."""
    once: bool = False
    """Read what there is, refine it, and end."""
    kinds: tuple[str, ...] = KINDS
    """Which records to read."""
    gold: tuple[str, ...] = ()
    """Modules with gold tables of the user's own."""
    token: str | None = Field(default=None, repr=False)
    """What the nodes ask for."""
    margin: float = Field(default=120.0, gt=0)
    """Seconds between its publication and a copy of a message that still counts as one."""
    interval: float = Field(default=1.0, ge=0)
    """Seconds between two looks at the spools."""
    rows_per_batch: int = Field(default=5_000_000, ge=1)
    """Records that one batch has at most."""
    rows_per_step: int = Field(default=25_000_000, ge=1)
    """Trace events that are refined in one step, if there are more to read."""
    keep_days: float | None = Field(default=30.0, gt=0)
    """How long bronze keeps its rows; None: for ever."""
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

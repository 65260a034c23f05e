"""The place of a stream in its spools, as Spark keeps it in the checkpoint.

    {"format": 1, "kind": "messages", "spools": {
        "3f0c...": {"partition": 0, "begin": 0, "end": 4711},
        "91ab...": {"partition": 1, "begin": 512, "end": 1024, "floors": {"weather": 600}}},
     "lost": 0, "rows": 5223}

Spools are kept by their ids: the list of spools may grow or change its order, and a partition
keeps its number. ``end`` is the next record to read. ``begin`` is where the batch that ends there
began, written down because Spark does not keep a stream's very first offset: a first batch that is
replayed after a crash begins where it began. ``rows`` are the records of that batch: fewer than the
offsets where some never held a record. ``lost`` counts, from the very beginning, records that were
gone before they were read (with ``failOnDataLoss=false``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from rumormill.core.errors import ConfigError

FORMAT: Final = 1


@dataclass
class SpoolPlace:
    """How far one spool was read."""

    partition: int
    begin: int
    end: int
    floors: dict[str, int] = field(default_factory=dict)
    """Topics that begin later than the spool does."""


@dataclass
class StreamPlace:
    """How far all spools of a stream were read."""

    kind: str
    spools: dict[str, SpoolPlace] = field(default_factory=dict)
    lost: int = 0
    rows: int = 0

    def to_json(self) -> dict[str, Any]:
        """As Spark keeps it; equal places give equal objects."""
        spools: dict[str, Any] = {}
        for spool, place in self.spools.items():
            spools[spool] = {"partition": place.partition, "begin": place.begin, "end": place.end}
            if place.floors:
                spools[spool]["floors"] = place.floors
        return {
            "format": FORMAT, "kind": self.kind, "spools": spools, "lost": self.lost,
            "rows": self.rows,
        }  # fmt: skip

    def free_partition(self) -> int:
        """The number for a spool that is new."""
        return 1 + max((place.partition for place in self.spools.values()), default=-1)


def read_place(offset: Mapping[str, Any], kind: str) -> StreamPlace:
    """What :meth:`StreamPlace.to_json` made; :class:`ConfigError` for another's checkpoint."""
    stranger = ConfigError(
        "checkpointLocation", f"was not written by this version of rumormill: {dict(offset)!r}"
    )
    if offset.get("format") != FORMAT:
        raise stranger
    if offset.get("kind") != kind:
        raise ConfigError(
            "kind", f"the checkpoint is of a stream of {offset.get('kind')}, not of {kind}"
        )
    try:
        spools = {
            spool: SpoolPlace(
                int(place["partition"]), int(place["begin"]), int(place["end"]),
                {str(topic): int(floor) for topic, floor in place.get("floors", {}).items()},
            )
            for spool, place in offset["spools"].items()
        }  # fmt: skip
        return StreamPlace(kind, spools, int(offset["lost"]), int(offset.get("rows", 0)))
    except (KeyError, TypeError, ValueError, AttributeError):
        raise stranger from None

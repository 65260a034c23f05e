"""How far silver and gold are made: a small file that is published together with the tables."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from rumormill.pipeline.watermark import MINUTE

STATE: Final = "_state"
FILE: Final = "refined.json"

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Refined:
    """What has become of bronze so far. Times are in microseconds."""

    sealed_us: int | None = None
    """The minutes before this are refined for good; those after it not, or provisionally."""
    frontier_us: int | None = None
    """An event that comes now and is older than this is late."""
    batch: int = -1
    """The newest batch of the trace that has been looked at."""
    late: dict[str, dict[str, int]] = field(default_factory=dict)
    """Late events that silver lacks: network, minute, count."""
    gold: bool = True
    """Whether gold knows all that silver knows."""

    def save(self, folder: Path) -> None:
        """Write it into a new folder."""
        folder.mkdir(parents=True)
        (folder / FILE).write_text(json.dumps(asdict(self)), encoding="utf-8")


def load_refined(tables: Path) -> Refined:
    """How far the tables in a folder are made."""
    try:
        return Refined(**json.loads((tables / STATE / FILE).read_text(encoding="utf-8")))
    except FileNotFoundError:
        return Refined()


def time_of(time_us: int) -> datetime:
    """Microseconds as a time.

    >>> time_of(90_000_000).isoformat()
    '1970-01-01T00:01:30+00:00'
    """
    return EPOCH + timedelta(microseconds=time_us)


def label_of(time_us: int) -> int:
    """A minute as it stands in the name of a folder.

    >>> label_of(90_000_000)
    197001010001
    """
    return int(time_of(time_us - time_us % MINUTE).strftime("%Y%m%d%H%M"))

"""``--spool DIR`` and the table ``[spool]`` of ``node.toml``: keep what a node delivers and does.

    [spool]
    folder = "spool"                  # relative to this file; made if there is none
    fsync = "batch"
    retention_bytes = 10_000_000_000

Every key but the first is one of :class:`rumormill.capture.parameters.SpoolParameters`.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rumormill.capture.parameters import SpoolParameters
from rumormill.capture.tap import open_spool, recovery_events
from rumormill.cli.words.output import warn
from rumormill.cli.words.sentences import UsageError
from rumormill.core.errors import ConfigError
from rumormill.core.trace import TraceEvent

if TYPE_CHECKING:
    from rumormill.capture.writing.writer import SpoolWriter


@dataclass(frozen=True)
class SpoolPlan:
    """A spool to write to."""

    folder: Path
    parameters: SpoolParameters = field(default_factory=SpoolParameters)


def spool_plan(folder: Path | None) -> SpoolPlan | None:
    """What ``--spool`` says."""
    return None if folder is None else SpoolPlan(folder)


def read_spool(table: Any, folder: Path) -> SpoolPlan | None:
    """What the table ``[spool]`` says; paths are relative to ``folder``.

    >>> read_spool({"folder": "spool", "fsync": 5}, Path("/node")).folder.as_posix()
    '/node/spool'
    """
    if table is None:
        return None
    if not isinstance(table, Mapping):
        raise UsageError("spool: write [spool], and its keys below")
    settings = dict(table)
    where = settings.pop("folder", None)
    if not isinstance(where, str):
        raise UsageError(f"spool.folder: must be the path of a folder, not {where!r}")
    try:
        return SpoolPlan(folder / where, SpoolParameters(**settings))
    except ConfigError as error:
        raise UsageError(f"spool.{error}") from error


@contextlib.asynccontextmanager
async def spooling(plan: SpoolPlan | None) -> AsyncIterator[SpoolWriter | None]:
    """The writer of a command, if it was told to keep a spool."""
    if plan is None:
        yield None
        return
    async with open_spool(plan.folder, plan.parameters) as writer:
        for fields in recovery_events(writer):
            warn(f"the spool {plan.folder}: {_recovery_words(fields)}.")
        warn(_retention_words(plan.folder, writer.parameters))
        yield writer


def _retention_words(folder: Path, parameters: SpoolParameters) -> str:
    """How much the spool keeps, said at the start.

    >>> _retention_words(Path("spool"), SpoolParameters(retention_bytes=5 * 1024**3))
    'keeping at most 5 GiB of messages and 5 GiB of trace events in spool (retention_bytes).'
    """
    kinds = [{"trace": "trace events"}.get(kind, kind) for kind in parameters.records]
    if parameters.most_bytes is None:
        return f"keeping all {' and '.join(kinds)} in {folder} (retention_bytes)."
    size = _size(parameters.most_bytes)
    parts = " and ".join(f"{size} of {kind}" for kind in kinds)
    return f"keeping at most {parts} in {folder} (retention_bytes)."


def _size(count: int) -> str:
    """A number of bytes.

    >>> _size(5 * 1024**3), _size(20_000_000), _size(16_384)
    ('5 GiB', '19.1 MiB', '16 KiB')
    """
    for unit, name in ((1024**3, "GiB"), (1024**2, "MiB")):
        if count >= unit:
            return f"{count / unit:.3g} {name}"
    return f"{count / 1024:.3g} KiB"


def _recovery_words(fields: Mapping[str, Any]) -> str:
    if "gap" in fields:
        return f"{fields['reason']}, so {fields['gap']} offsets of {fields['kind']} are left out"
    if not fields["bytes"]:
        lost = f"{fields['rows']} records are lost" if fields["rows"] else "nothing is lost"
        return f"{fields['file']}: {fields['reason']}; {lost}"
    return (
        f"{fields['file']}: {fields['reason']}, "
        f"{fields['bytes']} bytes with {fields['rows']} records are cut off"
    )


def warn_of_spool(event: TraceEvent) -> None:
    """Say on stderr when the disk takes no more records, and when it does again."""
    if event.event == "spool_failed":
        warn(
            f"{event.fields['kind']} cannot be kept: {event.fields['detail']}; "
            "the node goes on and tries again."
        )
    elif event.event == "spool_mended":
        warn(f"the index of {event.fields['kind']} was damaged and is made anew; nothing is lost.")
    elif event.event == "spool_resumed":
        warn(f"{event.fields['kind']} are kept again.")

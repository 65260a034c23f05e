"""How much a spool keeps if nobody said it: bounded, as strangers decide how much happens.

Only for the spool of a node. A program that makes its own records (an import, a simulation) keeps
what it makes.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path
from typing import Final

from rumormill.capture.files.index import IndexView
from rumormill.capture.parameters import SpoolParameters
from rumormill.capture.schema import KINDS

MOST_BYTES: Final = 5 * 1024**3
"""Of each kind of records."""

SHARE: Final = 4
"""And no more than this part of what the disk has, so that both kinds leave half of it."""

LEAST_BYTES: Final = 16_384

SPOOL_TRIMMED: Final = "spool_trimmed"
"""The oldest records were removed. Fields: kind, reason (retention_bytes or retention_age), count,
bytes."""


def bounded(parameters: SpoolParameters, folder: Path) -> SpoolParameters:
    """The same with a bound on its bytes, if nobody set one (nor ``all``)."""
    if parameters.retention_bytes is not None:
        return parameters
    return parameters.model_copy(update={"retention_bytes": default_bytes(folder)})


def default_bytes(folder: Path) -> int:
    """What is kept of each kind: what the spool holds already counts as free."""
    room = shutil.disk_usage(folder).free + sum(_held(folder / kind) for kind in KINDS)
    return max(LEAST_BYTES, min(MOST_BYTES, room // SHARE))


def _held(folder: Path) -> int:
    held = 0
    with contextlib.suppress(FileNotFoundError), os.scandir(folder) as entries:
        for entry in entries:
            with contextlib.suppress(FileNotFoundError):
                held += entry.stat(follow_symlinks=False).st_size
    return held


def records_in(index: Path) -> int:
    """How many records a segment holds, as its index says; 0 if that cannot be read."""
    try:
        view = IndexView(index.read_bytes())
    except OSError:
        return 0
    last = view.last()
    return 0 if view.header is None or last is None else last.row_end - view.header.first

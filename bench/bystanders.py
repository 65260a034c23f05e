"""How much processor time others took while we were measuring."""

from __future__ import annotations

import os
import resource
import time
from pathlib import Path

_BUSY = (0, 1, 2, 5, 6)
"""Columns of /proc/stat: user, nice, system, and both kinds of interrupts."""


class Bystanders:
    """Watches from here on."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._all, self._ours = _all_seconds(), _our_seconds()

    def cores(self) -> float | None:
        """Cores that others kept busy on average; None where that cannot be told."""
        if self._all is None or (everyone := _all_seconds()) is None:
            return None
        others = (everyone - self._all) - (_our_seconds() - self._ours)
        return round(max(others / (time.monotonic() - self._began), 0.0), 2)


def _all_seconds() -> float | None:
    try:
        columns = Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]
    except OSError:
        return None
    return sum(int(columns[at]) for at in _BUSY) / os.sysconf("SC_CLK_TCK")


def _our_seconds() -> float:
    """Ours and those of the processes that we started and that have ended."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)

"""Processor time of a process together with everything that it started."""

from __future__ import annotations

import psutil


def cpu_seconds(pid: int) -> float:
    """User and system time of the process and its descendants, those that ended included.

    A process that ended is counted by the one that waited for it, so the sum never falls.
    """
    total = 0.0
    try:
        root = psutil.Process(pid)
        processes = [root, *root.children(recursive=True)]
    except psutil.NoSuchProcess:
        return total
    for process in processes:
        try:
            times = process.cpu_times()
        except psutil.NoSuchProcess:
            continue
        total += times.user + times.system + times.children_user + times.children_system
    return total

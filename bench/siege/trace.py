"""What the trace of an attacked node of ours says about the attackers."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rumormill.capture.open import open_log
from rumormill.capture.schema import TRACE
from rumormill.core import trace

BLAMES = {
    trace.HELD_BACK, trace.PROTOCOL_ERROR, trace.REJECTED, trace.IGNORED, trace.DROPPED,
    trace.CONNECTION_REFUSED, trace.CONNECTION_FAILED, trace.CONNECTION_CLOSED,
}  # fmt: skip
"""Events by which the trace says that somebody did something unwelcome; not that it was there."""

HARMLESS = {"closed", "connection_reset", "connection_aborted", "broken_pipe", "shutdown"}
"""Reasons of a connection's end that are nobody's fault: the other side went, or we ended."""


COLUMNS = ("event", "reason", "time", "count", "peer", "fields")


def said_of(spool: Path, attackers: Iterable[str], began: float) -> dict[str, Any]:
    """The events that name attackers, by kind and reason; and when they were first held back or
    dropped, in seconds after ``began``, which is a time of day.
    """
    names = set(attackers)
    found: Counter[str] = Counter()
    first: dict[str, float] = {}
    log = open_log(spool, TRACE)
    bounds = log.bounds()
    for _, batch in log.read(bounds.earliest, bounds.latest):
        columns = (batch[name].to_pylist() for name in COLUMNS)
        for event, reason, when, count, peer, fields in zip(*columns, strict=True):
            if event not in BLAMES or reason in HARMLESS or not _is_of(peer, fields, names):
                continue
            found[f"{event}.{reason}" if reason else event] += count or 1
            first.setdefault(event, round(max(0.0, when.timestamp() - began), 3))
    return {
        "named": dict(found.most_common()),
        "held_after": first.get(trace.HELD_BACK),
        "punished_after": first.get(trace.PROTOCOL_ERROR),
    }


def _is_of(peer: str | None, fields: str | None, names: set[str]) -> bool:
    if is_one_of(peer, names):
        return True
    return bool(fields) and is_one_of(json.loads(fields or "{}").get("address"), names)


def is_one_of(peer: str | None, names: set[str]) -> bool:
    """Whether a peer of the trace is one of these: by its name, or by its address without the port.

    >>> is_one_of("127.1.2.3:4001", {"127.1.2.3"}), is_one_of("12D3KooW", {"127.1.2.3"})
    (True, False)
    """
    return peer is not None and (peer in names or peer.rpartition(":")[0] in names)


def size_of(folder: Path) -> int:
    """Bytes of all files in a folder."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())

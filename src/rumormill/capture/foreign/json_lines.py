"""Lines of JSON: cut out of a byte source, decoded, bad ones skipped and counted."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from typing import Any

from rumormill.capture.foreign.errors import BadEventError
from rumormill.capture.foreign.findings import Findings
from rumormill.capture.foreign.source import ByteSource

LONGEST_LINE = 16 << 20
"""Bytes of one line; nothing longer is kept, let alone decoded."""

BAD_LINE = (ValueError, TypeError, KeyError, AttributeError, RecursionError)
"""What goes wrong when a line is no event: no JSON, another shape, values of other types."""

_raw_decode = json.JSONDecoder().raw_decode


class JsonLines:
    """Feeds every line of a source, as a decoded object, to ``handle``.

    ``handle`` raises one of :data:`BAD_LINE` for an object that it cannot use.
    """

    def __init__(
        self, source: ByteSource, findings: Findings, handle: Callable[[Any], None]
    ) -> None:
        self._source = source
        self._findings = findings
        self._handle = handle
        self._lines = 0
        self._bytes = 0
        """Lines and bytes before the block that is being read."""

    def read(self) -> Iterator[None]:
        """Read all; pauses after each block, for the caller to take away what came of it."""
        begun: list[bytes] = []
        size = 0
        for piece in self._source:
            end = piece.rfind(b"\n") + 1
            if not end:
                begun.append(piece)
                size += len(piece)
                if size > LONGEST_LINE:
                    begun.clear()  # of a line that is too long only its length is kept
                continue
            if size > LONGEST_LINE:
                rest = piece.index(b"\n") + 1
                self._skip_long_line(size + rest)
                begun, piece, end = [], piece[rest:], end - rest
            self._read_block(b"".join((*begun, piece[:end])))
            begun, size = [piece[end:]], len(piece) - end
            yield
        self._read_end(b"".join(begun), size)
        yield

    def _read_block(self, block: bytes) -> None:
        """Whole lines."""
        # A byte that is no UTF-8 becomes an escape that is no JSON: such a line is a bad one.
        lines = block.decode("utf-8", "backslashreplace").split("\n")
        lines.pop()
        findings, handle = self._findings, self._handle
        bad: list[tuple[int, str]] = []
        for number, line in enumerate(lines):
            try:
                event, end = _raw_decode(line)
                if end != len(line):
                    event = json.loads(line)  # spaces around it are all right
                handle(event)
            except BAD_LINE as error:
                bad.append((number, describe(error)))
        if bad:
            self._count_bad(block, bad)
        findings.events += len(lines) - len(bad)
        self._lines += len(lines)
        self._bytes += len(block)

    def _count_bad(self, block: bytes, bad: Sequence[tuple[int, str]]) -> None:
        """Lines of a block that are no events, or blank."""
        raw = block.split(b"\n")
        sizes = [0, *accumulate(len(line) + 1 for line in raw)]
        before = self._findings.events
        for earlier, (number, what) in enumerate(bad):
            if raw[number].strip():
                self._findings.events = before + number - earlier
                byte, line = self._bytes + sizes[number], self._lines + number + 1
                self._findings.bad_event(what, byte, len(raw[number]) + 1, line)
        self._findings.events = before

    def _skip_long_line(self, size: int) -> None:
        self._findings.bad_event(
            f"a line of more than {LONGEST_LINE} bytes", self._bytes, size, self._lines + 1
        )
        self._lines += 1
        self._bytes += size

    def _read_end(self, raw: bytes, size: int) -> None:
        """What is left without a line's end: a whole event all the same, or one cut short."""
        findings, damage = self._findings, self._source.damage
        if size > LONGEST_LINE:
            self._skip_long_line(size)
        elif raw.strip():
            try:
                self._handle(json.loads(raw))
                findings.events += 1
                size = 0
            except BAD_LINE:
                damage = damage or "the last line is cut short"
        if damage:
            findings.problem(damage, self._bytes, size, self._lines + 1)


def describe(error: Exception) -> str:
    """Why a line is no event."""
    if isinstance(error, BadEventError):
        return str(error)
    if isinstance(error, json.JSONDecodeError):
        return "a line that is no JSON"
    if isinstance(error, KeyError):
        return f"an event without {error.args[0]}"
    return "an event of another shape"

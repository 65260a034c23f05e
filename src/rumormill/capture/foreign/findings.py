"""What reading one foreign trace brought to light, besides the events."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

MOST_PROBLEMS = 20
"""Problems of one file that are kept word for word; more are counted."""

MOST_NAMES = 100
"""Kinds of events left out that are counted one by one; more are counted together."""

OTHERS = "others"


@dataclass(frozen=True)
class Problem:
    """Bytes of a file that could not be used."""

    file: str
    what: str
    byte: int
    """Where they begin, in the file as it is when unpacked."""
    bytes: int
    """How many there are."""
    events: int
    """Events that were read before them."""
    line: int | None = None
    """Where they begin, in a file of lines; the first line is 1."""

    def sentence(self) -> str:
        """For people.

        >>> Problem("a.json", "the last line is cut short", 812, 40, 7, 8).sentence()
        'a.json: the last line is cut short (line 8, byte 812): 40 bytes left out after 7 events'
        """
        where = f"byte {self.byte}" if self.line is None else f"line {self.line}, byte {self.byte}"
        return (
            f"{self.file}: {self.what} ({where}): {self.bytes} bytes left out"
            f" after {self.events} events"
        )


@dataclass
class Findings:
    """Counts of one file."""

    file: str
    format: str = ""
    events: int = 0
    """Foreign events that were read, those left out included."""
    rows: int = 0
    """Trace events that came of them."""
    bad_events: int = 0
    """Events that are no whole ones, or have something wrong in them; left out."""
    left_out: dict[str, int] = field(default_factory=dict)
    """Events of kinds that have no place in our schema, by kind."""
    unknown_fields: int = 0
    """Fields that this version does not know; left out."""
    cut_bytes: int = 0
    """Bytes of all problems."""
    problems: list[Problem] = field(default_factory=list)
    more_problems: int = 0

    def leave_out(self, kind: str) -> None:
        """Count an event of a kind that we have no use for."""
        if kind not in self.left_out and len(self.left_out) >= MOST_NAMES:
            kind = OTHERS
        self.left_out[kind] = self.left_out.get(kind, 0) + 1

    def problem(self, what: str, byte: int, size: int, line: int | None = None) -> None:
        """Some bytes could not be used."""
        self.cut_bytes += size
        if len(self.problems) < MOST_PROBLEMS:
            self.problems.append(Problem(self.file, what, byte, size, self.events, line))
        else:
            self.more_problems += 1

    def bad_event(self, what: str, byte: int, size: int, line: int | None = None) -> None:
        """One event could not be used, and those behind it can."""
        self.bad_events += 1
        self.problem(what, byte, size, line)

    def to_json(self) -> dict[str, Any]:
        """For ``--json``."""
        return asdict(self)

"""``rumormill report``: what the tables say, in the terminal, as JSON, as a page or as CSV."""

from __future__ import annotations

import io
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.status import Status

from rumormill.cli.words.render import json_text
from rumormill.cli.words.sentences import UsageError, one_line
from rumormill.system.files import replace_file
from rumormill.system.packages import require

SOON = 0.5
"""Seconds of reading that nobody needs to be told about."""


@dataclass(frozen=True)
class Ask:
    """What the user asked for."""

    tables: str
    as_json: bool = False
    page: Path | None = None
    csv: Path | None = None
    compare: str | None = None
    topics: Sequence[str] = ()
    networks: Sequence[str] = ()
    minutes: int = 1440


def run_report(ask: Ask) -> int:
    """Read the gold tables of one run or of two, and show them."""
    if sum((ask.as_json, ask.page is not None, ask.csv is not None)) > 1:
        raise UsageError("--json, --html and --csv exclude each other")
    require(("pyiceberg", "pyarrow", "jinja2"), "rumormill[report]", "the report", key="tables")
    from rumormill.report import (
        Wanted,
        export_csv,
        print_report,
        read_report,
        report_html,
        report_json,
    )

    if ask.csv is not None:
        written = export_csv(ask.tables, ask.csv)
        print(f"{len(written)} tables are written to {one_line(str(ask.csv))}.")
        return 0
    wanted = Wanted(tuple(ask.topics), tuple(ask.networks), ask.minutes)
    with ReadingLine() as line:
        report = read_report(ask.tables, wanted, line)
        other = None if ask.compare is None else read_report(ask.compare, wanted, line)
    if ask.as_json:
        print(json_text(report_json(report, other), allow_nan=False))
    elif ask.page is not None:
        write_page(ask.page, report_html(report, other))
        print(f"{one_line(str(ask.page))} is written; any browser shows it.")
    else:
        if isinstance(sys.stdout, io.TextIOWrapper):  # bars are not in every encoding
            sys.stdout.reconfigure(errors="replace")
        print_report(report, Console(), other)
    return 0


class ReadingLine:
    """A line on the terminal that says how far the reading is, if it takes long."""

    def __init__(self) -> None:
        self._console = Console(stderr=True)
        self._began = time.monotonic()
        self._status: Status | None = None

    def __enter__(self) -> ReadingLine:
        return self

    def __exit__(self, *_: object) -> None:
        if self._status is not None:
            self._status.stop()

    def __call__(self, table: str, done: int, total: int) -> None:
        """A table was read."""
        if not self._console.is_terminal or time.monotonic() - self._began < SOON:
            return
        text = f"reading the gold tables: {done:,} of {total:,}, last {table}"
        if self._status is None:
            self._status = self._console.status(text)
            self._status.start()
        self._status.update(text)


def write_page(file: Path, text: str) -> None:
    """There is a whole page or none."""
    replace_file(file, text.encode(), durable=False)

"""``rumormill report``: what the tables say, in the terminal, as JSON, or as a page."""

from __future__ import annotations

import io
import sys
import time
from pathlib import Path

from rich.console import Console
from rich.status import Status

from rumormill.cli.render import json_text
from rumormill.cli.sentences import UsageError, one_line
from rumormill.system.files import replace_file
from rumormill.system.packages import require

SOON = 0.5
"""Seconds of reading that nobody needs to be told about."""


def run_report(tables: Path, as_json: bool, page: Path | None, compare: Path | None) -> int:
    """Read the gold tables of one run or of two, and show them."""
    if as_json and page is not None:
        raise UsageError("--json and --html exclude each other")
    require(("pyarrow",), "rumormill[spark]", "the report", key="tables")
    from rumormill.pipeline.report import print_report, read_report, report_html, report_json

    with ReadingLine() as line:
        report = read_report(tables, line)
        other = None if compare is None else read_report(compare, line)
    if as_json:
        print(json_text(report_json(report, other), allow_nan=False))
    elif page is not None:
        write_page(page, report_html(report, other))
        print(f"{one_line(str(page))} is written; any browser shows it.")
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

    def __call__(self, file: str, done: int, total: int) -> None:
        """A file was read."""
        if not self._console.is_terminal or time.monotonic() - self._began < SOON:
            return
        rate = done / (time.monotonic() - self._began)
        text = f"reading the gold tables: {done:,} of {total:,} files, {rate:,.0f} a second"
        if self._status is None:
            self._status = self._console.status(text)
            self._status.start()
        self._status.update(text)


def write_page(file: Path, text: str) -> None:
    """There is a whole page or none."""
    replace_file(file, text.encode(), durable=False)

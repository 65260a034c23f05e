"""``rumormill report``: what the tables say, in the terminal, as JSON, or as a page."""

from __future__ import annotations

import io
import os
import secrets
import sys
import time
from importlib.util import find_spec
from pathlib import Path

from rich.console import Console
from rich.status import Status

from rumormill.cli.render import json_text
from rumormill.cli.sentences import UsageError, one_line
from rumormill.core.errors import ConfigError

SOON = 0.5
"""Seconds of reading that nobody needs to be told about."""


def run_report(tables: Path, as_json: bool, page: Path | None, compare: Path | None) -> int:
    """Read the gold tables of one run or of two, and show them."""
    if as_json and page is not None:
        raise UsageError("--json and --html exclude each other")
    if find_spec("pyarrow") is None:
        raise ConfigError("pyarrow", "not installed; pip install 'rumormill[spark]' brings it")
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
    """The page beside its place first: there is a whole one or none."""
    draft = file.with_name(f".{file.name}.{secrets.token_hex(8)}")
    try:
        draft.write_text(text, encoding="utf-8")
        os.replace(draft, file)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise OSError(error.errno, error.strerror, str(file)) from error

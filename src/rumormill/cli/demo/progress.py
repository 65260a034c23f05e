"""How far a demo is: bars on a terminal, plain lines elsewhere, events in JSON."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TaskID
from rich.text import Text

from rumormill.cli.words.render import json_line


class Reporter:
    """Where the demo tells how far it is: here, a line for each stage and note, with the seconds
    since the start.
    """

    def __init__(self, write: Callable[[str], None] | None = None) -> None:
        self._write = write or (lambda line: print(line, file=sys.stderr, flush=True))
        self._began = time.monotonic()

    def ready(self, nodes: list[dict[str, object]]) -> None:
        """All nodes of an act are up."""

    def stage(self, text: str, total: int) -> None:
        """A new stage begins; the one before is done."""
        self.note(text)

    def move(self, done: int) -> None:
        """So much of the stage is done."""

    def note(self, text: str) -> None:
        """Something happened that one wants to know of."""
        self._write(f"{time.monotonic() - self._began:6.1f} s  {text}")

    def done(self) -> None:
        """The last stage is done."""

    def close(self) -> None:
        """The end, whether it is done or was cut short."""


class JsonReporter(Reporter):
    """Events of JSON; what comes before ``ready`` is left out, as ``ready`` is first."""

    _is_ready = False

    def ready(self, nodes: list[dict[str, object]]) -> None:
        """Told once, for the first act."""
        if not self._is_ready:
            self._is_ready = True
            fields = {"addresses": [node["address"] for node in nodes if node["address"]]}
            self._write(json_line("ready", {**fields, "id": nodes[0]["id"], "nodes": nodes}))

    def note(self, text: str) -> None:
        """One object."""
        if self._is_ready:
            seconds = round(time.monotonic() - self._began, 3)
            self._write(json_line("stage", {"seconds": seconds, "text": text}))


class BarReporter(Reporter):
    """The stage at work has a moving bar; what is done and what happened are lines above it."""

    def __init__(self, console: Console | None = None) -> None:
        super().__init__()
        self._progress = Progress(
            SpinnerColumn(), "{task.description}", BarColumn(bar_width=None), MofNCompleteColumn(),
            console=console or Console(stderr=True), transient=True, expand=True,
        )  # fmt: skip
        self._task: TaskID | None = None
        self._text = ""
        self._progress.start()

    def stage(self, text: str, total: int) -> None:
        """A new bar; the one before becomes a line."""
        self.done()
        self._text, self._began = text, time.monotonic()
        self._task = self._progress.add_task(text, total=total)

    def move(self, done: int) -> None:
        """Move the bar."""
        if self._task is not None:
            self._progress.update(self._task, completed=done)

    def note(self, text: str) -> None:
        """A line above the bar."""
        self._progress.console.print(Text(f"  {text}", "yellow"), soft_wrap=True)

    def done(self) -> None:
        """The bar becomes a line."""
        if self._task is not None:
            self._progress.remove_task(self._task)
            self._task = None
            seconds = time.monotonic() - self._began
            line = Text.assemble(("✓", "green"), f" {self._text} ", (f"{seconds:.1f} s", "dim"))
            self._progress.console.print(line, soft_wrap=True)

    def close(self) -> None:
        """Take the bar away; a stage that was cut short does not become a line."""
        self._progress.stop()

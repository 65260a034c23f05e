"""What is being done right now, on stderr.

Drawn only when something changes: a bar that keeps itself fresh takes processor time from what is
being measured.
"""

from __future__ import annotations

from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bars


class Progress:
    """A bar for each part of the benchmarks."""

    def __init__(self, console: Console) -> None:
        self._bars = Bars(
            TextColumn("{task.description}"),
            BarColumn(bar_width=20),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=console,
            auto_refresh=False,
            transient=True,
        )
        self._console = console
        self._task = self._bars.add_task("", total=None, visible=False)

    def __enter__(self) -> Self:
        self._bars.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._bars.stop()

    def begin(self, part: str, steps: int) -> None:
        """A part with so many steps begins."""
        self._bars.remove_task(self._task)
        self._task = self._bars.add_task(part, total=steps, completed=-1)

    def step(self, description: str) -> None:
        """The next step begins."""
        self._bars.update(self._task, advance=1, description=description, refresh=True)
        if not self._console.is_terminal:
            self._console.print(description)

    def say(self, text: str) -> None:
        """Tell something that is to stay."""
        self._console.print(text)

"""The leading side of the demo's analysis: Spark reads what the nodes keep, while they run.

The nodes take their time to start, and so does Spark: both begin at once. A machine without Java
still has a demo, and is told what it misses.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rumormill.cli.demo.process import LedProcess
from rumormill.core.errors import RumormillError

START_TIMEOUT = 180.0
REFINE_TIMEOUT = 300.0
STOP_TIMEOUT = 20.0


def missing_for_spark() -> str | None:
    """Why there is no Spark here, in a sentence; None if there is."""
    try:
        from rumormill.pipeline.extra import require_spark

        require_spark()
        from rumormill.pipeline.java import java_home

        java_home()
    except RumormillError as error:
        return str(error)
    return None


class Analysis:
    """Spark in a process of its own, and how far it is."""

    def __init__(self, folder: Path, nodes: int) -> None:
        self.tables = folder / "tables"
        self.rows = 0
        """Records that are in bronze so far."""
        self.batches = 0
        self.layer = "bronze"
        """What is being made of them, at the end: bronze, then silver, then gold."""
        self._spools = [str(folder / f"spool-{node}") for node in range(nodes)]
        self._process = LedProcess("Spark", "rumormill.cli.demo.analyst", self._heard)

    def spool_of(self, node: int) -> str:
        """Where a node keeps what happens to it."""
        return self._spools[node]

    async def start(self) -> None:
        """Start the process; it takes some seconds until it is ready."""
        await self._process.start({"spools": self._spools, "tables": str(self.tables)})

    async def read(self) -> None:
        """Wait until Spark is up, and let it read."""
        await self._process.answer("ready", START_TIMEOUT, "starting")
        self._process.send({"do": "read"})

    async def refine(self) -> None:
        """Let it read the rest and make the tables; all nodes are closed by now."""
        self._process.send({"do": "refine"})
        await self._process.answer("refined", REFINE_TIMEOUT, "making the tables")

    async def stop(self) -> None:
        """End it."""
        await self._process.stop(STOP_TIMEOUT)

    async def kill(self) -> None:
        """End it at once."""
        await self._process.kill()

    def check(self) -> None:
        """Raise what went wrong in it, if anything did."""
        self._process.check()

    def _heard(self, event: dict[str, Any]) -> None:
        match event["event"]:
            case "batch":
                self.rows += event["rows"]
                self.batches += 1
            case "stage":
                self.layer = event["stage"].partition("/")[0]

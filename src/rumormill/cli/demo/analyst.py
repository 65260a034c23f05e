"""The Spark side of a demo, in a process of its own, led by JSON lines on stdin.

The first line names the spools and the folder of tables. From then on:

    {"do": "read"}     reads the spools as a stream  -> {"event": "batch", "rows": ...}
    {"do": "refine"}   reads the rest, makes the tables  -> {"event": "refined"}
    {"do": "stop"}, or the end of stdin: the process ends

``{"event": "ready"}`` comes first, when Spark is up.
"""

from __future__ import annotations

import contextlib
import json
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rumormill.cli.demo.worker import tell

if TYPE_CHECKING:
    from rumormill.pipeline.session import SparkSession

INTERVAL = 0.5
"""Seconds between two batches: somebody is watching."""

NO_MINUTE_IS_OVER = 3600.0
"""Seconds. The demo is shorter than the minutes that a lasting stream refines one by one; it does
all of them at the end."""


class Analyst:
    """Reads the spools of the demo while they are written, then makes the tables."""

    def __init__(self, spark: SparkSession, spools: list[str], tables: Path) -> None:
        from rumormill.pipeline.parameters import RunParameters
        from rumormill.pipeline.runner import Runner

        self._runners = [
            Runner(
                spark,
                RunParameters(
                    spools=tuple(spools),
                    tables=tables,
                    once=once,
                    interval=INTERVAL,
                    delay=NO_MINUTE_IS_OVER,
                ),
                self._heard,
            )
            for once in (False, True)
        ]
        self._stream: threading.Thread | None = None

    def read(self) -> None:
        """Begin to read the spools, on a thread of its own."""
        self._stream = threading.Thread(target=_telling(self._runners[0].run), daemon=True)
        self._stream.start()

    def refine(self) -> None:
        """Read what is left and make the tables."""
        self.stop()
        _telling(self._runners[1].run)()

    def stop(self) -> None:
        """Read no more."""
        if self._stream is not None:
            self._runners[0].stop()
            self._stream.join()
            self._stream = None

    @staticmethod
    def _heard(event: str, fields: dict[str, object]) -> None:
        if event != "ready":  # that it reads is nothing to wait for
            tell(event, **fields)


def _telling(work: Any) -> Any:
    """The same work, but what goes wrong is told to whoever leads this process."""

    def run() -> None:
        try:
            work()
        except Exception as error:
            with contextlib.suppress(OSError):
                tell("failed", problem=_sentence(error))

    return run


def _sentence(error: Exception) -> str:
    from rumormill.pipeline.failures import sentence_of

    return sentence_of(error)


def work() -> None:
    """Run until told to stop, or until nobody is left to tell it."""
    from rumormill.pipeline.failures import silence_foreign_logs
    from rumormill.pipeline.session import THROUGHPUT, spark_session

    orders: dict[str, Any] = json.loads(sys.stdin.readline() or "{}")
    if not orders:
        return
    silence_foreign_logs()
    spark = spark_session("rumormill demo", "local[*,4]", **THROUGHPUT)
    tell("ready")
    analyst = Analyst(spark, orders["spools"], Path(orders["tables"]))
    for line in sys.stdin:
        match json.loads(line)["do"]:
            case "read":
                analyst.read()
            case "refine":
                analyst.refine()
            case "stop":
                break
    analyst.stop()
    spark.stop()


def main() -> int:
    """The process."""
    _telling(work)()
    return 0


if __name__ == "__main__":
    sys.exit(main())

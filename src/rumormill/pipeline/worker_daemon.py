"""Spark's daemon that forks Python workers, but it says nothing when Java lets one of them go.

Java closes the connection of a worker that had nothing to do for a minute. The worker ends, finds
nobody to say goodbye to, and PySpark prints a traceback for it onto the user's terminal, in every
other minute of a stream. Nothing is wrong, so nothing is said; all else that PySpark has to say
passes.
"""

from __future__ import annotations

import builtins
from typing import Any, Final

from pyspark import daemon

FAREWELL: Final = "PySpark daemon failed to flush"
GONE: Final = "BrokenPipeError"


def print_but_farewells(*values: Any, **options: Any) -> None:
    """What the daemon prints with; its name for it is that of the built-in one."""
    text = " ".join(map(str, values))
    if not (text.startswith(FAREWELL) and GONE in text):
        builtins.print(*values, **options)  # noqa: T201


if __name__ == "__main__":
    vars(daemon)["print"] = print_but_farewells
    daemon.manager()  # type: ignore[no-untyped-call]

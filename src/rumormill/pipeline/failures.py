"""What Spark says when a query fails, as one sentence.

An error of ours passes through a Python worker, Java and Python again, and comes out as pages of
stack traces with the sentence somewhere in them.
"""

from __future__ import annotations

import logging
import re
import sys
from typing import TYPE_CHECKING, Final

from rumormill.core.errors import RumormillError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OURS: Final = re.compile(r"\brumormill(?:\.\w+)*\.(\w+Error): (.+)")
"""As Python prints the last line of a traceback."""

PASSING: Final = {"NodeAwayError"}
"""Errors of ours that may be over when it is tried again."""

SHORT: Final = 300
"""Characters of a foreign error that are worth repeating."""


class PipelineError(RumormillError):
    """A job of the pipeline failed; the sentence says why."""


def sentence_of(error: BaseException) -> str:
    """The cause, on one line.

    >>> sentence_of(Exception("at java...\\n  rumormill.capture.log.SpoolError: s: gone\\n\\tat x"))
    's: gone'
    >>> sentence_of(Exception("[WORKER_DIED] the worker died\\n\\nJVM stacktrace..."))
    '[WORKER_DIED] the worker died'
    >>> sentence_of(Exception("An error occurred while calling o1.x.\\n: java.Oops: no\\n\\tat"))
    'java.Oops: no'
    """
    if isinstance(error, RumormillError):
        return str(error)
    text = str(error)
    found = OURS.findall(text)
    if found:
        return str(found[-1][1]).strip()
    lines = [line.strip(": ") for line in text.splitlines() if line.strip()]
    if len(lines) > 1 and lines[0].startswith("An error occurred while calling"):
        lines = lines[1:]  # py4j, before it says what it was
    short = lines[0] if lines else type(error).__name__
    return short if len(short) <= SHORT else f"{short[:SHORT]}..."


def may_pass(error: BaseException) -> bool:
    """Whether it is worth trying again: not if an error of ours says that something is wrong.

    >>> may_pass(Exception("rumormill.capture.log.CorruptSegmentError: file: spoilt"))
    False
    >>> may_pass(Exception("Python worker exited unexpectedly (crashed)"))
    True
    """
    if isinstance(error, RumormillError):
        return type(error).__name__ in PASSING
    found = OURS.findall(str(error))
    return not found or found[-1][0] in PASSING


def java_has_ended(spark: SparkSession) -> bool:
    """Whether the Java process of a session is gone: killed, or out of memory."""
    gateway = spark.sparkContext._gateway
    process = getattr(gateway, "proc", None)
    return process is not None and process.poll() is not None


def silence_foreign_logs() -> None:
    """For the command line: Spark's Python side prints a traceback where we say a sentence.

    Warnings of our own stay.
    """
    from pyspark import accumulators

    logging.getLogger("py4j").setLevel(logging.CRITICAL + 1)
    logging.getLogger().addHandler(logging.NullHandler())
    ours = logging.getLogger("rumormill")
    if not ours.handlers:
        ours.addHandler(logging.StreamHandler(sys.stderr))
    for name in ("AccumulatorTCPServer", "AccumulatorUnixServer", "AccumulatorServer"):
        server = getattr(accumulators, name, None)
        if server is not None:  # it is told that Java has ended, too
            server.handle_error = lambda *arguments: None

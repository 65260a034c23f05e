"""Spark: every topic a stream, every network's behaviour a table.

The only room that imports pyspark, and only when something of it is asked for:

    from rumormill.pipeline import RumormillSource, spark_session

    spark = spark_session("weather")
    stream = spark.readStream.format("rumormill").option("spool", "spool").load()
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rumormill.pipeline.session import spark_session
    from rumormill.pipeline.source import RumormillSource

__all__ = ["RumormillSource", "spark_session"]

_HOMES = {"RumormillSource": "source", "spark_session": "session"}


def __getattr__(name: str) -> Any:
    """Bring pyspark in no earlier than needed; say so where it is not installed."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    from rumormill.pipeline.extra import require_spark

    require_spark()
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)

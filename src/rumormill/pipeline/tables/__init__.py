"""The tables: plain functions from DataFrame to DataFrame, the same for batch and streaming.

    from rumormill.pipeline.tables import gold, silver

    tables = silver(spark.read.parquet("tables/bronze/trace"))
    gold(tables)["topics"].show()

What every column means: ``docs/tables.md``. Names and types: ``schema.py``.
"""

from __future__ import annotations

from rumormill.pipeline.tables.alert_rows import AlertParameters
from rumormill.pipeline.tables.comparison import compare
from rumormill.pipeline.tables.gold import gold
from rumormill.pipeline.tables.schema import COMPARISON, GOLD, HISTORY, SILVER, TRACE, VERSION
from rumormill.pipeline.tables.silver import Keep, Silver, Window, silver
from rumormill.pipeline.tables.workers import ParquetFiles

__all__ = [
    "COMPARISON",
    "GOLD",
    "HISTORY",
    "SILVER",
    "TRACE",
    "VERSION",
    "AlertParameters",
    "Keep",
    "ParquetFiles",
    "Silver",
    "Window",
    "compare",
    "gold",
    "silver",
]

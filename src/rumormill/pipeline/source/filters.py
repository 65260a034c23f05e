"""Filters that Spark pushes down into a batch read: topics, events and times.

Spark takes a reader that knows of filters only while ``spark.sql.python.filterPushdown.enabled``
is true, and fails otherwise; so only where Spark asks for it is there such a reader.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

from pyspark.sql.datasource import (
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    LessThan,
    LessThanOrEqual,
)

from rumormill.capture.schema import MESSAGES
from rumormill.pipeline.source.batch import BatchReader
from rumormill.pipeline.source.options import SourceOptions
from rumormill.pipeline.source.reading import ReadPlan
from rumormill.system.times import micros_of

ASKING: Final = "pyspark.sql.worker.data_source_pushdown_filters"
"""The program of Spark's that hands filters to a reader."""


def batch_reader(options: SourceOptions, plan: ReadPlan) -> BatchReader:
    """A reader, with filters if this Spark wants to push some down."""
    main = getattr(sys.modules["__main__"], "__spec__", None)
    asked = ASKING in sys.modules or (main is not None and main.name == ASKING)
    return (FilteringReader if asked else BatchReader)(options, plan)


class FilteringReader(BatchReader):
    """Reads what the filters leave, and passes over what they do not."""

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:
        """Take the filters that we know; the others are left to Spark."""
        return [each for each in filters if not self._take(each)]

    def _take(self, each: Filter) -> bool:
        plan, (name, *inner) = self._plan, getattr(each, "attribute", ("",))
        value: Any = getattr(each, "value", None)
        if inner:
            return False
        if name in ("topic", "event") and isinstance(each, EqualTo | In):
            values = value if isinstance(each, In) else (value,)
            return self._only(name, [text for text in values if isinstance(text, str)])
        if name != ("timestamp" if plan.kind == MESSAGES else "time"):
            return False
        if not isinstance(value, datetime) or value.tzinfo is None:
            return False
        time = micros_of(value)
        if isinstance(each, GreaterThan | GreaterThanOrEqual | EqualTo):
            least = time + isinstance(each, GreaterThan)
            first = least if plan.first_us is None else max(plan.first_us, least)
            self._plan = plan = replace(plan, first_us=first)
        if isinstance(each, LessThan | LessThanOrEqual | EqualTo):
            most = time - isinstance(each, LessThan)
            last = most if plan.last_us is None else min(plan.last_us, most)
            self._plan = replace(plan, last_us=last)
        known = GreaterThan | GreaterThanOrEqual | EqualTo | LessThan | LessThanOrEqual
        return isinstance(each, known)

    def _only(self, name: str, values: list[str]) -> bool:
        before = self._plan.topics if name == "topic" else self._plan.events
        both = tuple(text for text in values if before is None or text in before)
        changed = {"topics": both} if name == "topic" else {"events": both}
        self._plan = replace(self._plan, **changed)  # type: ignore[arg-type]
        return True

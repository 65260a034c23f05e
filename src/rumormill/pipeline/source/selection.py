"""Which rows of a batch are wanted: by topic, event and time, and by offset where topics differ."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rumormill.capture.schema import MESSAGES
from rumormill.pipeline.source.arrays import number_array, text_array
from rumormill.pipeline.source.positions import EVERY_TOPIC
from rumormill.pipeline.source.ranges import Range

if TYPE_CHECKING:
    from rumormill.pipeline.source.reading import ReadPlan


class Selection:
    """What a plan wants of one range."""

    def __init__(self, plan: ReadPlan, wanted: Range) -> None:
        self._plan = plan
        self._range = wanted
        self._topics = None if plan.topics is None else text_array(plan.topics)
        self._events = None if plan.events is None else text_array(plan.events)
        self._time = "timestamp" if plan.kind == MESSAGES else "time"

    def mask(self, batch: pa.RecordBatch, offsets: pa.Array) -> pa.Array | None:
        """True for each row that is wanted; None if all are."""
        masks, plan = [], self._plan
        topic = batch.column("topic")
        if self._topics is not None:
            masks.append(pc.is_in(topic, value_set=self._topics))
        if plan.pattern is not None:
            masks.append(pc.fill_null(pc.match_substring_regex(topic, plan.pattern), False))
        if self._events is not None:
            masks.append(pc.is_in(batch.column("event"), value_set=self._events))
        if plan.first_us is not None or plan.last_us is not None:
            masks.append(self._in_time(batch))
        if self._range.floors:
            masks.append(pc.greater_equal(offsets, _limits(topic, self._range.floors, 0)))
        if self._range.ceilings:
            masks.append(pc.less(offsets, _limits(topic, self._range.ceilings, 2**63 - 1)))
        if not masks:
            return None
        mask = reduce(pc.and_, masks)
        return None if mask.true_count == len(mask) else mask

    def _in_time(self, batch: pa.RecordBatch) -> pa.Array:
        first = -(2**63) if self._plan.first_us is None else self._plan.first_us
        last = 2**63 - 1 if self._plan.last_us is None else self._plan.last_us
        times = batch.column(self._time).cast(pa.int64()).to_numpy(zero_copy_only=False)
        return pa.array((times >= first) & (times <= last))


def _limits(topic: pa.Array, limits: Mapping[str, int], default: int) -> pa.Array:
    """For each row, the offset where its topic begins or ends."""
    named = [name for name in limits if name != EVERY_TOPIC]
    rest = limits.get(EVERY_TOPIC, default)
    places = pc.fill_null(pc.index_in(topic, value_set=text_array(named)), len(named))
    ends = number_array(np.array([*(limits[name] for name in named), rest], np.int64))
    return ends.take(places)

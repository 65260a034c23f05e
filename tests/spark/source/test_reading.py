"""What a task reads, without Spark around it."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumormill.capture.log import SpoolError
from rumormill.capture.open import open_log
from rumormill.core.errors import ConfigError
from rumormill.pipeline.source.columns import arrow_schema, spark_schema
from rumormill.pipeline.source.positions import EVERY_TOPIC, by_topic, ending_place, starting_place
from rumormill.pipeline.source.ranges import Range
from rumormill.pipeline.source.reading import ReadPlan, put_together, read_range
from tests.helpers.capture.spools import TestSpool, make_spool

TOPICS = ("a", "b", "c", "d")
ROWS = 60
PLAN = ReadPlan("messages", arrow_schema("messages", spark_schema("messages", False).names))


@pytest.fixture(scope="module")
def spool(tmp_path_factory: pytest.TempPathFactory) -> TestSpool:
    spool = make_spool(tmp_path_factory.mktemp("reading") / "spool")
    spool.messages([TOPICS[number * 7 % 4] for number in range(ROWS)], batch=7)
    return spool


def offsets(plan: ReadPlan, wanted: Range) -> list[int]:
    return [
        offset
        for batch in put_together(read_range(plan, wanted))
        for offset in batch.column("offset").to_pylist()
    ]


places = st.dictionaries(st.sampled_from((*TOPICS, EVERY_TOPIC)), st.integers(-2, ROWS), min_size=1)


def meant(given: dict[str, int], topic: str, default: int) -> int:
    """What the offsets say about a topic, by the words of the document alone."""
    offset = given.get(topic, given.get(EVERY_TOPIC, default))
    return {-2: 0, -1: ROWS}.get(offset, offset)


@given(places, places, st.booleans())
def test_every_topic_is_read_from_its_start_to_its_end(
    spool: TestSpool, starts: dict[str, int], ends: dict[str, int], some: bool
) -> None:
    log = open_log(spool.folder, "messages")
    topics = tuple(sorted({*starts, *ends} - {EVERY_TOPIC})) if some else None
    if topics == ():
        topics = ("a",)
    begin = by_topic("startingOffsets", json.dumps({t: {"0": o} for t, o in starts.items()}))
    stop = by_topic("endingOffsets", json.dumps({t: {"0": o} for t, o in ends.items()}))
    start = starting_place(begin, log, 0, topics, "error")
    end = ending_place(stop, log, 0, topics)
    plan = ReadPlan("messages", PLAN.schema, topics=topics)
    wanted = Range(
        str(spool.folder), spool.id, 0, start.offset, max(start.offset, end.offset),
        start.topics, end.topics,
    )  # fmt: skip
    assert offsets(plan, wanted) == [
        number
        for number in range(ROWS)
        if (topic := TOPICS[number * 7 % 4]) in (topics or TOPICS)
        and meant(starts, topic, 0) <= number < meant(ends, topic, ROWS)
    ]


@given(st.text(max_size=30) | st.from_regex(r'\{"a": *\{"\d": *-?\d\}\}', fullmatch=True))
def test_any_text_is_offsets_or_an_error_that_names_the_option(text: str) -> None:
    try:
        by_topic("startingOffsets", text)
    except ConfigError as error:
        assert error.key == "startingOffsets"


@given(st.integers(0, ROWS), st.integers(0, ROWS))
def test_any_range_has_its_rows_in_order(spool: TestSpool, one: int, other: int) -> None:
    start, end = sorted((one, other))
    assert offsets(PLAN, Range(str(spool.folder), spool.id, 0, start, end)) == [*range(start, end)]


def test_another_spool_than_was_planned_is_not_read(spool: TestSpool) -> None:
    with pytest.raises(SpoolError, match=f"the spool here is {spool.id}, but another was read"):
        offsets(PLAN, Range(str(spool.folder), "another", 0, 0, 5))


@given(st.lists(st.integers(1, 600), max_size=12))
def test_batches_that_are_put_together_have_the_same_rows(sizes: list[int]) -> None:
    rows = iter(range(sum(sizes)))
    batches = [pa.record_batch({"n": [next(rows) for _ in range(size)]}) for size in sizes]
    found = list(put_together(iter(batches)))
    assert [n for batch in found for n in batch.column("n").to_pylist()] == [*range(sum(sizes))]
    assert all(batch.num_rows >= 256 for batch in found[:-1])


def test_large_batches_are_passed_on_without_a_copy() -> None:
    batch = pa.record_batch({"n": list(range(1000))})
    (found,) = put_together(iter([batch]))
    assert found is batch


def test_a_topic_that_fills_a_batch_costs_no_copy(tmp_path: Path) -> None:
    spool = make_spool(tmp_path / "spool")
    spool.messages(["a"] * 500, batch=500)
    plan = ReadPlan("messages", PLAN.schema, topics=("a",))
    (found,) = read_range(plan, Range(str(spool.folder), spool.id, 0, 0, 500))
    stored = found.column("value").buffers()
    assert all(buffer is None or buffer.parent is not None for buffer in stored)

"""Batches whose place the caller keeps: planned on the driver, read as often as one asks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from rumormill.capture.files.folder import Marks, write_marks
from rumormill.capture.log import DataLostError, SpoolError
from rumormill.capture.reading.local import LocalLog
from rumormill.pipeline.source import SpoolReader, StreamPlace, read_place
from rumormill.pipeline.source.columns import arrow_schema
from rumormill.pipeline.source.options import read_source_options
from rumormill.pipeline.source.planner import Planner
from rumormill.pipeline.source.ranges import Range
from rumormill.pipeline.source.reading import ReadPlan, read_range
from tests.helpers.capture.spools import TestSpool, make_spool
from tests.helpers.node.http_node import http_node


@pytest.fixture
def spool(tmp_path: Path) -> TestSpool:
    return make_spool(tmp_path / "spool", segment_bytes=4096)


def reader_of(*spools: TestSpool, fail_on_data_loss: bool = True) -> SpoolReader:
    folders = [str(each.folder) for each in spools]
    return SpoolReader("messages", folders=folders, fail_on_data_loss=fail_on_data_loss)


def ends(place: StreamPlace) -> list[tuple[int, int]]:
    return [(each.begin, each.end) for each in place.spools.values()]


def test_batch_after_batch_is_read_from_a_kept_place(spark: SparkSession, spool: TestSpool) -> None:
    spool.messages(["weather"] * 25)
    with http_node(spool.folder) as node:
        for reader in (reader_of(spool), SpoolReader("messages", nodes=[node.address])):
            found: list[int] = []
            place = None
            while (new := reader.next_place(place, 10)) != place:
                rows = reader.frame(spark, new).collect()
                assert len(rows) == new.rows
                found += sorted(int(row.value) for row in rows)
                place = read_place(json.loads(json.dumps(new.to_json())), "messages")
            assert found == list(range(25))


def test_a_place_reads_the_same_rows_again(spark: SparkSession, spool: TestSpool) -> None:
    spool.messages(["weather"] * 10)
    reader = reader_of(spool)
    place = reader.next_place()
    spool.messages(["weather"] * 10, first=10)
    for _ in range(2):
        assert reader.frame(spark, place).count() == place.rows == 10


def test_the_limit_is_dealt_over_spools(tmp_path: Path) -> None:
    one, two = make_spool(tmp_path / "one"), make_spool(tmp_path / "two")
    one.messages(["weather"] * 50)
    two.messages(["weather"] * 4)
    assert ends(reader_of(one, two).next_place(None, 20)) == [(0, 16), (0, 4)]


def test_offsets_that_were_left_out_cost_neither_tasks_nor_batches(spool: TestSpool) -> None:
    spool.messages(["weather"] * 5)
    write_marks(spool.folder / "messages", Marks(reserved=2**32, closed=None))
    spool.messages(["weather"] * 5, first=5)
    options = {"spool": str(spool.folder), "startingOffsets": "earliest"}
    planner = Planner(read_source_options(options, streaming=True))
    place = planner.next_place(None, 7)
    assert (ends(place), place.rows) == ([(0, 2**32 + 2)], 7)
    (task,) = planner.tasks_of(place)
    assert [(each.start, each.end) for each in task.ranges] == [(0, 5), (2**32, 2**32 + 2)]
    assert ends(planner.next_place(place)) == [(2**32 + 2, 2**32 + 5)]
    assert len(planner.tasks_of_everything()) == 1


def test_a_node_tells_of_offsets_that_were_left_out(spool: TestSpool) -> None:
    spool.messages(["weather"] * 5)
    write_marks(spool.folder / "messages", Marks(reserved=2**32, closed=None))
    spool.messages(["weather"] * 5, first=5)
    with http_node(spool.folder) as node:
        place = SpoolReader("messages", nodes=[node.address]).next_place()
    assert (ends(place), place.rows) == ([(0, 2**32 + 5)], 10)


def test_what_is_gone_is_an_error_or_counted(spool: TestSpool) -> None:
    for first in range(0, 40, 10):
        spool.messages(["weather"] * 10, first=first)
    before = reader_of(spool).next_place(None, 5)
    segment = spool.segments()[0]
    segment.with_suffix(".index").unlink()
    segment.unlink()
    left = int(spool.segments()[0].stem)
    with pytest.raises(DataLostError, match=f"messages 5 to {left - 1}: removed by retention"):
        reader_of(spool).next_place(before)
    place = reader_of(spool, fail_on_data_loss=False).next_place(before)
    assert (place.lost, place.rows, ends(place)) == (left - 5, 40 - left, [(left, 40)])


def test_what_is_spoilt_ends_the_read_or_is_missing_from_the_rows_that_were_planned(
    spark: SparkSession, tmp_path: Path
) -> None:
    spool = make_spool(tmp_path / "spool")
    spool.messages(["weather"] * 30)
    (segment,) = spool.segments()
    content = bytearray(segment.read_bytes())
    content[len(content) // 2] ^= 0xFF
    segment.write_bytes(content)
    place = reader_of(spool).next_place()
    with pytest.raises(PySparkException, match="checksum"):
        reader_of(spool).frame(spark, place).count()
    reader = reader_of(spool, fail_on_data_loss=False)
    assert place.rows - reader.frame(spark, place).count() == 10


def test_a_spool_that_is_not_given_is_named(spark: SparkSession, tmp_path: Path) -> None:
    one, two = make_spool(tmp_path / "one"), make_spool(tmp_path / "two")
    one.messages(["weather"] * 5)
    place = reader_of(one).next_place()
    with pytest.raises(SpoolError, match=f"spool {one.id} was read up to offset 5, but it is not"):
        reader_of(two).next_place(place)
    with pytest.raises(PySparkException, match=f"{one.id} was read up to offset 5"):
        reader_of(two).frame(spark, place).count()


def test_rows_that_do_not_come_end_the_task(
    spool: TestSpool, monkeypatch: pytest.MonkeyPatch
) -> None:
    spool.messages(["weather"] * 30)
    whole = LocalLog.read

    def leave_one_out(log, start, end, wanted=None):  # type: ignore[no-untyped-def]
        batches = list(whole(log, start, end, wanted))
        yield from batches[:1] + batches[2:]

    monkeypatch.setattr(LocalLog, "read", leave_one_out)
    plan = ReadPlan("messages", arrow_schema("messages", ["value"]))
    wanted = Range(str(spool.folder), spool.id, 0, 0, 30)
    problem = f"{spool.folder}: messages 0 to 29 of spool {spool.id} are 30 records, but 20 were"
    with pytest.raises(SpoolError, match=problem):
        list(read_range(plan, wanted))

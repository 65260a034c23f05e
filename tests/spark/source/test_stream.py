from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import Row, SparkSession

from tests.helpers.capture.spools import BEGIN_US, TestSpool, make_spool
from tests.helpers.spark.stream_query import ONE_BATCH, Collector

BEGIN_MS = BEGIN_US // 1000


@pytest.fixture
def spool(tmp_path: Path) -> TestSpool:
    return make_spool(tmp_path / "spool", segment_bytes=4096)


@pytest.fixture
def stream(spark: SparkSession, checkpoint: str) -> Collector:
    return Collector(spark, checkpoint)


def numbers(rows: list[Row]) -> list[int]:
    return sorted(int(row.value) for row in rows)


def last_offset(checkpoint: str) -> dict[str, Any]:
    """What Spark wrote down last about the source."""
    newest = max((Path(checkpoint) / "offsets").glob("[0-9]*"), key=lambda file: int(file.name))
    found: dict[str, Any] = json.loads(newest.read_text().splitlines()[-1])
    return found


def test_a_restart_goes_on_exactly_where_the_last_run_ended(
    stream: Collector, spool: TestSpool
) -> None:
    spool.messages(["weather"] * 25)
    assert numbers(stream.run(spool=spool.folder, startingOffsets="earliest")) == list(range(25))
    assert stream.run(spool=spool.folder, startingOffsets="earliest") == []
    spool.messages(["weather"] * 17, first=25)
    found = stream.run(spool=spool.folder, startingOffsets="earliest")
    assert numbers(found) == list(range(25, 42))
    assert [row.offset for row in found] == list(range(25, 42))


def test_a_new_stream_begins_at_the_latest_unless_told(stream: Collector, spool: TestSpool) -> None:
    spool.messages(["weather"] * 5)
    assert stream.run(spool=spool.folder) == []


def test_available_now_reads_by_triggers_of_the_size_that_was_given(
    stream: Collector, spool: TestSpool
) -> None:
    spool.messages(["weather"] * 25)
    options = {"startingOffsets": "earliest", "maxOffsetsPerTrigger": 7}
    assert numbers(stream.run(spool=spool.folder, **options)) == list(range(25))
    assert stream.sizes == [7, 7, 7, 4]


def test_available_now_leaves_what_comes_later_to_the_next_run(
    spark: SparkSession, checkpoint: str, spool: TestSpool
) -> None:
    spool.messages(["weather"] * 10)
    found: list[int] = []

    def keep_and_write_more(batch: Any, number: int) -> None:
        found.extend(int(row.value) for row in batch.collect())
        spool.messages(["weather"] * 10, first=10 * (number + 1))

    query = (
        spark.readStream.format("rumormill")
        .option("spool", str(spool.folder))
        .option("startingOffsets", "earliest")
        .options(**({} if ONE_BATCH else {"maxOffsetsPerTrigger": "5"}))
        .load()
        .writeStream.foreachBatch(keep_and_write_more)
        .option("checkpointLocation", checkpoint)
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    assert found == list(range(10))


def test_a_batch_that_nobody_looks_at_counts_as_read(
    spark: SparkSession, checkpoint: str, spool: TestSpool
) -> None:
    # Spark 4.1 does not say where a stream stands: the reader must know it from what is planned.
    spool.messages(["weather"] * 20)
    found: list[int] = []

    def look(batch: Any, number: int) -> None:
        found.extend(int(row.value) for row in (batch.collect() if number > 1 else []))

    query = (
        spark.readStream.format("rumormill")
        .options(spool=str(spool.folder), startingOffsets="earliest", maxOffsetsPerTrigger="6")
        .load()
        .writeStream.foreachBatch(look)
        .option("checkpointLocation", checkpoint)
        .start()
    )
    try:
        query.processAllAvailable()
    finally:
        query.stop()
    assert found == list(range(12, 20))


def test_a_running_stream_sees_what_is_written(
    spark: SparkSession, checkpoint: str, spool: TestSpool
) -> None:
    spool.messages(["weather"] * 10)
    query = (
        spark.readStream.format("rumormill")
        .option("spool", str(spool.folder))
        .option("startingOffsets", "earliest")
        .load()
        .writeStream.format("memory")
        .queryName("seen")
        .option("checkpointLocation", checkpoint)
        .start()
    )
    try:
        for count in (10, 20, 30):
            query.processAllAvailable()
            assert spark.table("seen").count() == count
            spool.messages(["weather"] * 10, first=count)
    finally:
        query.stop()


def test_the_limit_is_dealt_fairly_over_spools(stream: Collector, tmp_path: Path) -> None:
    large, small = make_spool(tmp_path / "large"), make_spool(tmp_path / "small")
    large.messages(["weather"] * 100)
    small.messages(["weather"] * 6)
    stream.run(
        spool=f"{large.folder},{small.folder}", startingOffsets="earliest", maxOffsetsPerTrigger=20
    )
    assert sum(stream.sizes) == 106 and max(stream.sizes) <= 20
    first = [row.partition for row in stream.batches[0]]
    assert (first.count(0), first.count(1)) == (14, 6)  # the small one does not wait


def test_spools_may_be_added_and_change_their_order(stream: Collector, tmp_path: Path) -> None:
    one, two, three = (make_spool(tmp_path / name) for name in ("one", "two", "three"))
    for place, each in enumerate((one, two, three)):
        each.messages(["weather"] * 3, first=100 * place)
    options = {"startingOffsets": "latest"}
    assert stream.run(spool=f"{one.folder},{two.folder}", **options) == []
    one.messages(["weather"], first=3)
    two.messages(["weather"], first=103)
    found = stream.run(spool=f"{one.folder},{two.folder}", **options)
    assert {(row.partition, int(row.value)) for row in found} == {(0, 3), (1, 103)}
    one.messages(["weather"], first=4)
    two.messages(["weather"], first=104)
    found = stream.run(spool=f"{three.folder},{two.folder},{one.folder}", **options)
    # Partitions keep their numbers; all of the new spool is new.
    assert {(row.partition, int(row.value)) for row in found} == {
        (0, 4), (1, 104), (2, 200), (2, 201), (2, 202),
    }  # fmt: skip


def test_a_spool_may_move_to_another_folder(stream: Collector, spool: TestSpool) -> None:
    spool.messages(["weather"] * 5)
    stream.run(spool=spool.folder, startingOffsets="earliest")
    moved = make_spool(spool.folder.rename(spool.folder.with_name("elsewhere")))
    moved.messages(["weather"] * 5, first=5)
    assert numbers(stream.run(spool=moved.folder)) == list(range(5, 10))


def test_another_spool_in_the_place_of_one_is_refused(stream: Collector, spool: TestSpool) -> None:
    spool.messages(["weather"] * 5)
    stream.run(spool=spool.folder, startingOffsets="earliest")
    shutil.rmtree(spool.folder)
    other = make_spool(spool.folder)
    other.messages(["weather"] * 9)
    with pytest.raises(StreamingQueryException) as error:
        stream.run(spool=spool.folder)
    assert f"spool {spool.id} was read up to offset 5" in str(error.value)
    assert f"{spool.folder} ({other.id})" in str(error.value)
    found = stream.run(spool=spool.folder, failOnDataLoss="false")
    assert numbers(found) == list(range(9))
    assert {row.partition for row in found} == {1}


def test_a_checkpoint_of_another_kind_is_refused(stream: Collector, spool: TestSpool) -> None:
    spool.messages(["weather"] * 5)
    stream.run(spool=spool.folder, startingOffsets="earliest")
    with pytest.raises(StreamingQueryException, match="of a stream of messages, not of trace"):
        stream.run(spool=spool.folder, kind="trace")


def test_topics_that_begin_elsewhere_do_so_over_several_triggers(
    stream: Collector, spool: TestSpool
) -> None:
    spool.messages(["weather", "news"] * 10)
    found = stream.run(
        spool=spool.folder, maxOffsetsPerTrigger=4,
        startingOffsets='{"weather": {"0": 2}, "news": {"0": 13}}',
    )  # fmt: skip
    assert numbers(found) == sorted([*range(2, 20, 2), *range(13, 20, 2)])


def test_every_other_topic_keeps_its_floor_after_a_named_one_is_past(
    stream: Collector, spool: TestSpool
) -> None:
    spool.messages(["weather", "news"] * 10)
    found = stream.run(
        spool=spool.folder, maxOffsetsPerTrigger=3,
        startingOffsets='{"weather": {"0": 2}, "*": {"0": 13}}',
    )  # fmt: skip
    assert numbers(found) == sorted([*range(2, 20, 2), *range(13, 20, 2)])


def test_a_stream_can_begin_at_a_time(stream: Collector, spool: TestSpool) -> None:
    spool.messages(["weather"] * 20)
    found = stream.run(spool=spool.folder, startingTimestamp=BEGIN_MS + 13)
    assert numbers(found) == list(range(13, 20))


def test_trace_events_stream_as_messages_do(stream: Collector, spool: TestSpool) -> None:
    spool.events(["published", "delivered", "delivered"])
    options = {"spool": spool.folder, "kind": "trace", "startingOffsets": "earliest"}
    found = stream.run(**options, minPartitions=3)
    assert sorted((row.offset, row.event) for row in found) == [
        (0, "published"), (1, "delivered"), (2, "delivered"),
    ]  # fmt: skip


def test_a_first_batch_that_is_replayed_begins_where_it_began(
    stream: Collector, spool: TestSpool, checkpoint: str
) -> None:
    # Spark keeps no initial offset: asked again after a crash, "latest" would be later.
    spool.messages(["weather"] * 5)
    assert stream.run(spool=spool.folder) == []
    for file in (Path(checkpoint) / "commits").iterdir():  # as if killed before the first commit
        file.unlink()
    spool.messages(["weather"] * 5, first=5)
    assert numbers(stream.run(spool=spool.folder)) == list(range(5, 10))
    assert stream.sizes == [0, 5]


def test_a_first_batch_that_cannot_be_replayed_whole_is_an_error(
    stream: Collector, spool: TestSpool, checkpoint: str
) -> None:
    for first in range(0, 40, 10):
        spool.messages(["weather"] * 10, first=first)
    stream.run(spool=spool.folder, startingOffsets="earliest")
    for file in (Path(checkpoint) / "commits").iterdir():
        file.unlink()
    segment = spool.segments()[0]
    segment.with_suffix(".index").unlink()
    segment.unlink()
    # The earliest is another one now: to begin there would leave records out in silence.
    with pytest.raises(StreamingQueryException, match=r"messages 0 to .*: removed by retention"):
        stream.run(spool=spool.folder, startingOffsets="earliest")


def test_a_batch_that_is_replayed_has_the_same_rows(
    stream: Collector, spool: TestSpool, checkpoint: str
) -> None:
    spool.messages(["weather"] * 20)
    options = {"spool": spool.folder, "startingOffsets": "earliest", "maxOffsetsPerTrigger": 8}
    stream.run(**options)
    before = dict(stream.batches)
    newest = max((Path(checkpoint) / "commits").glob("[0-9]*"), key=lambda file: int(file.name))
    newest.unlink()  # as if killed after the batch was written and before it was committed
    spool.messages(["weather"] * 5, first=20)
    stream.run(**options)
    assert stream.batches[int(newest.name)] == before[int(newest.name)]
    assert numbers([row for rows in stream.batches.values() for row in rows]) == list(range(25))


# ---- what was lost


def fill_and_lose(spool: TestSpool) -> int:
    """Fifty more messages, of which retention has removed the first; where it begins now."""
    for first in range(10, 60, 10):
        spool.messages(["weather"] * 10, first=first)
    for segment in spool.segments()[:2]:
        segment.with_suffix(".index").unlink()
        segment.unlink()
    return int(spool.segments()[0].stem)


def test_what_is_gone_before_it_was_read_ends_the_stream(
    stream: Collector, spool: TestSpool
) -> None:
    spool.messages(["weather"] * 10)
    stream.run(spool=spool.folder, startingOffsets="earliest")
    left = fill_and_lose(spool)
    with pytest.raises(StreamingQueryException) as error:
        stream.run(spool=spool.folder)
    assert f"messages 10 to {left - 1}: removed by retention" in str(error.value)
    assert str(spool.folder) in str(error.value)


def test_without_failing_the_gap_is_counted_in_the_progress(
    stream: Collector, spool: TestSpool, checkpoint: str
) -> None:
    spool.messages(["weather"] * 10)
    stream.run(spool=spool.folder, startingOffsets="earliest")
    assert last_offset(checkpoint)["lost"] == 0
    left = fill_and_lose(spool)
    found = stream.run(spool=spool.folder, failOnDataLoss="false")
    assert numbers(found) == list(range(left, 60))
    assert last_offset(checkpoint)["lost"] == left - 10
    assert stream.progress[-1]["sources"][0]["endOffset"]["lost"] == left - 10


def test_a_spool_that_lost_its_end_is_told(stream: Collector, tmp_path: Path) -> None:
    spool = make_spool(tmp_path / "spool")
    spool.messages(["weather"] * 10)
    copy = shutil.copytree(spool.folder, tmp_path / "copy")
    spool.messages(["weather"] * 10, first=10)
    stream.run(spool=spool.folder, startingOffsets="earliest")
    with pytest.raises(StreamingQueryException, match="messages 10 to 19: read before, but no lon"):
        stream.run(spool=copy)
    assert stream.run(spool=copy, failOnDataLoss="false") == []


def test_a_corrupt_segment_ends_a_stream_or_is_skipped(stream: Collector, spool: TestSpool) -> None:
    spool.messages(["weather"] * 30)
    segment = spool.segments()[0]
    content = bytearray(segment.read_bytes())
    content[-100] ^= 0xFF
    segment.write_bytes(content)
    options = {"spool": spool.folder, "startingOffsets": "earliest"}
    with pytest.raises(StreamingQueryException) as error:
        stream.run(**options)
    assert str(segment) in str(error.value)
    found = numbers(stream.run(**options, failOnDataLoss="false"))
    assert 0 < len(found) < 30 and set(range(30)) - set(found)


def test_how_far_a_stream_is_behind_is_in_its_progress(stream: Collector, spool: TestSpool) -> None:
    spool.messages(["weather"] * 20)
    stream.run(spool=spool.folder, startingOffsets="earliest", maxOffsetsPerTrigger=15)
    source = stream.progress[0]["sources"][0]
    assert source["endOffset"]["spools"][spool.id]["end"] == 15
    if not ONE_BATCH:  # Spark 4.1 does not ask
        assert source["latestOffset"][spool.id] == 20
    assert source["numInputRows"] == 15

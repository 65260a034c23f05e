from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from rumormill.capture.files.folder import Marks, write_marks
from tests.helpers.capture.spools import BEGIN_US, TestSpool, make_spool

BEGIN_MS = BEGIN_US // 1000


def read(spark: SparkSession, **options: object) -> DataFrame:
    reader = spark.read.format("rumormill")
    for key, value in options.items():
        reader = reader.option(key, str(value))
    return reader.load()


def numbers(frame: DataFrame) -> list[int]:
    return sorted(int(row.value) for row in frame.select("value").collect())


@pytest.fixture
def spool(tmp_path: Path) -> TestSpool:
    return make_spool(tmp_path / "spool")


def test_a_message_has_the_columns_of_kafka_and_those_of_a_network(
    spark: SparkSession, spool: TestSpool
) -> None:
    spool.messages(["weather"] * 3)
    frame = read(spark, spool=spool.folder)
    assert frame.columns == [
        "key", "value", "topic", "partition", "offset", "timestamp", "timestampType",
        "sender", "message_id", "network", "node", "received_from", "spool",
    ]  # fmt: skip
    row = frame.where("offset = 2").collect()[0]
    assert (row.key, bytes(row.value), row.topic) == (None, b"2", "weather")
    assert (row.partition, row.offset, row.timestampType) == (0, 2, 1)
    unix = frame.where("offset = 2").selectExpr("unix_micros(timestamp) AS us").collect()[0].us
    assert unix == BEGIN_US + 2000
    assert (row.sender, row.network) == ("12D3KooWsender", "gossipsub")
    assert (row.node, row.received_from) == ("12D3KooWnode", "12D3KooWrelay")
    assert (bytes(row.message_id), row.spool) == (b"\0\0\0\2", spool.id)


def test_headers_come_when_they_are_asked_for(spark: SparkSession, spool: TestSpool) -> None:
    spool.messages(["weather"])
    frame = read(spark, spool=spool.folder, includeHeaders="true")
    assert frame.columns[7] == "headers"
    assert frame.schema["headers"].dataType.simpleString() == (
        "array<struct<key:string,value:binary>>"
    )
    (header,) = frame.collect()[0].headers
    assert (header.key, bytes(header.value)) == ("number", b"0")


def test_trace_events_have_their_own_columns(spark: SparkSession, spool: TestSpool) -> None:
    spool.events(["published", "delivered"])
    frame = read(spark, spool=spool.folder, kind="trace")
    assert frame.columns == [
        "spool", "partition", "offset", "time", "network", "node", "event", "topic",
        "message_id", "peer", "size", "count", "reason", "sender", "fields",
    ]  # fmt: skip
    first, second = sorted(frame.collect(), key=lambda row: row.offset)
    assert (first.event, first.topic, first.size) == ("published", None, 0)
    assert (second.event, second.topic, second.spool) == ("delivered", "weather", spool.id)


def test_a_schema_chooses_columns_and_their_order(spark: SparkSession, spool: TestSpool) -> None:
    spool.messages(["weather"] * 3)
    frame = (
        spark.read.schema("offset bigint, value binary")
        .format("rumormill")
        .option("spool", str(spool.folder))
        .load()
    )
    found = sorted((row.offset, bytes(row.value)) for row in frame.collect())
    assert found == [(0, b"0"), (1, b"1"), (2, b"2")]


@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        ("colour string", "messages have no column 'colour'"),
        ("value string", "column 'value' is binary, not string"),
    ],
)
def test_a_schema_cannot_invent_columns(
    spark: SparkSession, spool: TestSpool, schema: str, problem: str
) -> None:
    reader = spark.read.schema(schema).format("rumormill").option("spool", str(spool.folder))
    with pytest.raises(PySparkException, match=problem):
        reader.load().collect()


def test_an_empty_spool_is_an_empty_frame(spark: SparkSession, spool: TestSpool) -> None:
    assert read(spark, spool=spool.folder).collect() == []
    assert read(spark, spool=spool.folder, kind="trace").count() == 0


def test_topics_are_chosen_by_name_or_pattern(spark: SparkSession, spool: TestSpool) -> None:
    spool.messages(["weather", "news", "weather/bern", "sports"] * 5)
    assert numbers(read(spark, spool=spool.folder, subscribe="news")) == [1, 5, 9, 13, 17]
    assert len(numbers(read(spark, spool=spool.folder, subscribe="news, sports"))) == 10
    assert numbers(read(spark, spool=spool.folder, subscribe="none")) == []
    found = read(spark, spool=spool.folder, subscribePattern="weather.*")
    assert {row.topic for row in found.collect()} == {"weather", "weather/bern"}
    found = read(spark, spool=spool.folder, subscribePattern="eat")
    assert found.collect() == []  # a pattern means the whole name, as in Kafka's source
    offsets = [row.offset for row in read(spark, spool=spool.folder, subscribe="news").collect()]
    assert sorted(offsets) == [1, 5, 9, 13, 17]


def test_trace_events_are_chosen_by_topic_too(spark: SparkSession, spool: TestSpool) -> None:
    spool.events(["published", "delivered"] * 3)
    found = read(spark, spool=spool.folder, kind="trace", subscribe="weather").collect()
    assert [row.event for row in found] == ["delivered"] * 3


def test_offsets_are_chosen_by_topic_and_partition(spark: SparkSession, spool: TestSpool) -> None:
    spool.messages(["weather", "news"] * 10)
    chosen = {"startingOffsets": '{"*": {"0": 5}}', "endingOffsets": '{"*": {"0": 12}}'}
    assert numbers(read(spark, spool=spool.folder, **chosen)) == list(range(5, 12))
    chosen = {"startingOffsets": '{"weather": {"0": 15}}'}
    found = numbers(read(spark, spool=spool.folder, **chosen))
    assert found == sorted([*range(1, 20, 2), 16, 18])  # news is not named: all of it
    found = numbers(read(spark, spool=spool.folder, subscribe="weather", **chosen))
    assert found == [16, 18]
    chosen = {
        "startingOffsets": '{"weather": {"0": 4}, "*": {"0": 8}}',
        "endingOffsets": '{"news": {"0": 12}, "weather": {"0": -1}}',
    }
    found = numbers(read(spark, spool=spool.folder, **chosen))
    assert found == sorted([*range(4, 20, 2), 9, 11])
    chosen = {"startingOffsets": '{"*": {"0": -2}}', "endingOffsets": '{"*": {"0": -1}}'}
    assert len(numbers(read(spark, spool=spool.folder, **chosen))) == 20


def test_times_are_chosen_to_the_very_row(spark: SparkSession, spool: TestSpool) -> None:
    spool.messages(["weather"] * 35)
    found = read(
        spark, spool=spool.folder, startingTimestamp=BEGIN_MS + 7, endingTimestamp=BEGIN_MS + 23
    )
    assert numbers(found) == list(range(7, 23))
    late = {"startingTimestamp": BEGIN_MS + 1000}
    with pytest.raises(PySparkException, match=r"nothing in .* is as late as"):
        read(spark, spool=spool.folder, **late).collect()
    found = read(spark, spool=spool.folder, startingOffsetsByTimestampStrategy="latest", **late)
    assert found.collect() == []


def test_rows_are_shared_out_among_tasks(spark: SparkSession, spool: TestSpool) -> None:
    spool.messages(["weather"] * 100)
    assert read(spark, spool=spool.folder).rdd.getNumPartitions() == 1
    frame = read(spark, spool=spool.folder, minPartitions=3)
    assert frame.rdd.getNumPartitions() >= 3
    assert numbers(frame) == list(range(100))
    frame = read(spark, spool=spool.folder, maxRecordsPerPartition=9)
    assert frame.rdd.getNumPartitions() == 12
    assert numbers(frame) == list(range(100))


def test_several_spools_are_partitions(spark: SparkSession, tmp_path: Path) -> None:
    spools = [make_spool(tmp_path / name) for name in ("a", "b", "c")]
    for place, each in enumerate(spools):
        each.messages(["weather"] * (place + 1), first=100 * place)
    rows = read(spark, spool=",".join(str(each.folder) for each in spools)).collect()
    found = sorted((row.partition, row.offset, int(row.value), row.spool) for row in rows)
    assert found == [
        (0, 0, 0, spools[0].id),
        (1, 0, 100, spools[1].id), (1, 1, 101, spools[1].id),
        (2, 0, 200, spools[2].id), (2, 1, 201, spools[2].id), (2, 2, 202, spools[2].id),
    ]  # fmt: skip
    offsets = '{"weather": {"1": 1, "2": 2}}'
    rows = read(
        spark, spool=",".join(str(each.folder) for each in spools), startingOffsets=offsets
    ).collect()
    assert sorted(int(row.value) for row in rows) == [0, 101, 202]


def test_the_same_spool_twice_is_refused(spark: SparkSession, spool: TestSpool) -> None:
    with pytest.raises(PySparkException, match="are the same spool"):
        read(spark, spool=f"{spool.folder},{spool.folder}").collect()


def test_offsets_that_were_left_out_are_no_rows(spark: SparkSession, spool: TestSpool) -> None:
    spool.messages(["weather"] * 5)
    write_marks(spool.folder / "messages", Marks(reserved=1000, closed=None))
    spool.messages(["weather"] * 5, first=5)
    frame = read(spark, spool=spool.folder, minPartitions=4)
    assert numbers(frame) == list(range(10))
    assert max(row.offset for row in frame.collect()) == 1004


def test_small_batches_are_put_together(spark: SparkSession, spool: TestSpool) -> None:
    spool.messages(["weather"] * 700, batch=3)
    assert numbers(read(spark, spool=spool.folder)) == list(range(700))


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"subscrib": "x"}, "subscrib: rumormill has no such option; did you mean subscribe?"),
        ({"startingOffsets": '{"*": {"0": 99}}'}, "where the latest is 10"),
        (
            {"subscribe": "news", "startingOffsets": '{"weather": {"0": 1}}'},
            "gives offsets of 'weather', which is not subscribed to",
        ),
        ({"maxOffsetsPerTrigger": "1"}, "maxOffsetsPerTrigger: a batch has no triggers"),
    ],
)
def test_what_cannot_be_read_is_told(
    spark: SparkSession, spool: TestSpool, options: dict[str, str], problem: str
) -> None:
    spool.messages(["weather"] * 10)
    with pytest.raises(PySparkException) as error:
        read(spark, spool=spool.folder, **options).collect()
    assert problem in str(error.value)


def test_a_folder_without_a_spool_is_named(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(PySparkException, match=f"{tmp_path}/nowhere: there is no spool"):
        read(spark, spool=tmp_path / "nowhere").collect()


# ---- what was lost


def lose_first_segment(spool: TestSpool) -> None:
    segment = spool.segments()[0]
    segment.with_suffix(".index").unlink()
    segment.unlink()


def test_what_retention_removed_is_an_error_or_a_gap(spark: SparkSession, tmp_path: Path) -> None:
    spool = make_spool(tmp_path / "spool", segment_bytes=4096)
    for first in range(0, 100, 10):
        spool.messages(["weather"] * 10, first=first)
    lose_first_segment(spool)
    left = int(spool.segments()[0].stem)
    assert numbers(read(spark, spool=spool.folder)) == list(range(left, 100))
    gone = {"startingOffsets": '{"*": {"0": 0}}'}
    with pytest.raises(PySparkException, match=f"0 to {left - 1}: removed by retention"):
        read(spark, spool=spool.folder, **gone).collect()
    found = read(spark, spool=spool.folder, failOnDataLoss="false", **gone)
    assert numbers(found) == list(range(left, 100))


def test_a_corrupt_segment_is_named_and_skipped_only_when_told(
    spark: SparkSession, spool: TestSpool
) -> None:
    spool.messages(["weather"] * 30)
    (segment,) = spool.segments()
    content = bytearray(segment.read_bytes())
    content[len(content) // 2] ^= 0xFF
    segment.write_bytes(content)
    with pytest.raises(PySparkException) as error:
        read(spark, spool=spool.folder).collect()
    assert str(segment) in str(error.value) and "checksum" in str(error.value)
    found = read(spark, spool=spool.folder, failOnDataLoss="false")
    assert numbers(found) == [*range(10), *range(20, 30)]

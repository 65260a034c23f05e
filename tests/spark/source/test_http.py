from __future__ import annotations

import threading
from pathlib import Path

import pytest
from pyspark.errors import PySparkException, StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

from tests.helpers.capture.spools import TestSpool, make_spool
from tests.helpers.node.http_node import http_node
from tests.helpers.spark.stream_query import Collector

TOKEN = "a-long-random-token"


def read(spark: SparkSession, **options: object) -> DataFrame:
    reader = spark.read.format("rumormill")
    for key, value in options.items():
        reader = reader.option(key, str(value))
    return reader.load()


def numbers(rows: list) -> list[int]:  # type: ignore[type-arg]
    return sorted(int(row.value) for row in rows)


@pytest.fixture
def spool(tmp_path: Path) -> TestSpool:
    return make_spool(tmp_path / "spool", segment_bytes=4096)


def test_a_node_reads_as_its_folder_does(spark: SparkSession, spool: TestSpool) -> None:
    spool.messages(["weather", "news"] * 50)
    with http_node(spool.folder) as node:
        for options in (
            {}, {"subscribe": "news"}, {"minPartitions": 3}, {"includeHeaders": "true"},
            {"startingOffsets": '{"*": {"0": 33}}', "endingOffsets": '{"*": {"0": 44}}'},
        ):  # fmt: skip
            there = read(spark, node=node.address, **options).orderBy("offset").collect()
            here = read(spark, spool=spool.folder, **options).orderBy("offset").collect()
            assert there == here and there


def test_several_nodes_and_a_folder_are_read_as_one(spark: SparkSession, tmp_path: Path) -> None:
    spools = [make_spool(tmp_path / name) for name in ("a", "b", "c")]
    for place, each in enumerate(spools):
        each.messages(["weather"] * 5, first=10 * place)
    with http_node(spools[1].folder) as one, http_node(spools[2].folder) as two:
        frame = read(spark, spool=spools[0].folder, node=f"{one.address},{two.address}")
        rows = frame.collect()
    assert numbers(rows) == [*range(5), *range(10, 15), *range(20, 25)]
    assert {(row.partition, row.spool) for row in rows} == {
        (place, each.id) for place, each in enumerate(spools)
    }


def test_the_token_is_brought_by_driver_and_tasks(spark: SparkSession, spool: TestSpool) -> None:
    spool.messages(["weather"] * 10)
    with http_node(spool.folder, token=TOKEN) as node:
        assert read(spark, node=node.address, token=TOKEN).count() == 10
        with pytest.raises(PySparkException, match=f"{node.address}: this node asks for its token"):
            read(spark, node=node.address).count()
        with pytest.raises(PySparkException, match="asks for its token"):
            read(spark, node=node.address, token="another-long-token").count()


def test_a_token_is_not_shown_in_plans(spark: SparkSession, spool: TestSpool) -> None:
    spool.messages(["weather"] * 10)
    with http_node(spool.folder, token=TOKEN) as node:
        frame = read(spark, node=node.address, token=TOKEN)
        assert TOKEN not in frame._jdf.queryExecution().toString()


def test_a_node_that_is_away_is_named(spark: SparkSession, spool: TestSpool) -> None:
    with http_node(spool.folder) as node:
        pass
    with pytest.raises(PySparkException, match=f"{node.address}: the node is away"):
        read(spark, node=node.address, retrySeconds="0.2").count()


def test_a_node_restarts_while_spark_reads(
    spark: SparkSession, checkpoint: str, spool: TestSpool
) -> None:
    spool.messages(["weather"] * 300)
    stream = Collector(spark, checkpoint)
    found: list = []  # type: ignore[type-arg]
    started, seen = threading.Event(), threading.Event()

    def run() -> None:
        frame = (
            spark.readStream.format("rumormill").option("node", node.address)
            .option("startingOffsets", "earliest").option("maxOffsetsPerTrigger", "20").load()
        )  # fmt: skip

        def keep(batch: DataFrame, number: int) -> None:
            found.extend(batch.collect())
            started.set()
            if number == 2:
                assert seen.wait(30)  # from here on the node is another one

        query = (
            frame.writeStream.foreachBatch(keep).option("checkpointLocation", checkpoint)
            .start()
        )  # fmt: skip
        query.processAllAvailable()
        query.stop()

    with http_node(spool.folder) as node:
        query = threading.Thread(target=run)
        query.start()
        assert started.wait(60)
    seen.set()
    with http_node(spool.folder, port=node.port):
        query.join(60)
        assert not query.is_alive()
        assert numbers(found) == list(range(300))
        assert stream.run(node=node.address) == []


def test_another_node_in_the_place_of_one_is_refused(
    spark: SparkSession, checkpoint: str, tmp_path: Path
) -> None:
    one, two = make_spool(tmp_path / "one"), make_spool(tmp_path / "two")
    one.messages(["weather"] * 10)
    two.messages(["weather"] * 10)
    stream = Collector(spark, checkpoint)
    with http_node(one.folder) as node:
        assert len(stream.run(node=node.address, startingOffsets="earliest")) == 10
    with (
        http_node(two.folder, port=node.port),
        pytest.raises(StreamingQueryException, match=f"spool {one.id} was read up to offset 10"),
    ):
        stream.run(node=node.address)


def test_a_stream_may_go_on_over_http_where_it_began_in_the_folder(
    spark: SparkSession, checkpoint: str, spool: TestSpool
) -> None:
    stream = Collector(spark, checkpoint)
    spool.messages(["weather"] * 10)
    assert len(stream.run(spool=spool.folder, startingOffsets="earliest")) == 10
    spool.messages(["weather"] * 10, first=10)
    with http_node(spool.folder) as node:
        assert numbers(stream.run(node=node.address)) == list(range(10, 20))


def test_a_corrupt_segment_behind_a_node_is_named_and_skipped_only_when_told(
    spark: SparkSession, tmp_path: Path
) -> None:
    spool = make_spool(tmp_path / "spool")
    spool.messages(["weather"] * 30)
    (segment,) = spool.segments()
    content = bytearray(segment.read_bytes())
    content[len(content) // 2] ^= 0xFF
    segment.write_bytes(content)
    with http_node(spool.folder) as node:
        with pytest.raises(PySparkException) as error:
            read(spark, node=node.address).collect()
        assert segment.name in str(error.value)
        found = read(spark, node=node.address, failOnDataLoss="false").collect()
        assert numbers(found) == [*range(10), *range(20, 30)]

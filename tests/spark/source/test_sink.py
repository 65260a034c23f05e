from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException, StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import CaseInsensitiveDict
from pyspark.sql.types import _parse_datatype_string

from rumormill.capture.envelope import Envelope, decode
from rumormill.core.errors import ConfigError
from rumormill.pipeline.source.sink import (
    PART_BYTES,
    PART_ROWS,
    Published,
    SinkOptions,
    encode,
    parts,
    read_sink_options,
)
from tests.helpers.capture.spools import make_spool
from tests.helpers.node.http_node import HttpNode, http_node

TOKEN = "a-long-random-token"
NODE = "http://127.0.0.1:7700"


def write(frame: DataFrame, node: str, **options: object) -> None:
    writer = frame.write.format("rumormill").mode("append").option("node", node)
    for key, value in options.items():
        writer = writer.option(key, str(value))
    writer.save()


def data(node: HttpNode) -> list[bytes]:
    return sorted(message.data for message in node.messages)


def check(schema: str, **options: str) -> SinkOptions:
    fields = _parse_datatype_string(schema)
    return read_sink_options(CaseInsensitiveDict({"node": NODE, **options}), fields, False)  # type: ignore[arg-type]


def test_rows_are_published(spark: SparkSession) -> None:
    frame = spark.createDataFrame(
        [("weather", "rain"), ("news", "none"), ("weather", "snow")], "topic string, value string"
    )
    with http_node(topics=["weather", "news"]) as node:
        write(frame, node.address)
    assert sorted((message.topic, message.data) for message in node.messages) == [
        ("news", b"none"), ("weather", b"rain"), ("weather", b"snow"),
    ]  # fmt: skip


def test_the_option_topic_is_for_every_row(spark: SparkSession) -> None:
    frame = spark.createDataFrame([("elsewhere", bytearray(b"\xff"))], "topic string, value binary")
    with http_node(topics=["weather"]) as node:
        write(frame, node.address, topic="weather")
        write(frame.select("value"), node.address, topic="weather")
    assert [(message.topic, message.data) for message in node.messages] == [
        ("weather", b"\xff")
    ] * 2


def test_a_key_and_headers_travel_in_an_envelope_and_a_plain_value_does_not(
    spark: SparkSession,
) -> None:
    frame = spark.createDataFrame(
        [
            ("weather", "Bern", "rain", [("unit", bytearray(b"mm"))]),
            ("weather", None, "plain", None),
            ("weather", "Basel", None, None),
        ],
        "topic string, key string, value string, headers array<struct<key:string,value:binary>>",
    )
    with http_node(topics=["weather"]) as node:
        write(frame, node.address)
    plain = [message.data for message in node.messages if decode(message.data) is None]
    packed = [decode(message.data) for message in node.messages]
    assert plain == [b"plain"]
    assert Envelope(b"rain", b"Bern", (("unit", b"mm"),)) in packed
    assert Envelope(None, b"Basel") in packed


def test_columns_that_a_message_has_not_are_left_out(spark: SparkSession) -> None:
    frame = spark.createDataFrame([("weather", "rain", 7)], "topic string, value string, extra int")
    with http_node(topics=["weather"]) as node:
        write(frame, node.address)
    assert data(node) == [b"rain"]


def test_many_rows_of_several_tasks_all_arrive(spark: SparkSession) -> None:
    frame = spark.range(0, 10_000, 1, 3).selectExpr("'weather' AS topic", "string(id) AS value")
    with http_node(topics=["weather"]) as node:
        write(frame, node.address)
    assert sorted(int(message.data) for message in node.messages) == list(range(10_000))


class Query:
    """A stream from a folder of JSON lines to a node."""

    def __init__(self, spark: SparkSession, folder: Path, checkpoint: str) -> None:
        folder.mkdir()
        self._spark, self._folder, self._checkpoint = spark, folder, checkpoint
        self._files = 0

    def add(self, *values: str) -> None:
        lines = "".join(f'{{"topic": "weather", "value": "{value}"}}\n' for value in values)
        (self._folder / f"{self._files:03d}.json").write_text(lines)
        self._files += 1

    def run(self, node: str, **options: object) -> None:
        frame = self._spark.readStream.schema("topic string, value string").json(str(self._folder))
        writer = frame.writeStream.format("rumormill").option("node", node)
        for key, value in options.items():
            writer = writer.option(key, str(value))
        query = (
            writer.option("checkpointLocation", self._checkpoint).trigger(availableNow=True).start()
        )
        try:
            query.awaitTermination()
        finally:
            query.stop()

    def forget_last_commit(self) -> None:
        """As if the driver had been killed after publishing and before committing."""
        commits = (Path(self._checkpoint) / "commits").glob("[0-9]*")
        max(commits, key=lambda file: int(file.name)).unlink()


@pytest.fixture
def query(spark: SparkSession, tmp_path: Path, checkpoint: str) -> Query:
    return Query(spark, tmp_path / "lines", checkpoint)


def test_a_replayed_batch_is_recognised_and_not_published_again(
    query: Query, tmp_path: Path
) -> None:
    spool = make_spool(tmp_path / "spool").folder
    with http_node(spool, topics=["weather"]) as node:
        query.add("rain", "snow")
        query.run(node.address)
        query.forget_last_commit()
        query.add("fog")
        query.run(node.address)
        assert data(node) == [b"fog", b"rain", b"snow"]
        query.forget_last_commit()
    with http_node(spool, topics=["weather"], port=node.port) as again:  # the ledger is on disk
        query.run(again.address)
        assert data(again) == []
        query.add("hail")
        query.run(again.address)
        assert data(again) == [b"hail"]


def test_equal_rows_of_two_batches_are_both_published(query: Query) -> None:
    with http_node(topics=["weather"]) as node:
        for _ in range(2):
            query.add("rain")
            query.run(node.address)
        assert data(node) == [b"rain", b"rain"]


def test_a_stream_whose_node_is_away_fails_and_loses_nothing(query: Query) -> None:
    with http_node(topics=["weather"]) as node:
        query.add("rain")
        query.run(node.address)
    query.add("snow")
    with pytest.raises(StreamingQueryException, match=f"{node.address}: the node is away"):
        query.run(node.address, retrySeconds="0.2")
    with http_node(topics=["weather"], port=node.port) as again:
        query.run(again.address)
    assert data(again) == [b"snow"]


def test_a_node_that_is_away_is_named(spark: SparkSession) -> None:
    with http_node() as node:
        pass
    frame = spark.createDataFrame([("weather", "rain")], "topic string, value string")
    with pytest.raises(PySparkException, match=f"{node.address}: the node is away"):
        write(frame, node.address, retrySeconds="0.2")


def test_what_the_node_refuses_is_told_with_its_row(spark: SparkSession) -> None:
    frame = spark.createDataFrame([("weather", "x"), (None, "y")], "topic string, value string")
    with http_node(topics=["weather"]) as node:
        with pytest.raises(PySparkException, match=f"{node.address}: row . *: a topic is a text"):
            write(frame.coalesce(1), node.address)
        silent = spark.createDataFrame([("silence", "x")], "topic string, value string")
        with pytest.raises(PySparkException, match=r"nobody listened to 'silence' within 0\.1 s"):
            write(silent, node.address, ready="0.1")
        write(silent, node.address, ready="0")


def test_the_token_is_brought(spark: SparkSession) -> None:
    frame = spark.createDataFrame([("weather", "rain")], "topic string, value string")
    with http_node(topics=["weather"], token=TOKEN) as node:
        with pytest.raises(PySparkException, match="asks for its token"):
            write(frame, node.address)
        write(frame, node.address, token=TOKEN)
    assert data(node) == [b"rain"]


def test_what_was_published_cannot_be_overwritten(spark: SparkSession) -> None:
    frame = spark.createDataFrame([("weather", "rain")], "topic string, value string")
    with pytest.raises(PySparkException, match="mode: what was published cannot be taken back"):
        frame.write.format("rumormill").mode("overwrite").option("node", NODE).save()


@pytest.mark.usefixtures("spark")  # whose Java reads the schema
@pytest.mark.parametrize(
    ("schema", "options", "problem"),
    [
        ("topic string", {}, "value: there is no such column, only topic"),
        ("value string", {}, "topic: give it as a column or as an option"),
        ("topic int, value string", {}, "topic: the column must be string, not int"),
        ("topic string, value int", {}, "value: the column must be string or binary, not int"),
        ("topic string, value string, key int", {}, "key: the column must be string or binary"),
        (
            "topic string, value string, headers map<string,string>", {},
            "headers: the column must be array<struct<key:string,value:binary>>, not map",
        ),
        ("topic string, value string", {"node": "x"}, "node: must be an address"),
        ("topic string, value string", {"node": f"{NODE},{NODE}"}, "node: say through which node"),
        ("topic string, value string", {"node": ""}, "node: say through which node"),
        ("topic string, value string", {"topics": "x"}, "topics: .* did you mean topic?"),
        ("topic string, value string", {"ready": "soon"}, "ready: must be a number of seconds"),
        (
            "topic string, value string", {"kafka.bootstrap.servers": "x"},
            "kafka.bootstrap.servers: rumormill has no such option",
        ),
    ],
)  # fmt: skip
def test_a_wrong_schema_or_option_is_named(
    schema: str, options: dict[str, str], problem: str
) -> None:
    with pytest.raises(ConfigError, match=problem.replace("<", ".").replace("?", ".")):
        check(schema, **options)


@pytest.mark.usefixtures("spark")
def test_options_that_are_sparks_own_are_let_be() -> None:
    found = check("topic string, value binary", checkpointLocation="x", queryName="y")
    assert found == SinkOptions(NODE)


def test_parts_are_small_whatever_the_rows_are() -> None:
    large = b"z" * (PART_BYTES + 1)
    values = [b"x" * 10] * 5000 + [b"y" * 900_000] * 5 + [large]
    batch = pa.RecordBatch.from_pydict({"value": values})
    found = list(parts(iter([batch]), "weather"))
    assert [value for part in found for value in part.column("value").to_pylist()] == values
    assert max(part.num_rows for part in found) == PART_ROWS
    # What is sent, with a little for its frame: only a row too large for a part goes beyond.
    beyond = [part for part in found if len(encode(part)) > PART_BYTES + 4096]
    assert [part.column("value").to_pylist() for part in beyond] == [[large]]
    assert len(found) <= 12  # and no smaller than they must be


def test_what_tasks_published_is_added_up() -> None:
    total = Published()
    answer: dict[str, Any] = {"published": 2, "repeated": 1, "unheard": 1, "durable": True}
    total.add(answer)
    total.add(answer)
    assert total == Published(published=4, repeated=2, unheard=2, dropped=0)

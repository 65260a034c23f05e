from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql.datasource import CaseInsensitiveDict

from rumormill.core.errors import ConfigError
from rumormill.pipeline.source.options import SourceOptions, read_source_options


def read(streaming: bool = False, **options: str) -> SourceOptions:
    return read_source_options(CaseInsensitiveDict(options), streaming=streaming)


def test_folders_and_nodes_are_partitions_in_their_order() -> None:
    found = read(spool="/a, /b", node="http://127.0.0.1:1/,https://node.example")
    assert found.sources == ("/a", "/b", "http://127.0.0.1:1", "https://node.example")


def test_a_folder_may_be_the_path_of_load_and_have_a_comma_in_it() -> None:
    assert read(path="/a").sources == ("/a",)
    assert read(spool='["/a,b", "/c"]').sources == ("/a,b", "/c")


def test_a_folder_is_made_absolute_where_the_driver_is() -> None:
    assert read(spool="a").sources == (str(Path.cwd() / "a"),)


def test_the_case_of_names_does_not_matter_as_in_spark() -> None:
    assert read(SPOOL="a", FAILONDATALOSS="FALSE").fail_on_data_loss is False


def test_what_is_usual() -> None:
    found = read(spool="/a")
    assert found == SourceOptions(sources=("/a",))
    assert found.kind == "messages" and found.topics is None and found.fail_on_data_loss
    assert not found.headers and found.least_partitions == 1


def test_every_option_is_read() -> None:
    found = read(
        streaming=True, spool="a", kind="trace", token="secret", subscribe="weather,news",
        startingOffsets="earliest", maxOffsetsPerTrigger="7", maxRecordsPerPartition="11",
        minPartitions="3", failOnDataLoss="false", includeHeaders="true", retrySeconds="0.5",
        startingOffsetsByTimestampStrategy="latest",
    )  # fmt: skip
    assert found.starting is not None and found.starting.word == "earliest"
    assert (found.kind, found.token, found.topics) == ("trace", "secret", ("weather", "news"))
    assert (found.rows_per_trigger, found.rows_per_partition, found.least_partitions) == (7, 11, 3)
    assert (found.fail_on_data_loss, found.headers, found.retry_seconds) == (False, True, 0.5)
    assert found.late_start == "latest"
    found = read(spool="a", subscribePattern="we.*", startingTimestamp="5", endingTimestamp="6")
    assert found.starting is not None and found.starting.time_ms == 5
    assert found.ending is not None and found.ending.time_ms == 6
    assert found.pattern == "^(?:we.*)$"


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({}, "spool: say what to read"),
        ({"spool": " "}, "spool: say what to read"),
        ({"spool": "a,,b"}, "spool: has an empty place"),
        ({"spool": "[1]"}, "spool: must be a list of texts"),
        ({"spool": '["a"'}, "spool: begins like a JSON list"),
        ({"spool": "a", "path": "b"}, "path: say .* not both"),
        ({"node": "127.0.0.1:7700"}, r"node: must be an address as http://127\.0\.0\.1:7700"),
        ({"spool": "a", "kind": "lies"}, "kind: must be one of messages, trace, not 'lies'"),
        ({"spool": "a", "subscribe": ""}, "subscribe: names no topic"),
        ({"spool": "a", "subscribe": "x", "subscribePattern": "y"}, "subscribe: .*not both"),
        ({"spool": "a", "subscribePattern": "("}, r"subscribePattern: '\(' is no pattern"),
        ({"spool": "a", "startingOffsets": "first"}, "startingOffsets: must be earliest, latest"),
        ({"spool": "a", "startingOffsets": '{"t": {"0": -3}}'}, "startingOffsets: must be"),
        ({"spool": "a", "startingOffsets": '{"t": {"0": "1"}}'}, "startingOffsets: must be"),
        ({"spool": "a", "startingOffsets": '{"t": {"x": 1}}'}, "startingOffsets: must be"),
        ({"spool": "a", "startingOffsets": '{"t": 1}'}, "startingOffsets: must be"),
        ({"spool": "a", "startingOffsets": "{}"}, "startingOffsets: must be"),
        ({"spool": "a", "startingOffsets": "[]"}, "startingOffsets: must be"),
        ({"spool": "a", "startingOffsets": "latest"}, "startingOffsets: nothing could be read"),
        ({"spool": "a", "endingOffsets": "earliest"}, "endingOffsets: nothing could be read"),
        (
            {"spool": "a", "startingOffsets": "earliest", "startingTimestamp": "1"},
            "startingTimestamp: give it or startingOffsets, not both",
        ),
        ({"spool": "a", "startingTimestamp": "noon"}, "startingTimestamp: must be a whole number"),
        ({"spool": "a", "startingTimestamp": "-1"}, "startingTimestamp: must be at least 0"),
        ({"spool": "a", "minPartitions": "0"}, "minPartitions: must be at least 1"),
        ({"spool": "a", "maxRecordsPerPartition": "0"}, "maxRecordsPerPartition: must be at"),
        ({"spool": "a", "failOnDataLoss": "no"}, "failOnDataLoss: must be true or false, not 'no'"),
        ({"spool": "a", "includeHeaders": "1"}, "includeHeaders: must be true or false"),
        ({"spool": "a", "retrySeconds": "inf"}, "retrySeconds: must be a number of seconds"),
        ({"spool": "a", "retrySeconds": "long"}, "retrySeconds: must be a number of seconds"),
        (
            {"spool": "a", "startingOffsetsByTimestampStrategy": "guess"},
            "startingOffsetsByTimestampStrategy: must be error or latest",
        ),
        ({"spool": "a", "maxOffsetsPerTrigger": "5"}, "maxOffsetsPerTrigger: a batch has no"),
    ],
)
def test_a_wrong_option_is_named(options: dict[str, str], problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        read(False, **options)


@pytest.mark.parametrize("key", ["endingOffsets", "endingTimestamp"])
def test_a_stream_has_no_end(key: str) -> None:
    with pytest.raises(ConfigError, match=f"{key}: a stream has no end"):
        read(streaming=True, spool="a", **{key: "1"})


@pytest.mark.parametrize("rows", ["0", "many"])
def test_a_stream_reads_at_least_one_row_a_trigger(rows: str) -> None:
    with pytest.raises(ConfigError, match="maxOffsetsPerTrigger: must be"):
        read(streaming=True, spool="a", maxOffsetsPerTrigger=rows)


@pytest.mark.parametrize(
    ("key", "problem"),
    [
        ("subscrib", "did you mean subscribe?"),
        ("maxoffsetpertrigger", "did you mean maxOffsetsPerTrigger?"),
        ("colour", "there are: spool, node,"),
        ("groupIdPrefix", "there are no consumer groups"),
        ("kafka.group.id", "there are no consumer groups"),
        ("kafka.bootstrap.servers", "there is no broker; 'spool' or 'node'"),
        ("kafka.ssl.truststore.location", "does not speak Kafka"),
        ("assign", "choose topics with 'subscribe'"),
        ("minOffsetsPerTrigger", "a trigger with an interval"),
    ],
)
def test_an_option_that_there_is_not_is_refused_by_name(key: str, problem: str) -> None:
    with pytest.raises(ConfigError, match=rf"(?i){key}: rumormill has no such option.*") as error:
        read(False, spool="a", **{key: "x"})
    assert problem in str(error.value)

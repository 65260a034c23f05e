"""One topic of many is read without reading the rest, and times alike."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pytest

from rumormill.capture.files.topics import MOST_BYTES, TopicsView, encode_topics
from rumormill.capture.log import Log
from rumormill.capture.open import open_log
from rumormill.capture.reading.remote import RemoteLog
from rumormill.capture.reading.wanted import Wanted
from rumormill.capture.schema import MESSAGE_SCHEMA
from tests.helpers.capture.spools import BEGIN_US, TestSpool, make_spool
from tests.helpers.node.http_node import http_node

TOPICS = [f"topic-{number:03d}" for number in range(100)]
BURSTS = [topic for topic in TOPICS for _ in range(20)]
INTERLEAVED = TOPICS * 20


def spool_of(folder: Path, topics: Sequence[str]) -> TestSpool:
    spool = make_spool(folder, segment_bytes=65536)
    spool.messages(topics, batch=20)
    return spool


def read(log: Log, wanted: Wanted) -> tuple[int, int]:
    """How many batches were read, and how many rows they had; the rest was passed over."""
    end = log.bounds().latest
    batches = list(log.read(0, end, wanted))
    rows = sum(batch.num_rows for _, batch in batches)
    assert rows + wanted.passed == end
    return len(batches), rows


@pytest.mark.parametrize(
    "wanted",
    [Wanted(topics=frozenset({"topic-042"})), Wanted(pattern="^(?:topic-.42)$")],
    ids=["name", "pattern"],
)
def test_one_topic_of_a_hundred_in_bursts_reads_a_hundredth(tmp_path: Path, wanted: Wanted) -> None:
    spool = spool_of(tmp_path, BURSTS)
    assert read(open_log(spool.folder, "messages"), wanted) == (1, 20)


def test_topics_that_are_mixed_in_every_batch_are_all_read(tmp_path: Path) -> None:
    spool = spool_of(tmp_path, INTERLEAVED)  # a topic is in every fifth batch of twenty rows
    wanted = Wanted(topics=frozenset({"topic-042"}))
    assert read(open_log(spool.folder, "messages"), wanted) == (20, 400)


def test_a_node_sends_only_what_may_be_wanted(tmp_path: Path) -> None:
    spool = spool_of(tmp_path, BURSTS)
    local = open_log(spool.folder, "messages")
    with http_node(spool.folder) as node:
        remote = open_log(node.address, "messages")
        assert isinstance(remote, RemoteLog)
        for names in ({"topic-042"}, {"topic-000", "topic-050", "topic-099"}, {"none"}):
            here, there = (Wanted(topics=frozenset(names)) for _ in range(2))
            found = list(remote.read(0, 2000, there))
            assert found == list(local.read(0, 2000, here))
            assert there.passed == here.passed == 2000 - 20 * len(found)
        remote.close()


def test_times_are_passed_over_too(tmp_path: Path) -> None:
    spool = spool_of(tmp_path, BURSTS)
    wanted = Wanted(first_us=BEGIN_US + 500_000, last_us=BEGIN_US + 530_000)
    assert read(open_log(spool.folder, "messages"), wanted) == (2, 40)


def test_without_the_file_of_topics_everything_is_read(tmp_path: Path) -> None:
    spool = spool_of(tmp_path, BURSTS)
    for segment in spool.segments():
        segment.with_suffix(".topics").unlink()
    wanted = Wanted(topics=frozenset({"topic-042"}))
    assert read(open_log(spool.folder, "messages"), wanted) == (100, 2000)


def test_a_damaged_file_of_topics_hides_nothing(tmp_path: Path) -> None:
    spool = spool_of(tmp_path, BURSTS)
    for segment in spool.segments():
        file = segment.with_suffix(".topics")
        content = bytearray(file.read_bytes())
        content[len(content) // 2] ^= 0xFF
        file.write_bytes(content)
    for topic in TOPICS:
        batches, rows = read(open_log(spool.folder, "messages"), Wanted(topics=frozenset({topic})))
        assert batches >= 1 and rows >= 20


def test_a_writer_goes_on_behind_half_an_entry(tmp_path: Path) -> None:
    spool = make_spool(tmp_path)
    spool.messages(["a"] * 20)
    (segment,) = spool.segments()
    file = segment.with_suffix(".topics")
    file.write_bytes(file.read_bytes()[:-3])
    spool.messages(["b"] * 20, first=20)
    log = open_log(spool.folder, "messages")
    assert read(log, Wanted(topics=frozenset({"a"})))[1] == 20
    assert read(log, Wanted(topics=frozenset({"b"})))[1] == 30  # one batch has no entry


def test_a_batch_with_too_many_names_may_hold_any() -> None:
    many = [f"topic-{number}" for number in range(MOST_BYTES)]
    assert TopicsView(encode_topics(5, many)).of(5) is None
    assert TopicsView(encode_topics(5, ["a\0b"])).of(5) is None
    assert TopicsView(encode_topics(5, [])).of(5) == frozenset()
    assert TopicsView(encode_topics(5, [""])).of(5) == frozenset({b""})


def test_a_segment_with_more_or_fewer_columns_is_read_by_their_names(tmp_path: Path) -> None:
    spool = make_spool(tmp_path)
    spool.messages(["weather"] * 5)
    (segment,) = spool.segments()
    _write_segment(segment, MESSAGE_SCHEMA.remove(0).append(pa.field("colour", pa.string())))
    log = open_log(spool.folder, "messages")
    with http_node(spool.folder) as node:
        remote = open_log(node.address, "messages")
        for each in (log, remote):
            ((_, batch),) = each.read(0, 5)
            assert batch.schema.names == MESSAGE_SCHEMA.names
            assert batch.column("key").to_pylist() == [None] * 5
            assert batch.column("value").to_pylist() == [b"x"] * 5
        assert isinstance(remote, RemoteLog)
        remote.close()


def _write_segment(file: Path, schema: pa.Schema) -> None:
    """Put five rows with other columns into the place of a segment, with an index that fits."""
    from rumormill.capture.files.folder import Segment
    from rumormill.capture.writing.segment import SegmentWriter

    file.unlink()
    file.with_suffix(".index").unlink()
    values = {"value": b"x", "topic": "weather", "timestamp": BEGIN_US, "colour": "red"}
    row = {name: values.get(name) for name in schema.names}
    batch = pa.RecordBatch.from_pylist([row] * 5, schema)
    first = Segment(file.parent, int(file.stem))
    writer = SegmentWriter.create(first, bytes(schema.serialize()), 0, 0)
    writer.append(memoryview(batch.serialize()), 5, (BEGIN_US, BEGIN_US), False, ["weather"])
    writer.close()

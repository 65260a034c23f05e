"""One look at a trace: numbers as Spark's, parts that fit together, files as DataFrames."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession

from rumormill.pipeline.failures import sentence_of
from rumormill.pipeline.tables import GOLD, SILVER, ParquetFiles, gold, silver
from rumormill.pipeline.tables.codes import coded
from rumormill.pipeline.tables.columns import id_key, node_key, topic_key
from rumormill.pipeline.tables.digest import digest
from rumormill.pipeline.tables.digest_events import (
    COLUMNS,
    COUNT,
    NAMES,
    PACKED,
    RARE,
    Look,
    digest_events,
)
from rumormill.pipeline.tables.gathered import gathered
from rumormill.pipeline.tables.keys import key_of, keyed, topic_keys
from rumormill.pipeline.tables.packed import pack, unpack
from tests.helpers.spark.table_story import Story
from tests.helpers.spark.trace_lines import held, rows_of

Event = dict[str, Any]


# ---- numbers


WORDS = ["", "a", "sieben", "acht acht", "x" * 31, "y" * 32, "z" * 100, "snö", None]


def test_numbers_are_those_that_spark_makes(spark: SparkSession) -> None:
    rows = [(network, name) for network in ("gossipsub", "", None) for name in WORDS]
    frame = spark.createDataFrame(rows, "network string, node string")
    both = frame.selectExpr("network", "node", "node as topic", "cast(node as binary) message_id")
    found = both.select("network", "node", node_key("node"), id_key(), topic_key()).collect()
    for network, name, node, message, topic in found:
        assert node == (None if name is None else key_of(network, name))
        assert message == key_of(network, None if name is None else name.encode())
        assert [topic] == topic_keys(coded(pa.array([name], pa.string()))).values.take(
            pa.array([0])
        ).to_pylist()


@given(st.lists(st.tuples(st.sampled_from(["n", "m", None]), st.sampled_from(["a", "b", None]))))
def test_names_have_the_number_of_their_own_network(rows: list[tuple[str, str]]) -> None:
    networks = coded(pa.array([row[0] for row in rows], pa.string()))
    names = keyed(networks, coded(pa.array([row[1] for row in rows], pa.string())))
    for code, (network, name) in zip(names.codes.tolist(), rows, strict=True):
        assert (code < 0) == (name is None)
        if name is not None:
            assert names.keys[code] == key_of(network, name)
            assert names.names[code].as_py() == name
            assert names.networks[code].as_py() == network


# ---- packs


Packs = list[list[tuple[int, int, int | None, int]]]
NUMBERS = st.integers(-(2**63), 2**63 - 1)


@given(
    st.lists(
        st.lists(
            st.tuples(NUMBERS, st.sampled_from(range(300)), st.none() | NUMBERS, NUMBERS),
            min_size=1,
        ),
        min_size=1,
        max_size=4,
    )
)
def test_packs_give_back_what_was_packed(packs: Packs) -> None:
    made = []
    for rows in packs:
        columns = {}
        for place, name in enumerate(("id", "node_key", "peer_key")):
            column = coded(pa.array([row[place] for row in rows], pa.int64()))
            columns[name] = (column.codes, column.values)
        made.append(pa.py_buffer(pack(np.array([row[3] for row in rows]), columns)))
    table = unpack(made)
    found = [table[name].to_pylist() for name in ("id", "node_key", "peer_key", "stamp")]
    assert list(zip(*found, strict=True)) == [row for rows in packs for row in rows]


# ---- events


def event(time: int, node: str, kind: str, **more: Any) -> Event:
    return {"time": time, "network": "net", "node": node, "event": kind, **more}


def look_at(events: list[Event], look: Look = Look()) -> dict[int, list[Event]]:  # noqa: B008
    """What comes out, by kind; without what is null."""
    types = {
        "time": pa.timestamp("us", "UTC"), "message_id": pa.binary(), "size": pa.int64(),
        "count": pa.int64(),
    }  # fmt: skip
    arrays = {
        name: pa.array([each.get(name) for each in events], types.get(name, pa.string()))
        for name in COLUMNS
    }
    found: dict[int, list[Event]] = {}
    for table in gathered(iter([pa.record_batch(arrays)]), COLUMNS, NAMES):
        for batch in digest_events(table, look):
            for row in batch.to_pylist():
                kept = {name: value for name, value in row.items() if value is not None}
                found.setdefault(kept.pop("kind"), []).append(kept)
    return found


def test_events_are_counted_by_link_minute_and_kind() -> None:
    found = look_at(
        [
            event(59_000_000, "a", "packet_sent", peer="b", size=10, fields='{"ihave": 2}'),
            event(58_000_000, "a", "packet_sent", peer="b", size=5, fields='{"ihave": 3, "x": 1}'),
            event(58_500_000, "a", "packet_sent", peer="b", fields="no JSON"),
            event(60_000_000, "a", "packet_sent", peer="b", size=7, fields='{"iwant": "many"}'),
            event(61_000_000, "a", "dropped", count=4),
            event(62_000_000, "a", "dropped"),
        ]
    )[COUNT]
    link = {"node_key": key_of("net", "a"), "peer_key": key_of("net", "b")}
    minute = {"minute": 60_000_000, "event": "dropped", "node_key": key_of("net", "a")}
    assert found == [
        {
            **link, "event": "packet_sent", "minute": 0, "count": 3, "bytes": 15, "ihave": 5,
            "first_at": 58_000_000, "last_at": 59_000_000,
        },
        {
            **link, "event": "packet_sent", "minute": 60_000_000, "count": 1, "bytes": 7,
            "first_at": 60_000_000, "last_at": 60_000_000,
        },
        {
            **minute, "count": 5, "lost": 5, "first_at": 61_000_000, "last_at": 62_000_000,
        },
    ]  # fmt: skip


def test_a_look_at_a_range_leaves_out_what_is_outside_and_corrects_clocks() -> None:
    events = [event(second * 1_000_000, "a", "subscribed", topic="t") for second in (1, 2, 3)]
    events += [event(2_500_000, "b", "delivered", topic="t", message_id=b"m", peer="a")]
    whole = look_at(events)
    assert [each["count"] for each in whole[COUNT]] == [3, 1]
    assert len(whole[RARE]) == 3 and len(whole[PACKED]) == 1
    ranges = Look(counted=(2_000_000, 3_000_000), rare=(0, 2_000_001), followed=(0, 2_500_000))
    found = look_at(events, ranges)
    assert [each["count"] for each in found[COUNT]] == [1, 1]
    assert [each["time"] for each in found[RARE]] == [1_000_000, 2_000_000]
    assert PACKED not in found
    ahead = Look(counted=(0, 1_000_000), ahead={key_of("net", "a"): 2_000_000})
    (counted,) = look_at(events, ahead)[COUNT]
    assert (counted["count"], counted["first_at"]) == (1, 0)


def test_all_copies_of_a_message_are_in_one_bucket_and_none_is_lost() -> None:
    events = [
        event(number, f"node {number % 7}", "duplicate", topic="t", message_id=b"%d" % (number % 9))
        for number in range(200)
    ]
    events += [event(7, "a", "delivered", topic="t")]  # of no message: there is nothing to follow
    packs = look_at(events, Look(buckets=4))[PACKED]
    tables = {each["bucket"]: unpack([pa.py_buffer(each["packed"])]) for each in packs}
    assert sum(table.num_rows for table in tables.values()) == 200
    for bucket, table in tables.items():
        assert {key % 4 for key in table["id"].to_pylist()} == {bucket}
    assert len({key for table in tables.values() for key in table["id"].to_pylist()}) == 9


# ---- whole tables


def test_many_small_batches_become_few_large_tables_with_one_set_of_names(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("rumormill.pipeline.tables.gathered.ROWS_AT_ONCE", 5)
    batches = [
        pa.record_batch({"node": [f"node {number}", "node 0"], "size": [number, None]})
        for number in range(6)
    ]
    empty = batches[0].slice(0, 0)
    found = list(gathered([empty, *batches], ("node", "size"), ("node",)))
    assert [table.num_rows for table in found] == [6, 6]
    assert coded(found[1]["node"]).values.to_pylist() == ["node 3", "node 0", "node 4", "node 5"]
    assert [each for table in found for each in table["size"].to_pylist()][::2] == list(range(6))


def test_a_file_that_is_spoilt_is_named(spark: SparkSession, story: Story, tmp_path: Path) -> None:
    story.trace.coalesce(1).write.parquet(str(tmp_path / "trace"))
    files = ParquetFiles.under(tmp_path / "trace")
    ((name, _),) = files.parts
    path = Path(name)
    whole = bytearray(path.read_bytes())
    whole[4:2000] = bytes(1996)
    path.write_bytes(whole)
    with pytest.raises(Exception, match="cannot be read") as failed:
        digest(story.trace, files=files).collect()
    assert sentence_of(failed.value).startswith(f"{path}: cannot be read: ")


def everything(table: DataFrame) -> list[tuple[Any, ...]]:
    return rows_of(table, " ".join(table.columns))


def test_a_trace_in_files_gives_the_same_tables(
    spark: SparkSession, story: Story, tmp_path: Path
) -> None:
    story.trace.repartition(3).write.parquet(str(tmp_path / "trace"))
    # One large file among the small ones.
    large, *_ = (tmp_path / "trace").glob("*.parquet")
    pq.write_table(pq.read_table(large), large, row_group_size=5)
    large.with_name(f".{large.name}.crc").unlink()
    files = ParquetFiles.under(tmp_path / "trace")
    assert files.rows == story.trace.count()
    assert len(files.parts) > len({path for path, _ in files.parts}) == 3
    trace = spark.read.parquet(str(tmp_path / "trace"))
    made = silver(trace, files=files, keep=held)
    for name in SILVER:
        found, wanted = getattr(made, name), getattr(story.silver, name)
        assert everything(found) == everything(wanted), name
    made.deliveries.repartition(3).write.parquet(str(tmp_path / "deliveries"))
    of_deliveries = ParquetFiles.under(tmp_path / "deliveries")
    found_gold = gold(made, files=of_deliveries, keep=held)
    for name in GOLD:
        assert everything(found_gold[name]) == everything(story.gold[name]), name

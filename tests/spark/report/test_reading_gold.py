from __future__ import annotations

import json
from dataclasses import fields
from datetime import timedelta
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given

from rumormill.pipeline.lake import FORMAT, FORMAT_KEY, TablesError
from rumormill.pipeline.report import gold as reading
from rumormill.pipeline.report.gold import SPARK_COLUMNS, TABLES, read_gold
from rumormill.pipeline.tables.schema import GOLD
from tests.helpers.spark.gold_tables import BEGAN, Run, gold_rows, make_gold, write_gold

SMALL = Run(nodes=3, minutes=2, messages=2)


def part(folder: Path, table: str) -> Path:
    return folder / "gold" / table / "part-00000.parquet"


def test_every_gold_table_and_every_column_that_the_report_reads_is_in_the_schema() -> None:
    assert set(TABLES) == set(GOLD)
    for name, row_type in TABLES.items():
        assert {field.name for field in fields(row_type)} <= set(GOLD[name].names), name


def test_rows_come_back_as_they_were_written(tmp_path: Path) -> None:
    rows = gold_rows(SMALL)
    gold = read_gold(write_gold(tmp_path, rows))
    for name, row_type in TABLES.items():
        names = [field.name for field in fields(row_type)]
        read = [tuple(getattr(row, name) for name in names) for row in getattr(gold, name)]
        assert read == [tuple(row[name] for name in names) for row in rows[name]]
    assert gold.missing == ()


def test_a_table_in_several_files_and_folders_is_one_table(tmp_path: Path) -> None:
    make_gold(tmp_path, SMALL)
    whole = pq.read_table(part(tmp_path, "topic_minutes"))
    later = tmp_path / "gold" / "topic_minutes" / "until_minute=202603011402"
    later.mkdir()
    pq.write_table(whole.slice(1), later / "part-00000.parquet")
    pq.write_table(whole.slice(0, 1), part(tmp_path, "topic_minutes"))
    assert len(read_gold(tmp_path).topic_minutes) == whole.num_rows == 2


def test_what_spark_has_not_finished_is_not_read(tmp_path: Path) -> None:
    make_gold(tmp_path, SMALL)
    unfinished = tmp_path / "gold" / "topics" / "_temporary" / "0"
    unfinished.mkdir(parents=True)
    (unfinished / "part-00000.parquet").write_bytes(b"half")
    (tmp_path / "gold" / "topics" / ".part-00000.parquet.crc").write_bytes(b"sum")
    assert len(read_gold(tmp_path).topics) == 1


def test_a_time_without_a_zone_means_utc(tmp_path: Path) -> None:
    make_gold(tmp_path, SMALL)
    file = part(tmp_path, "topic_minutes")
    table = pq.read_table(file)
    naive = table.column("minute").cast(pa.timestamp("ns"))
    at = table.column_names.index("minute")
    pq.write_table(table.set_column(at, "minute", naive), file)
    first = min(row.minute for row in read_gold(tmp_path).topic_minutes)
    assert first == BEGAN
    assert first.utcoffset() == timedelta(0)


def test_an_unknown_column_does_no_harm_and_an_older_table_may_lack_a_new_one(
    tmp_path: Path,
) -> None:
    make_gold(tmp_path, SMALL)
    file = part(tmp_path, "topics")
    table = pq.read_table(file)
    pq.write_table(table.drop_columns(["unexpected"]).append_column("new", [[1]]), file)
    assert read_gold(tmp_path).topics[0].unexpected == 0


def test_what_is_not_a_number_is_unknown(tmp_path: Path) -> None:
    rows = gold_rows(SMALL)
    rows["topics"][0].update(ratio=float("nan"), latency_max=float("inf"), duplicates=None)
    topic = read_gold(write_gold(tmp_path, rows)).topics[0]
    assert (topic.ratio, topic.latency_max, topic.duplicates) == (None, None, 0)


def test_a_minute_without_a_time_is_refused_and_an_alert_may_have_none(tmp_path: Path) -> None:
    rows = gold_rows(Run(nodes=3, minutes=2, split_minute=0))
    rows["alerts"][0]["minute"] = None
    assert read_gold(write_gold(tmp_path, rows)).alerts[0].minute is None
    rows["mesh_minutes"][0]["minute"] = None
    assert "mesh_minutes: column minute has rows without a time" in sentence(
        write_gold(tmp_path, rows)
    )


def test_a_missing_table_is_named_and_the_others_are_read(tmp_path: Path) -> None:
    rows = gold_rows(SMALL)
    del rows["hops"], rows["skew"]
    gold = read_gold(write_gold(tmp_path, rows))
    assert gold.missing == ("hops", "skew")
    assert gold.hops == () and len(gold.topics) == 1


def sentence(folder: Path) -> str:
    with pytest.raises(TablesError) as error:
        read_gold(folder)
    return str(error.value)


def test_a_folder_that_is_not_there_or_holds_nothing_gives_a_sentence(tmp_path: Path) -> None:
    assert "no such folder" in sentence(tmp_path / "nowhere")
    assert "pipeline run" in sentence(tmp_path)
    (tmp_path / "photo.jpg").write_bytes(b"")
    assert "no tables of rumormill's" in sentence(tmp_path)


def test_tables_of_a_newer_format_are_refused(tmp_path: Path) -> None:
    make_gold(tmp_path, SMALL)
    (tmp_path / "tables.json").write_text(json.dumps({"format": FORMAT + 1}))
    assert "a newer one is needed" in sentence(tmp_path)


def with_format(file: Path, version: Any) -> None:
    """As Spark writes a column's metadata into the file."""
    table = pq.read_table(file)
    columns = [{"name": name, "metadata": {}} for name in table.column_names]
    columns[0]["metadata"] = {FORMAT_KEY: version}
    metadata = {SPARK_COLUMNS: json.dumps({"fields": columns})}
    pq.write_table(table.replace_schema_metadata(metadata), file)


def test_a_single_file_of_a_newer_format_is_refused_by_name(tmp_path: Path) -> None:
    make_gold(tmp_path, SMALL)
    with_format(part(tmp_path, "links"), FORMAT)
    assert read_gold(tmp_path).links
    with_format(part(tmp_path, "links"), FORMAT + 1)
    assert "links/part-00000.parquet" in sentence(tmp_path)


def test_a_broken_file_a_missing_column_and_a_wrong_type_are_named(tmp_path: Path) -> None:
    make_gold(tmp_path, SMALL)
    file = part(tmp_path, "links")
    table = pq.read_table(file)
    pq.write_table(table.drop_columns(["first"]), file)
    assert sentence(tmp_path).endswith("gold/links: the column first is missing")
    at = table.column_names.index("first")
    words = pa.array(["many"] * table.num_rows)
    pq.write_table(table.set_column(at, "first", words), file)
    assert "column first has a type that does not fit" in sentence(tmp_path)
    file.write_bytes(b"PAR1 not really")
    assert "links/part-00000.parquet" in sentence(tmp_path)


def test_a_file_that_vanishes_while_we_read_is_looked_for_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_gold(tmp_path, SMALL)
    read_file = reading._read_file
    vanished: list[Path] = []

    def vanish_once(file: Path) -> Any:
        if file.parent.name == "links" and not vanished:
            vanished.append(file)
            raise FileNotFoundError(file)
        return read_file(file)

    monkeypatch.setattr(reading, "_read_file", vanish_once)
    assert read_gold(tmp_path).links
    assert vanished


def test_progress_is_told_for_every_file(tmp_path: Path) -> None:
    make_gold(tmp_path, SMALL)
    told: list[tuple[int, int]] = []
    read_gold(tmp_path, lambda file, done, total: told.append((done, total)))
    assert told == [(done, len(TABLES)) for done in range(1, len(TABLES) + 1)]


@example(place=1020, value=128, cut=0)  # a column's name that is no text
@given(place=st.integers(0), value=st.integers(1, 255), cut=st.integers(0, 200))
def test_a_damaged_file_gives_a_table_or_a_sentence(
    tmp_path_factory: pytest.TempPathFactory, place: int, value: int, cut: int
) -> None:
    tables = tmp_path_factory.getbasetemp() / "damaged"
    if not tables.exists():
        write_gold(tables, {"links": gold_rows(SMALL)["links"]})
        part(tables, "links").rename(tables / "whole")
    data = bytearray((tables / "whole").read_bytes())
    data[place % len(data)] ^= value
    part(tables, "links").write_bytes(data[: len(data) - cut // 2 * (cut % 2)])
    try:
        read_gold(tables)
    except TablesError as error:
        assert "gold/links" in str(error)

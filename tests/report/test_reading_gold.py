from __future__ import annotations

import shutil
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.utils.config import Config

from rumormill.core.errors import ConfigError
from rumormill.report import store as stores
from rumormill.report.gold import OURS, Gold, read_gold
from rumormill.report.store import TablesError, open_store
from tests.helpers.report.gold_tables import BEGAN, Run, lake_rows, make_lake, totals
from tests.helpers.report.lake_on_disk import TITLES, write_lake, write_table

SMALL = Run(nodes=3, minutes=2, messages=2)


def read(folder: Path) -> Gold:
    return read_gold(open_store(str(folder)))


def sentence(folder: Path) -> str:
    with pytest.raises((TablesError, ConfigError)) as error:
        read(folder)
    return str(error.value)


def data_file(folder: Path, table: str) -> Path:
    (file,) = (folder / "gold" / table / "data").rglob("*.parquet")
    return file


def test_totals_and_minutes_are_kept_apart(tmp_path: Path) -> None:
    gold = read(make_lake(tmp_path, SMALL))
    assert [row.minute for row in gold.topics] == [None]
    assert len(gold.topic_minutes) == 2 and gold.topic_minutes[0].minute is not None
    assert gold.period is not None and gold.period[0] == BEGAN


def test_a_uri_is_read_like_the_folder_that_it_names(tmp_path: Path) -> None:
    folder = make_lake(tmp_path / "my tables", SMALL)
    assert read_gold(open_store(f"file:{folder}")).topics == read(folder).topics


def test_a_catalog_is_found_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    address = f"sqlite:///{tmp_path}/catalog.db"
    catalog = SqlCatalog("mine", uri=address, warehouse=tmp_path.as_uri())
    rows = lake_rows(SMALL)["topics"]
    catalog.create_namespace("gold")
    table = catalog.create_table("gold.topics", pa.Table.from_pylist(totals(rows)[:1]).drop_columns(
        ["minute"]).schema)  # fmt: skip
    table.append(pa.Table.from_pylist(totals(rows)).drop_columns(["minute"]))
    catalog.engine.dispose()
    monkeypatch.setenv("PYICEBERG_CATALOG__MINE__URI", address)
    monkeypatch.setattr("pyiceberg.catalog._ENV_CONFIG", Config())  # as in a new process
    opened = open_store("catalog:mine")
    assert opened.names() == ["topics"]
    assert opened.read("gold.topics").num_rows == 1


def test_every_table_of_ours_is_known_by_its_snapshot(tmp_path: Path) -> None:
    snapshots = read(make_lake(tmp_path, SMALL)).snapshots
    assert {name for name in snapshots if name.startswith("gold.")} == {f"gold.{it}" for it in OURS}
    assert isinstance(snapshots["gold.topics"], int)


def test_what_is_committed_meanwhile_is_looked_at_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make_lake(tmp_path, SMALL)
    listed = stores._local_folders
    seen: list[str] = []

    def commit_once(place: str, properties: dict[str, str]) -> list[str]:
        seen.append(place)
        if len(seen) == 3:  # the second look at gold
            metadata = folder / "gold" / "topics" / "metadata"
            shutil.copy(metadata / "v1.metadata.json", metadata / "v2.metadata.json")
            (metadata / "version-hint.text").write_text("2")
        return listed(place, properties)

    monkeypatch.setattr(stores, "_local_folders", commit_once)
    opened = open_store(str(folder))
    assert opened.settled and len(seen) == 6


def test_tables_that_never_settle_are_read_and_said_to_be_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stores, "_states", lambda tables: object())
    assert read(make_lake(tmp_path, SMALL)).settled is False


def test_a_column_that_a_report_does_not_know_or_lacks_does_no_harm(tmp_path: Path) -> None:
    rows = lake_rows(SMALL)
    folder = write_lake(tmp_path, rows)
    catalog = SqlCatalog("lake", uri="sqlite://", warehouse=folder.as_uri())
    changed = open_store(str(folder)).read("gold.topics").drop_columns(["skipped"])
    new = changed.append_column("new", pa.array([1] * changed.num_rows))
    write_table(catalog, folder, "topics", new)
    catalog.engine.dispose()
    assert read(folder).topics[0].skipped == 0


def test_a_column_of_another_type_is_named(tmp_path: Path) -> None:
    folder = make_lake(tmp_path, SMALL)
    catalog = SqlCatalog("lake", uri="sqlite://", warehouse=folder.as_uri())
    table = open_store(str(folder)).read("gold.events")
    place = table.column_names.index("count")
    words = pa.array(["many"] * table.num_rows)
    write_table(catalog, folder, "events", table.set_column(place, "count", words))
    catalog.engine.dispose()
    assert "gold.events: column count" in sentence(folder)


def test_what_is_not_a_number_is_unknown(tmp_path: Path) -> None:
    rows = lake_rows(SMALL)
    totals(rows["topics"])[0].update(ratio=float("nan"), latency_max=float("inf"), duplicates=None)
    topic = read(write_lake(tmp_path, rows)).topics[0]
    assert (topic.ratio, topic.latency_max, topic.duplicates) == (None, None, 0)


def test_a_missing_table_is_named_and_the_others_are_read(tmp_path: Path) -> None:
    rows = lake_rows(SMALL)
    del rows["lifetimes"], rows["clocks"]
    gold = read(write_lake(tmp_path, rows))
    assert gold.missing == ["lifetimes", "clocks"]
    assert gold.clocks == [] and len(gold.topics) == 1


def test_of_a_users_table_as_many_rows_are_read_as_are_shown(tmp_path: Path) -> None:
    rows = lake_rows(SMALL)
    rows["large_messages"] = [
        {"minute": None, "network": "gossipsub", "topic": str(at), "large": at} for at in range(250)
    ]
    (own,) = read(write_lake(tmp_path, rows)).own
    assert (own.title, len(own.rows), own.left_out) == (TITLES["large_messages"], 200, 50)


def test_a_folder_that_is_not_there_or_holds_nothing_gives_a_sentence(tmp_path: Path) -> None:
    assert "no such folder" in sentence(tmp_path / "nowhere")
    assert "pipeline run" in sentence(tmp_path)


def test_tables_of_an_older_rumormill_are_refused_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "tables.json").write_text("{}")
    assert "rumormill pipeline run --spool SPOOL --tables NEWFOLDER --once" in sentence(tmp_path)


def test_a_file_that_is_gone_gives_a_sentence(tmp_path: Path) -> None:
    folder = make_lake(tmp_path, SMALL)
    data_file(folder, "events").unlink()
    assert "a file of gold.events is gone" in sentence(folder)


def test_metadata_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    folder = make_lake(tmp_path, SMALL)
    (folder / "gold" / "events" / "metadata" / "v1.metadata.json").write_text("{")
    assert "gold.events cannot be read" in sentence(folder)


def test_progress_is_told_for_every_table(tmp_path: Path) -> None:
    told: list[str] = []
    read_gold(
        open_store(str(make_lake(tmp_path, SMALL))),
        progress=lambda table, done, total: told.append(table),
    )
    assert {f"gold.{name}" for name in OURS} - set(told) == {"gold.publishers"}


@example(place=1020, value=128)
@given(place=st.integers(0), value=st.integers(1, 255))
def test_a_damaged_file_gives_a_table_or_a_sentence(
    tmp_path_factory: pytest.TempPathFactory, place: int, value: int
) -> None:
    tables = tmp_path_factory.getbasetemp() / "damaged"
    whole = tables / "whole"
    if not tables.exists():
        write_lake(tables, {"events": lake_rows(SMALL)["events"]})
        shutil.copy(data_file(tables, "events"), whole)
    data = bytearray(whole.read_bytes())
    data[place % len(data)] ^= value
    data_file(tables, "events").write_bytes(data)
    try:
        read(tables)
    except TablesError as error:
        assert "gold.events" in str(error)

"""What the text behind ``--tables`` means."""

from __future__ import annotations

from pathlib import Path

import pytest

from rumormill.core.errors import ConfigError
from rumormill.system.tables_location import Kind, parse_tables


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    for name in ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("text", ["tables", "./tables/", "file:{}/tables", "file://{}/tables"])
def test_a_folder_is_absolute_however_it_is_written(text: str, tmp_path: Path) -> None:
    location = parse_tables(text.format(tmp_path))
    assert location.kind is Kind.FOLDER
    assert location.warehouse == f"file:{tmp_path}/tables"
    assert location.folder == tmp_path / "tables"
    assert location.table("gold", "topics") == "lake.gold.topics"
    assert location.table_folder("gold", "topics") == f"{tmp_path}/tables/gold/topics"
    assert location.reader_properties() == {}


def test_a_name_with_odd_characters_is_a_folder_of_that_name(tmp_path: Path) -> None:
    assert parse_tables("my tables %20").folder == tmp_path / "my tables %20"
    assert parse_tables("file:/a%20b").folder == Path("/a b")


@pytest.mark.parametrize("text", ["hdfs://host:9000/t", "hdfs:///t", "s3a://bucket/t/", "gs://b/t"])
def test_another_file_system_is_a_folder_of_its_own(text: str) -> None:
    location = parse_tables(text)
    assert (location.kind, location.warehouse) == (Kind.HADOOP, text.rstrip("/"))
    assert location.folder is None and location.state is None
    assert location.table_folder("gold", "topics") == f"{location.warehouse}/gold/topics"


def test_s3_has_a_file_of_this_user_that_knows_its_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    location = parse_tables("s3://bucket/team/tables/")
    assert (location.kind, location.warehouse) == (Kind.S3, "s3://bucket/team/tables")
    assert location.state is not None
    assert location.state.parent == tmp_path / "state" / "rumormill" / "catalogs"
    assert location.state.name.startswith("bucket-team-tables-")
    assert parse_tables("s3://bucket/team/tables").state == location.state
    assert parse_tables("s3://bucket/team-tables").state != location.state
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9000")
    properties = location.reader_properties()
    assert properties["uri"] == f"sqlite:///{location.state}"
    assert properties["s3.endpoint"] == "http://127.0.0.1:9000"


def test_a_catalog_of_the_user_keeps_our_namespaces_apart_from_others() -> None:
    assert parse_tables("catalog:glue").table("gold", "topics") == "glue.gold.topics"
    beside = parse_tables("catalog:my-glue.team")
    assert (beside.kind, beside.catalog) == (Kind.CATALOG, "my-glue")
    assert beside.namespace("gold") == "team_gold"
    assert beside.table("gold", "topics") == "`my-glue`.team_gold.topics"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "needs a folder"),
        ("  ", "needs a folder"),
        ("catalog:", "catalog:NAME"),
        ("catalog:a.b.c", "catalog:NAME.NAMESPACE"),
        ("catalog:a b", "catalog:NAME"),
        ("s3://", "names no bucket"),
        ("s3a:/path", "names no bucket"),
        ("file:relative", "absolute path"),
        ("file://elsewhere/path", "absolute path"),
        ("lake:gold", "not a URI"),
        ("s3://bucket/path?version=1", "neither ? nor #"),
    ],
)
def test_what_means_nothing_is_refused_by_one_sentence(text: str, sentence: str) -> None:
    with pytest.raises(ConfigError) as error:
        parse_tables(text)
    assert error.value.key == "--tables"
    assert sentence in error.value.problem and "\n" not in error.value.problem


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match="is a file"):
        parse_tables("file")


@pytest.mark.parametrize("left", ["tables.json", "bronze/trace/batch_id=0/part.parquet"])
def test_tables_of_an_older_rumormill_are_refused_with_the_way_to_make_them_anew(
    tmp_path: Path, left: str
) -> None:
    path = tmp_path / "tables" / left
    path.parent.mkdir(parents=True)
    path.touch()
    again = "rumormill pipeline run --spool SPOOL --tables NEWFOLDER --once"
    with pytest.raises(ConfigError, match=again):
        parse_tables("tables")

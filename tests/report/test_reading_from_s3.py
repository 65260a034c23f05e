"""Tables on an S3 store of loopback: by its SQLite catalog, and as a folder."""

from __future__ import annotations

import logging
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from moto.server import ThreadedMotoServer
from pyiceberg.catalog import load_catalog

from rumormill.report import read_report
from rumormill.report.store import TablesError, open_store
from rumormill.system.tables_location import Location, parse_tables
from tests.helpers.ports import HOST
from tests.helpers.report.gold_tables import Run, make_lake


@pytest.fixture
def bucket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The name of a bucket, on a store that the environment tells of."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)  # a line for each request
    server = ThreadedMotoServer(ip_address=HOST, port=0, verbose=False)
    server.start()
    address = f"http://{HOST}:{server.get_host_and_port()[1]}"
    settings = {
        "AWS_ENDPOINT_URL": address, "AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "anybody",
        "AWS_SECRET_ACCESS_KEY": "nothing", "AWS_EC2_METADATA_DISABLED": "true",
        "XDG_STATE_HOME": str(tmp_path / "state"),
    }  # fmt: skip
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    make = urllib.request.Request(f"{address}/bucket", method="PUT")
    urllib.request.urlopen(make, timeout=30).close()
    yield "bucket"
    server.stop()


def copy_lake(folder: Path, location: Location) -> None:
    """Two tables of a folder, written to another place."""
    properties = {"type": "sql", "uri": "sqlite://", **location.reader_properties()}
    properties.pop("init_catalog_tables", None)
    if location.state is not None:
        location.state.parent.mkdir(parents=True)
    catalog = load_catalog("lake", **properties, warehouse=location.warehouse)
    catalog.create_namespace("gold")
    for name in ("topics", "events"):
        rows = open_store(str(folder)).read(f"gold.{name}")
        place = location.table_folder("gold", name)
        table = catalog.create_table(f"gold.{name}", rows.schema, location=place)
        table.append(rows)
        with table.io.new_input(table.metadata_location).open() as stream:
            metadata = stream.read()
        for file, content in (("v1.metadata.json", metadata), ("version-hint.text", b"1")):
            with table.io.new_output(f"{place}/metadata/{file}").create() as output:
                output.write(content)


@pytest.mark.parametrize("scheme", ["s3", "s3a"])
def test_tables_on_s3_are_read_like_those_of_a_folder(
    bucket: str, tmp_path: Path, scheme: str
) -> None:
    folder = make_lake(tmp_path / "tables", Run(nodes=3, minutes=2))
    copy_lake(folder, parse_tables(f"{scheme}://{bucket}/by-{scheme}"))
    here, there = read_report(folder), read_report(f"{scheme}://{bucket}/by-{scheme}")
    assert there.topics == here.topics and there.events == here.events
    assert {"gold.topics", "gold.events"} == set(there.gold.snapshots)


def test_where_the_catalog_of_s3_is_not_the_sentence_says_where_it_would_be(
    bucket: str, tmp_path: Path
) -> None:
    with pytest.raises(TablesError, match="on the machine that made them"):
        open_store(f"s3://{bucket}/lake")
    with pytest.raises(TablesError, match="holds no gold tables"):
        open_store(f"s3a://{bucket}/nothing")

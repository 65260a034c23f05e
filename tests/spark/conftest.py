"""One Spark session for all tests of this folder; without Java they are skipped, by name."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.helpers.spark.java_or_skip import REQUIRE, java_or_skip

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from rumormill.pipeline.lake.location import Location

QUICK = {
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.adaptive.enabled": "false",
    "spark.driver.memory": "1g",
    # Tests run each piece of code a few times only: compiling it well does not pay.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m"
    " -XX:+UseSerialGC",
}


TIMEOUT = 400
"""Seconds for a test with Spark, on a machine that may be busy."""


UNCLOSED = (
    "ignore:unclosed <socket:ResourceWarning",
    "ignore:Exception ignored in. <socket.socket:pytest.PytestUnraisableExceptionWarning",
)
"""pyspark 4.1 leaves the sockets that answers came by to the collector of garbage."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        here = item.path.is_relative_to(Path(__file__).parent)
        if here and item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(TIMEOUT))
        if here:
            for warning in UNCLOSED:
                item.add_marker(pytest.mark.filterwarnings(warning))


@pytest.fixture
def java() -> None:
    """For tests that start Spark in a process of its own."""
    java_or_skip()


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """The session that all tests share: two cores, in-process, nothing left behind."""
    java_or_skip()
    from rumormill.pipeline.session import spark_session

    folder = tmp_path_factory.mktemp("spark")
    session = spark_session(
        "tests",
        "local[2]",
        location=tables_or_none(folder / "tables"),
        **QUICK,
        **{
            "spark.sql.warehouse.dir": str(folder / "warehouse"),
            "spark.local.dir": str(folder / "local"),
        },
    )
    yield session
    session.stop()


def tables_or_none(folder: Path) -> Location | None:
    """A place for tables, if this Spark has Iceberg; source and sink are tested without it, too."""
    from rumormill.core.errors import ConfigError
    from rumormill.pipeline.lake.jars import local_jars, needed
    from rumormill.pipeline.lake.location import parse_tables

    location = parse_tables(str(folder))
    try:
        local_jars(needed(location))
    except ConfigError:
        if os.environ.get(REQUIRE) and pyspark_is("4.1"):
            raise
        return None
    return location


def pyspark_is(version: str) -> bool:
    import pyspark

    return pyspark.__version__.startswith(f"{version}.")


@pytest.fixture
def checkpoint(tmp_path: Path) -> str:
    """A folder for the offsets of one streaming query."""
    return str(tmp_path / "checkpoint")

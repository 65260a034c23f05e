"""One Spark session for all tests of this folder; without Java they are skipped, by name."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.helpers.spark.java_or_skip import java_or_skip

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

QUICK = {
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.adaptive.enabled": "false",
    "spark.driver.memory": "1g",
    # Tests run each piece of code a few times only: compiling it well does not pay.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}


TIMEOUT = 400
"""Seconds for a test with Spark, on a machine that may be busy."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        here = item.path.is_relative_to(Path(__file__).parent)
        if here and item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(TIMEOUT))


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
        **QUICK,
        **{
            "spark.sql.warehouse.dir": str(folder / "warehouse"),
            "spark.local.dir": str(folder / "local"),
        },
    )
    yield session
    session.stop()


@pytest.fixture
def checkpoint(tmp_path: Path) -> str:
    """A folder for the offsets of one streaming query."""
    return str(tmp_path / "checkpoint")

"""Tables of one test alone, in the session that all share."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from rumormill.pipeline.lake.location import Location, catalog_settings, parse_tables

NUMBERS = itertools.count(1)


@pytest.fixture
def place(spark: SparkSession, tmp_path: Path) -> Location:
    """An empty folder of tables, under a catalog of its own."""
    if spark.conf.get("spark.sql.catalog.lake", None) is None:
        pytest.skip("this Spark has no Iceberg")
    location = replace(parse_tables(str(tmp_path / "tables")), catalog=f"lake{next(NUMBERS)}")
    for key, value in catalog_settings(location).items():
        if key.startswith("spark.sql.catalog."):
            spark.conf.set(key, value)
    return location

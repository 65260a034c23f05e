from __future__ import annotations

import pyspark
import pytest
from pyspark.sql import SparkSession

from rumormill.core.errors import ConfigError
from rumormill.pipeline.lake import jars
from rumormill.pipeline.lake.location import catalog_settings, parse_tables
from rumormill.pipeline.session import cores_of, jar_settings


def test_the_session_counts(spark: SparkSession) -> None:
    assert spark.range(10).count() == 10
    assert spark.conf.get("spark.sql.session.timeZone") == "UTC"


@pytest.mark.parametrize(
    ("master", "cores"), [("local", 1), ("local[2]", 2), ("local[7,4]", 7), ("local[*]", None)]
)
def test_the_cores_of_a_local_master(master: str, cores: int | None) -> None:
    assert cores_of(master) == cores or (cores is None and cores_of(master) >= 1)


def test_a_catalog_of_the_user_is_left_as_it_is() -> None:
    location = parse_tables("catalog:glue")
    assert catalog_settings(location) == {}
    assert jar_settings(location, True, {}) == {}


def test_s3_needs_its_client_and_a_catalog(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pyspark, "__version__", "4.1.4")
    location = parse_tables("s3://bucket/tables")
    assert jars.needed(location)[1:] == [jars.AWS, jars.SQLITE]
    settings = catalog_settings(location)
    assert settings["spark.sql.catalog.lake.uri"] == f"jdbc:sqlite:{location.state}"
    assert settings["spark.sql.catalog.lake.warehouse"] == "s3://bucket/tables"


@pytest.mark.parametrize("version", ["4.2.0", "4.3.1", "5.0.0.dev1"])
def test_a_spark_that_has_no_iceberg_yet_is_refused_for_tables_by_one_sentence(
    version: str,
) -> None:
    with pytest.raises(ConfigError, match=f"no Iceberg for pyspark {version}"):
        jars.runtime(version)

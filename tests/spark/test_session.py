from __future__ import annotations

import tomllib
from pathlib import Path

import pyspark
import pytest
from packaging.requirements import Requirement
from py4j.java_gateway import JavaClass
from pyspark.sql import SparkSession

from rumormill.core.errors import ConfigError
from rumormill.pipeline.lake import jars
from rumormill.pipeline.lake.location import catalog_settings, parse_tables
from rumormill.pipeline.session import LOOKED_UP, cores_of, jar_settings

ROOT = Path(__file__).parents[2]


def test_the_session_counts(spark: SparkSession) -> None:
    assert spark.range(10).count() == 10
    assert spark.conf.get("spark.sql.session.timeZone") == "UTC"


def test_java_is_asked_once_for_the_classes_of_expressions(spark: SparkSession) -> None:
    kept = vars(spark.sparkContext._jvm)
    assert {"functions", "org.apache.spark.sql.functions", "PythonUtils"} <= kept.keys()
    assert all(isinstance(kept[name], JavaClass) for name in LOOKED_UP)


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


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("spark.jars", "/opt/a.jar,/opt/iceberg-spark-runtime-4.1_2.13-1.11.0.jar"),
        ("spark.jars.packages", "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.11.0"),
        ("spark.driver.extraClassPath", "/opt/iceberg-spark-runtime-4.1_2.13-1.11.0.jar"),
    ],
)
@pytest.mark.parametrize("local", [True, False])
def test_who_brings_an_iceberg_of_their_own_is_not_asked_for_ours(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, key: str, value: str, local: bool
) -> None:
    asked: list[str] = []
    monkeypatch.setattr(jars, "find", lambda coordinate: asked.append(coordinate))
    assert jar_settings(parse_tables(str(tmp_path)), local, {key: value}) == {}
    assert asked == []


def test_jars_of_the_user_that_hold_no_tables_stand_beside_ours(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(pyspark, "__version__", "4.1.4")
    monkeypatch.setattr(jars, "find", lambda coordinate: Path(coordinate.split(":")[1]))
    location = parse_tables("s3://bucket/tables")
    settings = {"spark.jars": "/opt/udfs.jar,/opt/sqlite-jdbc-3.40.jar"}
    assert jar_settings(location, False, settings)["spark.jars"].split(",") == [
        "/opt/udfs.jar",
        "/opt/sqlite-jdbc-3.40.jar",
        "iceberg-spark-runtime-4.1_2.13",
        "iceberg-aws-bundle",
    ]


def test_the_extra_brings_a_spark_that_iceberg_is_made_for() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extra = [Requirement(each) for each in project["optional-dependencies"]["spark"]]
    (spark,) = (each.specifier for each in extra if each.name == "pyspark")
    versions = [f"4.{minor}" for minor in range(10)]
    assert [each for each in versions if spark.contains(f"{each}.0")] == list(jars.RUNTIMES)


@pytest.mark.parametrize("version", ["4.2.0", "4.3.1", "5.0.0.dev1"])
def test_a_spark_that_has_no_iceberg_yet_is_refused_for_tables_by_one_sentence(
    version: str,
) -> None:
    with pytest.raises(ConfigError, match=f"no Iceberg for pyspark {version}"):
        jars.runtime(version)

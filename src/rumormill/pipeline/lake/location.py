"""What Spark has to be told about the place of the tables."""

from __future__ import annotations

from typing import Final

from rumormill.system.tables_location import Kind, Location, parse_tables

__all__ = ["Kind", "Location", "catalog_settings", "parse_tables", "prepare"]

EXTENSIONS: Final = "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"


def catalog_settings(location: Location) -> dict[str, str]:
    """Settings of Spark by which it finds the tables; none for a catalog of the user's own.

    Each can be given otherwise with ``--conf``, as ``spark.sql.catalog.lake.uri``.
    """
    if location.kind is Kind.CATALOG:
        return {}
    catalog = f"spark.sql.catalog.{location.catalog}"
    settings = {
        "spark.sql.extensions": EXTENSIONS,
        catalog: "org.apache.iceberg.spark.SparkCatalog",
        f"{catalog}.warehouse": location.warehouse,
        # Another process may have changed a cached table, or removed its old metadata.
        f"{catalog}.cache-enabled": "false",
    }
    if location.kind is Kind.S3:
        settings |= {
            f"{catalog}.type": "jdbc",
            f"{catalog}.uri": f"jdbc:sqlite:{location.state}",
            f"{catalog}.jdbc.schema-version": "V1",
            f"{catalog}.io-impl": "org.apache.iceberg.aws.s3.S3FileIO",
        }
    else:
        settings[f"{catalog}.type"] = "hadoop"
    return settings


def prepare(location: Location) -> None:
    """Make what has to be there before Spark: the folder of the SQLite file."""
    if location.state is not None:
        location.state.parent.mkdir(parents=True, exist_ok=True, mode=0o700)

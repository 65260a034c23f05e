"""Tables of one test alone, in the Spark session that all tests share."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers.second_opinion.oracle import Row
from tests.helpers.second_opinion.pipeline import rows_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from rumormill.pipeline.lake.store import Lake

NUMBERS = itertools.count(1)
PATIENCE = 240.0


class Heard:
    """What a runner tells."""

    def __init__(self) -> None:
        self.events: list[tuple[str, dict[str, Any]]] = []
        self._changed = threading.Condition()

    def __call__(self, event: str, fields: dict[str, object]) -> None:
        with self._changed:
            self.events.append((event, fields))
            self._changed.notify_all()

    def named(self, name: str) -> list[dict[str, Any]]:
        """What was told of one kind."""
        return [fields for event, fields in self.events if event == name]

    def wait_until(self, condition: Callable[[], bool]) -> None:
        """Wait for what must be told."""
        with self._changed:
            assert self._changed.wait_for(condition, PATIENCE), self.events


class OwnTables:
    """A folder of tables, and the catalog by which the shared session finds them there."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        if spark.conf.get("spark.sql.catalog.lake", None) is None:
            pytest.skip("this Spark has no Iceberg")
        self.spark = spark
        self.folder = folder
        self.text = f"catalog:own{next(NUMBERS)}"
        """What ``--tables`` would be."""
        catalog = self.text.replace("catalog:", "spark.sql.catalog.")
        spark.conf.set(catalog, "org.apache.iceberg.spark.SparkCatalog")
        spark.conf.set(f"{catalog}.type", "hadoop")
        spark.conf.set(f"{catalog}.warehouse", f"file:{folder}")
        spark.conf.set(f"{catalog}.cache-enabled", "false")

    def run(self, *spools: Path, **parameters: Any) -> Heard:
        """One ``pipeline run --once``."""
        from rumormill.pipeline.run.runner import Runner

        heard = Heard()
        Runner(self.spark, self.parameters(*spools, once=True, **parameters), heard).run()
        return heard

    def parameters(self, *spools: Path, **parameters: Any) -> Any:
        """Those of a run that fills these tables."""
        from rumormill.pipeline.run.parameters import RunParameters

        return RunParameters(spools=tuple(map(str, spools)), tables=self.text, **parameters)

    @property
    def lake(self) -> Lake:
        """As the pipeline sees them."""
        from rumormill.pipeline.lake.store import Lake
        from rumormill.system.tables_location import parse_tables

        return Lake(self.spark, parse_tables(self.text))

    def snapshots(self) -> dict[str, list[str]]:
        """The metadata files of every table: each commit adds one."""
        files = self.folder.glob("*/*/metadata/*.metadata.json")
        found: dict[str, list[str]] = {}
        for file in sorted(files):
            table = file.relative_to(self.folder).parts
            found.setdefault(f"{table[0]}.{table[1]}", []).append(file.name)
        return found

    def rows(self, names: Iterable[str]) -> dict[str, list[Row]]:
        """All rows of tables of silver and gold, by their names."""
        from rumormill.pipeline.gold import HOUSE
        from rumormill.pipeline.lake.schema import SILVER

        lake, wanted = self.lake, set(names)
        tables = [*SILVER, *(each.table for each in HOUSE.tables.values())]
        return {each.name: rows_of(lake.read(each)) for each in tables if each.name in wanted}

"""What :mod:`bench.spark.program` does with tables: as ``rumormill pipeline run`` does it."""

from __future__ import annotations

import shutil
from typing import Any

from pyspark.sql import SparkSession

from rumormill.capture.schema import TRACE
from rumormill.pipeline.gold import HOUSE
from rumormill.pipeline.lake.schema import BRONZE, SILVER
from rumormill.pipeline.lake.store import Lake
from rumormill.pipeline.lake.upkeep import Policy, upkeep
from rumormill.pipeline.run.increment import Increment
from rumormill.pipeline.run.ingest import Ingest
from rumormill.pipeline.run.parameters import RunParameters
from rumormill.system.tables_location import parse_tables

Row = dict[str, Any]


class Tables:
    """The tables in a folder, filled and refined step by step."""

    def __init__(self, spark: SparkSession, tables: str) -> None:
        self._spark = spark
        self._place = tables
        self._begin()

    def _begin(self) -> None:
        self._lake = Lake(self._spark, parse_tables(self._place))
        self._increment = Increment(self._lake)
        self._ingests: dict[str, Ingest] = {}

    def clear(self, *layers: str) -> None:
        """Remove all tables of these layers: the next run begins as the first one did."""
        folder = parse_tables(self._place).folder
        assert folder is not None
        for layer in layers:
            shutil.rmtree(folder / layer, ignore_errors=True)
        self._begin()

    def ingest(self, spool: str) -> Row:
        """Everything that a spool has more than bronze."""
        if spool not in self._ingests:
            parameters = RunParameters(spools=(spool,), tables=self._place, kinds=(TRACE,))
            self._ingests[spool] = Ingest(self._lake, TRACE, parameters)
        ingest, events = self._ingests[spool], 0
        until = ingest.latest()
        while rows := ingest.step(until):
            events += rows
        return {"events": events}

    def refine(self) -> Row:
        """Everything that bronze has more than silver and gold."""
        done = self._increment.run()
        if done is None:
            return {"events": 0, "minutes": 0}
        return {"events": done.events, "minutes": len(done.minutes)}

    def keep_up(self, snapshots: int) -> Row:
        """What a stream does every hour, when it has made so many snapshots in that time."""
        policy = Policy(snapshots=snapshots, snapshot_hours=0.0)
        tables = [*BRONZE, *SILVER, *(each.table for each in HOUSE.tables.values())]
        done: list[str] = []
        upkeep(
            self._spark, self._lake.location, tables, policy,
            lambda _, fields: done.append(str(fields["table"])), orphans=False,
        )  # fmt: skip
        return {"tables": len(done)}

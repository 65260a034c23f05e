"""Reading batch after batch in a program that keeps the place itself, without a checkpoint.

reader = SpoolReader("trace", folders=["spool"])
place = reader.next_place(before, limit=500_000)
if place != before:
    frame = reader.frame(spark, place)     # exactly these rows, as often as one asks
    ...                                    # write the frame and the place in one go
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rumormill.pipeline.source.columns import spark_schema
from rumormill.pipeline.source.options import read_source_options
from rumormill.pipeline.source.places import StreamPlace
from rumormill.pipeline.source.planner import Planner

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class SpoolReader:
    """One kind of records of folders and nodes: what is new, and frames of it."""

    def __init__(
        self,
        kind: str,
        *,
        folders: Sequence[str] = (),
        nodes: Sequence[str] = (),
        token: str | None = None,
        fail_on_data_loss: bool = True,
        retry_seconds: float = 30.0,
    ) -> None:
        self._options = {
            "kind": kind,
            "failOnDataLoss": str(fail_on_data_loss).lower(),
            "retrySeconds": f"{retry_seconds:g}",
        }
        for name, sources in (("spool", folders), ("node", nodes)):
            if sources:
                self._options[name] = json.dumps([str(each) for each in sources])
        if token is not None:
            self._options["token"] = token
        checked = read_source_options(
            {**self._options, "startingOffsets": "earliest"}, streaming=True
        )
        self._kind = kind
        self._planner = Planner(checked)

    def next_place(
        self, before: StreamPlace | None = None, limit: int | None = None
    ) -> StreamPlace:
        """What comes after ``before`` (None: from the earliest on), at most ``limit`` rows of it.

        ``before`` itself if there is nothing new. Its ``rows`` are those that a frame of it has;
        ``lost`` minus that of ``before`` are those that were gone before they could be read.
        Raises :class:`~rumormill.capture.log.SpoolError` for what cannot be mended by waiting,
        its :class:`~rumormill.capture.reading.node_client.NodeAwayError` for what can.
        """
        return self._planner.next_place(before, limit)

    def latest(self) -> dict[str, int]:
        """How far each spool reaches now, by its id."""
        return self._planner.latest()

    def frame(self, spark: SparkSession, place: StreamPlace) -> DataFrame:
        """The rows of a place. Each task proves that it saw every offset of its range.

        A frame that has fewer rows than ``place.rows`` has left out what was spoilt, which it does
        with ``fail_on_data_loss=False`` only; without that the read fails.
        """
        return (
            spark.read.schema(spark_schema(self._kind, headers=True))
            .format("rumormill")
            .options(**self._options, place=json.dumps(place.to_json()))
            .load()
        )

"""The tables of the story, made once for all tests of this folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.helpers.spark.table_story import STORY, Story
from tests.helpers.spark.trace_lines import held, trace_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def story(spark: SparkSession) -> Story:
    """Made as a runner makes them."""
    from rumormill.pipeline.tables import gold, silver

    trace = trace_of(spark, STORY)
    made = silver(trace, keep=held)
    return Story(trace, made, gold(made, keep=held))

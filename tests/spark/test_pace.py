"""Work with few rows has settings of its own, and leaves none behind."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def settings(spark: SparkSession) -> dict[str, str | None]:
    from rumormill.pipeline.run.pace import QUICK

    return {key: spark.conf.get(key, None) for key in QUICK}


def test_few_rows_are_worked_on_with_quick_settings_and_many_with_those_of_the_session(
    spark: SparkSession,
) -> None:
    from rumormill.pipeline.run.pace import FEW_ROWS, QUICK, paced

    before = settings(spark)
    assert before != QUICK
    with paced(spark, FEW_ROWS - 1):
        assert settings(spark) == QUICK
    assert settings(spark) == before
    with paced(spark, FEW_ROWS):
        assert settings(spark) == before


def test_after_a_failure_the_settings_are_those_of_before(spark: SparkSession) -> None:
    from rumormill.pipeline.run.pace import paced

    before = settings(spark)
    with pytest.raises(ValueError, match="in the middle"), paced(spark, 1):
        raise ValueError("in the middle")
    assert settings(spark) == before

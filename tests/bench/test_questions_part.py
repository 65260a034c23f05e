"""Questions to silver: held against DuckDB, by the medians."""

from __future__ import annotations

from typing import Any

import pytest

from bench.spark.asking import QUESTIONS, in_duckdb, in_spark
from bench.spark.questions import agree, questions_goals, questions_tables


def part(agreed: bool = True) -> dict[str, Any]:
    row = {
        "question": "each message",
        "spark": {"seconds": {"best": 1.0, "median": 3.0}},
        "duckdb": {"seconds": {"best": 1.0, "median": 1.0}},
        "agree": agreed,
    }
    return {"events": 1_000_000, "rows": [row]}


def test_a_question_is_judged_by_its_median() -> None:
    (goal,) = questions_goals(part())
    assert goal.verdict == "not reached, 100.0% above"
    (table,) = questions_tables(part())
    assert table.lines[0][-1] == "3.00"


def test_an_answer_that_differs_is_said_aloud() -> None:
    assert agree([1.0, 2e9], [1.0, 2e9 + 0.1])
    assert not agree([1.0, 2.0], [1.0, 2.1])
    (table,) = questions_tables(part(agreed=False))
    assert "DIFFERENT" in table.notes[-1]


def test_without_java_there_is_nothing_to_show() -> None:
    assert questions_tables({"rows": []}) == []
    assert questions_goals({"rows": []}) == []


@pytest.mark.parametrize("name", QUESTIONS)
def test_both_are_asked_for_the_same_sums(name: str) -> None:
    ours, theirs = (dialect(name, ("d", "p")) for dialect in (in_spark, in_duckdb))
    assert ours.split(" FROM ")[0] == theirs.split(" FROM ")[0]
    assert "{" not in ours + theirs

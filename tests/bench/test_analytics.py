from __future__ import annotations

from typing import Any

from bench.analytics import agree
from bench.analytics_tables import analytics_goals, analytics_tables


def part(**others: Any) -> dict[str, Any]:
    return {
        "events": 1_000_000,
        "bytes": 5_000_000,
        "agree": True,
        "rows": [
            {
                "what": "refine",
                "seconds": {"best": 1.0, "median": 4.0},
                "first_seconds": 4.0,
                "cpu_seconds": {"best": 2.0, "median": 2.0},
                "events_per_second": {"best": 1_000_000.0, "median": 250_000.0},
                "stages": {"silver/mesh": 0.25, "gold/topics": 0.75},
            },
            {"what": "per_message", "by": "spark", "seconds": {"best": 3.0, "median": 3.0}},
            {"what": "per_message", "by": "duckdb", "seconds": {"best": 1.0, "median": 1.0}},
        ],
        **others,
    }


def test_the_way_to_gold_and_the_question_are_held_against_their_limits() -> None:
    way, question = analytics_goals(part())
    assert way.verdict.startswith("reached by the best only")
    assert question.verdict.startswith("not reached, 50.0% above")
    whole, asked = analytics_tables(part())
    assert "gold/topics 0.8, silver/mesh 0.2" in whole.notes[0]
    assert [line[3] for line in asked.lines] == ["3.00", "1.00"]


def test_an_answer_that_differs_is_said_aloud() -> None:
    assert agree([1.0, 2e9], [1.0, 2e9 + 0.1])
    assert not agree([1.0, 2.0], [1.0, 2.1])
    (_, asked) = analytics_tables(part(agree=False))
    assert "DIFFERENT" in asked.notes[0]


def test_without_java_there_is_nothing_to_show() -> None:
    assert analytics_tables(part(rows=[])) == []
    assert analytics_goals(part(rows=[])) == []

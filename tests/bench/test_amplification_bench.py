"""What a forged address brings to its owner: measured for every query, shown and judged."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bench.bep50.amplification import amplification_goals, amplification_tables
from tests.helpers.bep50.spoofed_queries import MAIN_QUERIES, QUERIES

ROOT = Path(__file__).parents[2]


def part(*rows: dict[str, Any]) -> dict[str, Any]:
    return {"rows": list(rows), "flood": 100, "libtorrent": "", "missing_libtorrent": "it is not"}


def row(**changes: Any) -> dict[str, Any]:
    figures: dict[str, Any] = {
        "query": "get", "size": 100, "unproven": 250, "flooded": 20.0, "proven": 1200,
        "libtorrent": None,
    }  # fmt: skip
    return figures | changes


@pytest.mark.timeout(300)
def test_every_query_has_its_line_and_none_brings_a_stranger_much(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "bench", "amplification", "--quick", "--json", "--output"]
    done = subprocess.run(
        [*command, str(tmp_path)], cwd=ROOT, capture_output=True, text=True, timeout=240
    )
    assert done.returncode == 0, done.stderr
    measured = json.loads(done.stdout)["amplification"]
    rows = {each["query"]: each for each in measured["rows"]}
    assert list(rows) == list(QUERIES)
    for each in rows.values():
        assert each["size"] == len(QUERIES[each["query"]])
        assert each["unproven"] <= 3 * each["size"]
        assert each["flooded"] <= each["size"]
    assert rows["get"]["proven"] > 1000, "the value is there for who has proven itself"
    if measured["libtorrent"]:
        assert all(rows[name]["libtorrent"]["sent"] > 0 for name in MAIN_QUERIES)
        assert rows["get"]["libtorrent"]["sent"] > 1000, "the node that was asked has the value"
    page = (tmp_path / "latest.md").read_text()
    assert "What a forged source address brings" in page and "Goals: amplification" in page


def test_the_goals_are_held_against_the_worst_query() -> None:
    worse = row(query="worse", unproven=301, flooded=101.0)
    stranger, flood = amplification_goals(part(row(), worse))
    assert "worse" in stranger.subject and not stranger.reached("best")
    assert "worse" in flood.subject and not flood.reached("best")
    assert all(goal.reached("best") for goal in amplification_goals(part(row())))


def test_a_peer_that_is_missing_is_said_to_be() -> None:
    (table,) = amplification_tables(part(row(), row(libtorrent={"size": 50, "sent": 500})))
    assert table.lines[0][-2:] == ["-", "-"]
    assert table.lines[1][-2:] == ["500", "10.00"]
    assert "missing: it is not" in table.notes[0]
    assert table.lines[0][2:5] == ["250", "2.50", "0.20"]

"""The overlay with many nodes: measured, shown and judged."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bench.bep50.scale_tables import scale_goals, scale_tables

ROOT = Path(__file__).parents[2]


def row(**changes: Any) -> dict[str, Any]:
    figures: dict[str, Any] = {
        "nodes": 1000, "size": 100, "seed": 1, "resumed": False, "publications": 10,
        "expected": 9000, "missing": 0, "ratio": 1.0, "worst_ratio": 1.0, "seconds_to_50": 0.25,
        "seconds_to_99": 0.5, "seconds_to_100": None, "newcomers": 30, "behind": 0,
        "hops_mean": 4.5, "hops_max": 9,
        "copies_per_node": 18.0, "bytes_per_node": 7000.0, "quiet_bytes_per_second": 12.0,
        "bytes_to_join": 20_000.0, "table_mean": 19.0, "table_max": 23, "log2_nodes": 9.96,
        "known_by_mean": 17.0, "known_by_min": 3, "dead_entries": 0.05, "cpu_seconds": 10.0,
        "packets_per_cpu_second": 40_000.0,
    }  # fmt: skip
    return figures | changes


def part(*rows: dict[str, Any]) -> dict[str, Any]:
    return {
        "rows": list(rows), "seconds_in_time": 10.0, "loss": 0.05, "churn": 0.1, "away": 60.0,
        "latency": 0.02, "jitter": 0.1,
    }  # fmt: skip


@pytest.mark.timeout(300)
def test_a_quick_run_reaches_everybody_and_writes_its_tables(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "bench", "scale", "--quick", "--json", "--output"]
    done = subprocess.run(
        [*command, str(tmp_path)], cwd=ROOT, capture_output=True, text=True, timeout=240
    )
    assert done.returncode == 0, done.stderr
    measured = json.loads(done.stdout)["scale"]
    for each in measured["rows"]:
        assert each["nodes"] == (80 if each["resumed"] else 60)
        assert each["expected"] > 50
        assert (each["ratio"], each["behind"]) == (1.0, 0)
        assert 1 <= each["hops_mean"] <= each["hops_max"] <= 12
        assert each["drops"]["lost"] > 100
    rows = measured["rows"]
    for small, large in zip(rows[::2], rows[1::2], strict=True):
        assert large["copies_per_node"] < small["copies_per_node"]
    page = (tmp_path / "latest.md").read_text()
    assert "is the newest value everywhere?" in page and "Goals: scale" in page


def test_the_goal_is_reached_if_one_node_of_a_thousand_has_to_wait() -> None:
    goals = scale_goals(part(row(missing=9), row(missing=10), row()))
    assert [goal.reached("best") for goal in goals] == [True, False, True]
    assert [goal.verdict for goal in goals] == [
        "reached, exactly",
        "not reached, 11.1% above",
        "reached, 100.0% below",
    ]
    assert goals[0].wanted == "at most one (1.00)"


def test_a_ratio_that_is_not_whole_does_not_look_whole_and_a_time_too_long_is_left_out() -> None:
    delivery, cost = scale_tables(part(row(ratio=0.99999), row(size=999)))
    assert delivery.lines[0][6] == "0.999"
    assert delivery.lines[0][9:12] == ["0.25", "0.50", "-"]
    assert [line[5] for line in cost.lines] == ["20", "5"]


def test_saved_tables_are_not_taken_for_joining() -> None:
    _, cost = scale_tables(part(row(), row(resumed=True)))
    assert [line[8] for line in cost.lines] == ["20,000", "20,000 (saved)"]

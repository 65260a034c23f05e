"""Many nodes that find each other: measured, shown and judged."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from bench.discovery_tables import discovery_goals, discovery_tables

ROOT = Path(__file__).parents[2]


@pytest.mark.timeout(400)
def test_a_quick_run_finds_everybody_and_writes_its_tables(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "bench", "discovery", "--quick", "--json", "--output"]
    done = subprocess.run(
        [*command, str(tmp_path)], cwd=ROOT, capture_output=True, text=True, timeout=360
    )
    assert done.returncode == 0, done.stderr
    part = json.loads(done.stdout)["discovery"]
    assert [row["nodes"] for row in part["rows"]] == [40, 20]
    for row in part["rows"]:
        assert (row["full"], row["parts"], row["delivered"]) == (row["settled"], 1, 1.0)
        assert row["join_50"] <= row["join_99"] <= row["join_max"] <= 10
        assert row["packets_to_join"] > 5 and row["bytes_a_minute"] > 100
    page = (tmp_path / "latest.md").read_text()
    assert "do they become one mesh?" in page and "Goals: discovery" in page
    mesh, cost = discovery_tables(part)
    assert all(len(line) == len(mesh.headings) for line in mesh.lines)
    assert all(len(line) == len(cost.headings) for line in cost.lines)
    assert all(goal.reached("best") for goal in discovery_goals(part))
    part["rows"][0]["full"] -= 1
    part["rows"][1]["parts"] = 2
    missed = [goal.subject for goal in discovery_goals(part) if not goal.reached("best")]
    assert len(missed) == 2

"""The benchmarks run from end to end; what they count is looked at, never what they time."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]

PATIENCE = 240
"""Seconds for what takes four on an idle machine."""

pytestmark = pytest.mark.timeout(PATIENCE + 60)

CASES = ["signed 100 B", "signed 1000 B", "signed 1024 B", "unsigned 1024 B"]


def bench(*arguments: str, output: Path) -> dict[str, Any]:
    """Run ``python -m bench``; returns what it printed."""
    command = [sys.executable, "-m", "bench", *arguments, "--json", "--output", str(output)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    printed: dict[str, Any] = json.loads(done.stdout)
    return printed


def test_a_quick_run_of_our_own_pair_loses_nothing_and_writes_its_tables(tmp_path: Path) -> None:
    printed = bench("pair", "--quick", "--only", "ours", output=tmp_path)
    written = json.loads((tmp_path / "latest.json").read_text())
    assert written["pair"].pop("goals")
    assert written == printed
    part = printed["pair"]
    assert part["quick"]
    assert part["machine"]["cores"] >= 1
    assert part["versions"]["ours"]["rumormill"]
    assert [row["case"] for row in part["rows"]] == CASES
    for row in part["rows"]:
        assert (row["contestant"], row["missing"]) == ("ours", "")
        for sample in row["samples"]:
            assert sample["sent"] == sample["received"] >= 100
        for metric in ("messages_per_second", "publisher_us", "subscriber_us"):
            assert row[metric]["best"] > 0
    page = (tmp_path / "latest.md").read_text()
    assert all(f"| {case} | ours (PyNaCl) |" in page for case in CASES)
    assert "cannot be said: js-libp2p did not take part" in page


def test_the_single_parts_and_the_simulator_are_measured(tmp_path: Path) -> None:
    part = bench("codec", "--quick", output=tmp_path)["codec"]
    assert all(row["us_per_message"] > 0 for row in part["rows"])
    assert any("protobuf" in row["name"] for row in part["rows"])
    assert part["simulation"]["deliveries"] == 20 * 10


def test_the_cost_of_a_spool_is_measured_with_nothing_lost(tmp_path: Path) -> None:
    part = bench("capture", "--quick", output=tmp_path)["capture"]
    assert [(row["what"], row["rate"]) for row in part["rows"]] == [
        (what, rate)
        for what in ("message of 1 KiB", "trace event")
        for rate in (1_000, 10_000, None)
    ]
    for row in part["rows"]:
        assert row["records_per_second"]["best"] > 0
        assert row["bytes"]["best"] > 20
    page = (tmp_path / "latest.md").read_text()
    assert "| trace event | as fast as taken |" in page
    assert "at most 5 us" in page


def test_a_contestant_that_nobody_knows_is_refused() -> None:
    command = [sys.executable, "-m", "bench", "pair", "--only", "ours,perl"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 2
    assert "perl: none of ours, plain, native, rust, go, go-1, js, py" in done.stderr

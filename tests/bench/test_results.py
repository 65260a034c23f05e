"""What is kept of a run: both files, and of older runs the parts that were not measured anew."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import bench
from bench import results
from bench.parts import PARTS

CIRCUMSTANCES = {
    "machine": {
        "date": "2024-05-01 12:00 +0000",
        "cores": 2,
        "processor": "a processor",
        "flags": ["avx2"],
        "system": "Linux",
        "load": [0.1, 0.2, 0.3],
    },
    "quick": False,
    "others_cores": 0.25,
    "versions": {"ours": {"rumormill": "1.2.3"}},
    "missing": {},
}


def codec(cost: float) -> dict[str, Any]:
    simulation = dict.fromkeys(
        (
            "nodes",
            "events",
            "deliveries",
            "events_per_second",
            "deliveries_per_second",
            "virtual_seconds_per_second",
        ),
        7,
    )
    rows = [{"name": "a part", "us_per_message": cost}]
    return {**CIRCUMSTANCES, "size": 1024, "batch": 16, "rows": rows, "simulation": simulation}


def mesh() -> dict[str, Any]:
    row = {
        "contestant": "js",
        "rate": 50,
        "missing": "js peer: node is not installed",
        "verifies_known_by": "its source",
        "samples": [],
    }
    missing = {"js": "js peer: node is not installed"}
    part = {"rounds": 1, "nodes": 10, "size": 1024, "seconds": 2.0, "rows": [row]}
    return {**CIRCUMSTANCES, **part, "missing": missing}


def test_a_part_that_is_measured_alone_replaces_only_itself(tmp_path: Path) -> None:
    results.write(tmp_path, {"codec": codec(1.25)})
    results.write(tmp_path, {"mesh": mesh()})
    results.write(tmp_path, {"codec": codec(2.5)})
    kept = json.loads((tmp_path / "latest.json").read_text())
    assert list(kept) == ["mesh", "codec"]
    assert kept["codec"] == codec(2.5)
    page = (tmp_path / "latest.md").read_text()
    assert "| a part | 2.50 |" in page
    assert "2 cores, a processor (avx2), Linux" in page
    assert "cores that others kept busy during it: 0.25" in page


def test_who_is_missing_is_named_with_the_reason(tmp_path: Path) -> None:
    results.write(tmp_path, {"mesh": mesh()})
    page = (tmp_path / "latest.md").read_text()
    assert "- js: missing, js peer: node is not installed" in page
    assert "| 50/s | js-libp2p | missing: js peer: node is not installed |" in page
    assert "cannot be said: ours (PyNaCl) did not take part" in page


def test_a_file_that_is_not_ours_is_written_anew(tmp_path: Path) -> None:
    (tmp_path / "latest.json").write_text("not JSON")
    results.write(tmp_path, {"codec": codec(1.25)})
    assert list(json.loads((tmp_path / "latest.json").read_text())) == ["codec"]


@pytest.mark.parametrize("part", PARTS)
def test_the_help_names_each_part(part: str) -> None:
    assert f"python -m bench {part} " in (bench.__doc__ or "")

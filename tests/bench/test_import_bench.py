"""The import of foreign traces is measured; what is counted is looked at, never what is timed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.timeout(300)
def test_a_quick_run_imports_every_event_and_writes_its_table(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "bench", "import", "--quick", "--json"]
    done = subprocess.run(
        [*command, "--output", str(tmp_path)], cwd=ROOT, capture_output=True, text=True, timeout=240
    )
    assert done.returncode == 0, done.stderr
    part = json.loads(done.stdout)["import"]
    assert [row["events"] for row in part["rows"]] == [13049] * 6
    for row in part["rows"]:
        assert row["events_per_second"]["best"] > 0 and row["us_per_event"]["best"] > 0
    page = (tmp_path / "latest.md").read_text()
    assert "| import of JSON lines, gzip | 13,049 |" in page

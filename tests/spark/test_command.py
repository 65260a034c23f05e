"""``rumormill pipeline`` and ``rumormill report`` as one types them, with the gold table of one's
own that docs/pipeline.md shows.
"""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from rumormill.capture.schema import TRACE
from rumormill.cli import main
from tests.helpers.capture.spools import make_spool
from tests.helpers.places import DOCS, environment
from tests.helpers.second_opinion.oracle import Row
from tests.helpers.spark.java_or_skip import java_or_skip
from tests.helpers.spark.pipeline_process import PipelineProcess
from tests.helpers.spark.small_network import event, trace_rows

pytestmark = pytest.mark.timeout(600)

PAGE = (DOCS / "pipeline.md").read_text()
PLACE = ("spool", "partition", "offset")
PATIENCE = 240
OLD = "acknowledged"
"""What happened three days earlier, and goes with the first upkeep."""


def program(name: str) -> str:
    """The one program of the page that has this in it."""
    (found,) = [
        each for each in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL) if name in each
    ]
    return str(found)


def events() -> list[Row]:
    """A small network; every tenth message is large."""
    rows = [event(-3 * 86_400, "ann", OLD), *trace_rows(2)]
    for row in rows:
        if row["message_id"] is not None and int.from_bytes(row["message_id"], "big") % 10 == 0:
            row["size"] = 100_001
    return rows


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the page's command has made ``tables`` of ``spool``, with the table in ``large.py``."""
    java_or_skip()
    place = tmp_path_factory.mktemp("page")
    rows = [{key: each for key, each in row.items() if key not in PLACE} for row in events()]
    make_spool(place / "spool").rows(rows, TRACE)
    (place / "large.py").write_text(program("gold_table"))
    (command,) = re.findall(r"^rumormill pipeline (run .* --gold large)$", PAGE, re.MULTILINE)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)  # where modules are found
        with PipelineProcess(*shlex.split(command), "--once") as run:
            assert run.end(PATIENCE) == 0, run.errors
    assert "rumormill" not in run.errors
    assert run.named("refined")[0]["events"] == len(rows)
    return place


def report(tables: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    capsys.readouterr()
    assert main(["report", "--tables", str(tables), "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_a_table_of_ones_own_is_made_shown_with_its_title_and_looked_after(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tables = folder / "tables"
    before = report(tables, capsys)
    table = before["tables"]["large_messages"]
    assert table["title"] == "Large messages"
    found = [dict(zip(table["columns"], row, strict=True)) for row in table["rows"]]
    in_all = [row for row in found if row["minute"] is None]
    large = Counter(
        row["topic"] for row in events() if row["event"] == "published" and row["size"] > 100_000
    )
    assert {row["topic"]: row["large"] for row in in_all or found} == large
    assert main(["report", "--tables", str(tables)]) == 0
    assert "Large messages" in capsys.readouterr().out

    with PipelineProcess("upkeep", "--tables", tables, "--keep-days", "1") as upkeep:
        assert upkeep.end() == 0, upkeep.errors
    removed = {each["table"]: each.get("rows_removed") for each in upkeep.named("upkeep")}
    assert removed["bronze.trace"] == 1
    after = report(tables, capsys)
    assert {**after, "snapshots": None} == {**before, "snapshots": None}


def test_the_session_of_the_page_reads_the_tables(folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", program("spark_session(")],
        cwd=folder, env=environment(), capture_output=True, text=True, timeout=PATIENCE,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    shown = re.findall(r"^\|\s*(\w+)\|\s*(\d+)\|$", done.stdout, re.MULTILINE)
    wanted = Counter(row["event"] for row in events())
    del wanted[OLD]
    assert {name: int(count) for name, count in shown if name != OLD} == wanted
    assert [name for name, _ in shown] == sorted(name for name, _ in shown)

"""``rumormill pipeline`` and ``rumormill report`` as one types them, with a gold table of one's
own.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rumormill.capture.schema import TRACE
from rumormill.cli import main
from tests.helpers.capture.spools import make_spool
from tests.helpers.spark.pipeline_process import PipelineProcess
from tests.helpers.spark.small_network import event, trace_rows

pytestmark = [pytest.mark.usefixtures("java"), pytest.mark.timeout(600)]

PLACE = ("spool", "partition", "offset")
OWN = """
from pyspark.sql import functions as F
from rumormill.pipeline.gold import gold_table


@gold_table(
    columns="minute timestamp, network string, topic string, large bigint",
    sums=("large",),
    title="Messages of more than 140 bytes",
)
def large_messages(tables):
    large = tables["publications"].where("size > 140")
    return large.groupBy("minute", "network", "topic").agg(F.count("*").alias("large"))
"""


def report(tables: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    capsys.readouterr()
    assert main(["report", "--tables", str(tables), "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_a_table_of_ones_own_is_made_shown_with_its_title_and_looked_after(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    old = event(-3 * 86_400, "ann", "acknowledged")
    rows = [old, *trace_rows(2)]
    spool, tables = make_spool(tmp_path / "spool"), tmp_path / "tables"
    spool.rows([{k: v for k, v in row.items() if k not in PLACE} for row in rows], TRACE)
    (tmp_path / "my_gold.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)  # where modules are found
    with PipelineProcess(
        "run", "--spool", spool.folder, "--tables", tables, "--once", "--gold", "my_gold"
    ) as run:
        assert run.end() == 0, run.errors
    assert "rumormill" not in run.errors
    assert run.named("refined")[0]["events"] == len(rows)

    large = [row for row in rows if row["event"] == "published" and row["size"] > 140]
    before = report(tables, capsys)
    table = before["tables"]["large_messages"]
    assert table["title"] == "Messages of more than 140 bytes"
    in_all = [row for row in table["rows"] if row[table["columns"].index("minute")] is None]
    assert sum(row[table["columns"].index("large")] for row in in_all or table["rows"]) == len(
        large
    )
    assert main(["report", "--tables", str(tables)]) == 0
    assert "Messages of more than 140 bytes" in capsys.readouterr().out

    with PipelineProcess("upkeep", "--tables", tables, "--keep-days", "1") as upkeep:
        assert upkeep.end() == 0, upkeep.errors
    removed = {each["table"]: each.get("rows_removed") for each in upkeep.named("upkeep")}
    assert removed["bronze.trace"] == 1
    after = report(tables, capsys)
    assert {**after, "snapshots": None} == {**before, "snapshots": None}

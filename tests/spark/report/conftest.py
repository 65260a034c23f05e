"""Tables to report on: made by hand, so that neither Spark nor Java is needed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from rumormill.pipeline.report import Report, read_report
from tests.helpers.spark.gold_tables import Rows, Run, gold_rows, write_gold

Change = Callable[[dict[str, Rows]], object]
MakeReport = Callable[..., Report]


@pytest.fixture
def report_on(tmp_path: Path) -> MakeReport:
    """Play a run, change its tables, and report on them."""

    def make(run: Run | None = None, change: Change | None = None, name: str = "tables") -> Report:
        tables = gold_rows(run or Run())
        if change:
            change(tables)
        return read_report(write_gold(tmp_path / name, tables))

    return make

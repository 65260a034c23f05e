"""Tables to report on: made by hand, so that neither Spark nor Java is needed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from rumormill.report import Report, Wanted, read_report
from tests.helpers.report.gold_tables import Run, lake_rows
from tests.helpers.report.lake_on_disk import Rows, write_lake

Change = Callable[[dict[str, Rows]], object]
MakeReport = Callable[..., Report]


@pytest.fixture
def report_on(tmp_path: Path) -> MakeReport:
    """Play a run, change its tables, and report on them."""

    def make(
        run: Run | None = None,
        change: Change | None = None,
        name: str = "tables",
        tables: dict[str, Rows] | None = None,
        wanted: Wanted | None = None,
    ) -> Report:
        tables = tables or lake_rows(run or Run())
        if change:
            change(tables)
        return read_report(write_lake(tmp_path / name, tables), wanted)

    return make

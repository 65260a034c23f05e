"""docs/tables.md has every column of every table, docs/pipeline.md every option of the command."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import typer

from rumormill.cli.commands.pipeline import pipeline_app

DOCS = Path(__file__).parent.parent.parent / "docs"


def section(page: str, title: str) -> str:
    """What stands below a heading, up to the next one."""
    found = re.search(rf"^### {title}\n(.*?)(?=^##|\Z)", page, re.MULTILINE | re.DOTALL)
    assert found is not None, f"there is no section {title}"
    return found[1]


def test_every_column_of_every_table_is_on_the_page() -> None:
    pytest.importorskip("pyspark")
    from rumormill.pipeline.gold import HOUSE
    from rumormill.pipeline.lake.declared import columns_of
    from rumormill.pipeline.lake.schema import SILVER

    page = (DOCS / "tables.md").read_text()
    alerts = (DOCS / "alerts.md").read_text()
    gold = [each.table for each in HOUSE.tables.values()]
    lacking = [
        f"{table.path}.{column}"
        for table in (*SILVER, *gold)
        for column in columns_of(table.columns)
        if f"`{column}`" not in (alerts if table.name == "alerts" else section(page, table.name))
    ]
    # All tables by minute and network say so in the chapter on words.
    assert [each for each in lacking if not each.endswith((".minute", ".network"))] == []


def test_every_option_of_a_run_is_on_the_page() -> None:
    page = (DOCS / "pipeline.md").read_text()
    command = typer.main.get_command(pipeline_app)
    options = {
        name
        for each in command.commands["run"].params  # type: ignore[attr-defined]
        for name in each.opts
        if name.startswith("--") and name != "--help"
    }
    assert options, "the command has no options"
    assert [name for name in sorted(options) if f"`{name}" not in page] == []

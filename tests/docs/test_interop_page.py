"""docs/interop.md lists what is tested with which versions of the real peers."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from tests.helpers.interop.interop_matrix import TABLES, Outcome, Table
from tests.helpers.interop.peer_versions import versions

DOCS = Path(__file__).parent.parent.parent / "docs"
MAKER = runpy.run_path(str(DOCS / "make_interop.py"))

every_table = pytest.mark.parametrize("table", TABLES, ids=lambda table: str(table.family))


def part(page: str, table: Table) -> str:
    """What the page says of one family."""
    inside: str = page.partition(MAKER["begin"](table))[2].partition(MAKER["end"](table))[0]
    return inside


def rows(text: str) -> list[list[str]]:
    """The cells of every table row, the behaviour written out in each."""
    found: list[list[str]] = []
    for line in text.splitlines():
        if line.startswith("| "):
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            cells[0] = cells[0] or found[-1][0]
            found.append(cells)
    return found[1:]


@every_table
def test_the_page_has_every_row_of_the_matrix_and_no_gap(table: Table) -> None:
    found = rows(part((DOCS / "interop.md").read_text(), table))
    assert [(behaviour, direction) for behaviour, direction, *_ in found] == list(table.rows)
    for _, _, *cells in found:
        assert all(cell == "-" or cell.startswith("yes") for cell in cells), "run `make interop`"


@every_table
def test_the_page_names_the_versions_that_the_peers_are_built_on(table: Table) -> None:
    text = part((DOCS / "interop.md").read_text(), table)
    for peer, library in versions(table.family).items():
        assert f"- {peer}: {library}\n" in text, "run `make interop`, then `make docs`"


@every_table
def test_a_new_table_takes_the_place_of_the_old_one(table: Table) -> None:
    section = MAKER["section"](table, {cell: [Outcome("passed")] for cell in table.cells()})
    page = (DOCS / "interop.md").read_text()
    once = MAKER["with_section"](page, table, section)
    assert MAKER["with_section"](once, table, section) == once
    assert len(rows(part(once, table))) == len(table.rows)
    assert once.partition(MAKER["end"](table))[2] == page.partition(MAKER["end"](table))[2]

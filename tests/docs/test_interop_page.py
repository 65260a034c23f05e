"""docs/interop.md lists what is tested with which versions of the real peers."""

from __future__ import annotations

import runpy
from pathlib import Path

from interop_matrix import PEERS, ROWS, Cell, Outcome
from peer_versions import versions

DOCS = Path(__file__).parent.parent.parent / "docs"
MAKER = runpy.run_path(str(DOCS / "make_interop.py"))


def rows(page: str) -> list[list[str]]:
    """The cells of every table row, the behaviour written out in each."""
    found: list[list[str]] = []
    for line in page.partition(MAKER["END"])[0].splitlines():
        if line.startswith("| "):
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            cells[0] = cells[0] or found[-1][0]
            found.append(cells)
    return found[1:]


def test_the_page_has_every_row_of_the_matrix_and_no_gap() -> None:
    page = rows((DOCS / "interop.md").read_text())
    assert [(behaviour, direction) for behaviour, direction, *_ in page] == list(ROWS)
    for _, _, *cells in page:
        assert all(cell == "-" or cell.startswith("yes") for cell in cells), "run `make interop`"


def test_the_page_names_the_versions_that_the_peers_are_built_on() -> None:
    page = (DOCS / "interop.md").read_text()
    for peer, library in versions().items():
        assert f"- {peer}: {library}\n" in page, "run `make interop`, then `make docs`"


def test_a_new_table_takes_the_place_of_the_old_one() -> None:
    cells = [Cell(behaviour, direction, peer) for behaviour, direction in ROWS for peer in PEERS]
    section = MAKER["section"]({cell: [Outcome("passed")] for cell in cells})
    page = (DOCS / "interop.md").read_text()
    once = MAKER["with_section"](page, section)
    assert MAKER["with_section"](once, section) == once
    assert len(rows(once)) == len(ROWS)
    assert once.partition(MAKER["END"])[2] == page.partition(MAKER["END"])[2]

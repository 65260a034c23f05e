"""Writes the tables of docs/interop.md from the last runs with real peers: `make docs`.

A run leaves the matrix of each family in pytest's cache. Only a matrix without a gap is written:
where a cell has not run or has not passed, its part of the page stays as it is.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from tests.helpers.interop.interop_matrix import (  # noqa: E402
    TABLES,
    Matrix,
    Table,
    cache_key,
    from_json,
    table_rows,
    unfilled,
)
from tests.helpers.interop.peer_versions import versions  # noqa: E402

PAGE = ROOT / "docs" / "interop.md"
CACHE = ROOT / ".pytest_cache" / "v"


def begin(table: Table) -> str:
    """The line before the family's part of the page."""
    return f"<!-- matrix of {table.family}: made by `make docs` -->\n"


def end(table: Table) -> str:
    """The line after it."""
    return f"<!-- end of the matrix of {table.family} -->\n"


def section(table: Table, matrix: Matrix) -> str:
    """The peers' versions and the table."""
    head, *rows = table_rows(table, matrix)
    lines = [f"- {name}: {library}" for name, library in versions(table.family).items()]
    lines += ["", f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    before = ""
    for behaviour, *cells in rows:
        lines.append(f"| {behaviour if behaviour != before else ''} | {' | '.join(cells)} |")
        before = behaviour
    lines += ["", "`yes (3)`: by three tests. `-`: there is nothing to test.", ""]
    return "\n".join([*lines, *gaps(table)]) + "\n"


def gaps(table: Table) -> list[str]:
    """Why there is nothing to test, each reason once."""
    reasons: dict[str, dict[str, dict[str, None]]] = {}
    for (behaviour, peer), reason in table.absent.items():
        found = reasons.setdefault(reason, {"peers": {}, "rows": {}})
        found["peers"][peer] = found["rows"][behaviour] = None
    lines: list[str] = []
    for reason, found in reasons.items():
        lines.append(f"- {', '.join(found['peers'])}, {'; '.join(found['rows'])}: {reason}")
    return lines


def with_section(page: str, table: Table, new: str) -> str:
    """The page with another table."""
    before, _, rest = page.partition(begin(table))
    _, _, after = rest.partition(end(table))
    return f"{before}{begin(table)}\n{new}\n{end(table)}{after}"


def problem(table: Table) -> str:
    """Why the table cannot be written now; empty if it can."""
    results = CACHE / cache_key(table)
    if not results.exists():
        return "not all of its tests have been run here (`make interop`)"
    gaps = unfilled(table, from_json(json.loads(results.read_text())))
    return "; ".join(["not every cell of the matrix has passed", *gaps]) if gaps else ""


def main() -> None:
    """Write the page, or say why not."""
    for table in TABLES:
        why = problem(table)
        if why:
            sys.stderr.write(f"docs/interop.md, {table.family}, stays as it is: {why}\n")
            continue
        matrix = from_json(json.loads((CACHE / cache_key(table)).read_text()))
        PAGE.write_text(with_section(PAGE.read_text(), table, section(table, matrix)))


if __name__ == "__main__":
    main()

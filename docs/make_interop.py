"""Writes the table of docs/interop.md from the last run of the tests with real peers: `make docs`.

The run leaves the matrix in pytest's cache. Only a matrix without a gap is written: where a cell
has not run or has not passed, the page stays as it is.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests" / "helpers"))

from interop_matrix import ABSENT, Matrix, from_json, table, unfilled  # noqa: E402
from peer_versions import versions  # noqa: E402

PAGE = ROOT / "docs" / "interop.md"
RESULTS = ROOT / ".pytest_cache" / "v" / "interop" / "matrix"
MOST_ROWS = 3
BEGIN, END = "<!-- matrix: made by `make docs` -->\n", "<!-- end of the matrix -->\n"


def section(matrix: Matrix) -> str:
    """The peers' versions and the table."""
    head, *rows = table(matrix)
    lines = [f"- {name}: {library}" for name, library in versions().items()]
    lines += ["", f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    before = ""
    for behaviour, *cells in rows:
        lines.append(f"| {behaviour if behaviour != before else ''} | {' | '.join(cells)} |")
        before = behaviour
    lines += ["", "`yes (3)`: by three tests. `-`: there is nothing to test.", ""]
    return "\n".join([*lines, *gaps()]) + "\n"


def gaps() -> list[str]:
    """Why there is nothing to test, each reason once."""
    reasons: dict[str, dict[str, dict[str, None]]] = {}
    for (behaviour, peer), reason in ABSENT.items():
        found = reasons.setdefault(reason, {"peers": {}, "rows": {}})
        found["peers"][peer] = found["rows"][behaviour] = None
    lines: list[str] = []
    for reason, found in reasons.items():
        rows = "; ".join(found["rows"]) if len(found["rows"]) <= MOST_ROWS else "all of pubsub"
        lines.append(f"- {', '.join(found['peers'])}, {rows}: {reason}")
    return lines


def with_section(page: str, new: str) -> str:
    """The page with another table."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{new}\n{END}{after}"


def problem() -> str:
    """Why the page cannot be written now; empty if it can."""
    if not RESULTS.exists():
        return "`make interop` has not been run here"
    gaps = unfilled(from_json(json.loads(RESULTS.read_text())))
    return "; ".join(["not every cell of the matrix has passed", *gaps]) if gaps else ""


def main() -> None:
    """Write the page, or say why not."""
    why = problem()
    if why:
        sys.stderr.write(f"docs/interop.md stays as it is: {why}\n")
        return
    matrix = from_json(json.loads(RESULTS.read_text()))
    PAGE.write_text(with_section(PAGE.read_text(), section(matrix)))


if __name__ == "__main__":
    main()

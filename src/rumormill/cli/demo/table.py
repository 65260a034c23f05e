"""The result of an act: a table, what to know about it, and one sentence."""

from __future__ import annotations

from typing import Any

from rich import box
from rich.table import Table

from rumormill.cli.demo.ledger import Figures, Row
from rumormill.cli.demo.play import Play

KILLED = "*"
"""The mark of the node that was killed, in the table and at its note."""


class Outcome:
    """What came of an act. What is counted is what its network promises."""

    def __init__(self, play: Play, figures: Figures) -> None:
        self._play = play
        self._figures = figures
        self._every_message = play.every_message

    @property
    def good(self) -> bool:
        """Whether the network kept its promise, and there was something to keep."""
        lacking = self._figures.missing if self._every_message else self._figures.behind
        return self._figures.published > 0 and not lacking

    def verdict(self) -> str:
        """The same in one sentence."""
        figures = self._figures
        if not figures.published:
            return "Nothing was published, so nothing was shown."
        if not self._every_message:
            if self.good:
                return "Every node ended with the newest value."
            return f"The newest value is not everywhere: nodes {figures.behind} lack it."
        if self.good:
            return (
                f"Every message reached every node that was there: {figures.expected:,} of "
                f"{figures.expected:,} deliveries, half within {milliseconds(figures.p50)}, 99 % "
                f"within {milliseconds(figures.p99)}."
            )
        lacks = [f"node {row.node} lacks {row.missing:,}" for row in figures.rows if row.missing]
        counts = f"{figures.missing:,} of {figures.expected:,}"
        return f"{counts} deliveries are missing: {', '.join(lacks)}."

    def notes(self) -> list[str]:
        """What one must know to read the table."""
        play = self._play
        first = (
            f"{KILLED} Node {play.plan.victim} was killed {play.killed_after:.1f} s after the "
            f"first message and was back {play.away:.1f} s later."
        )
        if not self._every_message:
            return [first, "What was published meanwhile is gone: this network keeps one value."]
        return [
            first,
            "Expected of it is what was published until a second before the kill, and from its "
            f"return on. Of the rest, {self._figures.late:,} reached it all the same.",
        ]

    def table(self) -> Table:
        """One line for each node, and one for all; it fits into 80 columns."""
        *rows, total = [*self.row_objects(), self.total_object()]
        counted = list(self._counted(self._figures, None))
        table = Table(box=box.SIMPLE_HEAD, show_edge=False, show_footer=True, pad_edge=False,
                      padding=(0, 2, 0, 0))  # fmt: skip
        table.add_column("node", "all")
        table.add_column("command")
        for name in ("published", *counted):
            table.add_column(name, _cell(total[name]), justify="right")
        for row in rows:
            shown = ["published"] if row["command"] == "pub" else counted
            cells = [_cell(row[name]) if name in shown else "" for name in ("published", *counted)]
            bad = row.get("missing") or row.get("newest") is False
            style = "red" if bad else "yellow" if row["killed"] else ""
            name = f"{row['node']} {KILLED}" if row["killed"] else str(row["node"])
            table.add_row(name, row["command"], *cells, style=style)
        return table

    def row_objects(self) -> list[dict[str, Any]]:
        """The lines of the table, as JSON has them."""
        plan = self._play.plan
        return [
            {
                "network": plan.act.network,
                "node": row.node,
                "command": "pub" if row.node in plan.publishers else "sub",
                "killed": row.node == plan.victim,
                "published": row.published,
                **self._counted(row, row.newest),
            }
            for row in self._figures.rows
        ]

    def total_object(self) -> dict[str, Any]:
        """The act as a whole; ``away`` is in seconds."""
        figures = self._figures
        return {
            "network": self._play.plan.act.network,
            "published": figures.published,
            **self._counted(figures, not figures.behind),
            "late": figures.late,
            "away": self._play.away,
            "latency_ms": {"p50": figures.p50, "p99": figures.p99},
        }

    def _counted(self, counts: Row | Figures, newest: bool | None) -> dict[str, Any]:
        if not self._every_message:
            return {"newest": newest}
        arrived = counts.expected - counts.missing
        return {"expected": counts.expected, "arrived": arrived, "missing": counts.missing}


def _cell(value: int | bool | None) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}"


def milliseconds(value: float | None) -> str:
    """As the report writes it.

    >>> milliseconds(2.34), milliseconds(432.1), milliseconds(0.56), milliseconds(None)
    ('2.3 ms', '432 ms', '0.56 ms', '-')
    """
    if value is None:
        return "-"
    return f"{value:,.0f} ms" if value >= 99.95 else f"{value:.{1 if value >= 0.995 else 2}f} ms"

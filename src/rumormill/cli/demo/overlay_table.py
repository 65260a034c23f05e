"""What came of the second act: a table, what to know about it, and one sentence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich import box
from rich.table import Table

from rumormill.cli.demo.ledger import Ledger, NodeRow, percentile
from rumormill.cli.demo.overlay_act import OverlayAct
from rumormill.cli.demo.table import KILLED, number_cell
from rumormill.cli.render import plural


class Outcome:
    """The figures of the act, all from what the nodes told."""

    def __init__(
        self, ledger: Ledger, newest: Sequence[int | None], caught_up_after: float | None
    ) -> None:
        self.rows = ledger.rows()
        self.published = ledger.count
        self.newest = newest
        self.caught_up_after = caught_up_after
        self.killed = list(ledger.absences)

    @classmethod
    def of(cls, act: OverlayAct) -> Outcome:
        """What an act came to."""
        return cls(act.ledger, act.newest, act.caught_up_after)

    @property
    def good(self) -> bool:
        """Whether everybody has the newest value, and there is one."""
        return self.published > 0 and None not in self.newest and len(set(self.newest)) == 1

    @property
    def delivered(self) -> int:
        """Values that nodes got, of those that were published while they were there."""
        return sum(row.delivered for row in self.rows)

    @property
    def expected(self) -> int:
        """Values published while a node was there, over all nodes."""
        return sum(row.expected for row in self.rows)

    def verdict(self) -> str:
        """Whether all went well, in one sentence."""
        if not self.published:
            return "Nothing was published, so nothing was shown."
        if not self.good:
            behind = [
                f"node {row.node} has {'none' if seq is None else seq}"
                for row, seq in zip(self.rows, self.newest, strict=True)
            ]
            return f"The newest value is not everywhere: {', '.join(behind)}."
        latencies = sorted(latency for row in self.rows for latency in row.latencies)
        half, most = (percentile(latencies, share) or 0.0 for share in (0.5, 0.99))
        return (
            f"All {len(self.rows)} nodes have the newest value, seq {self.newest[0]}. "
            f"{self.delivered} of {self.expected} deliveries on the way there, half of them "
            f"within {half * 1000:.1f} ms, 99 % within {most * 1000:.1f} ms."
        )

    def notes(self) -> list[str]:
        """What one must know to read the table."""
        lines = []
        for node in self.killed:
            row = self.rows[node]
            after = "" if self.caught_up_after is None else (
                f" It had the newest value {self.caught_up_after:.1f} s after its new process was "
                "started with nothing but the topic and one address."
            )  # fmt: skip
            lines.append(
                f"{KILLED} Node {node} was killed; {plural(row.away + row.in_doubt, 'value')} "
                f"published while it was away or dying are not expected of it.{after}"
            )
        lines.append(
            "seq: the number of the newest value that the node has. table: the nodes that it "
            "passes new values on to."
        )
        return lines

    def row_objects(self) -> list[dict[str, Any]]:
        """The lines of the table, as JSON has them."""
        return [
            {
                "node": row.node,
                "seq": seq,
                "expected": row.expected,
                "delivered": row.delivered,
                "away": row.away,
                "in_doubt": row.in_doubt,
                "latency": {
                    "p50": percentile(row.latencies, 0.5),
                    "p99": percentile(row.latencies, 0.99),
                },
                "duplicates_per_delivery": row.duplicates_per_delivery,
                "table": row.degree,
            }
            for row, seq in zip(self.rows, self.newest, strict=True)
        ]

    def total_object(self) -> dict[str, Any]:
        """The act as a whole, as JSON has it."""
        return {
            "published": self.published,
            "expected": self.expected,
            "delivered": self.delivered,
            "newest_everywhere": self.good,
            "caught_up_after": self.caught_up_after,
        }

    def table(self) -> Table:
        """One line for each node; it fits into 80 columns."""
        table = Table(box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0), pad_edge=False)
        for name in ("node", "seq", "expected", "delivered", "p50\nms", "p99\nms",
                     "duplicates\n/delivery", "table"):  # fmt: skip
            table.add_column(name, justify="left" if name == "node" else "right")
        for row, seq in zip(self.rows, self.newest, strict=True):
            killed = row.node in self.killed
            style = "red" if seq != max(each or 0 for each in self.newest) else ""
            table.add_row(*_cells(row, seq, killed), style=style or ("yellow" if killed else ""))
        return table


def _cells(row: NodeRow, seq: int | None, killed: bool) -> list[str]:
    return [
        f"{row.node} {KILLED}" if killed else str(row.node),
        "-" if seq is None else str(seq),
        str(row.expected),
        str(row.delivered),
        number_cell(percentile(row.latencies, 0.5), 1000),
        number_cell(percentile(row.latencies, 0.99), 1000),
        number_cell(row.duplicates_per_delivery),
        str(row.degree),
    ]

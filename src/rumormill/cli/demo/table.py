"""The result of a demo: a table, what to know about it, and one sentence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich import box
from rich.table import Table

from rumormill.cli.demo.ledger import Ledger, NodeRow, percentile, ratio
from rumormill.cli.demo.plan import DemoPlan
from rumormill.cli.render import plural

MOST_NAMED = 10
"""Missing messages that are named; of more, the number is told."""

KILLED = "*"
"""The mark of the node that was killed, in the table and at its note."""

PERCENTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99}


def result_table(plan: DemoPlan, ledger: Ledger) -> Table:
    """One line for each node, and one for all; it fits into 80 columns."""
    rows = ledger.rows()
    table = Table(
        box=box.SIMPLE_HEAD,
        show_edge=False,
        show_footer=True,
        padding=(0, 1, 0, 0),
        pad_edge=False,
    )
    footer = _cells("all", _total(ledger, rows))
    for name, cell in zip(_headings(plan), footer, strict=True):
        table.add_column(name, cell, justify="left" if name == "node" else "right")
    for row in rows:
        killed = row.node in ledger.absences
        style = "red" if row.missing else "yellow" if killed else ""
        name = f"{row.node} {KILLED}" if killed else str(row.node)
        table.add_row(*_cells(name, row_object(row)), style=style)
    return table


def _headings(plan: DemoPlan) -> list[str]:
    degree = "mesh" if plan.network == "gossipsub" else "links"
    latencies = [f"{name}\nms" for name in PERCENTILES]
    return ["node", "published", "expected", "delivered", "ratio", *latencies,
            "duplicates\n/delivery", degree]  # fmt: skip


def row_object(row: NodeRow) -> dict[str, Any]:
    """A node's line as JSON has it; ``latency`` is in seconds."""
    return {
        "node": row.node,
        "published": row.published,
        "expected": row.expected,
        "delivered": row.delivered,
        "ratio": ratio(row.delivered, row.expected),
        "latency": _latency(row.latencies),
        "duplicates_per_delivery": row.duplicates_per_delivery,
        "degree": row.degree,
        "missing": list(row.missing),
        "away": row.away,
        "recovered": row.recovered,
        "in_doubt": row.in_doubt,
    }


def total_object(ledger: Ledger) -> dict[str, Any]:
    """The line for all, as JSON has it."""
    return _total(ledger, ledger.rows())


def _total(ledger: Ledger, rows: Sequence[NodeRow]) -> dict[str, Any]:
    expected = sum(row.expected for row in rows)
    delivered = sum(row.delivered for row in rows)
    return {
        "published": ledger.count,
        "expected": expected,
        "delivered": delivered,
        "ratio": ratio(delivered, expected),
        "latency": _latency(_all_latencies(rows)),
        "duplicates_per_delivery": ledger.duplicates_per_delivery(),
        "degree": sum(row.degree for row in rows) / len(rows),
    }


def _all_latencies(rows: Sequence[NodeRow]) -> list[float]:
    return sorted(latency for row in rows for latency in row.latencies)


def _latency(latencies: Sequence[float]) -> dict[str, float | None]:
    return {name: percentile(latencies, share) for name, share in PERCENTILES.items()}


def _cells(name: str, row: dict[str, Any]) -> list[str]:
    degree = row["degree"]
    return [
        name,
        str(row["published"]),
        str(row["expected"]),
        str(row["delivered"]),
        _ratio_cell(row["delivered"], row["expected"]),
        *(number_cell(value, 1000) for value in row["latency"].values()),
        number_cell(row["duplicates_per_delivery"]),
        str(degree) if isinstance(degree, int) else f"{degree:.1f}",
    ]


def _ratio_cell(delivered: int, expected: int) -> str:
    """A ratio that never looks whole when it is not.

    >>> _ratio_cell(10, 10), _ratio_cell(9999, 10000), _ratio_cell(0, 0)
    ('1.000', '0.999', '-')
    """
    if not expected:
        return "-"
    return f"{delivered * 1000 // expected / 1000:.3f}"


def number_cell(value: float | None, factor: float = 1) -> str:
    """A number in four characters, unless it is very large.

    >>> number_cell(0.00234, 1000), number_cell(0.4321, 1000), number_cell(None)
    ('2.3', '432', '-')
    """
    if value is None:
        return "-"
    return f"{value * factor:.1f}" if value * factor < 99.95 else f"{value * factor:.0f}"


def notes(ledger: Ledger, began: float) -> list[str]:
    """What one must know to read the table: what is not in it, and why."""
    lines = []
    for node, absence in sorted(ledger.absences.items()):
        row = ledger.row(node)
        lines.append(
            f"{KILLED} Node {node} was killed {absence.killed_at - began:.1f} s after the first "
            f"message and was back in the mesh {absence.back_at - absence.killed_at:.1f} s later."
        )
        lines.append(
            f"Not expected of it: {plural(row.away, 'message')} published while it was away "
            f"({row.recovered} of them reached it later all the same), and {row.in_doubt} "
            f"published in the last second before the kill: what it had not told yet of those "
            f"died with it."
        )
    lines.append(
        "Latency: from the call of publish in one process to the message in the hands of the "
        "other, by the machine's one clock. Duplicates: further copies of a message that a node "
        "already had."
    )
    return lines


def verdict(ledger: Ledger) -> tuple[bool, str]:
    """Whether all went well, in one sentence."""
    rows = ledger.rows()
    expected = sum(row.expected for row in rows)
    delivered = sum(row.delivered for row in rows)
    if not expected:
        return False, "Nothing was published, so nothing was shown."
    if delivered == expected:
        latencies = _all_latencies(rows)
        half, most = (percentile(latencies, share) or 0.0 for share in (0.5, 0.99))
        return True, (
            f"Every message reached every node that was there: {delivered} of {expected} "
            f"deliveries, half of them within {half * 1000:.1f} ms, 99 % within "
            f"{most * 1000:.1f} ms."
        )
    missing = "; ".join(_lack(row) for row in rows if row.missing)
    return False, f"{expected - delivered} of {expected} deliveries are missing: {missing}."


def _lack(row: NodeRow) -> str:
    named = ", ".join(str(number) for number in row.missing[:MOST_NAMED])
    more = len(row.missing) - MOST_NAMED
    rest = f" and {more} more" if more > 0 else ""
    noun = "message" if len(row.missing) == 1 else "messages"
    return f"node {row.node} lacks {noun} {named}{rest}"

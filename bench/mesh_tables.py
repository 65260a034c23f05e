"""Ten processes: the tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bench.contestants import LABELS
from bench.formatting import number, share
from bench.goals import SUMMARIES
from bench.mesh_goals import IN_TIME_MS, highest_rate
from bench.tables import Table, best, both

Row = dict[str, Any]


def mesh_tables(part: Row) -> list[Table]:
    """Small messages at all rates, the highest rate that holds, and large messages."""
    tables = [_load_table(part, part["rows"], part["size"]), _highest_table(part)]
    large = part.get("large", [])
    return [*tables, _load_table(part, large, large[0]["size"])] if large else tables


def _load_table(part: Row, rows: Sequence[Row], size: int) -> Table:
    table = Table(
        f"{part['nodes']} processes on the full graph, mesh of 6, signed {size} B, one publisher",
        ["rate", "implementation", "delivered", "p50 ms", "p99 ms", "worst p99 ms",
         "CPU us/delivery", "copies/delivery", "verifies/delivery", "achieved/s"],
        notes=[
            f"Of {part['rounds']} rounds of {part['seconds']:g} s: the best latencies and CPU, the"
            " worst delivery and verifies, the median of copies; in brackets the median of all."
            " Latencies: of the median node, and of the worst. CPU: of all processes together.",
            *_verify_notes(rows),
        ],
    )  # fmt: skip
    for row in rows:
        head = [f"{row['rate']}/s", LABELS[row["contestant"]]]
        if "ratio" not in row:
            table.lines.append([*head, f"missing: {row['missing']}", *["-"] * 7])
            continue
        figures = [
            both(row, metric)
            for metric in ("p50_ms", "p99_ms", "worst_p99_ms", "cpu_us_per_delivery",
                           "copies_per_delivery", "verifies_per_delivery", "achieved_rate")
        ]  # fmt: skip
        table.lines.append([*head, share(best(row, "ratio")), *figures])
    return table


def _highest_table(part: Row) -> Table:
    names = dict.fromkeys(row["contestant"] for row in part["rows"])
    rates = dict.fromkeys(row["rate"] for row in part["rows"])
    lines = [
        [LABELS[name], *(number(highest_rate(part, name, summary)) for summary in SUMMARIES)]
        for name in names
    ]
    return Table(
        f"{part['nodes']} processes, signed {part['size']} B: the highest rate that holds",
        ["implementation", "messages/s", "by the medians"],
        lines,
        [
            f"Of {', '.join(map(str, rates))}/s, the last at which, as at all before it,"
            f" everything is delivered in every round with a p99 below {IN_TIME_MS:g} ms."
        ],
    )


def _verify_notes(rows: Sequence[Row]) -> list[str]:
    known: dict[str, list[str]] = {}
    for row in rows:
        names = known.setdefault(row["verifies_known_by"], [])
        if LABELS[row["contestant"]] not in names:
            names.append(LABELS[row["contestant"]])
    return [f"Verifies of {' and '.join(names)}: from {how}." for how, names in known.items()]

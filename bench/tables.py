"""Results as tables: one form, shown on a terminal or written as Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from rich import box
from rich.table import Table as RichTable

from bench.contestants import LABELS
from bench.formatting import number
from bench.goals import Goal

Row = dict[str, Any]


@dataclass
class Table:
    """Headings, lines of cells, and what one should know to read them."""

    title: str
    headings: Sequence[str]
    lines: list[list[str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def to_markdown(self) -> str:
        """As a section of a Markdown page."""

        def line(cells: Sequence[str]) -> str:
            return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"

        ruler = line(["---"] + ["---:" if self._is_number(at) else "---" for at in self._columns()])
        lines = [f"### {self.title}", "", line(self.headings), ruler]
        lines += [line(cells) for cells in self.lines]
        return "\n".join([*lines, "", *(f"{note}\n" for note in self.notes)])

    def to_rich(self) -> RichTable:
        """For a terminal."""
        table = RichTable(title=self.title, box=box.SIMPLE_HEAD, title_justify="left")
        table.add_column(self.headings[0])
        for at in self._columns():
            table.add_column(self.headings[at], justify="right" if self._is_number(at) else "left")
        for cells in self.lines:
            table.add_row(*cells)
        return table

    def _columns(self) -> range:
        return range(1, len(self.headings))

    def _is_number(self, column: int) -> bool:
        cells = [line[column] for line in self.lines if line[column] not in ("", "-")]
        return bool(cells) and all(cell[0].isdigit() for cell in cells)


def best(row: Row, metric: str) -> float | None:
    """The best of the rounds, if there is such a figure."""
    return row[metric]["best"] if metric in row else None


def both(row: Row, metric: str) -> str:
    """The best, and the median in brackets where it is another.

    >>> row = {"p50_ms": {"best": 1.5, "median": 2.0}, "p99_ms": {"best": 3.0, "median": 3.0}}
    >>> both(row, "p50_ms"), both(row, "p99_ms"), both(row, "max_ms")
    ('1.50 (2.00)', '3.00', '-')
    """
    if metric not in row:
        return "-"
    first, median = number(row[metric]["best"]), number(row[metric]["median"])
    return first if first == median else f"{first} ({median})"


def _ratio(value: float | None, base: float | None) -> str:
    return "-" if value is None or not base else number(value / base)


# ---- pair


def pair_tables(part: Row) -> list[Table]:
    """The figures of two processes, and the price of a signature."""
    return [_pair_table(part), _signature_table(part)]


def _pair_table(part: Row) -> Table:
    table = Table(
        "Publisher to subscriber, two processes",
        ["case", "implementation", "messages/s", "x py", "x js", "x go", "x rust", "publisher us",
         "subscriber us", "publisher / sign", "subscriber / verify"],
        notes=[
            f"Best of {part['rounds']} rounds, in brackets the median. us: CPU time per message, of"
            " the whole process. The last two columns: that CPU time over the price of one"
            " signature in the library at work; for the others, in PyNaCl."
        ],
    )  # fmt: skip
    rates = {
        (row["case"], row["contestant"]): best(row, "messages_per_second") for row in part["rows"]
    }
    for row in part["rows"]:
        case, rate = row["case"], best(row, "messages_per_second")
        if rate is None:
            missing = f"missing: {row['missing']}"
            table.lines.append([case, LABELS[row["contestant"]], missing, *["-"] * 8])
            continue
        others = ("py", "js", "go", "rust")
        ratios = [_ratio(rate, rates.get((case, other))) for other in others]
        publisher, subscriber = best(row, "publisher_us"), best(row, "subscriber_us")
        table.lines.append(
            [case, LABELS[row["contestant"]], both(row, "messages_per_second"), *ratios,
             both(row, "publisher_us"), both(row, "subscriber_us"),
             *_over_signature(part, row, publisher, subscriber)]
        )  # fmt: skip
    return table


def _over_signature(
    part: Row, row: Row, publisher: float | None, subscriber: float | None
) -> list[str]:
    if row["signing"] != "signed":
        return ["-", "-"]
    costs = part["signatures"][str(row["size"])]
    library = "native" if row["contestant"] == "native" else "pynacl"
    return [
        _ratio(publisher, costs[f"{library}_sign"]["best"]),
        _ratio(subscriber, costs[f"{library}_verify"]["best"]),
    ]


def _signature_table(part: Row) -> Table:
    sizes = list(part["signatures"])
    routes = list(part["signatures"][sizes[0]])
    return Table(
        "One Ed25519 signature, called from Python, CPU us",
        ["library and call", *(f"{size} B" for size in sizes)],
        [
            [
                {"pynacl": "PyNaCl", "native": "rumormill-native"}[route.split("_")[0]]
                + f" {route.split('_')[1]}",
                *(number(part["signatures"][size][route]["best"]) for size in sizes),
            ]
            for route in routes
        ],
    )


# ---- codec


def codec_tables(part: Row) -> list[Table]:
    """The figures of single parts."""
    parts = Table(
        f"Single parts, one process, signed {part['size']} B, no signatures made or checked",
        ["part", "CPU us/message"],
        [[row["name"], number(row["us_per_message"])] for row in part["rows"]],
        [f"Messages come {part['batch']} at a time."],
    )
    names = {
        "nodes": "nodes",
        "events": "events",
        "deliveries": "deliveries",
        "events_per_second": "events per CPU second",
        "deliveries_per_second": "deliveries per CPU second",
        "virtual_seconds_per_second": "virtual seconds per CPU second",
    }
    simulation = Table(
        "Simulator: gossipsub in virtual time",
        ["figure", "value"],
        [[name, number(part["simulation"][key])] for key, name in names.items()],
    )
    return [parts, simulation]


# ---- capture


def capture_tables(part: Row) -> list[Table]:
    """What keeping a spool costs."""
    columns = ("loop_us", "loop_wall_us", "total_us", "late_p99_plain_ms", "late_p99_ms", "bytes")
    lines = [
        [
            row["what"],
            "as fast as taken" if row["rate"] is None else number(row["rate"]),
            number(best(row, "records_per_second")),
            *(number(best(row, column)) for column in columns),
        ]
        for row in part["rows"]
    ]
    return [
        Table(
            "What keeping a spool costs a node, for each record",
            ["record", "rate/s", "reached/s", "loop CPU us", "loop us", "all threads CPU us",
             "late p99 ms without", "late p99 ms", "bytes on disk"],
            lines,
            [
                f"Best of {part['rounds']} rounds. loop CPU: of the event loop's thread, over what"
                " a listener costs that does nothing; loop: the same in time passed, waiting for"
                " the interpreter included. late: how late a timer of the loop was, without a spool"
                " and with it."
            ],
        )
    ]  # fmt: skip


# ---- import


def import_tables(part: Row) -> list[Table]:
    """What importing foreign traces costs."""
    traces = "20 nodes" if part["whole"] else "a short part of it"
    lines = [
        [
            row["name"],
            number(row["events"]),
            number(row["megabytes"]),
            number(best(row, "events_per_second")),
            number(best(row, "us_per_event")),
        ]
        for row in part["rows"]
    ]
    return [
        Table(
            f"Import of the traces of a go network, {traces}",
            ["what", "events", "MB", "events/s", "CPU us/event"],
            lines,
            [f"Best of {part['rounds']} rounds, one process. MB: unpacked. CPU: of all threads."],
        )
    ]


# ---- goals


def goal_table(name: str, goals: Sequence[Goal]) -> Table:
    """Every goal with what became of it."""
    lines = [
        [
            goal.subject,
            number(goal.figure.values.get("best")),
            goal.wanted,
            goal.verdict,
            number(goal.figure.values.get("median")),
        ]
        for goal in goals
    ]
    headings = ["goal", "figure", "wanted", "verdict", "median"]
    return Table(f"Goals: {name}", headings, lines)

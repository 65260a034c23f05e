"""The overlay with many nodes: its tables, and what it should reach."""

from __future__ import annotations

from typing import Any

from bench.formatting import number, share
from bench.goals import SUMMARIES, Figure, Goal, fixed
from bench.tables import Table
from rumormill.bep50.overlay.parameters import OverlayParameters

Row = dict[str, Any]

MOST_MISSING = 1
"""Of a thousand nodes: those that may lack the newest value when it should be everywhere."""

FORESEEN = {"put at once": "20", "get first": "5"}
"""Copies per node, about, by a sketch of the protocol before it was built."""


def scale_tables(part: Row) -> list[Table]:
    """Who got it and when; what it cost."""
    return [_delivery_table(part), _cost_table(part)]


def _delivery_table(part: Row) -> Table:
    table = Table(
        "The overlay with many nodes: is the newest value everywhere?",
        ["nodes", "value", "passed on by", "seed", "values", "expected",
         f"in {part['seconds_in_time']:g} s", "worst", "missing", "50 % s", "99 % s", "100 % s",
         "hops", "most hops", "newcomers", "behind"],
        notes=[
            f"Virtual time, the machines of a live node: {part['loss']:.0%} of the datagrams get"
            f" lost, one takes {part['latency'] * 1000:.0f} to"
            f" {(part['latency'] + part['jitter']) * 1000:.0f} ms, {part['churn']:.0%} of the nodes"
            f" crash in a minute and come back after {part['away']:.0f} s on average with empty"
            " tables. Expected: nodes that had joined and lived through these seconds, over all"
            " values; in time: the share of them that had it, worst: for the worst value. Times:"
            " the median value's; - if some node had to wait longer. Newcomers: nodes that joined"
            " in these seconds; behind: those of them that had an older value at the end.",
        ],
    )  # fmt: skip
    for row in part["rows"]:
        table.lines.append(
            [*_case(row), number(row["publications"]), number(row["expected"]),
             share(row["ratio"]), share(row["worst_ratio"]), number(row["missing"]),
             *(number(row[f"seconds_to_{each}"]) for each in (50, 99, 100)),
             number(row["hops_mean"]), number(row["hops_max"]), number(row["newcomers"]),
             number(row["behind"])]
        )  # fmt: skip
    return table


def _cost_table(part: Row) -> Table:
    table = Table(
        "The overlay with many nodes: what does it cost?",
        ["nodes", "value", "passed on by", "seed", "copies/node", "foreseen", "bytes/node",
         "quiet B/s", "bytes to join", "table", "largest", "log2 N", "known by", "least", "dead",
         "CPU s", "packets/CPU s"],
        notes=[
            "copies: packets with the value that a node sent for each publication; foreseen: about"
            " so many by a sketch of the protocol, before it was built; bytes: all that"
            " it sent in the seconds after it; quiet: while nothing was published, nodes that"
            " come back included. to join: (saved) nodes did not join, but began with tables as"
            " if of an earlier run, and verified them. table: entries;"
            " known by: in how many tables a node is; dead: share of the entries whose node is"
            " gone. The last two columns are of the simulation itself.",
        ],
    )  # fmt: skip
    for row in part["rows"]:
        table.lines.append(
            [*_case(row), number(row["copies_per_node"]), FORESEEN[_manner(row)],
             number(row["bytes_per_node"]), number(row["quiet_bytes_per_second"]),
             _to_join(row), number(row["table_mean"]), number(row["table_max"]),
             number(row["log2_nodes"]), number(row["known_by_mean"]), number(row["known_by_min"]),
             f"{row['dead_entries']:.3f}", number(row["cpu_seconds"]),
             number(row["packets_per_cpu_second"])]
        )  # fmt: skip
    return table


def _case(row: Row) -> list[str]:
    return [number(row["nodes"]), f"{row['size']} B", _manner(row), str(row["seed"])]


def _to_join(row: Row) -> str:
    """What it took to find the others; nodes with saved tables only had to verify them."""
    return number(row["bytes_to_join"]) + (" (saved)" if row["resumed"] else "")


def _manner(row: Row) -> str:
    """How a value of this size is passed on, by default."""
    small: int = OverlayParameters().put_at_once_bytes
    return "put at once" if row["size"] <= small else "get first"


def scale_goals(part: Row) -> list[Goal]:
    """That a new value is everywhere in time."""
    goals = []
    for row in part["rows"]:
        lack = 1000 * row["missing"] / row["expected"]
        subject = (
            f"{number(row['nodes'])} nodes, {row['size']} B, seed {row['seed']}:"
            f" of 1,000 nodes, how many lack the newest value after {part['seconds_in_time']:g} s"
        )
        limit = fixed("one", float(MOST_MISSING))
        goals.append(Goal(subject, Figure("", dict.fromkeys(SUMMARIES, lack)), False, limit))
    return goals

"""Many nodes that find each other: their tables, and what they should reach."""

from __future__ import annotations

from typing import Any

from bench.formatting import number, share
from bench.goals import SUMMARIES, Figure, Goal, fixed
from bench.tables import Table

Row = dict[str, Any]

MOST_HEARTBEATS = 10.0
"""From coming to a full mesh, of a node that knows one address."""


def discovery_tables(part: Row) -> list[Table]:
    """Do they become one mesh, and what does it cost?"""
    return [_mesh_table(part), _cost_table(part)]


def _mesh_table(part: Row) -> Table:
    table = Table(
        "Nodes that know one address each: do they become one mesh?",
        ["nodes", "each knows", "ways", "full", "parts", "50 % s", "99 % s", "last s",
         "crashes", "returns", "back 50 % s", "back 99 % s", "back last s", "worst full",
         "most parts", "delivered"],
        notes=[
            "Virtual time, the machines of a live node on simulated TCP"
            f" ({part['latency'] * 1000:.0f} to {(part['latency'] + part['jitter']) * 1000:.0f} ms"
            " one way), peer exchange on. full: nodes with at least D_low mesh peers ten seconds"
            " after the last one came, of all but a bootstrap node, which is in no mesh; parts:"
            " into how many parts their mesh falls. Times: from coming to a full mesh; one"
            f" heartbeat is {part['heartbeat']:g} s. Then for {part['churning']:.0f} s"
            f" {part['churn']:.0%} of the nodes crash each minute and are back after"
            f" {part['away']:.0f} s on average; back: from coming back to a full mesh. worst full,"
            " most parts: at the worst of the looks every ten seconds, of nodes that have been"
            " there for ten heartbeats. delivered: share of these nodes that got a message"
            " published meanwhile, over all messages.",
        ],
    )  # fmt: skip
    for row in part["rows"]:
        table.lines.append(
            [number(row["nodes"]), row["known"], row["ways"], f"{row['full']}/{row['settled']}",
             number(row["parts"]), *(number(row[f"join_{each}"]) for each in ("50", "99", "max")),
             number(row["crashes"]), number(row["returns"]),
             *(number(row[f"return_{each}"]) for each in ("50", "99", "max")),
             share(row["worst_full"]), number(row["most_parts"]), share(row["delivered"])]
        )  # fmt: skip
    return table


def _cost_table(part: Row) -> Table:
    table = Table(
        "Nodes that know one address each: what does it cost?",
        ["nodes", "each knows", "ways", "to join: RPCs", "bytes", "dials", "a minute: RPCs",
         "bytes", "dials", "connections", "CPU s", "virtual s/CPU s"],
        notes=[
            "Of one node: pubsub RPCs, bytes of all kinds (handshakes, identify, RPCs), and dials,"
            " until all have come and ten seconds more; and in a minute of churn, messages"
            " included. The last two columns are of the simulation itself.",
        ],
    )  # fmt: skip
    for row in part["rows"]:
        table.lines.append(
            [number(row["nodes"]), row["known"], row["ways"],
             *(number(row[f"{each}_to_join"]) for each in ("packets", "bytes", "dials")),
             *(number(row[f"{each}_a_minute"]) for each in ("packets", "bytes", "dials")),
             number(row["connections"]), number(row["cpu_seconds"]),
             number(row["simulated_seconds"] / row["cpu_seconds"])]
        )  # fmt: skip
    return table


def discovery_goals(part: Row) -> list[Goal]:
    """That every newcomer has a full mesh in time, and that there is one mesh."""
    goals = []
    for row in part["rows"]:
        subject = f"{number(row['nodes'])} nodes, {row['known']}, {row['ways']}"
        last = row["join_max"] / part["heartbeat"]
        goals.append(
            _at_most(f"{subject}: heartbeats to a full mesh, the last", last, MOST_HEARTBEATS)
        )
        goals.append(_at_most(f"{subject}: parts of the mesh", float(row["parts"]), 1.0))
        full = fixed("", row["full"] / row["settled"])
        goals.append(
            Goal(f"{subject}: share of nodes with a full mesh", full, True, fixed("all", 1.0))
        )
    return goals


def _at_most(subject: str, value: float, most: float) -> Goal:
    limit = fixed(number(most), most)
    return Goal(subject, Figure("", dict.fromkeys(SUMMARIES, value)), False, limit)

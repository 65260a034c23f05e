"""gossipsub with all its features: the tables, and what should be reached."""

from __future__ import annotations

from typing import Any

from bench.formatting import number
from bench.goals import SUMMARIES, Figure, Goal, fixed
from bench.gossip.messages import DEMANDING, EVERYTHING, LATEST, PLAIN, SCORED
from bench.tables import Table

Row = dict[str, Any]

MOST_MS = 10.0
"""Of a heartbeat."""
SCORE_FACTOR = 1.1
"""What the score may make of the cost of a message."""
FLAT = 1.05
"""Of an hour's memory: how much more the last minutes may take than the first ones."""


def gossip_tables(part: Row) -> list[Table]:
    """Heartbeats, messages, memory, an hour."""
    return [
        _heartbeat_table(part),
        _message_table(part),
        _memory_table(part),
        _hour_table(part["hour"]),
    ]


def _heartbeat_table(part: Row) -> Table:
    first = part["heartbeats"][0]
    lines = [
        [row["name"], number(row["messages"]), number(row["packets"]),
         number(row["ms"]["best"]), number(row["ms"]["median"])]
        for row in part["heartbeats"]
    ]  # fmt: skip
    return Table(
        f"A heartbeat with {number(first['peers'])} peers and {number(first['topics'])} topics",
        ["case", "messages a topic", "peers told", "CPU ms", "median"],
        lines,
        ["Score, mesh, gossip and the packets that come of it; without writing them."],
    )


def _message_table(part: Row) -> Table:
    plain = part["messages"][0]["us"]["best"]
    lines = [
        [row["name"], number(row["us"]["best"]), number(row["us"]["median"]),
         number(row["us"]["best"] / plain)]
        for row in part["messages"]
    ]  # fmt: skip
    return Table(
        f"A message of {part['message_size']} B that is received, delivered and passed on",
        ["features", "CPU us/message", "median", f"x {PLAIN}"],
        lines,
        [
            f"One machine, no sockets, no signatures. Messages come {part['batch']} at a time, each"
            " of them twice. Everything: IDONTWANT, score with P3 and P6, gater, partial messages."
        ],
    )


def _memory_table(part: Row) -> Table:
    return Table(
        "Memory of a node",
        ["what", "measured with", "bytes"],
        [[row["what"], number(row["count"]), number(row["bytes"])] for row in part["memory"]],
        ["Bytes of Python objects by tracemalloc, the difference of two nodes, over their number."],
    )


def _hour_table(hour: Row) -> Table:
    minutes = hour["bytes"]
    every = max(1, len(minutes) // 6)
    lines = [
        [f"minute {at + 1}", number(minutes[at] / 1024)]
        for at in range(every - 1, len(minutes), every)
    ]
    tables = ", ".join(f"{name} {number(size)}" for name, size in hour["sizes"].items())
    return Table(
        f"Memory of a node over {hour['minutes']} minutes of churn",
        ["when", "KiB"],
        lines,
        [
            f"Virtual time: {hour['peers']} peers, {hour['topics']} topics,"
            f" {hour['messages_per_second']} messages a second;"
            f" {number(hour['moved'])} peers left and as many came, half of them for the first"
            f" time. Tables at the end: {tables}.",
        ],
    )


# ---- goals


def gossip_goals(part: Row) -> list[Goal]:
    """That heartbeats are short, the score cheap, and memory flat."""
    return [*_heartbeat_goals(part), *_score_goals(part), _flat_goal(part["hour"])]


def _heartbeat_goals(part: Row) -> list[Goal]:
    return [
        Goal(
            f"heartbeat, {number(row['peers'])} peers, {number(row['topics'])} topics:"
            f" {row['name']}",
            Figure(row["name"], row["ms"]),
            False,
            fixed("10 ms", MOST_MS),
            " ms",
        )
        for row in part["heartbeats"]
    ]


def _score_goals(part: Row) -> list[Goal]:
    costs = {row["name"]: Figure(row["name"], row["us"]) for row in part["messages"]}
    pairs = (SCORED, PLAIN), (DEMANDING, PLAIN), (EVERYTHING, LATEST)
    return [
        Goal(f"a message, {name}", costs[name], False, costs[base].times(SCORE_FACTOR), " us")
        for name, base in pairs
    ]


def _flat_goal(hour: Row) -> Goal:
    late, early = (
        Figure(words, dict.fromkeys(SUMMARIES, hour[f"{when}_bytes"] / 1024))
        for when, words in (("late", ""), ("early", f"after {hour['settling']} minutes"))
    )
    subject = f"memory at the end of {hour['minutes']} minutes of churn"
    return Goal(subject, late, False, early.times(FLAT), " KiB")

"""The tables and goals of a node of an overlay."""

from __future__ import annotations

from typing import Any

from bench.bep50.krpc_programs import LABELS
from bench.formatting import number, share
from bench.goals import Figure, Goal
from bench.tables import Table

Row = dict[str, Any]

LIBRARIES = {"ours": "pynacl", "native": "native"}
"""Who verifies for whom."""

GOAL_CASES = ("100 B, 1 neighbour", "999 B, 1 neighbour")
FACTOR = 2
"""A put may cost so many times its signature."""


def krpc_tables(part: Row) -> list[Table]:
    """What a put costs, and what an answer costs."""
    return [_put_table(part), _query_table(part)]


def _put_table(part: Row) -> Table:
    table = Table(
        "A put: verified, stored, delivered, acknowledged and passed on, one node over UDP",
        ["value", "implementation", "puts/s", "median", "CPU us/put", "median", "one verify us",
         "CPU / verify", "passed on"],
        notes=[
            f"Best and median of {part['rounds']} rounds, {part['window']} puts under way. CPU: of"
            " the whole process. One verify: Ed25519 of the library at work, called from Python, in"
            " this run. passed on: how many of the values each neighbour was given; only the newest"
            " counts, so a value need not be passed on when the next is there already. asked first:"
            " the default for more than 300 B; the others are passed on at once. The datagrams"
            " alone: a loop in Python that receives and sends as many, and looks at nothing.",
        ],
    )  # fmt: skip
    for row in part["puts"]:
        head = [row["case"], LABELS[row["contestant"]]]
        if "us" not in row:
            table.lines.append([*head, f"missing: {row['missing']}", *["-"] * 6])
            continue
        verify = _verify(part, row)["best"] if row["contestant"] in LIBRARIES else None
        forwarded = min(sample["forwarded"] for sample in row["samples"])
        table.lines.append(
            [
                *head,
                number(row["per_second"]["best"]),
                number(row["per_second"]["median"]),
                number(row["us"]["best"]),
                number(row["us"]["median"]),
                number(verify),
                number(row["us"]["best"] / verify if verify else None),
                share(forwarded),
            ]
        )
    return table


def _query_table(part: Row) -> Table:
    table = Table(
        "Queries answered, one node over UDP",
        ["query", "implementation", "queries/s", "median", "CPU us/query", "median",
         "CPU x libtorrent", "CPU x bittorrent-dht", "cores busy"],
        notes=[
            f"Best and median of {part['rounds']} rounds, {part['window']} queries under way from"
            " one process in Python. find_node is answered with 8 nodes; get with a value of 100 B,"
            " its signature, a token and, except by bittorrent-dht, 8 nodes. Rate limits are off."
            " cores busy: what the node took of one core in its best round. Well below 1 it waited"
            " for the asker or for others on the machine: then the rate is not the node's limit,"
            " and the CPU is what can be compared.",
        ],
    )  # fmt: skip
    costs = {(row["case"], row["contestant"]): row.get("us") for row in part["queries"]}
    for row in part["queries"]:
        head = [row["case"], LABELS[row["contestant"]]]
        if "us" not in row:
            table.lines.append([*head, f"missing: {row['missing']}", *["-"] * 6])
            continue
        best = row["us"]["best"]
        bases = [costs.get((row["case"], other)) for other in ("libtorrent", "bittorrent-dht")]
        table.lines.append(
            [
                *head,
                number(row["per_second"]["best"]),
                number(row["per_second"]["median"]),
                number(best),
                number(row["us"]["median"]),
                *(number(best / base["best"] if base else None) for base in bases),
                number(max(sample["us"] * sample["per_second"] for sample in row["samples"]) / 1e6),
            ]
        )
    return table


def _verify(part: Row, row: Row) -> dict[str, float]:
    costs: dict[str, dict[str, float]] = part["signatures"][str(row["size"])]
    return costs[f"{LIBRARIES[row['contestant']]}_verify"]


# ---- goals


def krpc_goals(part: Row) -> list[Goal]:
    """A put within twice its verify; answers cheaper than those of the other interpreter."""
    goals: list[Goal] = []
    for row in part["puts"]:
        if row["case"] in GOAL_CASES and row["contestant"] in LIBRARIES:
            label = LABELS[row["contestant"]]
            subject = f"{label}, put {row['case']}, CPU"
            library = {"ours": "PyNaCl", "native": "native"}[row["contestant"]]
            if row["missing"]:
                limit = Figure(f"{FACTOR} x one {library} verify", unknown=row["missing"])
            else:
                limit = Figure(f"one {library} verify", _verify(part, row)).times(FACTOR)
            goals.append(Goal(subject, _figure(row, "us"), False, limit, " us"))
    rows = {(row["case"], row["contestant"]): row for row in part["queries"]}
    for case in dict.fromkeys(case for case, _ in rows):
        own, other = (rows[case, name] for name in ("ours", "bittorrent-dht"))
        goals.append(Goal(f"{case}, CPU", _figure(own, "us"), False, _figure(other, "us"), " us"))
        own_rate, other_rate = (_figure(row, "per_second") for row in (own, other))
        goals.append(Goal(f"{case}, queries/s", own_rate, True, other_rate))
    return goals


def _figure(row: Row, metric: str) -> Figure:
    label = LABELS[row["contestant"]]
    if metric in row:
        return Figure(label, row[metric])
    return Figure(label, unknown=f"{label}: {row['missing'] or 'no figure'}")

"""The tables and goals of the siege."""

from __future__ import annotations

from typing import Any

from bench.formatting import number
from bench.goals import Goal, fixed
from bench.siege.families import CALM
from bench.tables import Table

Row = dict[str, Any]

MOST_P95_MS = 50.0
MOST_MEMORY_MB = 100.0
LOST_MS = 10_000.0
"""How late that is counted which never came."""

HEADINGS = [
    "attack", "attackers", "implementation", "delivered", "p50 ms", "p95 ms", "max ms", "calm p95",
    "CPU", "MB more", "out/in", "dropped after s", "newcomer s",
]  # fmt: skip

NOTES = [
    "delivered: of what the honest side sent through the node while it was attacked; lost: so few"
    " came that there is no such percentile. CPU: seconds of the node's processes for each second."
    " MB more: the node's memory at its highest over that before the attack. out/in: what the"
    " attackers got for each byte they sent. dropped after: seconds until the last of the first"
    " connections was closed by the node, and how often they came again; a dash: never. newcomer:"
    " seconds until an honest peer that came during the attack had its first message; never: it"
    " had none as long as it lasted.",
]


def siege_tables(part: Row) -> list[Table]:
    """One table for each family, and who was named."""
    families = dict.fromkeys(row["family"] for row in part["rows"])
    tables = [_table(part, family) for family in families]
    named = [row for row in part["rows"] if "named" in row]
    if named:
        tables.append(_named_table(named))
    if part["left_out"] and tables:
        tables[0].notes += part["left_out"]
    return tables


def _table(part: Row, family: str) -> Table:
    table = Table(f"Under siege: {family}", HEADINGS, notes=list(NOTES))
    for row in part["rows"]:
        if row["family"] == family:
            table.lines.append(_line(row))
    if family == "http":
        table.headings = [*HEADINGS, "gossipsub beside"]
        for line, row in zip(
            table.lines, (each for each in part["rows"] if each["family"] == family), strict=True
        ):
            line.append(_beside(row.get("beside")))
    return table


def _line(row: Row) -> list[str]:
    head = [row["attack"], number(row["attackers"]), row["label"]]
    if "delivered" not in row:
        return [*head, row["problem"], *["-"] * (len(HEADINGS) - 4)]
    report = row.get("attack_report", {})
    return [
        *head,
        f"{row['delivered']} of {row['sent']}" + (f" ({row['problem']})" if row["problem"] else ""),
        _late(row["p50_ms"]),
        _late(row["p95_ms"]),
        _late(row["max_ms"]),
        _late(row["calm_p95_ms"]),
        number(row.get("cpu")),
        number(row.get("memory_mb")),
        number(row.get("out_per_in")),
        _dropped(row.get("dropped_after"), report.get("reconnects", 0)),
        "" if "newcomer_s" not in row else _newcomer(row["newcomer_s"]),
    ]


def _late(milliseconds: float | None) -> str:
    return "lost" if milliseconds is None else number(milliseconds)


def _newcomer(seconds: float | None) -> str:
    return "never" if seconds is None else number(seconds)


def _dropped(seconds: float | None, again: int) -> str:
    if seconds is None:
        return "-"
    return f"{number(seconds)}" + (f", again {again} x" if again else "")


def _beside(pair: Row | None) -> str:
    if pair is None:
        return "-"
    return f"{pair['delivered']} of {pair['sent']}, p95 {_late(pair['p95_ms'])} ms"


def _named_table(rows: list[Row]) -> Table:
    table = Table(
        "Under siege: what the trace of our node says about the attackers",
        ["attack", "attackers", "events that name them", "of which", "MB of spool"],
    )
    for row in rows:
        named: dict[str, int] = row["named"]
        loudest = ", ".join(f"{count:,} x {event}" for event, count in list(named.items())[:4])
        head = [row["attack"], number(row["attackers"]), number(sum(named.values()))]
        table.lines.append([*head, loudest or "none", number(row["trace_mb"])])
    return table


# ---- goals


def siege_goals(part: Row) -> list[Goal]:
    """What ours must hold in the worst of the rows, and against everybody else in each."""
    goals: list[Goal] = []
    attacked = [
        row for row in part["rows"] if row["attack"] != CALM and row["contestant"] != "spool"
    ]
    groups = dict.fromkeys((row["family"], row["attackers"]) for row in attacked)
    for family, attackers in groups:
        rows = [row for row in attacked if (row["family"], row["attackers"]) == (family, attackers)]
        ours = [row for row in rows if row["contestant"] == "ours"]
        if ours:
            many = f"{attackers} attacker{'s' * (attackers > 1)}"
            goals += _held(f"{family}, {many}", ours)
            goals += _better(f"{family}, {many}", ours, rows)
    return goals


def _p95(row: Row) -> float:
    late = row.get("p95_ms")
    return LOST_MS if late is None else float(late)


def _held(subject: str, ours: list[Row]) -> list[Goal]:
    slowest = max(ours, key=_p95)
    fewest = min(ours, key=lambda row: _share(row))
    largest = max(ours, key=lambda row: float(row.get("memory_mb") or 0.0))
    return [
        Goal(f"{subject}: p95 under the worst, {slowest['attack']}", fixed("ours", _p95(slowest)),
             False, fixed("50 ms", MOST_P95_MS), " ms"),
        Goal(f"{subject}: delivered under the worst, {fewest['attack']}",
             fixed("ours", _share(fewest)), True, fixed("everything", 1.0)),
        Goal(f"{subject}: memory under the worst, {largest['attack']}",
             fixed("ours", float(largest.get("memory_mb") or 0.0)), False,
             fixed("100 MB more", MOST_MEMORY_MB), " MB"),
    ]  # fmt: skip


def _share(row: Row) -> float:
    return row["delivered"] / row["sent"] if "delivered" in row else 0.0


def _better(subject: str, ours: list[Row], rows: list[Row]) -> list[Goal]:
    """In how many rows ours is not behind: no later, and nothing less delivered."""
    goals: list[Goal] = []
    others = dict.fromkeys(row["label"] for row in rows if row["contestant"] != "ours")
    mine = {row["attack"]: row for row in ours}
    for other in others:
        theirs = [row for row in rows if row["label"] == other and "delivered" in row]
        theirs = [row for row in theirs if row["attack"] in mine]
        if not theirs:
            continue
        won = sum(
            _p95(mine[row["attack"]]) <= _p95(row) and _share(mine[row["attack"]]) >= _share(row)
            for row in theirs
        )
        goals.append(
            Goal(f"{subject}: attacks under which ours is no worse than {other}",
                 fixed("ours", float(won)), True, fixed("all of them", float(len(theirs))))
        )  # fmt: skip
    return goals

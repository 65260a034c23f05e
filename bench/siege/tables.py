"""The tables of the siege."""

from __future__ import annotations

from typing import Any

from bench.formatting import number
from bench.siege.families import CALM
from bench.siege.verdicts import OURS, against, key_of, ours_by_key
from bench.tables import Table

Row = dict[str, Any]

HEADINGS = [
    "attack", "attackers", "implementation", "delivered", "p50 ms", "p95 ms", "calm p95", "CPU",
    "calm MB", "MB more", "out/in", "held back, dropped after s", "newcomer s", "trace names them",
    "ours against it",
]  # fmt: skip

NOTES = [
    "delivered: of what the honest side sent through the node while it was attacked; lost: so few"
    " came that there is no such percentile. calm: just before the attack, with the same processes."
    " CPU: seconds of the node's processes for each second. MB more: the node's memory at its"
    " highest over that before the attack. out/in: what the attackers got for each byte they sent."
    " held back, dropped: seconds until the node first took nothing of an attacker for a while, and"
    " until it had closed the last of the first connections; how often they came again; a dash:"
    " never. newcomer: seconds until an honest peer that came during the attack had its first"
    " message; never: it had none as long as it lasted. Under half-open and idle, the pair itself"
    " comes when the places are taken. ours against it: by what was delivered, then whether"
    " newcomers got in, then by p95, however small the difference. The rows with a spool are"
    " attacked for five seconds more, to see what becomes of the attackers; what the trace says is"
    " known of those alone.",
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
    rows = [row for row in part["rows"] if row["family"] == family]
    beside = any("beside" in row for row in rows)
    headings = [*HEADINGS, "gossipsub beside"] if beside else HEADINGS
    table = Table(f"Under siege: {family}", headings, notes=list(NOTES))
    ours = ours_by_key(rows)
    for row in rows:
        line = _line(row, ours.get(key_of(row)))
        table.lines.append([*line, _beside(row.get("beside"))] if beside else line)
    return table


def _line(row: Row, ours: Row | None) -> list[str]:
    head = [row["attack"], number(row["attackers"]), row["label"]]
    if "delivered" not in row:
        return [*head, f"none: {row['problem']}", *["-"] * (len(HEADINGS) - 4)]
    return [
        *head,
        f"{row['delivered']} of {row['sent']}" + (f" ({row['problem']})" if row["problem"] else ""),
        _late(row["p50_ms"]),
        _late(row["p95_ms"]),
        _late(row["calm_p95_ms"]) if "calm_p95_ms" in row else "-",
        number(row.get("cpu")),
        number(row.get("calm_mb")),
        number(row.get("memory_mb")),
        number(row.get("out_per_in")),
        _dropped(row),
        "" if "newcomer_s" not in row else _newcomer(row["newcomer_s"]),
        _names(row),
        _compared(row, ours),
    ]


def _late(milliseconds: float | None) -> str:
    return "lost" if milliseconds is None else number(milliseconds)


def _newcomer(seconds: float | None) -> str:
    return "never" if seconds is None else number(seconds)


def _dropped(row: Row) -> str:
    """When it was held back and when dropped, and how often it came again."""
    seconds, held = row.get("dropped_after"), row.get("held_after")
    again = row.get("attack_report", {}).get("reconnects", 0)
    words = f"{number(held)}, {number(seconds)}"
    return f"{words}, again {again} x" if again else words


def _names(row: Row) -> str:
    if "trace_problem" in row:
        return str(row["trace_problem"])
    if "named" not in row:
        return ""
    return next(iter(row["named"]), "no")


def _compared(row: Row, ours: Row | None) -> str:
    if ours is None or row["contestant"] in OURS or row["attack"] == CALM:
        return ""
    return "worse: ours has no figures" if "delivered" not in ours else against(ours, row).words


def _beside(pair: Row | None) -> str:
    if pair is None:
        return "-"
    return f"{pair['delivered']} of {pair['sent']}, p95 {_late(pair['p95_ms'])} ms"


def _named_table(rows: list[Row]) -> Table:
    table = Table(
        "Under siege: what the trace of our node says about the attackers",
        ["attack", "attackers", "events that blame them", "of which", "MB of spool"],
    )
    for row in rows:
        named: dict[str, int] = row["named"]
        loudest = ", ".join(f"{count:,} x {event}" for event, count in list(named.items())[:4])
        head = [row["attack"], number(row["attackers"]), number(sum(named.values()))]
        table.lines.append([*head, loudest or "none", number(row["trace_mb"])])
    return table

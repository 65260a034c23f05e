"""The tables and goals of the bcos family."""

from __future__ import annotations

from typing import Any

from bench.bcos.path_bench import BARE
from bench.bcos.paths import CASES, HOPS
from bench.formatting import number
from bench.goals import Figure, Goal, fixed
from bench.tables import Table

Row = dict[str, Any]

LABELS = {"bare-loop": "bare", "bare-own": "bare, cheapest", "ours": "ours"}

CHEAPEST = "bare-own"

FACTOR = 2.0
"""A message may take so many times what a bare path takes."""
SYNC_FACTOR = 1.5
"""A changed topic may bring so many times the traffic if there are a hundred times the topics."""
BEAT = 40
"""Bytes of a topic seq at most, which two nodes tell each other..."""
BEAT_SECONDS = 5.0
"""...this often."""


def bcos_tables(part: Row) -> list[Table]:
    """Messages by path, and the sync of topics."""
    return [_path_table(part["paths"]), _sync_table(part["sync"])]


def _path_table(part: Row) -> Table:
    table = Table(
        "Messages of 1 KiB from SDK to SDK across two nodes, four processes over TLS 1.2",
        [
            "case",
            "path",
            "messages/s",
            "p50 us",
            "p99 us",
            "CPU us",
            *(f"{hop} us" for hop in HOPS),
        ],
        notes=[
            f"Medians of {part['rounds']} rounds, in which the paths take turns. CPU: of the whole"
            " process in us, for a message and what comes back for it, in all and at each hop."
            " unicast: round trips, the answer has 1 KiB, too. multicast: until the subscriber has"
            " it; the publisher's node answers with a copy, and 64 of these answers and 256"
            " arrivals may be outstanding. bare: four processes that pass the same packets on over"
            " the same TLS, and do nothing else; with the event loop's TLS (uvloop) and a write for"
            " each packet. bare, cheapest: with the TLS library driven by hand and one write for"
            " all that a turn brings, as cheap as we know how. ours / bare: in each round, then the"
            " median. TLS and syscalls: what the cheapest has of our CPU time.",
            *_best_note(part),
            *(f"Failed: {failure}" for failure in part["failed_rounds"]),
        ],
    )
    for case in CASES:
        lines = [_path_line(row) for row in part["rows"] if row["case"] == case.name]
        for ratio in part["ratios"]:
            if ratio["case"] == case.name:
                lines += _ratio_lines(ratio)
        table.lines += lines or [[case.name, "missing: see below", *["-"] * (4 + len(HOPS))]]
    return table


def _path_line(row: Row) -> list[str]:
    metrics = (row[metric]["median"] for metric in ("per_second", "p50_us", "p99_us", "cpu_us"))
    hops = (row["hops_us"][hop]["median"] for hop in HOPS)
    return [row["case"], LABELS[row["path"]], *(number(value) for value in (*metrics, *hops))]


def _ratio_lines(ratio: Row) -> list[list[str]]:
    time, p50, p99, cpu = (ratio[metric]["median"] for metric in ("time", "p50", "p99", "cpu"))
    hops = [ratio["hops"][hop]["median"] for hop in HOPS]
    case, label = ratio["case"], f"ours / {LABELS[ratio['over']]}"
    lines = [[case, label, *(number(value) for value in (1 / time, p50, p99, cpu, *hops))]]
    if ratio["over"] == CHEAPEST:
        shares = (f"{1 / value:.0%}" for value in (cpu, *hops))
        lines.append([case, "TLS and syscalls", "-", "-", "-", *shares])
    return lines


def _best_note(part: Row) -> list[str]:
    best = [
        f"{row['case']}: {LABELS[row['path']]} {number(row['per_second']['best'])}/s,"
        f" {number(row['cpu_us']['best'])} us"
        for row in part["rows"]
    ]
    return [f"Best rounds: {'; '.join(best)}."] if best else []


def _sync_table(part: Row) -> Table:
    table = Table(
        f"What two nodes tell each other of topics, {part['sdks']} SDKs on one of them",
        ["topics", "joining B", "packets", "one change B", "packets",
         f"{part['changes']} at once B", "packets", "quiet B/min", "packets/min",
         "node us/change", "node idle cores"],
        notes=[
            "Counted in TLS records between the nodes, both directions, without what TLS adds; a"
            " packet of more than 16 KiB counts as several. joining: until the second node has the"
            f" list. one change: an SDK listens to one more topic, mean of {part['changes']}, each"
            " after the nodes were quiet. at once: each by another SDK. node: CPU of the one with"
            " the SDKs; for a change, besides what it takes while nothing changes; and that. Nodes"
            " of other make are sent the whole list at each change: they can read nothing else.",
        ],
    )  # fmt: skip
    for row in part["rows"]:
        if row["missing"]:
            table.lines.append([number(row["topics"]), f"missing: {row['missing']}", *["-"] * 9])
            continue
        minutes = part["quiet_seconds"] / 60
        figures = [
            *_traffic(row["joining"]),
            *_traffic(row["single"], part["changes"]),
            *_traffic(row["burst"]),
            *_traffic(row["quiet"], minutes),
            row["cpu_us_per_change"],
            row["idle_cpu"],
        ]
        table.lines.append([number(row["topics"]), *(number(value) for value in figures)])
    return table


def _traffic(traffic: Row, over: float | None = None) -> list[float]:
    found = [traffic["bytes"], traffic["packets"]]
    return found if over is None else [value / over for value in found]


# ---- goals


def bcos_goals(part: Row) -> list[Goal]:
    """A message within twice the bare paths; traffic of topics by what changes."""
    ratios = {(row["over"], row["case"]): row for row in part["paths"]["ratios"]}
    reason = "; ".join(part["paths"]["failed_rounds"]) or "no figure"
    goals: list[Goal] = []
    for bare in BARE:
        for case in CASES:
            ratio = ratios.get((bare, case.name))
            for metric, words in (("time", "time"), ("cpu", "CPU of all four hops")):
                subject = f"{case.name}, {words}, ours / {LABELS[bare]}"
                figure = Figure("", ratio[metric]) if ratio else Figure("", unknown=reason)
                goals.append(Goal(subject, figure, False, fixed("twice", FACTOR)))
    return goals + _sync_goals(part["sync"])


def _sync_goals(part: Row) -> list[Goal]:
    few, many = part["rows"][0], part["rows"][-1]

    def figure(row: Row, stretch: str, over: float) -> Figure:
        words = f"with {number(row['topics'])} topics"
        if row["missing"]:
            return Figure(words, unknown=f"{words}: {row['missing']}")
        return fixed(words, row[stretch]["bytes"] / over)

    changes, beats = part["changes"], part["quiet_seconds"] / BEAT_SECONDS
    most = number(many["topics"])
    return [
        Goal(
            f"one changed topic of {most}, traffic",
            figure(many, "single", changes),
            False,
            figure(few, "single", changes).times(SYNC_FACTOR),
            " B",
        ),
        Goal(
            f"{changes} changes at once of {most} topics, traffic",
            figure(many, "burst", 1),
            False,
            figure(few, "burst", 1).times(SYNC_FACTOR),
            " B",
        ),
        Goal(
            f"nothing changes of {most} topics, traffic in {BEAT_SECONDS:g} s",
            figure(many, "quiet", beats),
            False,
            fixed("a topic seq each way", 2.0 * BEAT),
            " B",
        ),
    ]

"""The report for programs: one object, its keys as ``docs/report.md`` lists them.

The terminal and the page show this object, too: no figure is computed twice.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any, Final

from rumormill.report.bins import lasted_within
from rumormill.report.figures import CHURN, Report, speed, verdict
from rumormill.report.gold import CONTROL, SENT
from rumormill.report.problems import ALERTS, Weight
from rumormill.report.rows import MeshMinute
from rumormill.report.seconds import Moment

Object = dict[str, Any]

GROUPS: Final = {"latency": "latency_ms", "hops": "hops"}
"""Columns of topics whose names begin alike, and the object that they are in."""


def json_object(report: Report) -> Object:
    """All figures of a report, as plain values."""
    gold = report.gold
    return {
        "topics": {label: _topic(report, label) for label in report.topics},
        "peers": {label: _peer(report, label) for label in report.peers},
        "events": dict(report.events),
        "causes": [
            {"event": event, "reason": reason, "count": count}
            for (event, reason), count in report.causes.items()
        ],
        "scores": scores(report),
        "problems": [one.sentence for one in report.findings if one.weight < Weight.NOTE],
        "notes": [one.sentence for one in report.findings if one.weight == Weight.NOTE],
        "verdict": verdict(report),
        "speed": speed(report),
        "total": {**report.total, "spared": sum(report.spared.values())},
        "networks": {
            name: {
                "peers": sum(row.network == name for row in gold.peers),
                "promise": next((row.promise for row in gold.nodes
                                 if row.network == name and row.promise), None),
                **sums,
                "spared": sum(count for label, count in report.spared.items()
                              if report.topics[label].network == name),
            }
            for name, sums in report.networks.items()
        },
        "period": _period(report),
        "agents": dict(report.agents),
        "control": control(report),
        "churn": churn(report),
        "lifetimes": lifetimes(report),
        "slowest": [plain(asdict(row)) for row in gold.slowest],
        "behind": [plain(asdict(row)) for row in gold.values if row.behind],
        "alerts": [
            {**asdict(row), "minute": time_text(row.minute), "more": f"{ALERTS}#{row.kind}"}
            for row in sorted(gold.alerts, key=lambda row: str(row.minute))
        ],
        "tables": {
            own.name: {
                "title": own.title, "columns": list(own.columns), "left_out": own.left_out,
                "rows": [[plain(value) for value in row] for row in own.rows],
            }
            for own in gold.own
        },
        "missing_tables": list(gold.missing),
        "snapshots": dict(gold.snapshots),
    }  # fmt: skip


def _topic(report: Report, label: str) -> Object:
    """What the table ``topics`` says of a topic; its latencies and its hops are an object each."""
    result: Object = {}
    for name, value in asdict(report.topics[label]).items():
        group, _, part = name.partition("_")
        if group in GROUPS:
            result.setdefault(GROUPS[group], {})[part] = value
        elif name != "minute":
            result[name] = value
    result["spared"] = report.spared.get(label, 0)
    result["hops"]["by_hop"] = {
        str(hop.hop): {"deliveries": hop.deliveries, "latency_p50_ms": hop.latency_p50}
        for hop in report.hops.get(label, ())
    }
    result["mesh"] = _mesh(report.mesh.get(label, ()))
    result["seconds"] = _columns(report.seconds.get(label, ()))
    return result


def _peer(report: Report, label: str) -> Object:
    """One peer's figures, what is known of its clock, and what it runs."""
    row, clock = report.peers[label], report.clocks.get(label)
    skew = None
    if clock is not None:
        skew = {key: value for key, value in asdict(clock).items() if key not in NAMES}
    node = report.nodes.get(label)
    about = {name: getattr(node, name, None) for name in ("agent", "runs", "present")}
    return {**asdict(row), **about, "skew": skew}


NAMES = ("network", "node")


def _mesh(minutes: Sequence[MeshMinute]) -> Object | None:
    """How a topic's mesh stood in its last minute, and what happened to it in all."""
    if not minutes:
        return None
    last = minutes[-1]
    return {
        "nodes": last.nodes,
        "degree": {"mean": last.degree_mean, "min": last.degree_min, "max": last.degree_max},
        "components": last.components,
        "components_max": max((row.components or 0 for row in minutes), default=None),
        "grafts": sum(row.grafts for row in minutes),
        "prunes": sum(row.prunes for row in minutes),
        "minutes": len(minutes),
    }


def _columns(moments: Sequence[Moment]) -> Object | None:
    """A topic by the second, a list for each figure."""
    if not moments:
        return None
    figures = ("published", "expected", "missing", "skipped", "p50", "p99")
    return {
        "time": [time_text(moment.time) for moment in moments],
        **{figure: [getattr(moment, figure) for moment in moments] for figure in figures},
    }


def control(report: Report) -> Object:
    """Packets sent and what they held, in all and by minute."""
    kinds = (*SENT, *CONTROL)
    total: Counter[str] = Counter(dict.fromkeys(kinds, 0))
    minutes: defaultdict[datetime, Counter[str]] = defaultdict(Counter)
    for row in report.gold.control:
        into = total if row["minute"] is None else minutes[row["minute"]]
        into.update({kind: row.get(kind) or 0 for kind in kinds})
    return {"total": dict(total), "minutes": _by_minute(minutes, kinds)}


def scores(report: Report) -> Object:
    """What others think of each peer; minute by minute, of those that fell lowest."""
    names = {label: name for name, label in report.peer_labels.items()}
    return {
        label: {
            **dict(zip(NAMES, names[label], strict=True)),
            "score": it.score,
            "lowest": it.lowest,
            "highest": it.highest,
            "levels": dict(it.levels),
            "minutes": {"time": [time_text(time) for time in it.times], "score": list(it.scores)}
            if it.times else None,
        }
        for label, it in report.scores().items()
    }  # fmt: skip


def churn(report: Report) -> Object:
    """Connections and peers that came and went, by minute."""
    minutes: defaultdict[datetime, Counter[str]] = defaultdict(Counter)
    for row in report.gold.event_minutes:
        if row.minute is not None:
            minutes[row.minute][row.event] += row.count
    kinds = [kind for kind in CHURN if any(kind in counts for counts in minutes.values())]
    return _by_minute(minutes, kinds)


def _by_minute(minutes: Mapping[datetime, Counter[str]], kinds: Iterable[str]) -> Object:
    times = sorted(minutes)
    return {
        "time": [time_text(time) for time in times],
        **{kind: [minutes[time][kind] for time in times] for kind in kinds},
    }


def lifetimes(report: Report) -> Object:
    """How long links of the mesh and subscriptions lasted: how many ended within how much time."""
    return {
        kind: {
            "within_s": [lasted_within(number) for number in sorted(counts)],
            "ended": [counts[number] for number in sorted(counts)],
        }
        for kind, counts in report.lifetimes.items()
    }


def _period(report: Report) -> Object | None:
    """The first and the last minute."""
    if report.gold.period is None:
        return None
    first, last = report.gold.period
    minutes = int((last - first).total_seconds()) // 60 + 1
    return {"first": time_text(first), "last": time_text(last), "minutes": minutes}


def time_text(time: datetime | None) -> str | None:
    """A time in the form that every program reads; its microseconds, if it has any."""
    if time is None:
        return None
    fraction = f".{time.microsecond:06}" if time.microsecond else ""
    return f"{time:%Y-%m-%dT%H:%M:%S}{fraction}Z"


def plain(value: Any) -> Any:
    """What JSON has no form for, as text."""
    if isinstance(value, datetime):
        return time_text(value)
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, float) and not abs(value) < float("inf"):
        return None
    if isinstance(value, dict):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    return value if isinstance(value, str | int | float | bool | None) else str(value)

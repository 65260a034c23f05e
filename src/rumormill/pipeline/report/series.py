"""What the page draws: columns of numbers, few enough for a browser to be quick with.

A long run is drawn in buckets of several minutes. What can be added up is added up; of degrees and
latencies the extremes are kept, so that no bad minute is hidden by the good ones around it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any, TypeVar

from rumormill.core.words import printable
from rumormill.pipeline.report.figures import Report
from rumormill.pipeline.report.rows import CdfPoint, HopRow, MeshMinute, TopicMinute

MOST_BUCKETS = 480
MOST_POINTS = 240
MOST_TOPICS = 40
MOST_PEERS = 200
ALL = "all topics"

Timed = TypeVar("Timed", TopicMinute, MeshMinute)


def page_data(report: Report, other: Report | None = None) -> dict[str, Any]:
    """Everything that the page's script needs."""
    labels = plotted_topics(report)
    topics = [_topic(report, label) for label in labels]
    if len(report.topics) > 1:
        topics.insert(0, _all_topics(report))
    return {
        "topics": topics,
        "other": _other(other, labels) if other else None,
        **_links(report),
    }


def plotted_topics(report: Report) -> list[str]:
    """The topics that have plots: all, or the busiest."""
    labels = list(report.topics) or list(report.mesh)
    if len(labels) > MOST_TOPICS:
        labels.sort(key=lambda label: -report.topics[label].delivered)
    return labels[:MOST_TOPICS]


def _topic(report: Report, label: str) -> dict[str, Any]:
    width = bucket_minutes(report)
    return {
        "label": printable(label),
        "cdf": cdf_columns(report.latency.get(label, ())),
        "hops": hop_columns([report.hops.get(label, ())]),
        "minutes": minute_columns(report.minutes.get(label, ()), width),
        "mesh": mesh_columns(report.mesh.get(label, ()), width),
    }


def _all_topics(report: Report) -> dict[str, Any]:
    width = bucket_minutes(report)
    return {
        "label": ALL,
        "all": True,
        "cdf": None,
        "hops": hop_columns([*report.hops.values()]),
        "minutes": minute_columns(report.gold.topic_minutes, width),
        "mesh": mesh_columns(report.gold.mesh_minutes, width),
    }


def _other(other: Report, labels: Sequence[str]) -> dict[str, Any]:
    return {
        "cdf": {
            printable(label): cdf_columns(other.latency[label])
            for label in labels
            if label in other.latency
        },
        "hops": {
            ALL: hop_columns([*other.hops.values()]),
            **{printable(label): hop_columns([other.hops.get(label, ())]) for label in labels},
        },
    }


def bucket_minutes(report: Report) -> int:
    """How many minutes are drawn as one."""
    if report.period is None:
        return 1
    first, last = report.period
    minutes = int((last - first).total_seconds()) // 60 + 1
    return -(-minutes // MOST_BUCKETS)


def cdf_columns(points: Sequence[CdfPoint]) -> list[list[float]] | None:
    """Latencies and shares; of many points, evenly chosen ones and the last."""
    if not points:
        return None
    step = -(-len(points) // MOST_POINTS)
    chosen = [*points[:-1:step], points[-1]]
    return [
        [round(point.latency_ms, 4) for point in chosen],
        [round(point.share, 6) for point in chosen],
    ]


def hop_columns(topics: Sequence[Sequence[HopRow]]) -> list[list[Any]]:
    """Hops, deliveries, and the median latency: of one topic, as medians cannot be added."""
    deliveries: Counter[int] = Counter()
    medians: dict[int, float | None] = {}
    for rows in topics:
        for row in rows:
            deliveries[row.hop] += row.deliveries
            medians[row.hop] = _rounded(row.latency_p50) if len(topics) == 1 else None
    hops = sorted(deliveries)
    return [hops, [deliveries[hop] for hop in hops], [medians[hop] for hop in hops]]


def minute_columns(rows: Iterable[TopicMinute], width: int) -> dict[str, list[Any]]:
    """Publications and deliveries over time, of one topic or of several added up."""
    groups = _buckets(rows, width)
    return {
        "time": [time for time, _ in groups],
        "published": _column(groups, lambda rows: sum(row.published for row in rows)),
        "expected": _column(groups, lambda rows: sum(row.expected for row in rows)),
        "arrived": _column(groups, lambda rows: sum(row.arrived for row in rows)),
        "p50": _column(groups, lambda rows: _most(row.latency_p50 for row in rows)),
        "p99": _column(groups, lambda rows: _most(row.latency_p99 for row in rows)),
    }


def mesh_columns(rows: Iterable[MeshMinute], width: int) -> dict[str, list[Any]]:
    """The mesh over time, of one topic or of several."""
    groups = _buckets(rows, width)
    return {
        "time": [time for time, _ in groups],
        "nodes": _column(groups, lambda rows: _most(row.nodes for row in rows)),
        "mean": _column(groups, _mean_degree),
        "least": _column(groups, lambda rows: _least(row.degree_min for row in rows)),
        "most": _column(groups, lambda rows: _most(row.degree_max for row in rows)),
        "components": _column(groups, lambda rows: _most(row.components for row in rows)),
        "grafts": _column(groups, lambda rows: sum(row.grafts for row in rows)),
        "prunes": _column(groups, lambda rows: sum(row.prunes for row in rows)),
    }


def _mean_degree(rows: Sequence[MeshMinute]) -> float | None:
    """Over all nodes of these meshes."""
    known = [(row.degree_mean, row.nodes) for row in rows if row.degree_mean is not None]
    nodes = sum(count for _, count in known)
    return _rounded(sum(mean * count for mean, count in known) / nodes) if nodes else None


def _links(report: Report) -> dict[str, Any]:
    """Who handed what to whom, among the peers that handed on or got most."""
    sent: Counter[str] = Counter()
    cells: dict[tuple[str, str], tuple[int, int]] = {}
    for row in report.gold.links:
        giver = report.peer_labels[row.network, row.peer]
        taker = report.peer_labels[row.network, row.node]
        cells[giver, taker] = (row.first, row.repeated)
        sent[giver] += row.first
        sent[taker] += 0
    chosen = sorted(sent, key=lambda label: (-sent[label], label))[:MOST_PEERS]
    place = {label: index for index, label in enumerate(chosen)}
    return {
        "peers": [printable(report.short_names[label]) for label in chosen],
        "left_out": len(sent) - len(chosen),
        "links": [
            [place[giver], place[taker], first, repeated]
            for (giver, taker), (first, repeated) in cells.items()
            if giver in place and taker in place
        ],
    }


def _buckets(rows: Iterable[Timed], width: int) -> list[tuple[int, list[Timed]]]:
    """The rows of each bucket, by the second that it begins at."""
    groups: defaultdict[int, list[Timed]] = defaultdict(list)
    for row in rows:
        groups[_bucket(row.minute, width)].append(row)
    return sorted(groups.items())


def _bucket(minute: datetime, width: int) -> int:
    seconds = int(minute.timestamp())
    return seconds - seconds % (60 * width)


def _column(
    groups: Sequence[tuple[int, list[Timed]]], of: Callable[[list[Timed]], Any]
) -> list[Any]:
    return [of(rows) for _, rows in groups]


def _most(values: Iterable[float | None]) -> float | None:
    return _rounded(max((value for value in values if value is not None), default=None))


def _least(values: Iterable[float | None]) -> float | None:
    return _rounded(min((value for value in values if value is not None), default=None))


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)

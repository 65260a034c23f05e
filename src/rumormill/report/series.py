"""What the page draws: columns of numbers, few enough for a browser to be quick with.

A long run is drawn in buckets of several minutes. What can be added up is added up; of degrees and
latencies the extremes are kept, so that no bad minute is hidden by the good ones around it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from itertools import chain
from typing import Any, Final, TypeVar

from rumormill.core.words import printable
from rumormill.report.bins import lasted_within
from rumormill.report.figures import Hop, Report
from rumormill.report.gold import CONTROL
from rumormill.report.rows import MeshMinute
from rumormill.report.seconds import Moment
from rumormill.report.words import span

MOST_BUCKETS: Final = 480
MOST_POINTS: Final = 240
MOST_TOPICS: Final = 40
MOST_PEERS: Final = 200
ALL: Final = "all topics"

Row = TypeVar("Row")


def page_data(
    report: Report, figures: dict[str, Any], other: Report | None = None
) -> dict[str, Any]:
    """Everything that the page's script needs; ``figures`` are the report's JSON form."""
    labels = plotted_topics(report)
    topics = [_topic(report, label, [label]) for label in labels]
    if len(report.topics) > 1:
        everything = _topic(report, ALL, [*report.topics, *report.mesh])
        topics.insert(0, {**everything, "all": True, "cdf": None})
    return {
        "topics": topics,
        "other": _other(other, labels) if other else None,
        "control": _timed(report, figures["control"]["minutes"], CONTROL),
        "scores": _scores(report),
        "churn": _timed(report, figures["churn"], figures["churn"]),
        "lifetimes": _lifetimes(report),
        **_links(report),
    }


def plotted_topics(report: Report) -> list[str]:
    """The topics that have plots: all, or the busiest."""
    labels = list(report.topics) or list(report.mesh)
    if len(labels) > MOST_TOPICS:
        labels.sort(key=lambda label: -report.topics[label].delivered)
    return labels[:MOST_TOPICS]


def _topic(report: Report, name: str, labels: Sequence[str]) -> dict[str, Any]:
    labels = list(dict.fromkeys(labels))
    moments = report.seconds or report.minutes
    row = report.topics.get(labels[0]) if len(labels) == 1 else None
    return {
        "label": printable(name),
        "promise": row.promise if row else None,
        "cdf": cdf_columns(report.latency.get(labels[0], ())),
        "hops": hop_columns([report.hops.get(label, ()) for label in labels]),
        "minutes": moment_columns(
            chain.from_iterable(moments.get(label, ()) for label in labels),
            bucket_seconds(report, 1 if report.seconds else 60),
        ),
        "mesh": mesh_columns(
            chain.from_iterable(report.mesh.get(label, ()) for label in labels),
            bucket_seconds(report),
        ),
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


def bucket_seconds(report: Report, unit: int = 60) -> int:
    """How many seconds are drawn as one; whole units."""
    if report.gold.period is None:
        return unit
    first, last = report.gold.period
    first = report.gold.shown_since or first
    units = (int((last - first).total_seconds()) + 60) // unit
    return unit * -(-units // MOST_BUCKETS)


def cdf_columns(points: Sequence[tuple[float, float]]) -> list[list[float]] | None:
    """Latencies and shares; of many points, evenly chosen ones and the last."""
    if not points:
        return None
    step = -(-len(points) // MOST_POINTS)
    chosen = [*points[:-1:step], points[-1]]
    return [[round(latency, 4) for latency, _ in chosen], [round(share, 6) for _, share in chosen]]


def hop_columns(topics: Sequence[Sequence[Hop]]) -> list[list[Any]]:
    """Hops, deliveries, and the median latency: of one topic, as medians cannot be added."""
    deliveries: Counter[int] = Counter()
    medians: dict[int, float | None] = {}
    for hop in chain.from_iterable(topics):
        deliveries[hop.hop] += hop.deliveries
        medians[hop.hop] = _rounded(hop.latency_p50) if len(topics) == 1 else None
    hops = sorted(deliveries)
    return [hops, [deliveries[hop] for hop in hops], [medians[hop] for hop in hops]]


def moment_columns(moments: Iterable[Moment], width: int) -> dict[str, list[Any]]:
    """Publications and deliveries over time, of one topic or of several added up."""
    groups = _buckets(moments, lambda moment: moment.time, width)
    return {
        "time": list(groups),
        **{name: _each(groups, name, sum)
           for name in ("published", "expected", "missing", "skipped")},
        **{name: _each(groups, name, _most) for name in ("p50", "p99")},
    }  # fmt: skip


def mesh_columns(minutes: Iterable[MeshMinute], width: int) -> dict[str, list[Any]]:
    """The mesh over time, of one topic or of several."""
    groups = _buckets(minutes, lambda row: row.minute, width)
    return {
        "time": list(groups),
        "nodes": _each(groups, "nodes", _most),
        "mean": [_mean_degree(rows) for rows in groups.values()],
        "least": _each(groups, "degree_min", _least),
        "most": _each(groups, "degree_max", _most),
        "components": _each(groups, "components", _most),
        "grafts": _each(groups, "grafts", sum),
        "prunes": _each(groups, "prunes", sum),
    }


def _each(
    groups: Mapping[int, Sequence[object]], figure: str, join: Callable[[Iterable[Any]], Any]
) -> list[Any]:
    """One value of this figure for each bucket."""
    return [join(getattr(row, figure) for row in rows) for rows in groups.values()]


def _mean_degree(rows: Sequence[MeshMinute]) -> float | None:
    """Over all nodes of these meshes."""
    known = [(row.degree_mean, row.nodes) for row in rows if row.degree_mean is not None]
    nodes = sum(count for _, count in known)
    return _rounded(sum(mean * count for mean, count in known) / nodes) if nodes else None


def _timed(report: Report, columns: dict[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """Counts by minute, those that are not all zero."""
    times = [datetime.fromisoformat(time) for time in columns["time"]]
    width = bucket_seconds(report)
    wanted = [name for name in names if name != "time" and any(columns.get(name, ()))]
    places = _buckets(range(len(times)), lambda place: times[place], width)
    return {
        "time": list(places),
        "series": [
            [name.replace("_", " "),
             [sum(columns[name][at] for at in group) for group in places.values()]]
            for name in wanted
        ],
    }  # fmt: skip


def _scores(report: Report) -> dict[str, Any]:
    """The scores of the peers that fell lowest; a bucket keeps the lowest in it."""
    drawn = {label: it for label, it in report.scores(bucket_seconds(report)).items() if it.times}
    times = next((it.times for it in drawn.values()), ())
    return {
        "time": [int(time.timestamp()) for time in times],
        "series": [
            [printable(report.short_names[label]), [_rounded(value) for value in it.scores]]
            for label, it in drawn.items()
        ],
    }


def _lifetimes(report: Report) -> dict[str, Any]:
    """How many ended after how long, for each kind."""
    bins = sorted(number for counts in report.lifetimes.values() for number in counts)
    every = range(bins[0], bins[-1] + 1) if bins else range(0)
    return {
        "bins": list(every),
        "names": [span(lasted_within(number)) for number in every],
        "series": [[kind, [counts.get(number, 0) for number in every]]
                   for kind, counts in report.lifetimes.items()],
    }  # fmt: skip


def _links(report: Report) -> dict[str, Any]:
    """Who handed what to whom, among the peers that handed on or got most."""
    sent: Counter[str] = Counter()
    cells: dict[tuple[str, str], tuple[int, int]] = {}
    for row in report.gold.links:
        if row.peer is None or not (row.first or row.copies):
            continue
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


def _buckets(
    rows: Iterable[Row], time: Callable[[Row], datetime], width: int
) -> dict[int, list[Row]]:
    """The rows of each bucket, by the second that it begins at."""
    groups: defaultdict[int, list[Row]] = defaultdict(list)
    for row in rows:
        seconds = int(time(row).timestamp())
        groups[seconds - seconds % width].append(row)
    return dict(sorted(groups.items()))


def _most(values: Iterable[float | None]) -> float | None:
    return _rounded(max((value for value in values if value is not None), default=None))


def _least(values: Iterable[float | None]) -> float | None:
    return _rounded(min((value for value in values if value is not None), default=None))


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)

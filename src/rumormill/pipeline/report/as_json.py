"""The report for programs: one object, its keys as ``docs/report.md`` lists them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from rumormill.pipeline.report.figures import Report, Totals, speed, verdict
from rumormill.pipeline.report.problems import Weight
from rumormill.pipeline.report.rows import MeshMinute, PeerRow, SkewRow, TopicRow


def json_object(report: Report) -> dict[str, Any]:
    """All figures of a report, as plain values."""
    return {
        "topics": {label: topic_object(report, label) for label in report.topics},
        "peers": {
            label: peer_object(row, report.skew.get(label)) for label, row in report.peers.items()
        },
        "events": dict(report.events),
        "problems": [one.sentence for one in report.findings if one.weight < Weight.NOTE],
        "notes": [one.sentence for one in report.findings if one.weight == Weight.NOTE],
        "verdict": verdict(report),
        "speed": speed(report),
        "total": totals_object(report.total),
        "networks": {
            name: {"peers": peers_of(report, name), **totals_object(sums)}
            for name, sums in report.networks.items()
        },
        "period": period_object(report),
        "alerts": [
            {**asdict(row), "minute": time_text(row.minute)}
            for row in sorted(report.gold.alerts, key=lambda row: str(row.minute))
        ],
        "missing_tables": list(report.gold.missing),
    }


def topic_object(report: Report, label: str) -> dict[str, Any]:
    """One topic's figures."""
    row = report.topics[label]
    return {
        **topic_figures(row),
        "hops": {
            "mean": row.hops_mean,
            "max": row.hops_max,
            "by_hop": {
                str(hop.hop): {"deliveries": hop.deliveries, "latency_p50_ms": hop.latency_p50}
                for hop in report.hops.get(label, ())
            },
        },
        "mesh": mesh_object(report.mesh.get(label, ())),
    }


def topic_figures(row: TopicRow) -> dict[str, Any]:
    """What the table ``topics`` says of a topic, in the words of the JSON form."""
    return {
        "network": row.network,
        "topic": row.topic,
        "published": row.published,
        "expected": row.expected,
        "delivered": row.delivered,
        "unexpected": row.unexpected,
        "missing": row.missing,
        "ratio": row.ratio,
        "latency_ms": {
            "p50": row.latency_p50,
            "p90": row.latency_p90,
            "p99": row.latency_p99,
            "max": row.latency_max,
        },
        "duplicates": row.duplicates,
        "duplicates_per_delivery": row.duplicates_per_delivery,
        "hops": {"mean": row.hops_mean, "max": row.hops_max},
        "bytes_per_delivery": row.bytes_per_delivery,
        "recoveries": row.recoveries,
    }


def peer_object(row: PeerRow, skew: SkewRow | None) -> dict[str, Any]:
    """One peer's figures, and what is known of its clock."""
    clock = None
    if skew is not None:
        clock = {
            "offset_ms": skew.offset_ms,
            "uncertainty_ms": skew.uncertainty_ms,
            "links": skew.links,
            "estimated": skew.estimated,
            "applied": skew.applied,
        }
    return {**asdict(row), "skew": clock}


def totals_object(sums: Totals) -> dict[str, Any]:
    """Sums over topics; latency has none, as percentiles cannot be added."""
    return {
        **asdict(sums),
        "missing": sums.missing,
        "ratio": sums.ratio,
        "duplicates_per_delivery": sums.duplicates_per_delivery,
    }


def mesh_object(minutes: Sequence[MeshMinute]) -> dict[str, Any] | None:
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


def peers_of(report: Report, network: str) -> int:
    """How many peers of a network are known."""
    return sum(row.network == network for row in report.gold.peers)


def period_object(report: Report) -> dict[str, Any] | None:
    """The first and the last minute."""
    if report.period is None:
        return None
    first, last = report.period
    minutes = int((last - first).total_seconds()) // 60 + 1
    return {"first": time_text(first), "last": time_text(last), "minutes": minutes}


def time_text(time: datetime | None) -> str | None:
    """A minute in the form that every program reads."""
    return None if time is None else time.strftime("%Y-%m-%dT%H:%M:%SZ")

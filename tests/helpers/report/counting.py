"""Gold counted from silver, row by row: slow, and easy to see through."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from rumormill.core.percentiles import percentile
from rumormill.report.bins import edges, middle
from tests.helpers.report.lake_on_disk import Rows

Row = dict[str, Any]
Repeats = Sequence[tuple[str, str, datetime]]


def gold_of(publications: Rows, deliveries: Rows, repeats: Repeats) -> dict[str, Rows]:
    """The gold tables about messages: of each minute, and of all time."""
    tables: dict[str, Rows] = defaultdict(list)
    for name in ("latencies", "topics", "links", "peers", "publishers", "slowest"):
        tables[name] = []
    for minute in [None, *sorted({row["minute"] for row in publications})]:
        sent = [row for row in publications if minute in (None, row["minute"])]
        came = [row for row in deliveries if minute in (None, row["minute"])]
        again = Counter((node, peer) for node, peer, at in repeats if minute in (None, at))
        tables["latencies"] += [{"minute": minute, **row} for row in latencies(sent, came)]
        tables["topics"] += [{"minute": minute, **row} for row in topics(sent, came)]
        if sent:
            network = sent[0]["network"]
            tables["links"] += [
                {"minute": minute, "network": network, **row} for row in links(came, again)
            ]
            tables["peers"] += [
                {"minute": minute, "network": network, **row} for row in peers(sent, came, again)
            ]
        if minute is not None:
            tables["slowest"] += [{"minute": minute, **row} for row in slowest(came)]
    return dict(tables)


def bin_of(latency_ms: float | None) -> int | None:
    """The bin that the contract of the tables gives."""
    if latency_ms is None:
        return None
    whole = round(latency_ms * 1000)
    size = math.floor(math.log2(abs(whole) + 1) * 64)
    return size if whole >= 0 else -size


def timed(row: Row) -> float | None:
    """The latency that counts: of newest values, until it or a newer one was there."""
    if not row["expected"]:
        return None
    stale: float | None = row.get("stale_ms")
    return row["latency_ms"] if stale is None else stale


def sums(rows: Iterable[Row]) -> Row:
    """The figures of some deliveries that can be added up."""
    rows = list(rows)
    lacking = [row for row in rows if row["expected"] and not row["first"]]
    return {
        "expected": sum(row["expected"] for row in rows),
        "delivered": sum(row["first"] for row in rows),
        "missing": sum(row.get("superseded_at") is None for row in lacking),
        "skipped": sum(row.get("superseded_at") is not None for row in lacking),
        "unexpected": sum(row["first"] and not row["expected"] for row in rows),
        "duplicates": sum(row["duplicates"] for row in rows),
        "recoveries": sum(row["recovered"] for row in rows),
    }


def latencies(sent: Rows, came: Rows) -> Rows:
    published = Counter((row["network"], row["topic"], row["promise"]) for row in sent)
    found: Rows = [
        {"network": network, "topic": topic, "promise": promise, "hop": None, "bin": None,
         "published": count, **sums([])}
        for (network, topic, promise), count in published.items()
    ]  # fmt: skip
    groups: dict[tuple[Any, ...], Rows] = defaultdict(list)
    for row in came:
        key = row["network"], row["topic"], row["promise"], row["hop"], bin_of(timed(row))
        groups[key].append(row)
    for (network, topic, promise, hop, place), rows in groups.items():
        found.append(
            {"network": network, "topic": topic, "promise": promise, "hop": hop, "bin": place,
             "published": 0, **sums(rows), "payload": 0, "unpublished": 0,
             "negative": sum((row["latency_ms"] or 0) < 0 for row in rows),
             "strayed": sum(row["first"] and row["hop"] is None for row in rows)}
        )  # fmt: skip
    return found


def rank(values: Iterable[float], share: float) -> float | None:
    """A percentile as the tables have it: the middle of its bin."""
    return percentile(sorted(middle(bin_of(value) or 0) for value in values), share)


def topics(sent: Rows, came: Rows) -> Rows:
    rows: Rows = []
    published = Counter((row["network"], row["topic"], row["promise"]) for row in sent)
    for key, count in published.items():
        mine = [row for row in came if (row["network"], row["topic"], row["promise"]) == key]
        figures = sums(mine)
        known = [value for row in mine if (value := timed(row)) is not None]
        hops = [row["hop"] for row in mine if row["hop"] is not None]
        delivered, expected = figures["delivered"], figures["expected"]
        top = max((edges(bin_of(value) or 0)[1] for value in known), default=None)
        rows.append(
            {"network": key[0], "topic": key[1], "promise": key[2], "published": count, **figures,
             "ratio": (expected - figures["missing"]) / expected if expected else None,
             **{f"latency_p{it}": rank(known, it / 100) for it in (50, 90, 99)},
             "latency_max": top,
             "duplicates_per_delivery": figures["duplicates"] / delivered if delivered else None,
             "hops_mean": sum(hops) / len(hops) if hops else None,
             "hops_max": max(hops, default=None),
             "bytes_per_delivery": 1180.0 if delivered else None}
        )  # fmt: skip
    return rows


def links(came: Rows, again: Counter[tuple[str, str]]) -> Rows:
    first = Counter((row["node"], row["peer"]) for row in came if row["first"])
    return [
        {"node": node, "peer": peer, "first": first[node, peer],
         "copies": first[node, peer] + again[node, peer], "sent_packets": 3 * first[node, peer],
         "sent_bytes": 1180 * first[node, peer], "messages": first[node, peer],
         "ihave": 2 * first[node, peer], "iwant": first[node, peer] // 5,
         "idontwant": again[node, peer], "graft": 1, "prune": 0,
         "exchanged": again[node, peer] // 4, "spared": again[node, peer] // 2}
        for node, peer in sorted({*first, *again})
    ]  # fmt: skip


def peers(sent: Rows, came: Rows, again: Counter[tuple[str, str]]) -> Rows:
    names = {row["publisher"] for row in sent} | {row["node"] for row in came if row["node"]}
    everything = sum(row["first"] for row in came)
    rows: Rows = []
    for name in sorted(names):
        mine = [row for row in came if row["node"] == name]
        figures = sums(mine)
        given = sum(row["first"] and row["peer"] == name for row in came)
        times = [row["latency_ms"] for row in mine if row["latency_ms"] is not None]
        rows.append(
            {"node": name, "published": sum(row["publisher"] == name for row in sent),
             **{key: figures[key] for key in ("expected", "missing", "skipped", "delivered",
                                              "duplicates")},
             "first_sent": given,
             "repeat_sent": sum(count for (_, peer), count in again.items() if peer == name),
             "rejected_by_others": 0, "rejected_here": 0, "ignored_here": 0, "dropped_here": 0,
             "latency_mean": sum(times) / len(times) if times else None,
             "contribution": given / everything if everything else None}
        )  # fmt: skip
    return rows


def slowest(came: Rows) -> Rows:
    """The slowest message of each topic, with the way it took."""
    messages: dict[tuple[str, str, bytes], Rows] = defaultdict(list)
    for row in came:
        messages[row["network"], row["topic"], row["message_id"]].append(row)
    worst: dict[tuple[str, str], Row] = {}
    for (network, topic, message), rows in messages.items():
        first = sorted((row for row in rows if row["first"]), key=lambda row: row["latency_ms"])
        if not first or first[-1]["latency_ms"] <= worst.get((network, topic), {}).get(
            "slowest_ms", -1.0
        ):
            continue
        worst[network, topic] = {
            "network": network, "topic": topic, "message_id": message,
            "publisher": rows[0]["publisher"], "published_at": rows[0]["published_at"],
            "slowest_ms": first[-1]["latency_ms"], "reached": len(first),
            "expected": sum(row["expected"] for row in rows),
            "tree": [{key: row[key] for key in ("node", "peer", "hop", "latency_ms")}
                     for row in first],
        }  # fmt: skip
    return list(worst.values())

"""The trace of a small network over some minutes, as rows of bronze."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

BEGIN = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
NODES = ("ann", "bob", "cid", "dan", "eve")
TOPICS = ("news", "weather")


def trace_rows(minutes: float, seed: int = 1) -> list[dict[str, Any]]:
    """Events of the network in the order of time: a message every second, copies, a mesh."""
    rows = [*_start(), *_messages(minutes, random.Random(seed)), *_churn(minutes)]
    rows.sort(key=lambda row: row["time"])
    for offset, row in enumerate(rows):
        row.update(spool="s" * 32, partition=0, offset=offset)
    return rows


def event(seconds: float, node: str, kind: str, **columns: Any) -> dict[str, Any]:
    """One trace event, so many seconds after the beginning."""
    empty = dict.fromkeys(
        ("topic", "message_id", "peer", "size", "count", "reason", "sender", "fields")
    )
    time = BEGIN + timedelta(seconds=seconds)
    return {**empty, "time": time, "network": "gossipsub", "node": node, "event": kind, **columns}


def _start() -> Iterator[dict[str, Any]]:
    for place, node in enumerate(NODES):
        for topic in TOPICS:
            yield event(0.01 * place, node, "subscribed", topic=topic)
            for peer in NODES:
                if peer != node:
                    yield event(0.5, node, "grafted", topic=topic, peer=peer, fields='{"by":"us"}')


def _messages(minutes: float, chance: random.Random) -> Iterator[dict[str, Any]]:
    for number in range(1, int(60 * minutes)):
        at = number + chance.random()
        publisher, topic = chance.choice(NODES), chance.choice(TOPICS)
        about = {"topic": topic, "message_id": number.to_bytes(8, "big"), "size": 100 + number % 50}
        yield event(at, publisher, "published", **about)
        yield event(at, publisher, "delivered", **about)
        for node in NODES:
            if node == publisher or chance.random() < 0.02:
                continue
            # Mostly at once, now and then tens of seconds later.
            later = chance.expovariate(20) if chance.random() < 0.97 else chance.uniform(1, 40)
            yield event(at + later, node, "delivered", peer=publisher, **about)
            if chance.random() < 0.3:
                peer = chance.choice([each for each in NODES if each not in (node, publisher)])
                yield event(at + later + 0.05, node, "duplicate", peer=peer, **about)
        if number % 7 == 0:
            yield event(at, publisher, "packet_sent", peer=NODES[number % 5], size=120,
                        fields='{"messages":1}')  # fmt: skip


def _churn(minutes: float) -> Iterator[dict[str, Any]]:
    """Eve leaves the weather in the third minute and comes back two minutes later."""
    if minutes >= 6:
        yield event(150.0, "eve", "unsubscribed", topic="weather")
        for peer in NODES[:-1]:
            yield event(150.1, peer, "pruned", topic="weather", peer="eve", fields='{"by":"peer"}')
            yield event(150.1, "eve", "pruned", topic="weather", peer=peer, fields='{"by":"us"}')
        yield event(270.0, "eve", "subscribed", topic="weather")
        for peer in NODES[:-1]:
            yield event(270.5, "eve", "grafted", topic="weather", peer=peer, fields='{"by":"us"}')
            yield event(270.5, peer, "grafted", topic="weather", peer="eve", fields='{"by":"peer"}')

from __future__ import annotations

import re
from collections.abc import Callable

import httpx

import rumormill
from rumormill.node.app import NodeParts
from rumormill.node.metrics import CONTENT_TYPE, exposition
from rumormill.node.server import serve
from rumormill.node.settings import HttpSettings
from tests.helpers.places import DOCS

Ask = Callable[..., httpx.AsyncClient]
SAMPLE = re.compile(r'([a-z_]+)\{((?:[a-z]+="(?:[^"\\\n]|\\["\\n])*",?)+)\} (\d+)')
LABEL = re.compile(r'([a-z]+)="((?:[^"\\]|\\.)*)"')

Found = dict[tuple[str, frozenset[tuple[str, str]]], int]


def read(text: str) -> Found:
    """Each number by name and labels, read as Prometheus does; types come before numbers."""
    found: Found = {}
    typed: set[str] = set()
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            typed.add(line.split()[2])
        elif not line.startswith("# HELP "):
            match = SAMPLE.fullmatch(line)
            assert match, line
            name, labels, value = match.groups()
            assert name in typed
            key = name, frozenset(LABEL.findall(labels))
            assert key not in found, "each number stands once"
            found[key] = int(value)
    return found


def one(found: Found, name: str, **labels: str) -> int:
    """The number whose labels have these among them."""
    (value,) = [
        value for (each, has), value in found.items() if each == name and labels.items() <= has
    ]
    return value


async def test_what_a_node_counts_can_be_read_by_prometheus(
    ask: Ask, network: rumormill.Network
) -> None:
    async with network.subscribe("weather") as messages:
        receipt = await network.publish("weather", b"rain at noon")
        await anext(messages)
        answer = await ask().get("/metrics")
    assert answer.headers["content-type"] == CONTENT_TYPE
    found = read(answer.text)
    assert receipt.reached == ()
    assert one(found, "rumormill_events_total", event="published", node=network.id) == 1
    assert one(found, "rumormill_events_total", event="delivered", network="gossipsub") == 1
    assert one(found, "rumormill_topic_subscribers", topic="weather") == 0
    assert one(found, "rumormill_topic_mesh_peers", topic="weather") == 0
    assert one(found, "rumormill_table_entries", table="subscriptions") == 1
    assert one(found, "rumormill_table_entries", table="seen") == 1
    assert one(found, "rumormill_peers", node=network.id) == 0


async def test_the_sum_over_the_reasons_is_how_often_it_happened(
    network: rumormill.Network,
) -> None:
    network.emit("refused", reason="too_late", count=3)
    network.emit("refused", reason="too_large", count=2)
    network.emit("refused", count=4)
    found = read(exposition([network], {}))
    counts = {
        dict(labels)["reason"]: value
        for (name, labels), value in found.items()
        if name == "rumormill_events_total" and ("event", "refused") in labels
    }
    assert counts == {"too_late": 3, "too_large": 2, "": 4}
    assert sum(counts.values()) == network.counters["refused"]


async def test_a_topic_of_any_name_breaks_no_line(network: rumormill.Network) -> None:
    topic = 'a "b" \\ c\nd'
    async with network.subscribe(topic):
        found = read(exposition([network], {}))
    assert one(found, "rumormill_topic_subscribers", topic='a \\"b\\" \\\\ c\\nd') == 0


async def test_the_http_side_is_counted_too_and_the_token_is_needed() -> None:
    settings = HttpSettings("127.0.0.1", 0, "a-long-random-token")
    async with serve(NodeParts([]), settings) as address, httpx.AsyncClient() as client:
        assert (await client.get(f"{address}/metrics")).status_code == 401
        headers = {"Authorization": "Bearer a-long-random-token"}
        found = read((await client.get(f"{address}/metrics", headers=headers)).text)
    assert one(found, "rumormill_http_entries", table="connections") >= 1


async def test_every_metric_is_on_the_page(network: rumormill.Network) -> None:
    page = (DOCS / "http.md").read_text()
    async with network.subscribe("weather"):
        names = {name for name, _ in read(exposition([network], {"connections": 1}))}
    assert names == set(re.findall(r"`(rumormill_\w+)`", page))

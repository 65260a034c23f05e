"""A bep50 network through the whole pipeline: spools of its nodes, tables, the report."""

from __future__ import annotations

import asyncio
import json
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

import rumormill
from rumormill.bep50.live.key_file import create_item_key
from rumormill.cli import main
from tests.helpers.spark.pipeline_process import PipelineProcess

pytestmark = pytest.mark.usefixtures("java")

SUBSCRIBERS, VALUES = 4, 5


async def run_network(folder: Path) -> str:
    """Some nodes with a spool each; the first publishes, the others know it or each other."""
    topic = create_item_key(folder / "key.json").public_key.hex()
    async with AsyncExitStack() as stack:

        async def node(number: int, **settings: Any) -> rumormill.Bep50Network:
            opening = rumormill.open(
                "bep50", listen="127.0.0.1:0", spool=folder / f"spool-{number}", **settings
            )
            return await stack.enter_async_context(opening)

        publisher = await node(0, key_file=folder / "key.json")
        publisher.join(topic)
        subscriptions = []
        bootstrap = publisher.addresses
        for number in range(1, SUBSCRIBERS + 1):
            subscriber = await node(number, bootstrap=bootstrap)
            subscriptions.append(subscriber.subscribe(topic))
            await subscriber.wait_for_peers(topic, timeout=10)
            bootstrap = subscriber.addresses
        await publisher.wait_for_peers(topic, SUBSCRIBERS, timeout=10)
        for value in range(VALUES):
            await publisher.publish(topic, b"%d" % value, ready=10)
            for subscription in subscriptions:
                assert (await subscription.get(timeout=10)).data == b"%d" % value
        await asyncio.sleep(0.05)  # copies that are still on their way
    return topic


def test_every_value_is_delivered_everywhere_and_its_way_is_known(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    topic = asyncio.run(run_network(tmp_path))
    spools = [f"--spool={tmp_path / f'spool-{number}'}" for number in range(SUBSCRIBERS + 1)]
    with PipelineProcess(
        "run", *spools, "--tables", tmp_path / "tables", "--once", "--kind", "trace"
    ) as run:
        assert run.end() == 0, run.errors
    assert main(["report", "--tables", str(tmp_path / "tables"), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["verdict"] == "Every message reached every peer that was subscribed."
    total = report["total"]
    assert (total["published"], total["expected"]) == (VALUES, SUBSCRIBERS * VALUES)
    assert (total["delivered"], total["missing"]) == (SUBSCRIBERS * VALUES, 0)
    assert report["networks"]["bep50"]["peers"] == SUBSCRIBERS + 1
    assert report["alerts"] == []
    (row,) = [each for each in report["topics"].values() if each["topic"] == topic]
    assert row["hops"]["mean"] >= 1  # the way of every value is known from node to node

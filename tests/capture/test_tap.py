"""What happens on a network is in the spool: all that is delivered, all that is traced."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import rumormill
from rumormill.capture.envelope import encode
from rumormill.capture.log import SpoolLockedError
from rumormill.capture.parameters import SpoolParameters
from rumormill.capture.reading.local import LocalLog
from rumormill.capture.tap import attach, open_spool
from rumormill.capture.writing.writer import SpoolWriter
from rumormill.core.errors import ConfigError
from rumormill.core.machine import Deliver, Publish, Subscribe
from rumormill.core.trace import TraceEvent
from rumormill.simulate import Simulation, topology
from tests.helpers.capture.spool_records import kill, message
from tests.helpers.libp2p.pubsub_network import machine, names

LOOPBACK = "/ip4/127.0.0.1/tcp/0"


def rows(folder: Path, kind: str = "messages") -> list[dict[str, Any]]:
    log = LocalLog(folder, kind)
    return [row for _, batch in log.read(*log.bounds()) for row in batch.to_pylist()]


def kinds_of(folder: Path) -> list[str]:
    return [row["event"] for row in rows(folder, "trace")]


async def test_a_network_with_a_spool_keeps_messages_and_events_to_the_last(tmp_path: Path) -> None:
    async with (
        rumormill.open("gossipsub", listen=LOOPBACK, spool=tmp_path / "spool") as network,
        rumormill.open("gossipsub", bootstrap=network.addresses) as other,
        network.subscribe("weather") as messages,
    ):
        receipt = await other.publish("weather", b"rain", ready=10)
        assert (await messages.get(timeout=10)).data == b"rain"
    (row,) = rows(tmp_path / "spool")
    assert row["value"] == b"rain"
    assert (row["topic"], row["network"], row["node"]) == ("weather", "gossipsub", network.id)
    assert (row["sender"], row["received_from"]) == (other.id, other.id)
    assert row["message_id"] == receipt.id
    assert [header["key"] for header in row["headers"]] == ["sequence"]
    events = kinds_of(tmp_path / "spool")
    assert events[:2] == ["network_opened", "subscribed"] and "delivered" in events
    assert events[-1] in ("connection_closed", "peer_left", "unsubscribed")


async def test_what_is_delivered_is_kept_though_the_subscription_drops_it(tmp_path: Path) -> None:
    async with rumormill.open("floodsub", spool=tmp_path) as network:
        messages = network.subscribe("weather", buffer=1, when_full="drop_newest")
        for number in range(10):
            await network.publish("weather", b"%d" % number)
        assert messages.dropped == 9
    assert [row["value"] for row in rows(tmp_path)] == [b"%d" % number for number in range(10)]


async def test_an_envelope_is_opened(tmp_path: Path) -> None:
    async with (
        rumormill.open("floodsub", spool=tmp_path) as network,
        network.subscribe("weather"),
    ):
        await network.publish("weather", encode(b"rain", b"Bern", [("unit", b"mm")]))
    (row,) = rows(tmp_path)
    assert (row["key"], row["value"]) == (b"Bern", b"rain")
    assert row["headers"][0] == {"key": "unit", "value": b"mm"}


async def test_several_networks_share_a_spool(tmp_path: Path) -> None:
    async with (
        open_spool(tmp_path) as writer,
        rumormill.open("floodsub") as one,
        rumormill.open("gossipsub") as two,
    ):
        for network in (one, two):
            attach(network, writer)
            network.subscribe("weather")
            await network.publish("weather", network.name.encode())
    found = [(row["network"], row["node"], row["value"]) for row in rows(tmp_path)]
    assert found == [("floodsub", one.id, b"floodsub"), ("gossipsub", two.id, b"gossipsub")]
    assert {row["network"] for row in rows(tmp_path, "trace")} == {"floodsub", "gossipsub"}


@pytest.mark.parametrize("kept", ["messages", "trace"])
async def test_only_what_is_wanted_is_kept(tmp_path: Path, kept: str) -> None:
    parameters = SpoolParameters(records=(kept,))  # type: ignore[arg-type]
    async with open_spool(tmp_path, parameters) as writer, rumormill.open("floodsub") as network:
        attach(network, writer)
        network.subscribe("weather")
        await network.publish("weather", b"rain")
    assert bool(rows(tmp_path)) == (kept == "messages")
    assert bool(rows(tmp_path, "trace")) == (kept == "trace")


async def test_after_the_end_of_a_tap_nothing_is_kept(tmp_path: Path) -> None:
    async with open_spool(tmp_path) as writer, rumormill.open("floodsub") as network:
        stop = attach(network, writer)
        network.subscribe("weather")
        await network.publish("weather", b"kept")
        stop()
        await network.publish("weather", b"not kept")
        assert writer.listener is None
    assert [row["value"] for row in rows(tmp_path)] == [b"kept"]


async def test_what_was_recovered_is_traced_and_is_in_the_spool(tmp_path: Path) -> None:
    writer = SpoolWriter(tmp_path)
    writer.message(message(0), "node")
    kill(writer)
    with next((tmp_path / "messages").glob("*.arrow")).open("ab") as file:
        file.write(b"half a batch")
    events: list[TraceEvent] = []
    async with open_spool(tmp_path) as writer, rumormill.open("floodsub") as network:
        network.on_trace(events.append)
        attach(network, writer)
        assert network.counters["spool_recovered"] == 2
    cut, gap = [dict(event.fields) for event in events if event.event == "spool_recovered"]
    assert (cut["kind"], cut["bytes"], cut["rows"]) == ("messages", 12, 0)
    assert (gap["kind"], gap["gap"]) == ("messages", 65_536)
    found = [row for row in rows(tmp_path, "trace") if row["event"] == "spool_recovered"]
    assert found[0]["reason"] == "the tail is torn"
    assert json.loads(found[0]["fields"])["file"].endswith(".arrow")


async def test_a_spool_begins_with_the_opening_whenever_the_tap_starts(tmp_path: Path) -> None:
    early, late = tmp_path / "early", tmp_path / "late"
    events: list[TraceEvent] = []
    async with rumormill.open("floodsub", spool=early) as network, open_spool(late) as writer:
        network.on_trace(events.append)
        network.subscribe("weather")
        attach(network, writer)
        network.subscribe("traffic")
    for folder in (early, late):
        first, *others = rows(folder, "trace")
        assert (first["event"], first["node"]) == ("network_opened", network.id)
        fields = json.loads(first["fields"])
        assert {name: fields[name] for name in network.capabilities.promises} == (
            network.capabilities.promises
        )
        assert "network_opened" not in [row["event"] for row in others]
    assert rows(early, "trace")[0] == rows(late, "trace")[0]  # it is when the network opened


async def test_the_opening_comes_before_what_is_told_of_the_spool(tmp_path: Path) -> None:
    writer = SpoolWriter(tmp_path)
    writer.message(message(0), "node")
    kill(writer)
    async with rumormill.open("floodsub", spool=tmp_path) as network:
        assert network.counters["spool_recovered"] == 1
    assert kinds_of(tmp_path)[:2] == ["network_opened", "spool_recovered"]


async def test_losses_are_counted_by_the_network_and_kept_once_the_disk_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = SpoolParameters(buffer_records=5, batch_records=5, linger=0.001)
    full = True
    real = os.pwrite

    def pwrite(descriptor: int, content: bytes, position: int) -> int:
        if full and "messages" in os.readlink(f"/proc/self/fd/{descriptor}"):
            raise OSError(errno.ENOSPC, "full")
        return real(descriptor, content, position)

    async with open_spool(tmp_path, few) as writer, rumormill.open("floodsub") as network:
        told = {"spool_failed": asyncio.Event(), "spool_resumed": asyncio.Event()}

        def look(event: TraceEvent) -> None:
            if event.event in told:
                assert threading.current_thread() is threading.main_thread()
                told[event.event].set()

        network.on_trace(look)
        attach(network, writer)
        messages = network.subscribe("weather", buffer=100)
        monkeypatch.setattr(os, "pwrite", pwrite)
        await network.publish("weather", b"the first that finds no room")
        await asyncio.wait_for(told["spool_failed"].wait(), 30)
        for number in range(49):
            await network.publish("weather", b"%d" % number)
        assert [(await messages.get(timeout=10)).data for _ in range(50)]  # delivery goes on
        lost = writer.lost["messages"]
        assert 40 <= lost < 50
        full = False
        await asyncio.wait_for(told["spool_resumed"].wait(), 30)
        assert network.counters["dropped.disk_full"] == lost
        monkeypatch.undo()
    assert {"spool_failed", "dropped", "spool_resumed"} <= set(kinds_of(tmp_path))
    assert len(rows(tmp_path)) == 50 - lost


async def test_a_spool_that_another_writes_to_keeps_the_network_from_opening(
    tmp_path: Path,
) -> None:
    with SpoolWriter(tmp_path), pytest.raises(SpoolLockedError):
        await rumormill.open("floodsub", spool=tmp_path)
    async with rumormill.open("floodsub", spool=tmp_path):
        pass


async def test_a_network_that_cannot_start_lets_its_spool_go(tmp_path: Path) -> None:
    async with rumormill.open("floodsub", listen=LOOPBACK) as network:
        taken = network.addresses[0].rpartition("/p2p/")[0]
        with pytest.raises(ConfigError, match="already in use"):
            await rumormill.open("floodsub", listen=taken, spool=tmp_path)
    with SpoolWriter(tmp_path):
        pass


async def test_without_pyarrow_the_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def find_nothing(name: str) -> None:
        return None

    monkeypatch.setattr("rumormill.system.packages.find_spec", find_nothing)
    with pytest.raises(ConfigError, match=r"pip install 'rumormill\[node\]' brings it"):
        await rumormill.open("floodsub", spool=tmp_path)


def test_a_simulation_can_write_a_spool(tmp_path: Path) -> None:
    everyone = names(4)
    with SpoolWriter(tmp_path, live=False) as writer:
        simulation = Simulation(seed=1, sink=lambda event: writer.trace(event, "simulated"))
        simulation.on_effect(Deliver, lambda node, effect: writer.message(effect.message, node))
        for name in everyone:
            simulation.add_node(name, machine(name, simulation.random_for(name)))
        for a, b in topology.full(everyone):
            simulation.connect(a, b)
        for name in everyone:
            simulation.command(name, Subscribe("weather"))
        simulation.run_for(2.0)
        simulation.command("node00", Publish(("weather",), b"rain"))
        simulation.run_for(2.0)
    found = rows(tmp_path)
    assert sorted(row["node"] for row in found) == everyone
    assert {row["value"] for row in found} == {b"rain"}
    assert len(rows(tmp_path, "trace")) == sum(simulation.trace_counts.values()) > 0
    assert kinds_of(tmp_path).count("delivered") == 4


# ---- the hook in the network


async def test_listeners_of_deliveries_come_first_and_can_be_taken_away() -> None:
    async with rumormill.open("floodsub") as network:
        plain: Callable[..., object] = network._driver._handlers[Deliver]
        seen: list[bytes] = []
        stop = network.on_deliver(lambda delivered: seen.append(delivered.data))
        messages = network.subscribe("weather")
        await network.publish("weather", b"one")
        stop()
        await network.publish("weather", b"two")
        assert seen == [b"one"]
        assert [(await messages.get()).data for _ in range(2)] == [b"one", b"two"]
        # Whoever does not use it does not pay for it.
        assert network._driver._handlers[Deliver] == plain


async def test_a_listener_that_fails_costs_no_delivery(caplog: pytest.LogCaptureFixture) -> None:
    def fail(delivered: rumormill.Message) -> None:
        raise RuntimeError("not today")

    async with rumormill.open("floodsub") as network:
        network.on_deliver(fail)
        messages = network.subscribe("weather")
        for _ in range(3):
            await network.publish("weather", b"rain")
            assert (await messages.get()).data == b"rain"
        assert network.counters["listener_failed"] == 3
    assert caplog.text.count("RuntimeError: not today") == 1

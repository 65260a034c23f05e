"""What a network promises is the first thing that its trace says, whoever listens and when."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import rumormill
from rumormill.core.agent import our_agent
from rumormill.core.trace import NETWORK_OPENED, REPEATABLE, TraceEvent

LOOPBACK = "/ip4/127.0.0.1/tcp/0"


@pytest.mark.parametrize("name", ["gossipsub", "floodsub", "randomsub"])
async def test_a_listener_hears_first_that_the_network_is_open_and_what_it_promises(
    name: str,
) -> None:
    events: list[TraceEvent] = []
    async with rumormill.open(name, listen=LOOPBACK) as network:
        network.on_trace(events.append)
        network.subscribe("weather")
        first, second, *_ = events
    assert (first.event, first.node, first.peer) == (NETWORK_OPENED, network.id, None)
    assert dict(first.fields) == {
        "agent": our_agent(),
        "every_message": True,
        "all_subscribers": True,
        "ordered": False,
        "acknowledged": False,
    }
    assert second.event == "subscribed" and second.time >= first.time
    assert [event.event for event in events].count(NETWORK_OPENED) == 1
    assert network.counters[NETWORK_OPENED] == 1


async def test_a_network_that_only_keeps_the_newest_value_says_so_under_its_address() -> None:
    events: list[TraceEvent] = []
    async with rumormill.open("bep50", listen="127.0.0.1:0") as network:
        network.on_trace(events.append)
    assert [event.node for event in events if event.event == NETWORK_OPENED] == (
        [network.addresses[0]]
    )
    assert (events[0].fields["every_message"], events[0].fields["acknowledged"]) == (False, True)


async def test_a_node_that_gets_its_name_later_opens_under_that_too() -> None:
    events: list[TraceEvent] = []
    async with (
        rumormill.open("bep50", listen="127.0.0.1:0") as other,
        rumormill.open("bep50", listen="0.0.0.0:0") as network,
    ):
        network.on_trace(events.append)
        await network.connect(other.addresses[0])
        assert network.trace_name.startswith("127.0.0.1:")
        again: list[TraceEvent] = []
        network.on_trace(again.append)
    opened = [event.node for event in events if event.event == NETWORK_OPENED]
    assert opened[-1] == network.trace_name and len(opened) == len(set(opened))
    assert [event.node for event in again if event.event == NETWORK_OPENED] == opened


async def test_what_is_told_before_the_opening_comes_behind_it(tmp_path: Path) -> None:
    opening: Any = rumormill.open("floodsub", listen=LOOPBACK)
    network = opening._build()
    events: list[TraceEvent] = []
    network.on_trace(events.append)
    network.emit("something")
    assert events == []
    await network.start()
    await network.close()
    assert [event.event for event in events[:2]] == [NETWORK_OPENED, "something"]


async def test_what_was_told_of_a_network_that_does_not_open_is_not_lost() -> None:
    async with rumormill.open("floodsub", listen=LOOPBACK) as other:
        taken = other.addresses[0].rpartition("/p2p/")[0]
        opening: Any = rumormill.open("floodsub", listen=taken)
        network = opening._build()
        events: list[TraceEvent] = []
        network.on_trace(events.append)
        network.emit("something")
        with pytest.raises(rumormill.ConfigError):
            await network.start()
    assert [event.event for event in events] == ["something"]


def test_it_is_never_summed_up() -> None:
    assert NETWORK_OPENED not in REPEATABLE

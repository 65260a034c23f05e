"""Listeners see what repeats summed up, in the end all of it; counters are exact at once."""

from __future__ import annotations

import asyncio

import rumormill
from rumormill.core.trace import TraceEvent, count_of


async def test_counters_know_at_once_what_listeners_get_summed_up() -> None:
    events: list[TraceEvent] = []
    async with rumormill.open("floodsub", trace_each=3) as network:
        network.on_trace(events.append)
        for _ in range(100):
            network.emit("rejected", reason="forged")
        assert network.counters["rejected.forged"] == 100
        assert len(events) < 100
    rejected = [event for event in events if event.event == "rejected"]
    assert sum(map(count_of, rejected)) == 100 and len(rejected) <= 8  # two seconds at most


async def test_what_waits_is_shown_though_nothing_more_happens() -> None:
    heard = asyncio.Event()

    def listen(event: TraceEvent) -> None:
        if "since" in event.fields:
            heard.set()

    async with rumormill.open("floodsub", trace_each=0) as network:
        network.on_trace(listen)
        network.emit("rejected", reason="forged")
        assert not heard.is_set()
        await asyncio.wait_for(heard.wait(), 30)


async def test_a_listener_that_stops_gets_what_waits_and_no_more() -> None:
    events: list[TraceEvent] = []
    async with rumormill.open("floodsub", trace_each=0) as network:
        stop = network.on_trace(events.append)
        network.emit("rejected", count=7)
        stop()
        stop()
        network.emit("rejected")
        assert network.sizes()["trace_listeners"] == 0
    assert [count_of(event) for event in events if event.event == "rejected"] == [7]


async def test_a_listener_that_fails_harms_no_other() -> None:
    events: list[TraceEvent] = []
    async with rumormill.open("floodsub") as network:
        network.on_trace(lambda event: 1 // 0)
        network.on_trace(events.append)
        network.emit("something")
        assert [event.event for event in events] == ["network_opened", "something"]
        assert network.counters["listener_failed"] == 2


async def test_after_the_end_events_pass_as_they_are() -> None:
    events: list[TraceEvent] = []
    async with rumormill.open("floodsub", trace_each=0) as network:
        network.on_trace(events.append)
    for _ in range(5):
        network.emit("rejected")
    assert [event.event for event in events[-5:]] == ["rejected"] * 5

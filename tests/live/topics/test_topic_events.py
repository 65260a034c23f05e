"""Topic events without a network: whatever happens, the reader learns who is there."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumormill.core.trace import PEER_SUBSCRIBED, TraceEvent
from rumormill.live.topics.topic_events import PeerJoinedTopic, PeerLeftTopic, TopicWatch

Listener = Callable[[TraceEvent], None]


class Town:
    """Peers that come to a topic and leave it, and who wants to hear of it."""

    def __init__(self) -> None:
        self.there: dict[str, None] = {}
        self.listeners: list[Listener] = []
        self.watch = TopicWatch(frozenset((PEER_SUBSCRIBED,)), self.on_trace, lambda _: self.there)

    def on_trace(self, listener: Listener) -> Callable[[], None]:
        self.listeners.append(listener)
        return lambda: self.listeners.remove(listener)

    def happen(self, event: str = PEER_SUBSCRIBED) -> None:
        for listener in list(self.listeners):
            listener(TraceEvent(0.0, "node", event))

    def toggle(self, peer: str) -> None:
        if peer in self.there:
            del self.there[peer]
        else:
            self.there[peer] = None
        self.happen()


steps = st.lists(st.one_of(st.sampled_from("abcd"), st.just("read")), max_size=40)


@given(steps)
def test_who_reads_on_learns_who_is_there_and_of_no_peer_the_same_twice(script: list[str]) -> None:
    async def play() -> None:
        town = Town()
        events = town.watch.watch("weather")
        known: set[str] = set()

        async def read(count: int | None) -> None:
            while count is None or count > 0:
                reading = asyncio.ensure_future(anext(events))
                await asyncio.sleep(0)
                if not reading.done():
                    reading.cancel()
                    return
                event = reading.result()
                joined = isinstance(event, PeerJoinedTopic)
                assert (event.peer not in known) is joined, "in turn"
                (known.add if joined else known.remove)(event.peer)
                count = None if count is None else count - 1

        for step in script:
            if step == "read":
                await read(1)
            else:
                town.toggle(step)
        assert len(events._untold) + len(events._told) <= 8, "no log of what was missed"
        await read(None)
        assert known == set(town.there)

    asyncio.run(play())


async def test_those_who_are_there_come_first_and_who_left_before_who_came() -> None:
    town = Town()
    town.toggle("ann")
    town.toggle("bob")
    events = town.watch.watch("weather")
    assert await events.get() == PeerJoinedTopic("weather", "ann")
    assert await events.get() == PeerJoinedTopic("weather", "bob")
    town.toggle("ann")
    town.toggle("cyd")
    assert await events.get() == PeerLeftTopic("weather", "ann")
    assert await events.get() == PeerJoinedTopic("weather", "cyd")


async def test_who_came_and_left_unread_is_not_told_of_even_if_others_are_being_read() -> None:
    town = Town()
    events = town.watch.watch("weather")
    for peer in ("ann", "bob", "cyd"):
        town.toggle(peer)
    assert (await events.get()).peer == "ann"
    town.toggle("bob")
    assert (await events.get()).peer == "cyd"
    with pytest.raises(TimeoutError):
        await events.get(timeout=0.01)


async def test_each_reader_is_told_everything() -> None:
    town = Town()
    first, second = town.watch.watch("weather"), town.watch.watch("weather")
    town.toggle("ann")
    assert await first.get() == await second.get() == PeerJoinedTopic("weather", "ann")
    assert len(town.watch) == 2 and len(town.listeners) == 1


async def test_nobody_listens_to_events_when_nobody_reads() -> None:
    town = Town()
    first, second = town.watch.watch("weather"), town.watch.watch("weather")
    first.close()
    assert len(town.listeners) == 1
    second.close()
    assert town.listeners == [] and len(town.watch) == 0
    third = town.watch.watch("weather")
    assert len(town.listeners) == 1
    town.watch.close()
    assert third.closed and town.listeners == []
    assert [event async for event in third] == []


async def test_what_cannot_change_who_listens_wakes_nobody() -> None:
    town = Town()
    events = town.watch.watch("weather")
    reading = asyncio.ensure_future(events.get())
    await asyncio.sleep(0)
    town.there["ann"] = None
    town.happen("delivered")
    await asyncio.sleep(0)
    assert not reading.done()
    town.happen()
    assert (await reading).peer == "ann"
    assert repr(events) == "<TopicEvents 'weather' open>"

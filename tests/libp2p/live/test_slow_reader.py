"""A peer that does not read: the publisher is told who it is, and what was lost."""

from __future__ import annotations

import asyncio

import rumormill
from rumormill import TraceEvent

LOOPBACK = "/ip4/127.0.0.1/tcp/0"


async def test_the_user_hears_of_a_peer_that_takes_less_than_it_is_sent() -> None:
    slow: list[tuple[str, int]] = []
    heard: list[TraceEvent] = []
    async with (
        await rumormill.open(
            "gossipsub", listen=LOOPBACK, publish_queue_seconds=0.2, heartbeat_interval=0.2
        ) as left,
        await rumormill.open("gossipsub", listen=LOOPBACK, close_timeout=0.2) as right,
    ):
        left.on_trace(heard.append)
        stop = left.on_slow_peer(lambda peer, lost: slow.append((peer, lost)))
        right.subscribe("weather", buffer=1)  # that nobody reads
        await left.connect(right.addresses[0])
        await left.wait_for_peers("weather", timeout=10)
        async with asyncio.timeout(20):
            while not slow:
                await left.publish("weather", bytes(100_000), timeout=0.01)
                await asyncio.sleep(0.01)
        stop()
        assert {peer for peer, _ in slow} == {right.id}
        lost = sum(left.counters[f"dropped.{why}"] for why in ("expired", "queue_full"))
        assert 0 < sum(count for _, count in slow) <= lost
    assert [event for event in heard if event.event == "slow_peer"]
    expired = [event for event in heard if event.fields.get("reason") == "expired"]
    assert all(event.message_id and event.topic == "weather" for event in expired[:5])

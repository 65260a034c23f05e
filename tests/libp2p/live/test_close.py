"""Closing a node: its peers lose a connection, and are told nothing that would keep it out."""

from __future__ import annotations

import asyncio

import rumormill
from rumormill import TraceEvent

LOOPBACK = "/ip4/127.0.0.1/tcp/0"


async def test_a_close_announces_nothing_and_prunes_nobody_but_sends_what_waits() -> None:
    """Who is pruned keeps us out for a while: a node that is started again would be punished."""
    heard: list[TraceEvent] = []
    async with (
        await rumormill.open("gossipsub", listen=LOOPBACK) as left,
        await rumormill.open("gossipsub", listen=LOOPBACK) as right,
    ):
        right.on_trace(heard.append)
        messages = right.subscribe("weather")
        left.subscribe("weather")
        await left.connect(right.addresses[0])
        async with asyncio.timeout(10):
            while not (left.mesh("weather") and right.mesh("weather")):
                await asyncio.sleep(0.01)
        await left.publish("weather", b"rain")
        await left.close()
        assert (await messages.get(timeout=10)).data == b"rain"
        async with asyncio.timeout(10):
            while right.mesh("weather"):
                await asyncio.sleep(0.01)
    assert not [each for each in heard if each.event == "peer_unsubscribed"]
    pruned = [each.fields["reason"] for each in heard if each.event == "pruned"]
    assert pruned[:1] == ["left"], "by the end of the connection, not by a word"

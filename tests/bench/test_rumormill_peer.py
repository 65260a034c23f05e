"""Our own node as a peer program: it speaks the language that the programs of the others speak."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any

import pytest

from tests.helpers.interop import rumormill_peer
from tests.helpers.interop.peer_process import (
    PeerProcessError,
    RouterPeer,
    bench_pair,
    numbered_payloads,
)
from tests.helpers.interop.rumormill_peer import NativeRumormillPeer, RumormillPeer

TOPIC = "weather"

Start = Callable[..., Awaitable[RumormillPeer]]


@pytest.fixture
async def start() -> AsyncIterator[Start]:
    async with AsyncExitStack() as stack:

        async def start_one(
            kind: type[RumormillPeer] = RumormillPeer, **arguments: Any
        ) -> RumormillPeer:
            program = rumormill_peer.installed_program()
            return await stack.enter_async_context(await kind.start(program, **arguments))

        yield start_one


async def acquainted(one: RouterPeer, other: RouterPeer, topic: str = TOPIC) -> None:
    """Wait until each knows that the other is subscribed."""
    await one.sees(other.id, topic)
    await other.sees(one.id, topic)


@pytest.mark.parametrize("policy", ["StrictSign", "StrictNoSign"])
@pytest.mark.parametrize("router", ["gossipsub", "floodsub"])
async def test_two_peers_exchange_messages(start: Start, router: str, policy: str) -> None:
    listener = await start(topics=[TOPIC], router=router, policy=policy)
    dialer = await start(topics=[TOPIC], router=router, policy=policy, dial=[listener.address])
    await acquainted(listener, dialer)
    for sender, receiver in ((listener, dialer), (dialer, listener)):
        done = await sender.publish_many(TOPIC, 20, size=1024, prefix=sender.id)
        assert done["fewest_recipients"] == 1
        messages = await receiver.messages(TOPIC, 20)
        assert [message["data"] for message in messages] == numbered_payloads(
            20, size=1024, prefix=sender.id
        )
        signed = policy == "StrictSign"
        assert {message["from"] for message in messages} == {sender.id if signed else None}
        assert all((message["seqno"] is not None) == signed for message in messages)
        assert sender.pending("message") == []


async def test_it_says_who_comes_and_goes_and_what_it_knows_of_them(start: Start) -> None:
    listener = await start(topics=[TOPIC])
    async with await RumormillPeer.start(rumormill_peer.installed_program()) as dialer:
        assert await dialer.dial(listener.address) == listener.id
        await dialer.subscribe(TOPIC)
        await acquainted(listener, dialer)
        for state in ("connected", "identified"):
            await listener.expect("peer", id=dialer.id, state=state)
        (known,) = await listener.peers()
        assert (known["id"], known["sends_on"][:9]) == (dialer.id, "/meshsub/")
        assert await dialer.mesh(TOPIC) == [listener.id]
        assert await dialer.publish(TOPIC, b"rain at noon") == [listener.id]
        await dialer.unsubscribe(TOPIC)
        left = [{"topic": TOPIC, "subscribe": False}]
        await listener.expect("subscription-change", id=dialer.id, subscriptions=left)
    await listener.expect("peer", id=dialer.id, state="disconnected")


async def test_a_benchmark_with_a_window_loses_nothing_and_counts_both_sides(start: Start) -> None:
    subscriber = await start()
    publisher = await start(dial=[subscriber.address])
    for topic, window in (("first", 10), ("second", 1)):
        sent, received = await bench_pair(
            publisher, subscriber, topic, count=50, size=1000, window=window
        )
        assert (sent["role"], sent["count"]) == ("publisher", 50)
        assert (received["role"], received["count"]) == ("subscriber", 50)
        assert sent["cpu_seconds"] > 0
    assert subscriber.pending("message") == []


async def test_a_steady_rate_counts_copies_and_verifies(start: Start) -> None:
    nodes = [await start(topics=[TOPIC]) for _ in range(3)]
    for one, other in itertools.combinations(nodes, 2):
        await one.dial(other.address)
        await acquainted(one, other)
    publisher, *subscribers = nodes
    for node in nodes:
        await node.bench_reset(TOPIC)
    sent = await publisher.bench_rate(TOPIC, rate=1000, count=40, size=1000)
    assert (sent["count"], sent["failed"]) == (40, 0)
    for node in subscribers:
        report = await node.bench_report()
        while report["received"] < 40:
            report = await node.bench_report()
        assert (report["received"], report["distinct"], report["verifies"]) == (40, 40, 40)
        assert 40 <= report["copies"] <= 80
        assert 0 <= report["p50_ms"] <= report["p99_ms"] <= report["max_ms"]


async def test_it_complains_about_what_it_cannot_do(start: Start) -> None:
    peer = await start()
    with pytest.raises(PeerProcessError, match=r"could not bench_report: .*bench_reset"):
        await peer.bench_report()
    with pytest.raises(PeerProcessError, match="could not dial: ConnectError"):
        await peer.dial("/ip4/127.0.0.1/tcp/1")
    with pytest.raises(PeerProcessError, match="D_lo: there is no such key"):
        await start(options={"D_lo": 3})


async def test_the_library_for_signatures_can_be_chosen(start: Start) -> None:
    rumormill_peer.installed_native_program()
    native = await start(NativeRumormillPeer, topics=[TOPIC])
    pynacl = await start(topics=[TOPIC], dial=[native.address])
    await acquainted(native, pynacl)
    await native.publish(TOPIC, b"rain at noon")
    await pynacl.publish(TOPIC, b"snow")
    assert [message["data"] for message in await pynacl.messages(TOPIC, 1)] == [b"rain at noon"]
    assert [message["data"] for message in await native.messages(TOPIC, 1)] == [b"snow"]

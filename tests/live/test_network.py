"""Whole nodes on loopback, in one process: every part is the real one."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

import rumormill
from rumormill import Libp2pNetwork, Message, Subscription, TraceEvent
from rumormill.live.transports.tcp import Tcp

LOOPBACK = "/ip4/127.0.0.1/tcp/0"
# Short times, so that nothing here waits for a default made for the world.
QUICK: dict[str, Any] = {
    "heartbeat_interval": 0.1,
    "redial_first_delay": 0.05,
    "redial_jitter": 0.0,
}


@asynccontextmanager
async def nodes(count: int = 2, name: str = "gossipsub", **settings: Any) -> AsyncIterator[Any]:
    given = {**(QUICK if name == "gossipsub" else {}), **settings}
    opened: list[Libp2pNetwork] = []
    try:
        for _ in range(count):
            network = await rumormill.open(name, listen=LOOPBACK, **given)
            assert isinstance(network, Libp2pNetwork)
            opened.append(network)
        yield opened
    finally:
        await asyncio.gather(*(network.close() for network in opened))


async def link(subscriber: Libp2pNetwork, publisher: Libp2pNetwork, topic: str = "weather") -> None:
    await publisher.connect(subscriber.addresses[0])
    await publisher.wait_for_peers(topic, timeout=10)


async def take(subscription: Subscription, count: int) -> list[bytes]:
    return [(await subscription.get(timeout=10)).data for _ in range(count)]


async def until(condition: Callable[[], Any]) -> None:
    async with asyncio.timeout(10):
        while not condition():
            await asyncio.sleep(0.005)


# ---- publish and subscribe


@pytest.mark.parametrize("name", ["gossipsub", "floodsub"])
async def test_two_networks_exchange_messages(name: str) -> None:
    async with nodes(name=name) as (left, right):
        ours, theirs = left.subscribe("weather"), right.subscribe("weather")
        assert await left.connect(right.addresses[0]) == right.id
        receipt = await left.publish("weather", b"rain", ready=10)
        assert receipt.peers == (right.id,)
        message = await theirs.get(timeout=10)
        assert (message.data, message.sender, message.network) == (b"rain", left.id, name)
        assert message.id == receipt.id
        assert (await ours.get(timeout=10)).received_from is None
        await right.publish("weather", b"sun", ready=10)
        assert await take(ours, 1) == [b"sun"]


async def test_it_works_over_ipv6() -> None:
    async with (
        rumormill.open("gossipsub", listen="/ip6/::1/tcp/0") as right,
        rumormill.open("gossipsub") as left,
    ):
        assert left.addresses == ()
        messages = right.subscribe("weather")
        await link(right, left)
        await left.publish("weather", b"rain")
        assert await take(messages, 1) == [b"rain"]


async def test_unsigned_messages_are_exchanged() -> None:
    async with nodes(signing="StrictNoSign") as (left, right):
        messages = right.subscribe("weather")
        await link(right, left)
        await left.publish("weather", b"rain")
        message = await messages.get(timeout=10)
        assert (message.data, message.sender) == (b"rain", None)
        assert not left.capabilities.signed


async def test_a_message_on_several_topics_is_delivered_on_each() -> None:
    async with nodes(multi_topic=True) as (left, right):
        weather, sport = right.subscribe("weather"), right.subscribe("sport")
        await link(right, left)
        await left.wait_for_peers("sport", timeout=10)
        await left.publish(["weather", "sport"], b"rain stops play")
        assert await take(weather, 1) == await take(sport, 1) == [b"rain stops play"]


async def test_several_subscriptions_of_a_topic_each_get_every_message() -> None:
    async with nodes() as (left, right):
        first, second = right.subscribe("weather"), right.subscribe("weather")
        await link(right, left)
        await left.publish("weather", b"1")
        assert await take(first, 1) == await take(second, 1) == [b"1"]
        first.close()
        await left.publish("weather", b"2")
        assert await take(second, 1) == [b"2"]
        assert right.topics == ("weather",)
        second.close()
        assert right.topics == ()
        await until(lambda: left.subscribers("weather") == ())


async def test_thousands_of_messages_arrive_in_order_and_none_is_lost() -> None:
    async with nodes() as (left, right):
        messages = right.subscribe("weather")
        await link(right, left)
        count = 5000

        async def publish() -> None:
            for number in range(count):
                receipt = await left.publish("weather", b"%d" % number, timeout=60)
                assert receipt.peers and not receipt.dropped

        publishing = asyncio.ensure_future(publish())
        assert await take(messages, count) == [b"%d" % number for number in range(count)]
        await publishing
        assert right.counters["delivered"] == count


async def test_a_topic_is_an_object_too() -> None:
    async with nodes() as (left, right):
        weather = left.topic("weather")
        async with right.topic("weather").subscribe() as messages:
            await link(right, left)
            await weather.publish(b"rain", ready=10)
            assert await take(messages, 1) == [b"rain"]
            assert weather.peers == (right.id,)


async def test_a_mesh_is_made_of_those_who_listen() -> None:
    async with nodes(3) as (first, second, third):
        held = [each.subscribe("weather") for each in (first, second)]
        await first.connect(second.addresses[0])
        await first.connect(third.addresses[0])
        await until(lambda: first.mesh("weather") == (second.id,))
        assert set(first.peers) == {second.id, third.id}
        assert first.subscribers("weather") == (second.id,)
        assert len(held) == 2


# ---- waiting


async def test_publishing_to_nobody_says_so_in_the_receipt() -> None:
    async with nodes(1) as (alone,):
        receipt = await alone.publish("weather", b"rain")
        assert not receipt


async def test_ready_waits_for_the_first_subscriber() -> None:
    async with nodes() as (left, right):
        publishing = asyncio.ensure_future(left.publish("weather", b"rain", ready=10))
        await right.connect(left.addresses[0])
        await asyncio.sleep(0.02)
        assert not publishing.done()
        messages = right.subscribe("weather")
        assert await take(messages, 1) == [b"rain"]
        assert (await publishing).peers == (right.id,)


async def test_ready_gives_up_in_words() -> None:
    async with nodes(1) as (alone,):
        with pytest.raises(rumormill.NotReadyError) as caught:
            await alone.publish("weather", b"rain", ready=0.05)
        assert str(caught.value) == "nobody listened to 'weather' within 0.05 s"
        with pytest.raises(rumormill.NotReadyError) as caught:
            await alone.wait_for_peers("weather", 2, timeout=0.05)
        assert str(caught.value) == "0 of 2 peers listened to 'weather' within 0.05 s"


async def test_a_publisher_that_is_cancelled_while_it_waits_has_published_nothing() -> None:
    async with nodes() as (left, right):
        waiting = asyncio.ensure_future(left.publish("weather", b"never", ready=30))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        messages = right.subscribe("weather")
        await link(right, left)
        await left.publish("weather", b"later")
        assert await take(messages, 1) == [b"later"]
        assert left.counters["published"] == 1


async def test_a_thousand_who_wait_cost_an_event_no_more_than_one() -> None:
    async with nodes() as (left, right):
        before = left.sizes()
        publishing = [
            asyncio.ensure_future(left.publish("weather", b"%d" % number, ready=30))
            for number in range(1000)
        ]
        await asyncio.sleep(0)
        assert left.sizes()["waiting"] == 1000
        assert left.sizes()["trace_listeners"] == before["trace_listeners"] + 1
        messages = right.subscribe("weather")
        await left.connect(right.addresses[0])
        assert all(await asyncio.gather(*publishing))
        assert len(await take(messages, 1000)) == 1000
        left_behind = left.sizes()
        assert left_behind["waiting"] == before["waiting"]
        assert left_behind["trace_listeners"] == before["trace_listeners"]


# ---- slow readers


async def test_wait_holds_the_publisher_back_and_loses_nothing() -> None:
    async with nodes(queue_messages=64) as (left, right):
        messages = right.subscribe("weather", buffer=32)
        await link(right, left)
        count, size = 400, 8192
        publishing = asyncio.ensure_future(flood(left, count, size))
        await until(lambda: right.counters["source_paused"])
        await asyncio.sleep(0.1)
        assert not publishing.done()  # windows and queues are full: the publisher waits
        got = await take(messages, count)
        assert [data[:4] for data in got] == [n.to_bytes(4, "big") for n in range(count)]
        assert await publishing == 0
        assert (messages.dropped, right.counters["dropped"]) == (0, 0)
        assert right.counters["source_resumed"] >= 1


async def flood(network: Libp2pNetwork, count: int, size: int, timeout: float = 60) -> int:
    """Publish; returns how many messages were dropped on the way out."""
    dropped = 0
    for number in range(count):
        data = number.to_bytes(4, "big") + bytes(size - 4)
        receipt = await network.publish("weather", data, timeout=timeout)
        dropped += len(receipt.dropped)
    return dropped


@pytest.mark.parametrize(("when_full", "kept"), [("drop_oldest", 16), ("drop_newest", 0)])
async def test_dropping_keeps_the_network_going_and_counts(when_full: Any, kept: int) -> None:
    async with nodes() as (left, right):
        messages = right.subscribe("weather", buffer=4, when_full=when_full)
        await link(right, left)
        assert await flood(left, 20, 64) == 0
        await until(lambda: right.counters["delivered"] == 20)
        got = await take(messages, 4)
        assert [data[:4] for data in got] == [n.to_bytes(4, "big") for n in range(kept, kept + 4)]
        assert messages.dropped == right.counters["dropped.subscription_full"] == 16
        assert right.counters["source_paused"] == 0


async def test_a_full_queue_is_told_in_the_receipt_after_the_timeout() -> None:
    async with nodes(queue_messages=8) as (left, right):
        messages = right.subscribe("weather", buffer=1)
        await link(right, left)
        dropped = 0
        async with asyncio.timeout(30):
            while not dropped:
                dropped = await flood(left, 50, 16384, timeout=0.02)
        assert left.counters["dropped.queue_full"] == dropped
        assert messages.dropped == 0


# ---- validators


async def test_a_validator_decides_what_is_passed_on() -> None:
    def judge(message: Message) -> rumormill.Validation:
        if message.data == b"bad":
            return rumormill.Reject
        return rumormill.Ignore if message.data == b"dull" else rumormill.Accept

    async with nodes() as (left, right):
        right.add_validator("weather", judge)
        messages = right.subscribe("weather")
        await link(right, left)
        for data in (b"bad", b"dull", b"good"):
            await left.publish("weather", data)
        assert await take(messages, 1) == [b"good"]
        assert right.counters["rejected.validator"] == 1
        assert right.counters["ignored.validator"] == 1
        right.remove_validator("weather")
        await left.publish("weather", b"bad again")
        assert await take(messages, 1) == [b"bad again"]


async def test_an_async_validator_sees_who_wrote_the_message() -> None:
    seen: list[Message] = []

    async def judge(message: Message) -> bool:
        await asyncio.sleep(0)
        seen.append(message)
        return True

    async with nodes() as (left, right):
        right.add_validator("weather", judge)
        messages = right.subscribe("weather")
        await link(right, left)
        receipt = await left.publish("weather", b"rain")
        delivered = await messages.get(timeout=10)
        assert (seen[0].sender, seen[0].id) == (left.id, receipt.id)
        assert seen[0].received_from == left.id
        assert seen[0].fields == delivered.fields


async def test_a_validator_that_is_slow_or_broken_is_counted_and_never_stops_the_node() -> None:
    async def judge(message: Message) -> bool:
        if message.data == b"slow":
            await asyncio.Event().wait()
        if message.data == b"broken":
            raise ZeroDivisionError
        return True

    async with nodes() as (left, right):
        right.add_validator("weather", judge, timeout=0.05)
        messages = right.subscribe("weather")
        await link(right, left)
        for data in (b"slow", b"broken", b"good"):
            await left.publish("weather", data)
        assert await take(messages, 1) == [b"good"]
        await until(lambda: right.counters["ignored"] == 2)
        assert right.counters["ignored.validator_timeout"] == 1
        assert right.counters["ignored.validator_failed"] == 1


async def test_past_the_concurrency_messages_are_dropped_and_counted() -> None:
    gate = asyncio.Event()

    async def judge(message: Message) -> bool:
        return await gate.wait()

    async with nodes() as (left, right):
        right.add_validator("weather", judge, concurrency=2)
        messages = right.subscribe("weather")
        await link(right, left)
        for number in range(5):
            await left.publish("weather", b"%d" % number)
        await until(lambda: right.counters["dropped.validator_overloaded"] == 3)
        gate.set()
        assert len(await take(messages, 2)) == 2


async def test_our_own_validator_refuses_our_own_message() -> None:
    async with nodes(1) as (alone,):
        alone.add_validator("weather", lambda message: len(message.data) < 5)
        with pytest.raises(rumormill.RejectedError, match="'weather' rejected the message"):
            await alone.publish("weather", b"too long")
        await alone.publish("weather", b"ok")
        assert alone.counters["published"] == 1


async def test_publishing_ends_with_the_network_though_our_validator_is_being_asked() -> None:
    asked = asyncio.Event()

    async def judge(message: Message) -> bool:
        asked.set()
        return await asyncio.Event().wait()

    async with nodes(1) as (alone,):
        alone.add_validator("weather", judge)
        publishing = asyncio.ensure_future(alone.publish("weather", b"rain"))
        await asked.wait()
        await alone.close()
        with pytest.raises(rumormill.ClosedError):
            await publishing


async def test_validators_that_raise_cancelled_hold_no_peer_for_good() -> None:
    async def judge(message: Message) -> bool:
        if message.data.startswith(b"bad"):
            raise asyncio.CancelledError
        return True

    async with nodes() as (left, right):
        right.add_validator("weather", judge)
        messages = right.subscribe("weather")
        await link(right, left)
        for number in range(600):  # more than a peer may have under check
            await left.publish("weather", b"bad %d" % number, timeout=30)
        await left.publish("weather", b"good", timeout=30)
        assert await take(messages, 1) == [b"good"]
        assert right.counters["ignored.validator_failed"] == 600


# ---- connections


async def test_a_peer_that_cannot_be_reached_is_one_sentence() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    address = f"/ip4/127.0.0.1/tcp/{port}"
    async with nodes(1) as (alone,):
        with pytest.raises(rumormill.ConnectError) as caught:
            await alone.connect(address)
        assert str(caught.value) == f"could not connect to {address}: connection refused"


async def test_another_peer_than_the_one_asked_for_is_refused() -> None:
    async with nodes(3) as (left, right, other):
        address = right.addresses[0].replace(right.id, other.id)
        with pytest.raises(rumormill.ConnectError, match="could not connect to"):
            await left.connect(address)
        assert left.peers == ()


async def test_what_is_no_address_is_refused() -> None:
    async with nodes(1) as (alone,):
        with pytest.raises(rumormill.LocalProtocolError, match="cannot use the address"):
            await alone.connect("localhost:4001")


async def test_connecting_twice_at_once_gives_the_same_peer() -> None:
    async with nodes() as (left, right):
        address = right.addresses[0]
        peers = await asyncio.gather(left.connect(address), left.connect(address))
        assert list(peers) == [right.id, right.id]


async def test_a_kept_peer_is_found_again_after_its_restart(tmp_path: Path) -> None:
    key_file = tmp_path / "node.key"
    async with nodes(1) as (left,):
        first = await rumormill.open("gossipsub", listen=LOOPBACK, key_file=key_file, **QUICK)
        address = first.addresses[0]
        await left.connect(address, keep=True)
        await first.close()
        await until(lambda: left.peers == ())
        listen = address.partition("/p2p/")[0]
        async with rumormill.open("gossipsub", listen=listen, key_file=key_file, **QUICK) as second:
            assert second.id == first.id
            messages = second.subscribe("weather")
            await left.publish("weather", b"welcome back", ready=10)
            assert await take(messages, 1) == [b"welcome back"]


async def test_bootstrap_peers_are_dialed_in_the_background() -> None:
    async with (
        nodes(1) as (right,),
        rumormill.open("gossipsub", bootstrap=[right.addresses[0]], **QUICK) as left,
    ):
        await until(lambda: left.peers == (right.id,))
        await right.close()
        await until(lambda: left.counters["dial_scheduled"] >= 2)  # and again when it is lost


async def test_connections_past_the_limit_make_room_for_each_other_and_are_counted() -> None:
    async with nodes(1, max_connections=2) as (right,), nodes(3) as others:
        outcomes = await asyncio.gather(*(each.connect(right.addresses[0]) for each in others))
        assert outcomes == [right.id] * 3
        assert right.counters["connection_evicted.too_many_connections"] == 1
        assert len(right.peers) == 2


async def test_a_stranger_who_talks_nonsense_costs_a_connection_only() -> None:
    async with nodes() as (left, right):
        host, port = "127.0.0.1", int(right.addresses[0].split("/")[4])
        reader, writer = await asyncio.open_connection(host, port)
        writer.write(b"GET / HTTP/1.1\r\n\r\n" * 100)
        async with asyncio.timeout(10):
            await reader.read()
        writer.close()
        await until(lambda: right.counters["connection_failed"] == 1)
        assert await left.connect(right.addresses[0]) == right.id


# ---- events


async def test_listeners_see_what_happens_until_they_stop() -> None:
    events: list[TraceEvent] = []
    async with nodes() as (left, right):
        stop = right.on_trace(events.append)
        messages = right.subscribe("weather")
        await link(right, left)
        await left.publish("weather", b"rain")
        await take(messages, 1)
        stop()
        seen = len(events)
        await left.publish("weather", b"sun")
        await take(messages, 1)
        assert len(events) == seen
    kinds = [event.event for event in events]
    assert kinds.index("subscribed") < kinds.index("peer_joined") < kinds.index("delivered")
    assert {event.node for event in events} == {right.id}


@pytest.mark.parametrize("event", ["peer_subscribed", "published"])
async def test_a_message_published_from_within_an_event_is_published_once(event: str) -> None:
    async with nodes() as (left, right):
        messages = right.subscribe("weather")
        outcomes: list[Any] = []

        def answer(seen: TraceEvent) -> None:
            if seen.event == event and not outcomes:
                outcomes.append(run_now(left.publish("weather", b"at once")))

        left.on_trace(answer)
        await link(right, left)
        await until(lambda: left.subscribers("weather"))
        receipt = await left.publish("weather", b"later")
        got = await take(messages, 2)
        assert sorted(got) == [b"at once", b"later"]
        assert outcomes[0].peers == receipt.peers == (right.id,)
        assert outcomes[0].id != receipt.id


def run_now(publishing: Any) -> Any:
    """Run what need not wait to its end, here and now, as an eager task does."""
    try:
        publishing.send(None)
    except StopIteration as end:
        return end.value
    raise AssertionError("it had to wait")


# ---- open and close


def open_sockets() -> set[str]:
    """Our TCP sockets, by the ports at both ends."""
    return {str(each[3:5]) for each in psutil.Process().net_connections("tcp")}


async def test_closing_leaves_no_task_no_thread_and_no_socket() -> None:
    tasks, sockets = asyncio.all_tasks(), open_sockets()
    async with nodes(3) as (first, second, third):
        messages = first.subscribe("weather")
        second.subscribe("weather")
        await link(first, second)
        await link(first, third)
        await flood(third, 100, 64)
        await take(messages, 100)
        assert len(open_sockets() - sockets) == 3 + 2 * 2
    await asyncio.sleep(0)
    assert asyncio.all_tasks() == tasks
    assert open_sockets() == sockets
    assert not [each for each in threading.enumerate() if each.name.startswith("rumormill")]


async def test_what_was_published_leaves_before_the_close() -> None:
    async with nodes() as (left, right):
        messages = right.subscribe("weather")
        await link(right, left)
        await flood(left, 150, 1024)
        await left.close()
        assert len(await take(messages, 150)) == 150
        await until(lambda: right.peers == ())
        assert right.counters["connection_closed.closed_by_peer"] == 1  # we said goodbye


async def test_closing_ends_subscriptions_and_everything_else_is_an_error() -> None:
    async with nodes(1) as (alone,):
        messages = alone.subscribe("weather")
        reading = asyncio.ensure_future(messages.get())
        waiting = asyncio.ensure_future(alone.wait_for_peers("weather"))
        await asyncio.sleep(0)
        await asyncio.gather(alone.close(), alone.close())
        for pending in (reading, waiting):
            with pytest.raises(rumormill.ClosedError):
                await pending
        with pytest.raises(rumormill.ClosedError, match="the network gossipsub is closed"):
            await alone.publish("weather", b"rain")
        with pytest.raises(rumormill.ClosedError):
            alone.subscribe("weather")
        with pytest.raises(rumormill.ClosedError):
            await alone.connect(LOOPBACK)


async def test_closing_ends_a_dial_that_is_under_way() -> None:
    async with nodes(1) as (alone,):
        with socket.create_server(("127.0.0.1", 0)) as silent:
            address = f"/ip4/127.0.0.1/tcp/{silent.getsockname()[1]}"
            dialing = asyncio.ensure_future(alone.connect(address))
            await asyncio.sleep(0.02)
            await alone.close()
            with pytest.raises(rumormill.ConnectError, match="could not connect to"):
                await dialing


async def test_a_network_that_cannot_listen_leaves_nothing_behind() -> None:
    async with nodes(1) as (right,):
        taken = right.addresses[0].partition("/p2p/")[0]
        tasks = asyncio.all_tasks()
        with pytest.raises(rumormill.ConfigError, match="address already in use"):
            await rumormill.open("gossipsub", listen=[LOOPBACK, taken])
        assert asyncio.all_tasks() == tasks


async def test_an_opening_is_used_once() -> None:
    opening = rumormill.open("gossipsub")
    network = await opening
    with pytest.raises(rumormill.LocalProtocolError, match="opened before"):
        await opening
    await network.close()


def test_wrong_settings_are_told_before_anything_happens() -> None:
    with pytest.raises(rumormill.ConfigError, match="D_lo: there is no such key"):
        rumormill.open("gossipsub", D_lo=3)
    with pytest.raises(rumormill.ConfigError, match="network: must be one of"):
        rumormill.open("carrier-pigeon")


async def test_what_is_no_message_or_topic_is_refused() -> None:
    async with nodes(1) as (alone,):
        with pytest.raises(rumormill.LocalProtocolError, match="bytes, not str"):
            await alone.publish("weather", "rain")
        with pytest.raises(rumormill.LocalProtocolError, match="a topic is a text"):
            alone.subscribe("")
        with pytest.raises(rumormill.MessageTooLargeError):
            await alone.publish("weather", bytes(alone.capabilities.largest_message + 1))
        await alone.publish("weather", bytearray(b"rain"))


async def test_a_key_file_keeps_the_identity(tmp_path: Path) -> None:
    ids = set()
    for _ in range(2):
        async with rumormill.open("floodsub", key_file=tmp_path / "node.key") as network:
            ids.add(network.id)
    assert len(ids) == 1


async def test_closing_waits_for_what_is_queued() -> None:
    async with nodes(close_timeout=20) as (left, right):
        messages = right.subscribe("weather", buffer=1)
        await link(right, left)
        await flood(left, 500, 4096)  # windows and connections take only a part of it
        closing = asyncio.ensure_future(left.close())
        await asyncio.sleep(0.1)
        assert not closing.done()
        assert len(await take(messages, 500)) == 500
        await closing


async def test_closing_does_not_wait_for_ever() -> None:
    async with nodes(close_timeout=0.1) as (left, right):
        messages = right.subscribe("weather", buffer=1)
        await link(right, left)
        await flood(left, 500, 4096)  # more than the peer takes, less than makes us wait
        async with asyncio.timeout(30):
            await left.close()
        assert messages.pending < 500


async def test_closing_waits_for_a_peer_that_is_slow_to_grant_room() -> None:
    # With such a mark pubsub hands over everything, and all that waits is in the connection.
    async with nodes(send_high_water=16 << 20, close_timeout=60) as (left, right):
        messages = right.subscribe("weather", buffer=1)
        await link(right, left)
        # More than the window and all that may be under check before the reader counts as full.
        await flood(left, 2000, 4096)
        await asyncio.sleep(0.1)
        closing = asyncio.ensure_future(left.close())
        await asyncio.sleep(0.1)
        assert not closing.done()
        assert len(await take(messages, 2000)) == 2000
        await closing


async def test_every_last_action_is_done_though_one_of_them_fails() -> None:
    done: list[str] = []

    def action(name: str, error: BaseException | None = None) -> Callable[[], Any]:
        async def act() -> None:
            done.append(name)
            if error is not None:
                raise error

        return act

    network = await rumormill.open("gossipsub")
    network.at_close(action("first"))
    network.at_close(action("second", asyncio.CancelledError()))
    network.at_close(action("third", OSError("the disk is full")))
    network.at_close(action("fourth"))
    with pytest.raises(OSError, match="the disk is full"):
        await network.close()
    assert done == ["fourth", "third", "second", "first"]
    assert network.counters["close_failed"] == 2


async def test_closing_takes_no_longer_than_it_may(monkeypatch: pytest.MonkeyPatch) -> None:
    """A peer that reads nothing: each step of the close gets what is left of the time."""
    given: list[tuple[float, float]] = []
    loop = asyncio.get_running_loop()
    close = Tcp.close

    async def observed(tcp: Tcp, timeout: float | None = None) -> None:
        assert timeout is not None
        given.append((loop.time(), timeout))
        await close(tcp, timeout)

    async with nodes(close_timeout=2.0) as (left, right):
        messages = right.subscribe("weather", buffer=1)
        await link(right, left)
        await flood(left, 500, 4096)
        monkeypatch.setattr(Tcp, "close", observed)
        began = loop.time()
        await left.close()
        monkeypatch.undo()
        (when, timeout) = given[0]
        assert when - began >= 1.0  # it did wait for the peer
        assert timeout <= max(0.0, began + 2.0 - when) + 0.01
        assert messages.pending < 500

"""Whole bep50 nodes on loopback, in one process: every part is the real one."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

import rumormill
from rumormill import Bep50Network, CasMismatch, Message, Subscription, TraceEvent
from rumormill.bep50.live.key_file import create_item_key

LOOPBACK = "127.0.0.1:0"
# Short times, so that nothing here waits for a default made for the world.
QUICK: dict[str, Any] = {"query_timeout": 0.3, "join_retry": 0.05}


@pytest.fixture
def key_file(tmp_path: Path) -> Path:
    create_item_key(tmp_path / "key.json")
    return tmp_path / "key.json"


@pytest.fixture
def topic(key_file: Path) -> str:
    from rumormill.bep50.live.key_file import load_item_key

    return f"{load_item_key(key_file).public_key.hex()}:weather"


@asynccontextmanager
async def node(
    listen: str | list[str] | None = LOOPBACK, **settings: Any
) -> AsyncIterator[Bep50Network]:
    async with rumormill.open("bep50", listen=listen, **{**QUICK, **settings}) as network:
        yield network


@asynccontextmanager
async def pair(key_file: Path, topic: str) -> AsyncIterator[tuple[Bep50Network, Bep50Network]]:
    """Two nodes that know each other on the topic; the first can publish."""
    async with node(key_file=key_file) as left, node() as right:
        right.join(topic)
        left.join(topic)
        await left.connect(right.addresses[0])
        await right.wait_for_peers(topic, timeout=10)
        yield left, right


async def take(subscription: Subscription, count: int = 1) -> list[bytes]:
    return [(await subscription.get(timeout=10)).data for _ in range(count)]


async def until(condition: Callable[[], Any]) -> None:
    async with asyncio.timeout(10):
        while not condition():
            await asyncio.sleep(0.005)


def has(network: Bep50Network, topic: str, data: bytes) -> bool:
    """Whether it is the newest value that the node knows."""
    found = network.latest(topic)
    return found is not None and found.data == data


# ---- publish and subscribe


async def test_a_value_is_pushed_with_its_number_and_its_author(key_file: Path, topic: str) -> None:
    async with pair(key_file, topic) as (left, right):
        messages = right.subscribe(topic)
        receipt = await left.publish(topic, b"rain")
        assert receipt.reached == right.addresses
        assert receipt.fields == {"seq": 1}
        message = await messages.get(timeout=10)
        assert (message.topic, message.data, message.network) == (topic, b"rain", "bep50")
        assert message.sender == topic.partition(":")[0]
        assert message.id == receipt.id
        assert message.fields == {"seq": 1}
        assert message.received_from == left.addresses[0]
        assert (await left.publish(topic, b"sun")).fields == {"seq": 2}
        assert await take(messages) == [b"sun"]


async def test_it_works_over_ipv6_and_over_both_at_once(key_file: Path, topic: str) -> None:
    async with (
        node([LOOPBACK, "[::1]:0"], key_file=key_file) as both,
        node("[::1]:0") as six,
        node() as four,
    ):
        subscriptions = [each.subscribe(topic) for each in (six, four)]
        both.join(topic)
        for each in (six, four):
            await both.connect(each.addresses[0])
        await both.publish(topic, b"rain")
        for subscription in subscriptions:
            assert await take(subscription) == [b"rain"]


async def test_a_value_reaches_those_whom_the_publisher_does_not_know(
    key_file: Path, topic: str
) -> None:
    async with node() as hub:
        hub.join(topic)
        async with (
            node(bootstrap=hub.addresses) as far,
            node(None, bootstrap=hub.addresses, key_file=key_file, read_only=True) as publisher,
        ):
            messages = far.subscribe(topic)
            await hub.wait_for_peers(topic, timeout=10)
            await publisher.publish(topic, b"over the hub", ready=10)
            assert await take(messages) == [b"over the hub"]
            assert publisher.addresses == ()
            assert hub.subscribers(topic) == far.addresses  # who only asks is in nobody's table


async def test_who_comes_late_gets_the_latest_value(key_file: Path, topic: str) -> None:
    async with pair(key_file, topic) as (left, right):
        await left.publish(topic, b"old")
        await left.publish(topic, b"new")
        await until(lambda: has(right, topic, b"new"))
        async with node(bootstrap=right.addresses) as late:
            assert await take(late.subscribe(topic)) == [b"new"]


async def test_every_subscription_begins_with_the_latest_value(key_file: Path, topic: str) -> None:
    async with pair(key_file, topic) as (left, right):
        first = right.subscribe(topic)
        await left.publish(topic, b"rain")
        assert await take(first) == [b"rain"]
        assert await take(right.subscribe(topic)) == [b"rain"]
        first.close()
        assert await take(right.topic(topic).subscribe()) == [b"rain"]
        await left.publish(topic, b"sun")
        latest = right.latest(topic)
        await until(lambda: has(right, topic, b"sun"))
        assert latest is not None
        assert right.counters["delivered"] == 2  # each value is delivered to the node once


async def test_our_own_value_is_delivered_to_our_own_subscription(
    key_file: Path, topic: str
) -> None:
    async with node(key_file=key_file) as alone:
        messages = alone.subscribe(topic)
        receipt = await alone.publish(topic, b"rain")
        assert not receipt
        assert (await messages.get(timeout=10)).received_from is None


async def test_any_spelling_of_a_topic_is_the_topic(key_file: Path, topic: str) -> None:
    key, _, salt = topic.partition(":")
    shouted = f"{key.upper()}:{salt}"
    magnet = f"magnet:?xs=urn:btpk:{key}&s={salt.encode().hex()}"
    async with pair(key_file, topic) as (left, right):
        messages = right.subscribe(shouted)
        await left.publish(magnet, b"rain")
        message = await messages.get(timeout=10)
        assert message.topic == topic
        found = right.latest(magnet)
        assert found is not None and found.data == b"rain"
        assert right.subscribers(shouted) == left.addresses


async def test_values_that_are_no_strings_come_bencoded(key_file: Path, topic: str) -> None:
    async with pair(key_file, topic) as (left, right):
        messages = right.subscribe(topic)
        await left.publish_value(topic, {"level": [1, 2]})
        message = await messages.get(timeout=10)
        assert message.data == b"d5:levelli1ei2eee"
        assert message.fields == {"seq": 1, "bencoded": True}
        await left.publish_torrent(topic, "ab" * 20)
        message = await messages.get(timeout=10)
        assert message.fields == {"seq": 2, "bencoded": True, "info_hash": "ab" * 20}
        await left.publish_value(topic, "text")
        assert await take(messages) == [b"text"]


async def test_who_takes_part_in_a_topic_is_told(key_file: Path, topic: str) -> None:
    async with pair(key_file, topic) as (left, right), left.topic_events(topic) as events:
        assert await events.get(timeout=10) == rumormill.PeerJoinedTopic(topic, right.addresses[0])


async def test_several_values_are_published_one_after_the_other(key_file: Path, topic: str) -> None:
    async with pair(key_file, topic) as (left, _):
        receipts = await left.publish_many(topic, [b"rain", b"sun"], ready=10)
        first, second = [each.fields["seq"] for each in receipts]
        assert second == first + 1
        newest = left.latest(topic)
        assert newest is not None and newest.data == b"sun"


async def test_the_network_says_what_it_promises(key_file: Path, topic: str) -> None:
    async with pair(key_file, topic) as (left, right):
        promises = left.capabilities
        assert not promises.every_message
        assert promises.acknowledged and promises.signed and promises.all_subscribers
        messages = right.subscribe(topic)
        await left.publish(topic, bytes(promises.largest_message))
        assert len((await messages.get(timeout=10)).data) == promises.largest_message
        with pytest.raises(rumormill.MessageTooLargeError, match=r"996 bytes, .* at most 995"):
            await left.publish(topic, bytes(promises.largest_message + 1))
        with pytest.raises(rumormill.MessageTooLargeError):
            await left.publish_value(topic, [bytes(999)])


# ---- compare and swap


async def test_a_publication_can_say_what_it_replaces(key_file: Path, topic: str) -> None:
    async with pair(key_file, topic) as (left, right):
        with pytest.raises(CasMismatch, match="has seq 6, but there is none"):
            await left.publish(topic, b"rain", cas=6)
        await left.publish(topic, b"rain")
        assert (await left.publish(topic, b"sun", cas=1)).fields == {"seq": 2}
        with pytest.raises(CasMismatch) as caught:
            await left.publish(topic, b"snow", cas=1)
        assert (caught.value.expected, caught.value.found) == (1, 2)
        assert isinstance(caught.value, rumormill.LocalProtocolError)
        await until(lambda: has(right, topic, b"sun"))


async def test_a_new_publisher_goes_on_where_the_last_one_stopped(
    key_file: Path, topic: str
) -> None:
    async with node() as hub:
        hub.join(topic)
        for number in (1, 2, 3):
            async with node(None, bootstrap=hub.addresses, key_file=key_file) as publisher:
                receipt = await publisher.publish(topic, b"%d" % number)
                assert receipt.fields == {"seq": number}
        found = hub.latest(topic)
        assert found is not None and found.data == b"3"


async def test_a_publisher_that_lags_behind_publishes_anew_above_the_newest(
    key_file: Path, topic: str
) -> None:
    async with pair(key_file, topic) as (left, right):
        # Who only asks hears of nothing by itself: it learns by being refused.
        async with node(None, key_file=key_file, read_only=True) as other:
            other.join(topic)
            await other.connect(right.addresses[0])
            await until(lambda: other.counters["joined"])
            for data in (b"one", b"two"):
                await left.publish(topic, data)
            await until(lambda: has(right, topic, b"two"))
            assert other.latest(topic) is None
            assert (await other.publish(topic, b"three")).fields == {"seq": 3}
            await until(lambda: has(left, topic, b"three"))
            for seq, newer in ((3, [b"four"]), (4, [b"five", b"six"])):
                for data in newer:
                    await left.publish(topic, data)
                await until(lambda: has(right, topic, newer[-1]))  # noqa: B023
                with pytest.raises(CasMismatch) as caught:
                    await other.publish(topic, b"too late", cas=seq)
                assert (caught.value.expected, caught.value.found) == (seq, seq + len(newer))
        found = right.latest(topic)
        assert found is not None and found.data == b"six"


async def test_of_values_published_at_once_the_last_one_stays(key_file: Path, topic: str) -> None:
    async with pair(key_file, topic) as (left, right):
        messages = right.subscribe(topic, buffer=100)
        receipts = await asyncio.gather(*(left.publish(topic, b"%d" % n) for n in range(50)))
        assert [receipt.fields["seq"] for receipt in receipts] == list(range(1, 51))
        assert all(receipt.reached == right.addresses for receipt in receipts)
        got = await take(messages)
        while got[-1] != b"49":
            got += await take(messages)
        assert [int(each) for each in got] == sorted({int(each) for each in got})
        right._udp.close()
        await asyncio.gather(*(left.publish(topic, b"%d" % n, timeout=0.2) for n in range(3)))
        found = left.latest(topic)
        assert found is not None and (found.data, found.fields) == (b"2", {"seq": 53})


# ---- who may publish


async def test_only_the_key_of_the_topic_can_publish(
    key_file: Path, topic: str, tmp_path: Path
) -> None:
    create_item_key(tmp_path / "other.json")
    async with node(key_file=tmp_path / "other.json") as wrong, node() as without:
        with pytest.raises(rumormill.LocalProtocolError, match=r"only its own key .* key_file has"):
            await wrong.publish(topic, b"rain")
        with pytest.raises(rumormill.LocalProtocolError, match="there is no key_file"):
            await without.publish(topic, b"rain")
        with pytest.raises(rumormill.LocalProtocolError, match="one topic at a time"):
            await wrong.publish([topic, topic], b"rain")
        with pytest.raises(rumormill.LocalProtocolError, match="bytes, not str"):
            await wrong.publish(topic, "rain")  # type: ignore[arg-type]
        with pytest.raises(rumormill.LocalProtocolError, match="cannot use the topic 'weather'"):
            wrong.subscribe("weather")


async def test_a_validator_has_a_say_in_what_is_kept(key_file: Path, topic: str) -> None:
    seen: list[Message] = []

    async def judge(message: Message) -> bool:
        seen.append(message)
        return message.data != b"bad"

    async with pair(key_file, topic) as (left, right):
        right.add_validator(topic.upper().replace(":WEATHER", ":weather"), judge)
        messages = right.subscribe(topic)
        await left.publish(topic, b"bad")
        receipt = await left.publish(topic, b"good")
        assert await take(messages) == [b"good"]
        assert [each.data for each in seen] == [b"bad", b"good"]
        assert (seen[1].id, seen[1].fields) == (receipt.id, {"seq": 2})
        right.remove_validator(topic)
        left.add_validator(topic, lambda message: message.data != b"bad")
        with pytest.raises(rumormill.RejectedError):
            await left.publish(topic, b"bad")


# ---- waiting


async def test_ready_waits_for_the_first_member(key_file: Path, topic: str) -> None:
    async with node(key_file=key_file) as left:
        publishing = asyncio.ensure_future(left.publish(topic, b"rain", ready=10))
        await asyncio.sleep(0.05)
        assert not publishing.done()
        async with node(bootstrap=left.addresses) as right:
            assert await take(right.subscribe(topic)) == [b"rain"]
            assert (await publishing).reached == right.addresses


async def test_ready_gives_up_in_words(key_file: Path, topic: str) -> None:
    async with node(key_file=key_file) as alone:
        with pytest.raises(rumormill.NotReadyError, match=r"nobody listened to .* within 0\.05 s"):
            await alone.publish(topic, b"rain", ready=0.05)


async def test_peers_that_are_gone_are_told_in_the_receipt(key_file: Path, topic: str) -> None:
    async with pair(key_file, topic) as (left, right):
        right._udp.close()  # as if its machine had lost its power
        receipt = await left.publish(topic, b"rain", timeout=10)
        assert not receipt.reached
        await until(lambda: left.subscribers(topic) == ())


async def test_subscriptions_that_are_not_read_lose_the_oldest(key_file: Path, topic: str) -> None:
    async with pair(key_file, topic) as (left, right):
        messages = right.subscribe(topic, buffer=2)
        for number in range(5):
            await left.publish(topic, b"%d" % number)
        await until(lambda: messages.dropped == 3)
        assert await take(messages, 2) == [b"3", b"4"]
        assert right.counters["dropped.subscription_full"] == 3
        with pytest.raises(rumormill.ConfigError, match="when_full: must be drop_oldest"):
            right.subscribe(topic, when_full="wait")


async def test_publishing_from_within_an_event_is_possible(key_file: Path, topic: str) -> None:
    async with pair(key_file, topic) as (left, right):
        publishing: list[asyncio.Future[Any]] = []

        def answer(event: TraceEvent) -> None:
            if event.event == "published" and not publishing:
                publishing.append(asyncio.ensure_future(left.publish(topic, b"second")))

        left.on_trace(answer)
        assert (await left.publish(topic, b"first")).reached == right.addresses
        assert (await publishing[0]).fields == {"seq": 2}


async def test_closing_tells_those_who_wait_for_a_publication_or_a_peer(
    key_file: Path, topic: str
) -> None:
    async with node(key_file=key_file) as alone:
        waiting = [
            asyncio.ensure_future(alone.publish(topic, b"rain", ready=60)),
            asyncio.ensure_future(alone.connect(f"127.0.0.1:{free_port()}")),
        ]
        await asyncio.sleep(0)
        await alone.close()
        for each in waiting:
            with pytest.raises(rumormill.ClosedError):
                await each


async def test_a_publication_that_is_cancelled_is_forgotten(key_file: Path, topic: str) -> None:
    async with node(key_file=key_file) as alone:
        publishing = asyncio.ensure_future(alone.publish(topic, b"rain", ready=60))
        await asyncio.sleep(0)
        publishing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await publishing
        assert alone._machine.sizes()["publications"] == 0
        assert len(alone._publications) == 0


async def test_no_effect_of_the_machine_is_left_undone(key_file: Path, topic: str) -> None:
    async with pair(key_file, topic) as (left, right):
        messages = right.subscribe(topic)
        await left.publish(topic, b"rain")
        await take(messages)
        await left.close()
        unhandled = [key for key in (*left.counters, *right.counters) if "unhandled" in key]
        assert unhandled == []


# ---- addresses


def free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


async def test_a_peer_that_does_not_answer_is_one_sentence(topic: str) -> None:
    address = f"127.0.0.1:{free_port()}"
    async with node() as alone:
        alone.join(topic)
        with pytest.raises(rumormill.ConnectError) as caught:
            await alone.connect(address)
        assert str(caught.value) == f"could not reach {address}: no answer"


async def test_a_peer_of_other_topics_is_one_sentence(topic: str) -> None:
    async with node() as left, node() as right:
        left.join(topic)
        right.join(topic.replace("weather", "sport"))
        with pytest.raises(rumormill.ConnectError, match="takes no part in the topic"):
            await left.connect(right.addresses[0])


async def test_one_topic_in_common_is_enough(topic: str) -> None:
    async with node() as left, node() as right:
        for each in ("sport", "weather", "news"):
            left.join(topic.replace("weather", each))
        right.join(topic)
        assert await left.connect(right.addresses[0]) == right.addresses[0]


async def test_an_address_that_is_known_before_the_topic_is_used_for_it(topic: str) -> None:
    async with node() as left, node() as right:
        right.join(topic)
        assert await left.connect(right.addresses[0]) == right.addresses[0]
        left.join(topic)
        assert await left.wait_for_peers(topic, timeout=10) == right.addresses


async def test_our_own_address_is_nobody(topic: str) -> None:
    async with node() as alone:
        alone.join(topic)
        with pytest.raises(rumormill.ConnectError, match="that is this node itself"):
            await alone.connect(alone.addresses[0])


async def test_what_is_no_address_is_refused(topic: str) -> None:
    async with node() as alone:
        with pytest.raises(rumormill.LocalProtocolError, match="cannot use the address"):
            await alone.connect("/ip4/127.0.0.1/tcp/1")
        with pytest.raises(rumormill.ConnectError, match="no socket of its IP version"):
            await alone.connect("[::1]:6881")
    with pytest.raises(rumormill.ConfigError, match="bootstrap: cannot use the address 'there'"):
        rumormill.open("bep50", bootstrap="there")
    with pytest.raises(rumormill.ConfigError, match="port 0"):
        await rumormill.open("bep50", bootstrap="127.0.0.1:0")


async def test_a_host_that_nobody_knows_is_looked_up_again(topic: str) -> None:
    async with node(bootstrap=["no-such-host.invalid:6881"]) as alone:
        await until(lambda: alone.counters["connection_failed.name_not_found"])


async def test_bootstrap_by_name_is_resolved_in_the_background(topic: str) -> None:
    async with node() as hub:
        hub.join(topic)
        port = hub.addresses[0].rpartition(":")[2]
        async with node(bootstrap=[f"localhost:{port}"]) as other:
            other.join(topic)
            assert await other.wait_for_peers(topic, timeout=10) == hub.addresses


@pytest.mark.parametrize("how", ["bootstrap", "connect"])
async def test_a_node_with_ipv4_alone_joins_by_a_name_that_is_ipv6_first(
    topic: str, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with node() as hub:
        hub.join(topic)
        port = int(hub.addresses[0].rpartition(":")[2])
        loop = asyncio.get_running_loop()
        real = loop.getaddrinfo

        async def dual_stack(host: str, *arguments: Any, **options: Any) -> Any:
            if host != "hub.example":
                return await real(host, *arguments, **options)
            places = (("::1", port, 0, 0), ("127.0.0.1", port))
            families = (socket.AF_INET6, socket.AF_INET)
            return [
                (family, socket.SOCK_DGRAM, 17, "", place)
                for family, place in zip(families, places, strict=True)
            ]

        monkeypatch.setattr(loop, "getaddrinfo", dual_stack, raising=False)
        address = f"hub.example:{port}"
        async with node(bootstrap=[address] if how == "bootstrap" else []) as other:
            other.join(topic)
            if how == "connect":
                assert await other.connect(address) == hub.addresses[0]
            assert await other.wait_for_peers(topic, timeout=10) == hub.addresses


async def test_bootstrap_that_comes_up_later_is_found(key_file: Path, topic: str) -> None:
    port = free_port()
    async with node(bootstrap=[f"127.0.0.1:{port}"]) as early:
        messages = early.subscribe(topic)
        await asyncio.sleep(0.05)
        async with node(f"127.0.0.1:{port}", key_file=key_file) as late:
            late.join(topic)
            await late.publish(topic, b"at last", ready=10)
            assert await take(messages) == [b"at last"]


async def test_noise_costs_nothing_but_a_count(key_file: Path, topic: str) -> None:
    async with pair(key_file, topic) as (left, right):
        host, port = right.addresses[0].split(":")
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
            for packet in (b"", b"GET / HTTP/1.1", b"d" * 4000, bytes(5000), b"d1:q4:pinge"):
                stranger.sendto(packet, (host, int(port)))
        await until(lambda: right.counters["dropped.datagram_too_large"] == 1)
        messages = right.subscribe(topic)
        await left.publish(topic, b"rain")
        assert await take(messages) == [b"rain"]


# ---- events


async def test_node_and_peer_have_the_same_notation_in_events(key_file: Path, topic: str) -> None:
    events: list[TraceEvent] = []
    async with pair(key_file, topic) as (left, right):
        right.on_trace(events.append)
        messages = right.subscribe(topic)
        await left.publish(topic, b"rain")
        await take(messages)
        right.emit("spool_resumed", kind="trace")
        assert (left.trace_name, right.trace_name) == (left.addresses[0], right.addresses[0])
        assert {event.node for event in events} == {right.trace_name}
        (delivered,) = [event for event in events if event.event == "delivered"]
        assert delivered.peer == left.trace_name
        assert len(bytes.fromhex(right.id)) == 20


async def test_a_node_that_listens_everywhere_is_called_what_its_first_contact_calls_it(
    topic: str, key_file: Path
) -> None:
    async with (
        node() as hub,
        node(None, bootstrap=hub.addresses, key_file=key_file) as with_bootstrap,
        node("0.0.0.0:0") as connecting,
    ):
        messages = hub.subscribe(topic)
        await with_bootstrap.publish(topic, b"rain", ready=10)
        message = await messages.get(timeout=10)
        assert message.received_from == with_bootstrap.trace_name
        connecting.join(topic)
        await connecting.connect(hub.addresses[0])
        assert connecting.trace_name in connecting.addresses
        assert connecting.trace_name.startswith("127.0.0.1:")
        await until(lambda: connecting.trace_name in hub.subscribers(topic))


async def test_what_is_delivered_is_kept_in_a_spool(
    key_file: Path, topic: str, tmp_path: Path
) -> None:
    from rumormill.capture.reading.local import LocalLog

    async with node(key_file=key_file) as left:
        left.join(topic)
        async with node(bootstrap=left.addresses, spool=tmp_path / "spool") as right:
            messages = right.subscribe(topic)
            await left.publish(topic, b"rain", ready=10)
            await take(messages)
            name = right.trace_name
    log = LocalLog(tmp_path / "spool", "messages")
    rows = [row for _, batch in log.read(*log.bounds()) for row in batch.to_pylist()]
    assert [(row["node"], row["network"], row["value"]) for row in rows] == [
        (name, "bep50", b"rain")
    ]


# ---- open and close


def open_sockets() -> set[str]:
    return {str(each[3:5]) for each in psutil.Process().net_connections("udp")}


async def test_closing_leaves_no_task_and_no_socket(key_file: Path, topic: str) -> None:
    tasks, sockets = asyncio.all_tasks(), open_sockets()
    async with pair(key_file, topic) as (left, right):
        messages = right.subscribe(topic)
        await left.publish(topic, b"rain")
        await take(messages)
        assert len(open_sockets() - sockets) == 2
    await asyncio.sleep(0)
    assert asyncio.all_tasks() == tasks
    assert open_sockets() == sockets


async def test_closing_tells_that_the_topics_were_left(key_file: Path, topic: str) -> None:
    async with pair(key_file, topic) as (left, right):
        right.subscribe(topic)
        await right.close()
        assert right.counters["unsubscribed"] == 1
        assert right.counters["pruned"] == 1
        with pytest.raises(rumormill.ClosedError):
            await right.publish(topic, b"rain")
        with pytest.raises(rumormill.ClosedError):
            right.join(topic)
        with pytest.raises(rumormill.ClosedError):
            await right.connect(left.addresses[0])


async def test_leaving_a_topic_that_was_only_listened_to_leaves_its_overlay(
    key_file: Path, topic: str
) -> None:
    async with node(key_file=key_file) as left, node(bootstrap=left.addresses) as right:
        left.join(topic)
        messages = right.subscribe(topic)
        await right.wait_for_peers(topic, timeout=10)
        messages.close()
        assert right.subscribers(topic) == ()
        assert right.counters["unsubscribed"] == 1
        again = right.subscribe(topic)
        await left.publish(topic, b"rain", ready=10)
        assert await take(again) == [b"rain"]


async def test_a_publication_leaves_before_the_close(key_file: Path, topic: str) -> None:
    async with node() as hub:
        messages = hub.subscribe(topic)
        async with node(None, bootstrap=hub.addresses, key_file=key_file) as publisher:
            publishing = asyncio.ensure_future(publisher.publish(topic, b"x" * 900, ready=10))
            await publishing
        assert await take(messages) == [b"x" * 900]


async def test_an_address_that_is_taken_is_one_sentence_and_leaves_nothing(topic: str) -> None:
    async with node() as first:
        tasks, sockets = asyncio.all_tasks(), open_sockets()
        with pytest.raises(rumormill.ConfigError, match="address already in use"):
            await rumormill.open("bep50", listen=["[::1]:0", first.addresses[0]])
        assert (asyncio.all_tasks(), open_sockets()) == (tasks, sockets)


# ---- the state


async def test_a_node_comes_back_as_itself_with_its_neighbours_and_values(
    key_file: Path, topic: str, tmp_path: Path
) -> None:
    state = tmp_path / "node.state"
    async with node(key_file=key_file) as left:
        left.join(topic)
        async with node(bootstrap=left.addresses, state_file=state) as first:
            messages = first.subscribe(topic)
            await left.publish(topic, b"rain", ready=10)
            await take(messages)
            id = first.id
        await left.publish(topic, b"sun")
        async with node(state_file=state) as second:  # without bootstrap: it knows its neighbours
            assert second.id == id
            messages = second.subscribe(topic)
            got = await take(messages)
            assert got == [b"sun"] or [*got, *await take(messages)] == [b"rain", b"sun"]
            assert second.subscribers(topic) == left.addresses


async def test_a_node_that_comes_back_alone_has_the_latest_value_and_goes_on_from_it(
    key_file: Path, topic: str, tmp_path: Path
) -> None:
    state = tmp_path / "node.state"
    async with node(key_file=key_file, state_file=state) as alone:
        await alone.publish(topic, b"rain")
    async with node(key_file=key_file, state_file=state) as again:
        messages = again.subscribe(topic)
        assert (await again.publish(topic, b"sun")).fields == {"seq": 2}
        # What an earlier run delivered is known, but not delivered again.
        assert await take(messages) == [b"sun"]
    async with node(state_file=state) as third:
        third.join(topic)
        await until(lambda: has(third, topic, b"sun"))


async def test_the_state_is_written_though_something_else_fails_at_the_close(
    key_file: Path, topic: str, tmp_path: Path
) -> None:
    state = tmp_path / "node.state"
    network = await rumormill.open(
        "bep50", listen=LOOPBACK, key_file=key_file, state_file=state, **QUICK
    )

    async def fail() -> None:
        raise RuntimeError("a full disk")

    network.at_close(fail)
    await network.publish(topic, b"rain")
    with contextlib.suppress(RuntimeError):
        await network.close()
    assert b"4:rain" in state.read_bytes()


@pytest.mark.parametrize("content", [b"", b"{}", b"de", b"d2:id3:abce"])
async def test_a_file_that_is_no_state_is_named_and_left_alone(
    tmp_path: Path, content: bytes
) -> None:
    path = tmp_path / "precious"
    path.write_bytes(content)
    with pytest.raises(rumormill.ConfigError, match=r"state_file: .*precious is not the state"):
        await rumormill.open("bep50", listen=LOOPBACK, state_file=path)
    assert path.read_bytes() == content

"""Publishing and subscribing on real sockets: over TCP, Unix sockets and UDP."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path
from typing import Any

import pytest

import rumormill
from rumormill.capture.open import open_log
from rumormill.core.errors import (
    ClosedError,
    ConfigError,
    ConnectError,
    LocalProtocolError,
    MessageTooLargeError,
    NotReadyError,
    RejectedError,
)
from rumormill.core.message import Message
from rumormill.core.trace import TraceEvent
from rumormill.ndn.live.key_file import create_key
from tests.helpers.ndn.live_town import PATIENCE, TRANSPORTS, LiveTown, until
from tests.helpers.ports import own_port

over_each = pytest.mark.parametrize("transport", TRANSPORTS)


@over_each
async def test_a_message_goes_from_a_program_to_a_node(town: LiveTown, transport: str) -> None:
    node = await town.node(transport)
    messages = node.subscribe("/weather")
    program = await town.client(*node.addresses, prefix="/alice")
    receipt = await program.publish("/weather", b"rain at noon", ready=PATIENCE)
    assert (receipt.outcome, receipt.reached, receipt.topic) == (
        "delivered", ("subscriber",), "/weather",
    )  # fmt: skip
    message = await messages.get(PATIENCE)
    assert (message.data, message.sender, message.id) == (b"rain at noon", "/alice", receipt.id)
    assert (message.network, message.topic, message.fields["signed_by"]) == (
        "ndn", "/weather", None,
    )  # fmt: skip


@over_each
async def test_messages_go_between_programs_on_one_forwarder_in_order(
    town: LiveTown, transport: str
) -> None:
    node = await town.node(transport)
    subscriber = await town.client(*node.addresses)
    messages = subscriber.subscribe("/weather")
    await subscriber.wait_subscribed("/weather", PATIENCE)
    publisher = await town.client(*node.addresses)
    for number in range(50):
        receipt = await publisher.publish("/weather", b"%d" % number, timeout=PATIENCE)
        assert receipt.outcome == "delivered", receipt
    assert [(await messages.get(PATIENCE)).data for _ in range(50)] == [
        b"%d" % number for number in range(50)
    ]
    assert messages.pending == 0


async def test_one_node_serves_every_transport_at_once(town: LiveTown) -> None:
    node = await town.node(*TRANSPORTS)
    assert [each.partition(":")[0] for each in node.addresses] == ["tcp", "unix", "udp"]
    tcp, unix, udp = node.addresses
    subscriber = await town.client(udp)
    messages = subscriber.subscribe("/weather")
    await subscriber.wait_subscribed("/weather", PATIENCE)
    for number, address in enumerate((tcp, unix)):
        publisher = await town.client(address)
        receipt = await publisher.publish("/weather", b"%d" % number)
        assert receipt.outcome == "delivered"
    assert [(await messages.get(PATIENCE)).data for _ in range(2)] == [b"0", b"1"]


@over_each
async def test_a_message_finds_its_way_over_three_nodes(town: LiveTown, transport: str) -> None:
    first = await town.node(transport)
    middle = await town.node(transport, bootstrap=first.addresses[0])
    last = await town.node(transport, bootstrap=middle.addresses[0])
    messages = first.subscribe("/weather")
    receipt = await last.publish("/weather", b"rain", ready=PATIENCE)
    assert receipt.outcome == "delivered"
    assert (await messages.get(PATIENCE)).data == b"rain"
    await until(lambda: last.subscribers("/weather") and not first.subscribers("/weather"))
    assert await last.wait_for_peers("/weather", timeout=PATIENCE) == last.subscribers("/weather")


async def test_with_multicast_every_subscriber_gets_it_and_the_publisher_too(
    town: LiveTown,
) -> None:
    hub = await town.node(strategy="multicast", linger=0.1)
    spokes = [await town.node(bootstrap=hub.addresses[0], strategy="multicast") for _ in range(2)]
    program = await town.client(hub.addresses[0])
    subscriptions = [each.subscribe("/weather") for each in (hub, *spokes, program)]
    await program.wait_subscribed("/weather", PATIENCE)
    await until(lambda: len(hub.subscribers("/weather")) == 3)
    assert hub.capabilities.all_subscribers and not program.capabilities.all_subscribers
    assert (await hub.publish("/weather", b"rain")).outcome == "delivered"
    assert [(await each.get(PATIENCE)).data for each in subscriptions] == [b"rain"] * 4


async def test_where_all_are_to_get_it_the_last_message_can_be_fetched_before_its_publisher_is_gone(
    town: LiveTown,
) -> None:
    node = await town.node(strategy="multicast", linger=2.0)
    quick, slow = [await town.client(*node.addresses) for _ in range(2)]
    first, second = quick.subscribe("/weather"), slow.subscribe("/weather", buffer=1)
    for each in (quick, slow):
        await each.wait_subscribed("/weather", PATIENCE)
    await node.publish("/weather", b"rain")
    await until(lambda: second.full)
    assert (await node.publish("/weather", b"sun")).outcome == "delivered"
    closing = asyncio.create_task(node.close())
    await asyncio.sleep(0.05)
    assert [(await second.get(PATIENCE)).data for _ in range(2)] == [b"rain", b"sun"]
    assert first.pending == 2
    await closing


async def test_of_two_subscribers_one_gets_it_with_the_usual_strategy(town: LiveTown) -> None:
    node = await town.node()
    programs = [await town.client(*node.addresses) for _ in range(2)]
    subscriptions = [each.subscribe("/weather") for each in programs]
    for each in programs:
        await each.wait_subscribed("/weather", PATIENCE)
    for number in range(5):
        assert (await node.publish("/weather", b"%d" % number)).outcome == "delivered"
    await until(lambda: sum(each.pending for each in subscriptions) == 5)
    assert sorted(each.pending for each in subscriptions) == [0, 5]


# ---- what becomes of a message


async def test_who_publishes_to_nobody_is_told_at_once(town: LiveTown) -> None:
    node = await town.node()
    for network in (node, await town.client(*node.addresses)):
        receipt = await network.publish("/weather", b"rain", timeout=PATIENCE)
        assert (receipt.outcome, receipt.fields["reason"]) == ("no_subscriber", "no_route")
        assert not receipt


async def test_who_waits_for_a_subscriber_in_vain_is_told_with_the_receipt(town: LiveTown) -> None:
    node = await town.node()
    with pytest.raises(NotReadyError) as caught:
        await node.publish("/weather", b"rain", ready=0.05)
    assert str(caught.value) == "nobody listened to '/weather' within 0.05 s"
    assert caught.value.receipt is not None and caught.value.receipt.outcome == "no_subscriber"


async def test_a_message_waits_for_a_subscriber_that_comes_later(town: LiveTown) -> None:
    node = await town.node()
    publishing = asyncio.create_task(node.publish("/weather", b"rain", ready=PATIENCE))
    await until(lambda: node.counters["publication_ended"])
    subscriber = await town.client(*node.addresses)
    messages = subscriber.subscribe("/weather")
    assert (await publishing).outcome == "delivered"
    assert (await messages.get(PATIENCE)).data == b"rain"
    assert messages.pending == 0


async def test_a_program_without_a_forwarder_says_so(town: LiveTown) -> None:
    program = await town.client(f"tcp://127.0.0.1:{own_port()}", forwarder_patience=0.1)
    with pytest.raises(NotReadyError, match=r"^no forwarder|^the forwarder gave us no route"):
        await program.publish("/weather", b"rain", ready=0.2)
    program.subscribe("/weather")
    with pytest.raises(NotReadyError, match=r"nothing of /weather after 0\.3 s: .*refused"):
        await program.wait_subscribed("/weather", 0.3)


async def test_what_nobody_can_tell_in_time_is_unknown(town: LiveTown) -> None:
    node = await town.node()
    subscriber = await town.client(*node.addresses)
    subscriber.subscribe("/weather")
    await subscriber.wait_subscribed("/weather", PATIENCE)
    receipt = await node.publish("/weather", b"rain", timeout=0.0)
    assert (receipt.outcome, receipt.fields["reason"]) == ("unknown", "timeout")
    assert node.sizes()["publishing"] == node.sizes()["publications"] == 0


async def test_our_own_subscription_gets_what_nobody_else_takes(town: LiveTown) -> None:
    node = await town.node()
    for network in (node, await town.client(*node.addresses)):
        messages = network.subscribe("/news")
        # At once, without waiting for a route.
        receipt = await network.publish("/news", b"rain")
        assert (receipt.outcome, receipt.reached) == ("delivered", (network.id,))
        message = await messages.get(PATIENCE)
        assert (message.data, message.sender) == (b"rain", network.id)
        assert (message.id, messages.pending) == (receipt.id, 0)
        messages.close()
        await until(lambda: not node.subscribers("/news"))


async def test_others_come_before_our_own_subscription(town: LiveTown) -> None:
    node = await town.node()
    ours = node.subscribe("/weather")
    program = await town.client(*node.addresses)
    theirs = program.subscribe("/weather")
    await program.wait_subscribed("/weather", PATIENCE)
    assert (await node.publish("/weather", b"rain")).reached == ("subscriber",)
    assert (await theirs.get(PATIENCE)).data == b"rain"
    assert ours.pending == 0


@over_each
async def test_after_unsubscribing_the_route_is_gone(town: LiveTown, transport: str) -> None:
    node = await town.node(transport)
    subscriber, publisher = [await town.client(*node.addresses) for _ in range(2)]
    async with subscriber.subscribe("/weather"):
        await subscriber.wait_subscribed("/weather", PATIENCE)
        assert (await publisher.publish("/weather", b"rain")).outcome == "delivered"
    await until(lambda: not node.subscribers("/weather"))
    receipt = await publisher.publish("/weather", b"rain")
    assert (receipt.outcome, receipt.fields["reason"]) == ("no_subscriber", "no_route")
    await subscriber.close()


@over_each
async def test_who_ends_leaves_no_route_behind(town: LiveTown, transport: str) -> None:
    node = await town.node(transport)
    subscriber = await town.client(*node.addresses)
    subscriber.subscribe("/weather")
    await subscriber.wait_subscribed("/weather", PATIENCE)
    assert node.subscribers("/weather")
    await subscriber.close()
    await until(lambda: not node.subscribers("/weather"))


# ---- a forwarder that restarts


@over_each
async def test_programs_come_back_when_their_forwarder_does(town: LiveTown, transport: str) -> None:
    node = await town.node(transport)
    (address,) = node.addresses
    quick: dict[str, Any] = {"redial_first_delay": 0.02, "refresh_interval": 0.2}
    subscriber, publisher = [await town.client(address, **quick) for _ in range(2)]
    messages = subscriber.subscribe("/weather")
    assert (await publisher.publish("/weather", b"before", ready=PATIENCE)).outcome == "delivered"
    await node.close()
    await town.open(listen=address)
    receipt = await publisher.publish("/weather", b"after", ready=PATIENCE)
    assert receipt.outcome == "delivered"
    assert [(await messages.get(PATIENCE)).data for _ in range(2)] == [b"before", b"after"]


async def test_messages_are_published_while_the_forwarder_restarts(town: LiveTown) -> None:
    node = await town.node()
    (address,) = node.addresses
    quick = {"redial_first_delay": 0.02}
    subscriber, publisher = [await town.client(address, **quick) for _ in range(2)]
    messages = subscriber.subscribe("/weather")
    await subscriber.wait_subscribed("/weather", PATIENCE)
    outcomes: dict[bytes, str | None] = {}

    async def publish_all() -> None:
        for number in range(60):
            data = b"%d" % number
            receipt = await publisher.publish("/weather", data, ready=PATIENCE)
            outcomes[data] = receipt.outcome
            await asyncio.sleep(0.005)

    publishing = asyncio.create_task(publish_all())
    await until(lambda: len(outcomes) > 10)
    await node.close()
    await town.open(listen=address)
    await publishing
    received = []
    while messages.pending:
        received.append((await messages.get(PATIENCE)).data)
    assert len(received) == len(set(received))
    delivered = {data for data, outcome in outcomes.items() if outcome == "delivered"}
    unknown = {data for data, outcome in outcomes.items() if outcome == "unknown"}
    assert delivered <= set(received) <= delivered | unknown
    assert len(unknown) <= 1 and len(outcomes) == 60


async def test_of_several_forwarders_another_takes_over(town: LiveTown) -> None:
    first = await town.node()
    second = await town.node(bootstrap=first.addresses[0])
    program = await town.client(first.addresses[0], second.addresses[0])
    messages = program.subscribe("/weather")
    await program.wait_subscribed("/weather", PATIENCE)
    await until(lambda: len(program.peers) == 2)
    assert program.peers[0] == first.addresses[0]
    await first.close()
    receipt = await second.publish("/weather", b"rain", ready=PATIENCE)
    assert receipt.outcome == "delivered"
    assert (await messages.get(PATIENCE)).data == b"rain"


# ---- signatures and trust


@pytest.mark.parametrize("kind", ["ed25519", "ecdsa", "hmac"])
async def test_only_trusted_keys_count_where_there_is_a_rule(
    town: LiveTown, tmp_path: Path, kind: str
) -> None:
    alice, mallory = tmp_path / "alice.json", tmp_path / "mallory.json"
    name = create_key(alice, "/alice", kind)["id"]
    create_key(mallory, "/alice", kind)
    key = alice if kind == "hmac" else tmp_path / "alice.pub"
    node = await town.node(trust=f"/weather={key}")
    messages, open_ones = node.subscribe("/weather/berlin"), node.subscribe("/news")
    program = await town.client(*node.addresses, key_file=alice)
    assert program.id == "/alice" and program.capabilities.signed
    receipt = await program.publish("/weather/berlin", b"rain", ready=PATIENCE)
    assert receipt.outcome == "delivered"
    assert (await messages.get(PATIENCE)).fields["signed_by"] == name
    for settings in ({"key_file": mallory}, {"prefix": "/alice"}):
        forger = await town.client(*node.addresses, **settings)
        assert (await forger.publish("/weather/berlin", b"hail")).outcome == "no_subscriber"
    await until(lambda: node.counters["rejected.bad_signature"] >= 2)
    assert messages.pending == 0
    # Without a rule a digest will do.
    assert (await forger.publish("/news", b"free")).outcome == "delivered"
    assert (await open_ones.get(PATIENCE)).data == b"free"


async def test_a_signature_of_an_unknown_key_is_refused_without_a_rule_too(
    town: LiveTown, tmp_path: Path
) -> None:
    create_key(tmp_path / "alice.json", "/alice")
    node = await town.node()
    messages = node.subscribe("/weather")
    program = await town.client(*node.addresses, key_file=tmp_path / "alice.json")
    assert (await program.publish("/weather", b"rain")).outcome == "no_subscriber"
    assert node.counters["rejected.bad_signature"] and not messages.pending
    knowing = await town.client(*node.addresses, trust=tmp_path / "alice.pub")
    knowing.subscribe("/news")
    await knowing.wait_subscribed("/news", PATIENCE)
    assert (await program.publish("/news", b"rain")).outcome == "delivered"


async def test_who_acknowledges_is_named_by_its_key(town: LiveTown, tmp_path: Path) -> None:
    name = create_key(tmp_path / "bob.json", "/bob")["id"]
    node = await town.node(key_file=tmp_path / "bob.json")
    node.subscribe("/weather")
    program = await town.client(*node.addresses)
    receipt = await program.publish("/weather", b"rain", ready=PATIENCE)
    assert receipt.reached == (name,)


# ---- validators, sizes


async def test_validators_say_what_is_delivered(town: LiveTown) -> None:
    node = await town.node()
    messages = node.subscribe("/weather")
    seen: list[Message] = []

    async def short(message: Message) -> bool:
        seen.append(message)
        return len(message.data) < 5

    node.add_validator("/8=weather", short)
    program = await town.client(*node.addresses)
    assert (await program.publish("/weather", b"rain", ready=PATIENCE)).outcome == "delivered"
    refused = await program.publish("/weather", b"a thunderstorm")
    assert refused.outcome == "unknown"  # it was fetched
    assert [each.data for each in seen] == [b"rain", b"a thunderstorm"]
    with pytest.raises(RejectedError):
        await node.publish("/weather", b"a thunderstorm")
    node.remove_validator("/weather")
    assert messages.pending == 1


async def test_what_does_not_fit_into_a_packet_is_refused_before_it_is_sent(
    town: LiveTown,
) -> None:
    node = await town.node()
    largest = node.capabilities.largest_message
    assert 8000 < largest < 8800
    with pytest.raises(MessageTooLargeError):
        await node.publish("/weather", bytes(8800))
    node.subscribe("/weather")
    program = await town.client(*node.addresses)
    receipt = await program.publish("/weather", bytes(largest), ready=PATIENCE)
    assert receipt.outcome == "delivered"


@over_each
async def test_large_messages_go_in_segments(town: LiveTown, transport: str) -> None:
    node = await town.node(transport, segments=True)
    messages = node.subscribe("/weather")
    program = await town.client(*node.addresses, segments=True)
    data = bytes(range(256)) * 1000
    assert program.capabilities.largest_message > len(data)
    receipt = await program.publish("/weather", data, ready=PATIENCE, timeout=PATIENCE)
    assert receipt.outcome == "delivered"
    assert (await messages.get(PATIENCE)).data == data


async def test_a_topic_is_the_same_however_it_is_written(town: LiveTown) -> None:
    node = await town.node()
    messages = node.subscribe("ndn:/8=weather/a b/")
    assert messages.topic == "/weather/a%20b" and node.topics == ("/weather/a%20b",)
    program = await town.client(*node.addresses)
    receipt = await program.publish(["/weather/a%20b"], b"rain", ready=PATIENCE)
    assert receipt.topic == "/weather/a%20b"
    assert (await messages.get(PATIENCE)).topic == "/weather/a%20b"


@pytest.mark.parametrize("topic", ["weather", "", "/", "/a//b", "/a/..", "/" + "a" * 2000])
async def test_what_is_no_name_is_no_topic(town: LiveTown, topic: str) -> None:
    node = await town.node()
    with pytest.raises(LocalProtocolError):
        node.subscribe(topic)
    with pytest.raises(LocalProtocolError):
        await node.publish(topic, b"rain")
    with pytest.raises(LocalProtocolError):
        await node.publish(["/a", "/b"], b"rain")


async def test_a_slow_reader_holds_publishers_back_and_loses_nothing(town: LiveTown) -> None:
    node = await town.node()
    messages = node.subscribe("/weather", buffer=4)
    program = await town.client(*node.addresses)
    published = 0

    async def publish_all() -> None:
        nonlocal published
        for number in range(40):
            await program.publish("/weather", b"%d" % number, ready=PATIENCE)
            published += 1

    publishing = asyncio.create_task(publish_all())
    await until(lambda: messages.full)
    found: list[bytes] = []
    while len(found) < 40:
        found.append((await messages.get(PATIENCE)).data)
        await asyncio.sleep(0)
    await publishing
    assert found == [b"%d" % number for number in range(40)]


# ---- traces, spools, addresses


async def test_what_happens_is_traced_and_kept(town: LiveTown, tmp_path: Path) -> None:
    node = await town.node(spool=tmp_path / "spool")
    events: list[TraceEvent] = []
    node.on_trace(events.append)
    messages = node.subscribe("/weather")
    program = await town.client(*node.addresses, prefix="/alice")
    receipt = await program.publish("/weather", b"rain", ready=PATIENCE)
    await messages.get(PATIENCE)
    await node.close()
    (delivered,) = [each for each in events if each.event == "delivered"]
    assert (delivered.node, delivered.topic, delivered.message_id, delivered.peer) == (
        node.id, "/weather", receipt.id, "/alice",
    )  # fmt: skip
    assert {"subscribed", "connection_opened", "unsubscribed", "connection_closed"} <= {
        each.event for each in events
    }
    assert kept(tmp_path / "spool", "messages", "value") == [b"rain"]
    assert {"delivered", "subscribed"} <= set(kept(tmp_path / "spool", "trace", "event"))


@pytest.mark.parametrize("transport", ["tcp", "unix"])
async def test_who_cannot_be_reached_is_named_in_one_sentence(
    town: LiveTown, transport: str
) -> None:
    node = await town.node()
    address = f"tcp://127.0.0.1:{own_port()}" if transport == "tcp" else town.somewhere("unix")
    reason = "connection refused" if transport == "tcp" else "no such file"
    with pytest.raises(ConnectError) as caught:
        await node.connect(address)
    assert str(caught.value) == f"could not connect to {address}: {reason}"


async def test_a_host_is_looked_up_for_each_transport(town: LiveTown) -> None:
    node = await town.node("tcp", "udp")
    for address in node.addresses:
        program = await town.client(address.replace("127.0.0.1", "localhost"))
        program.subscribe("/weather")
        await program.wait_subscribed("/weather", PATIENCE)
    with pytest.raises(ConnectError, match=r"could not reach udp://nowhere\.invalid: name"):
        await program.connect("udp://nowhere.invalid")


@pytest.mark.parametrize("address", ["127.0.0.1:6363", "http://a", "unix://a", "tcp://a:b"])
async def test_what_is_no_address_is_refused(town: LiveTown, address: str) -> None:
    for key in ("listen", "bootstrap"):
        with pytest.raises(ConfigError, match=rf"^{key}: cannot use the address"):
            await town.open(**{key: address})
    node = await town.node()
    with pytest.raises(LocalProtocolError, match="cannot use the address"):
        await node.connect(address)


async def test_a_port_in_use_is_one_sentence(town: LiveTown) -> None:
    node = await town.node("tcp", "udp")
    for address in node.addresses:
        with pytest.raises(ConfigError) as caught:
            await town.open(listen=address)
        problem = f"listen: cannot listen on {address}: address already in use"
        assert str(caught.value) == problem


# ---- the end


@over_each
async def test_closing_takes_no_longer_than_it_may(town: LiveTown, transport: str) -> None:
    """Neither with programs that are connected, nor with somebody who neither reads nor closes."""
    node = await town.node(transport, close_timeout=0.5)
    programs = [await town.client(*node.addresses, close_timeout=0.5) for _ in range(3)]
    for each in programs:
        each.subscribe("/weather")
        await each.wait_subscribed("/weather", PATIENCE)
    async with asyncio.timeout(PATIENCE):
        await asyncio.gather(node.close(), *(each.close() for each in programs))
    for each in (node, *programs):
        sizes = each.sizes()
        assert (sizes["connections"], sizes["dials"], sizes["subscriptions"]) == (0, 0, 0)


async def test_a_forwarder_that_says_nothing_does_not_keep_a_program_from_closing(
    town: LiveTown,
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"tcp://127.0.0.1:{silent.getsockname()[1]}"
        program = await town.client(address, close_timeout=0.2)
        program.subscribe("/weather")
        publishing = asyncio.create_task(program.publish("/weather", b"rain", timeout=PATIENCE))
        await until(lambda: program.peers)
        async with asyncio.timeout(PATIENCE):
            await program.close()
        assert (await publishing).outcome == "no_subscriber"
    with pytest.raises(ClosedError):
        await program.publish("/weather", b"rain")


async def test_a_network_is_a_node_or_a_client_as_its_settings_say(town: LiveTown) -> None:
    alone = await town.open()
    assert alone.addresses[0].startswith("tcp://127.0.0.1:")
    client = await town.open(bootstrap=alone.addresses)
    assert client.addresses == ()
    neighbour = await town.open(bootstrap=alone.addresses, role="node")
    assert neighbour.addresses
    await until(lambda: neighbour.peers)
    late = await town.open(role="client")
    assert await late.connect(alone.addresses[0], keep=True) == alone.addresses[0]
    late.subscribe("/weather")
    await late.wait_subscribed("/weather", PATIENCE)
    with pytest.raises(ConfigError, match="listen: a client listens nowhere"):
        rumormill.open("ndn", role="client", listen="tcp://127.0.0.1:0")


def kept(folder: Path, kind: str, column: str) -> list[Any]:
    """What a spool has in a column."""
    log = open_log(folder, kind)
    bounds = log.bounds()
    batches = [batch for _, batch in log.read(bounds.earliest, bounds.latest)]
    return [value for batch in batches for value in batch.column(column).to_pylist()]

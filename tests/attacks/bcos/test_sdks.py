"""SDKs of the chain that are up to no good, while honest ones talk through the same node."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import pytest

from rumormill.bcos.wire.channel_packet import ChannelPacket, ChannelType, encode_channel
from rumormill.bcos.wire.topic_body import encode_body
from rumormill.bcos.wire.verification import encode_topic_status, need_verify
from tests.helpers.bcos.attacker import Attacker
from tests.helpers.bcos.besieged import MULTICASTS, UNICASTS, Town
from tests.helpers.live.siege import PATIENCE

MEBIBYTE = 1024 * 1024
MANY = 20_000


def packet(kind: int, data: bytes = b"", number: int = 1) -> ChannelPacket:
    return ChannelPacket(kind, b"%032x" % number, 0, data)


def subscription(*topics: str) -> ChannelPacket:
    return packet(ChannelType.SUBSCRIBE, json.dumps(topics).encode())


# ---- packets that never end


async def test_packets_of_100_mib_that_dribble_in_take_no_more_memory_than_allowed(
    idle_town: Town,
) -> None:
    town = idle_town
    await town.start(max_unfinished_bytes=8 * MEBIBYTE)
    async with town.honest_traffic():
        sdks = [await town.attacker() for _ in range(6)]
        for sdk in sdks:
            sdk.write((100 * MEBIBYTE).to_bytes(4, "big"))
        most = 0
        for _ in range(32):
            for sdk in sdks:
                if not sdk.writer.is_closing():
                    sdk.write(bytes(64 * 1024))
                    await _sent(sdk)
            most = max(most, town.node.sizes()["channel_unfinished_bytes"])
        await town.until(lambda: town.node.counters["dropped.too_much_unfinished"])
    assert most <= 8 * MEBIBYTE
    assert town.blamed("dropped", "too_much_unfinished") == {town.called()}


async def _sent(sdk: Attacker) -> None:
    try:
        await sdk.left()
    except ConnectionError:
        sdk.cut()


async def test_a_claim_alone_takes_no_memory(town: Town) -> None:
    async with town.honest_traffic():
        sdks = [await town.attacker() for _ in range(20)]
        for sdk in sdks:
            sdk.write((100 * MEBIBYTE).to_bytes(4, "big") + b"\x00\x30")
        await town.until(lambda: town.node.sizes()["channel_unfinished_bytes"] == 20 * 6)
    assert town.node.sizes()["channel_unfinished_bytes"] == 20 * 6


# ---- floods


def junk() -> Iterator[ChannelPacket]:
    return (packet(0x77, b"x", number) for number in range(MANY))


def empty_messages() -> Iterator[ChannelPacket]:
    return (packet(ChannelType.REQUEST, b"", number) for number in range(MANY))


def handshakes() -> Iterator[ChannelPacket]:
    data = b'{"minimumSupport":1,"maximumSupport":3,"clientType":"x"}'
    return (packet(ChannelType.HANDSHAKE, data, number) for number in range(MANY))


def heartbeats() -> Iterator[ChannelPacket]:
    return (packet(ChannelType.HEARTBEAT, b"0", number) for number in range(MANY))


def questions() -> Iterator[ChannelPacket]:
    data = b'{"jsonrpc":"2.0","method":"getPeers","params":[1],"id":1}'
    return (packet(ChannelType.RPC, data, number) for number in range(MANY))


def guessed_answers() -> Iterator[ChannelPacket]:
    """To questions that the node asks by itself, and to those of others."""
    body = encode_body(UNICASTS, b"a lie")
    for number in range(MANY):
        yield ChannelPacket(ChannelType.RESPONSE, b"%032d" % number, 0, body)


def verdicts() -> Iterator[ChannelPacket]:
    """On a topic that the SDK does not publish."""
    for number in range(MANY // 4):
        status = encode_topic_status(True, "ab" * 64, need_verify("secret"))
        yield packet(ChannelType.TOPIC_STATUS, status, number)


def unreachable() -> Iterator[ChannelPacket]:
    for number in range(MANY):
        yield packet(ChannelType.REQUEST, encode_body(f"topic {number}", b"?"), number)


def changing_topics() -> Iterator[ChannelPacket]:
    for number in range(10):
        yield subscription(*(f"{number} and {each}" for each in range(10_000)))


FLOODS: dict[Callable[[], Iterator[ChannelPacket]], str] = {
    junk: "unknown_type",
    empty_messages: "bad_topic_body",
    handshakes: "handshakes",
    heartbeats: "heartbeats",
    questions: "rpc",
    guessed_answers: "answers",
    verdicts: "not_a_publisher",
    unreachable: "unreachable",
    changing_topics: "subscriptions",
}
"""Each flood, and what the trace says that its sender is held back for."""


@pytest.mark.usefixtures("lasting_debts")
@pytest.mark.parametrize("flood", FLOODS, ids=lambda flood: flood.__name__)
async def test_a_flood_holds_back_its_sender_alone(
    town: Town, flood: Callable[[], Iterator[ChannelPacket]]
) -> None:
    reason = FLOODS[flood]
    async with town.honest_traffic():
        sdk = await town.attacker()
        sdk.flood(flood())
        await town.until(lambda: town.held_back(reason))
        late = await town.sdk(4)
        assert late.peers
    assert town.held_back(reason) == {town.called()}
    assert town.node.sizes()["channel_queued_bytes"] <= 16 * MEBIBYTE


# ---- subscribers


async def test_who_takes_a_topic_and_never_answers_is_followed_by_one_who_does(
    idle_town: Town,
) -> None:
    town = idle_town
    await town.start(subscriber_timeout=0.1)
    silent = await town.attacker()
    silent.write(subscription(UNICASTS, MULTICASTS, *(f"topic {each}" for each in range(1000))))
    await town.until(lambda: town.node.sizes()["subscriptions"] >= 1002)
    async with town.honest_traffic(least=30):
        await town.until(lambda: town.called() in town.blamed("dropped", "timed_out"))
    sizes = town.node.sizes()
    assert (sizes["channel_questions"], sizes["requests_in_flight"]) == (0, 0)


async def test_who_takes_a_topic_and_never_reads_is_passed_over(idle_town: Town) -> None:
    town = idle_town
    await town.start(session_queue_bytes=MEBIBYTE, subscriber_timeout=0.1)
    deaf = await town.attacker()
    deaf.writer.transport.pause_reading()  # type: ignore[attr-defined]
    deaf.write(subscription(MULTICASTS, UNICASTS, "film"))
    await town.publisher.wait_for_peers("film", timeout=PATIENCE)
    async with town.honest_traffic():
        while not town.node.counters["dropped.queue_full"]:
            await town.publisher.multicast("film", bytes(MEBIBYTE), timeout=PATIENCE)
    assert town.blamed("dropped", "queue_full") == {town.called()}
    assert town.node.sizes()["channel_queued_bytes"] <= 2 * MEBIBYTE


async def test_an_answer_is_taken_from_who_was_asked_alone(town: Town) -> None:
    """One who guesses the seq of another's question cannot answer it."""
    asked, guesser, publisher = [await town.attacker(number) for number in (3, 4, 5)]
    asked.write(subscription("riddle"))
    await town.publisher.wait_for_peers("riddle", timeout=PATIENCE)
    async with town.honest_traffic():
        publisher.write(packet(ChannelType.REQUEST, encode_body("riddle", b"?"), 7))
        question = await asked.channel_packet()
        guesser.write(packet(ChannelType.RESPONSE, encode_body("riddle", b"a lie"), 7))
        await town.until(lambda: town.node.counters["dropped.unexpected"])
        asked.write(question._replace(type=ChannelType.RESPONSE))
        assert await publisher.channel_packet() == question._replace(type=ChannelType.RESPONSE)
    assert town.blamed("dropped", "unexpected") == {town.called(4)}


async def test_two_publishers_with_the_same_seq_each_get_their_own_answer(town: Town) -> None:
    subscriber, *publishers = [await town.attacker(number) for number in (3, 4, 5)]
    subscriber.write(subscription("riddle"))
    await town.publisher.wait_for_peers("riddle", timeout=PATIENCE)
    async with town.honest_traffic():
        for number, publisher in enumerate(publishers):
            publisher.write(packet(ChannelType.REQUEST, encode_body("riddle", b"%d" % number), 7))
        asked = [await subscriber.channel_packet() for _ in publishers]
        for question in reversed(asked):
            subscriber.write(question._replace(type=ChannelType.RESPONSE))
        for number, publisher in enumerate(publishers):
            answer = await publisher.channel_packet()
            assert answer.seq == b"%032x" % 7
            assert answer.data == encode_body("riddle", b"%d" % number)


# ---- coming and going


async def test_connections_that_come_and_go_leave_nothing_behind(town: Town) -> None:
    raw = encode_channel(subscription("a", "b", UNICASTS))
    before = town.node.sizes()
    async with town.honest_traffic():
        for number in range(60):
            sdk = await town.attacker(3 + number % 3)
            sdk.write(raw)
            if number % 2:
                await sdk.left()
            sdk.cut()
        await town.until(lambda: town.node.sizes()["sdk_connections"] == 2)
    await town.until(lambda: _same(before, town.node.sizes()))


def _same(before: dict[str, int], after: dict[str, int]) -> bool:
    names = ("listeners", "subscriptions", "channel_questions", "requests_in_flight", "handshakes")
    return all(before[name] == after[name] for name in names)

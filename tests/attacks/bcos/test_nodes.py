"""A node of the chain that lies, while honest SDKs talk through its neighbour."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator

import pytest
from cramjam import snappy

from rumormill.bcos.errors import AmopError
from rumormill.bcos.wire.channel_packet import ChannelPacket, ChannelType, Result, encode_channel
from rumormill.bcos.wire.p2p_packet import HEADER, Module, P2PPacket
from rumormill.bcos.wire.topic_body import encode_body
from rumormill.bcos.wire.topic_state import TopicType, encode_list, encode_seq
from tests.helpers.bcos.attacker import Attacker
from tests.helpers.bcos.besieged import ATTACKER_NODE, MULTICASTS, UNICASTS, Town

MEBIBYTE = 1024 * 1024
MANY = 50_000
SEQ = b"0123456789abcdef" * 2


def topic_seq(number: int) -> P2PPacket:
    return P2PPacket(Module.TOPIC, TopicType.SEQ, 0, encode_seq(number))


def raw_packet(version: int, payload: bytes) -> bytes:
    return HEADER.pack(HEADER.size + len(payload), version, Module.AMOP, 0, 5) + payload


def liar(town: Town, number: int = ATTACKER_NODE) -> str:
    """What the lying node is called."""
    return town.called(number, "node")


async def tell_topics(node: Attacker, number: int, *topics: str) -> None:
    """Have the neighbour believe that there are subscribers."""
    node.write(topic_seq(number))
    while True:
        packet = await node.p2p_packet()
        if packet.protocol == Module.TOPIC and packet.type == TopicType.QUESTION:
            break
    payload = encode_list(number, topics)
    node.write(P2PPacket(-Module.TOPIC, TopicType.LIST, packet.seq, payload))


# ---- packets that end the link


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        pytest.param(b"\0\0\0\x0f" + bytes(12), "packet_too_short", id="length below the header"),
        pytest.param(b"\x06\x40\0\x01" + bytes(12), "packet_too_large", id="more than 100 MiB"),
        pytest.param(raw_packet(0x8000, b"\xff\xff\xff\xff\x0f\0"), "packet_too_large", id="bomb"),
        pytest.param(
            raw_packet(0x8000, bytes(snappy.compress_raw(bytes(101 * MEBIBYTE)))),
            "packet_too_large", id="true bomb",
        ),
        pytest.param(
            encode_channel(ChannelPacket(0x30, SEQ, 0, b"\x05hello")), "", id="an SDK's packet",
        ),
    ],
)  # fmt: skip
async def test_what_is_no_packet_ends_the_link_or_is_ignored(
    town: Town, raw: bytes, reason: str
) -> None:
    node = await town.lying_node()
    async with town.honest_traffic():
        node.write(raw)
        if reason:
            assert await node.is_closed()
        else:
            await town.until(lambda: town.node.counters["ignored.unknown_protocol"])
    told = ("protocol_error", reason) if reason else ("ignored", "unknown_protocol")
    assert town.blamed(*told) == {liar(town)}


async def test_packets_of_100_mib_that_dribble_in_take_no_more_memory_than_allowed(
    idle_town: Town,
) -> None:
    town = idle_town
    await town.start(max_peer_unfinished_bytes=4 * MEBIBYTE)
    nodes = [await town.lying_node(number) for number in (2, 3)]
    most = 0
    async with town.honest_traffic():
        for node in nodes:
            node.write((100 * MEBIBYTE).to_bytes(4, "big"))
        while not town.node.counters["dropped.too_much_unfinished"]:
            for node in nodes:
                node.write(bytes(64 * 1024))
            await asyncio.sleep(0)
            most = max(most, town.node.sizes()["bytes_unfinished"])
    assert most <= 4 * MEBIBYTE
    assert town.blamed("dropped", "too_much_unfinished") <= {liar(town, 2), liar(town, 3)}


# ---- floods


def seqs() -> Iterator[P2PPacket]:
    return (topic_seq(number) for number in range(1, MANY))


def seqs_up_and_down() -> Iterator[P2PPacket]:
    return (topic_seq(1 + number % 2) for number in range(MANY))


def questions() -> Iterator[P2PPacket]:
    return (P2PPacket(Module.TOPIC, TopicType.QUESTION, number) for number in range(1, MANY))


def lists_unasked() -> Iterator[P2PPacket]:
    payload = encode_list(9, [UNICASTS])
    return (P2PPacket(-Module.TOPIC, TopicType.LIST, number, payload) for number in range(MANY))


def answers_to_questions_of_others() -> Iterator[P2PPacket]:
    """The seqs are those that the node uses for its other neighbour."""
    lie = encode_channel(ChannelPacket(ChannelType.RESPONSE, SEQ, 0, encode_body(UNICASTS, b"lie")))
    return (P2PPacket(-Module.AMOP, 0, number, lie) for number in range(MANY))


def messages_for_nobody() -> Iterator[P2PPacket]:
    raw = encode_channel(ChannelPacket(ChannelType.MULTICAST, SEQ, 0, encode_body("no", b"?")))
    return (P2PPacket(Module.AMOP, 1, number, raw) for number in range(MANY))


def unreadable_messages() -> Iterator[P2PPacket]:
    return (P2PPacket(Module.AMOP, 0, number, b"hello") for number in range(MANY))


def other_modules() -> Iterator[P2PPacket]:
    return (P2PPacket(8 << 16 | 9, 0, number, b"block") for number in range(MANY))


FLOODS: dict[Callable[[], Iterator[P2PPacket]], str] = {
    seqs: "topic_seqs",
    seqs_up_and_down: "seq_backwards",
    questions: "topics_again",
    lists_unasked: "late_answer",
    answers_to_questions_of_others: "late_answer",
    messages_for_nobody: "useless_amop",
    unreadable_messages: "useless_amop",
    other_modules: "unknown_protocol",
}
"""Each flood, and what the trace says that its sender is held back for."""


@pytest.mark.usefixtures("lasting_debts")
@pytest.mark.parametrize("flood", FLOODS, ids=lambda flood: flood.__name__)
async def test_a_flood_holds_back_its_sender_alone(
    town: Town, flood: Callable[[], Iterator[P2PPacket]]
) -> None:
    reason = FLOODS[flood]
    node = await town.lying_node()
    async with town.honest_traffic():
        node.flood(flood())
        await town.until(lambda: town.held_back(reason))
    assert town.held_back(reason) == {liar(town)}
    sizes = town.node.sizes()
    assert sizes["questions"] <= 1  # the one for topics, which nobody answers
    assert sizes["bytes_unfinished"] < MEBIBYTE
    assert town.other.id in town.node.peers


# ---- lies about topics


async def test_a_list_of_more_topics_than_a_node_may_have_is_cut_and_told(idle_town: Town) -> None:
    town = idle_town
    await town.start(max_peer_topics=1000)
    node = await town.lying_node()
    async with town.honest_traffic():
        await tell_topics(node, 1, *(f"topic {number}" for number in range(200_000)))
        await town.until(lambda: town.node.counters["dropped.not_taken"])
    assert town.node.sizes()["topics_of_nodes"] <= 1000 + 10
    assert town.blamed("dropped", "not_taken") == {liar(town)}


async def test_who_says_that_it_has_subscribers_and_has_none_spoils_no_more_than_its_share(
    town: Town,
) -> None:
    """What a node answers is final, as among nodes of other make: a publisher hears 104 of such a
    node, and sends again. Multicasts are not harmed at all.
    """
    node = await town.lying_node()
    await tell_topics(node, 1, UNICASTS, MULTICASTS)
    await town.publisher.wait_for_peers(UNICASTS, 3, timeout=30)

    async def refuse() -> None:
        while True:
            packet = await node.p2p_packet()
            if packet.protocol == Module.AMOP and packet.type == 0:
                raw = packet.payload
                answer = ChannelPacket(ChannelType.RESPONSE, raw[6:38], 104, raw[42:])
                node.write(P2PPacket(-Module.AMOP, 0, packet.seq, encode_channel(answer)))

    refusing = asyncio.ensure_future(refuse())
    results: list[int] = []
    for number in range(60):
        try:
            await town.publisher.unicast(UNICASTS, b"%d" % number)
            results.append(Result.OK)
        except AmopError as error:
            results.append(error.code)
    refusing.cancel()
    node.cut()
    assert set(results) == {Result.OK, Result.NO_SUBSCRIBER}
    assert results.count(Result.OK) > 20
    await town.until(lambda: liar(town) not in town.node.peers)
    async with town.honest_traffic():
        pass
    assert any(
        event.event == "answered" and event.peer == liar(town) and event.fields["result"] == 104
        for event in town.events
    )


async def test_who_says_that_it_has_subscribers_and_never_answers_is_passed_over(
    idle_town: Town,
) -> None:
    town = idle_town
    await town.start(node_timeout=0.2)
    node = await town.lying_node()
    await tell_topics(node, 1, UNICASTS)
    await town.publisher.wait_for_peers(UNICASTS, 3, timeout=30)
    async with town.honest_traffic():
        await town.until(lambda: liar(town) in town.blamed("dropped", "timed_out"))
    assert town.node.sizes()["requests_in_flight"] == 0


# ---- coming and going


async def test_a_node_that_comes_and_goes_leaves_nothing_behind(town: Town) -> None:
    async with town.honest_traffic():
        for _ in range(30):
            node = await town.lying_node(ATTACKER_NODE)
            node.write(topic_seq(3))
            node.cut()
            await town.until(lambda: len(town.node.peers) == 1)
    sizes = town.node.sizes()
    assert (sizes["links"], sizes["topic_states"], sizes["questions"]) == (1, 1, 0)

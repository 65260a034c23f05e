"""Floods of Interests, Data and Nacks that are good packets, and of no use to anybody."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Iterator

import pytest

from rumormill.ndn.wire.interest import Interest, decode_interest
from rumormill.ndn.wire.link import LinkPacket, NackReason
from tests.helpers.ndn.attacker import data, interest, nack, notify, registration
from tests.helpers.ndn.besieged import INSIDE, NEWS, PUBLISHER, Town

# ---- one who sends what goes nowhere


def names_without_a_route() -> Iterator[bytes]:
    return (interest(f"/nobody/{number}") for number in itertools.count())


def one_name_without_a_route() -> Iterator[bytes]:
    return (interest("/nobody/at/all") for _ in itertools.count())


def messages_of_others() -> Iterator[bytes]:
    """Guessed names of messages of an honest publisher, which does not have them."""
    return (interest(f"{PUBLISHER}/msg{NEWS}/{number}") for number in itertools.count())


def hop_limits_at_their_end() -> Iterator[bytes]:
    raw = interest(NEWS)
    while True:
        yield raw[:1] + bytes([raw[1] + 3]) + raw[2:] + b"\x22\x01\x00"


def unsolicited_data() -> Iterator[bytes]:
    return (data(f"{PUBLISHER}/msg{NEWS}/{number}") for number in itertools.count())


def unsolicited_nacks() -> Iterator[bytes]:
    return (nack(f"{NEWS}/notify/{number}") for number in itertools.count())


def guessed_acknowledgements() -> Iterator[bytes]:
    digests = (f"{number:064x}" for number in itertools.count())
    return (data(f"{NEWS}/notify/params-sha256={digest}", None) for digest in digests)


def the_same_again() -> Iterator[bytes]:
    return itertools.repeat(interest("/silent/x", nonce=b"same"))


def another_nonce_each_time() -> Iterator[bytes]:
    return (interest("/silent/x") for _ in itertools.count())


FLOODS: dict[Callable[[], Iterator[bytes]], str] = {
    names_without_a_route: "no_route",
    one_name_without_a_route: "no_route",
    messages_of_others: "refused",
    hop_limits_at_their_end: "hop_limit",
    unsolicited_data: "unsolicited",
    unsolicited_nacks: "unsolicited",
    guessed_acknowledgements: "unsolicited",
    the_same_again: "repeated",
    another_nonce_each_time: "repeated",
}
"""Each flood, and what the trace says that its sender is held back for."""


@pytest.mark.parametrize("flood", FLOODS, ids=lambda flood: flood.__name__)
async def test_a_flood_holds_back_its_sender_alone(
    slow_town: Town, flood: Callable[[], Iterator[bytes]]
) -> None:
    town = slow_town
    reason = FLOODS[flood]
    silent = await town.attacker()
    await silent.answered(registration("/silent"))
    attacker = await town.attacker(town.unix)
    async with town.honest_traffic():
        packets = flood()
        while not town.held_back(reason):
            attacker.flood(itertools.islice(packets, 500))
            await asyncio.sleep(0.01)
        assert await (await town.attacker()).is_served()
    assert town.held_back(reason) == {attacker.called}
    await town.until(lambda: attacker.called in town.blamed("ignored", reason))
    assert town.node.sizes()["cs_bytes"] < 1 << 20


# ---- Interests that nobody answers fill the table of those that wait


async def test_interests_that_are_never_answered_fill_no_more_than_the_room_of_one_face(
    idle_town: Town,
) -> None:
    town = idle_town
    await town.start(max_face_pit=500, max_pit=2000)
    silent, attacker = await town.attacker(), await town.attacker()
    await silent.answered(registration("/silent"))
    async with town.honest_traffic():
        attacker.flood(interest(f"/silent/{number}", lifetime=60_000) for number in range(5000))
        await town.until(lambda: town.node.counters["dropped.too_many"] >= 4500)
    assert town.node.sizes()["pit"] <= 500 + 10
    assert town.blamed("dropped", "too_many") == {attacker.called}
    packet = await attacker.packet()  # who asks too much is told so
    assert isinstance(packet, LinkPacket)
    assert packet.nack == NackReason.CONGESTION


async def test_many_who_ask_for_the_whole_table_lose_their_own(idle_town: Town) -> None:
    town = idle_town
    await town.start(max_pit=1000)
    silent = await town.attacker()
    await silent.answered(registration("/silent"))
    attackers = [await town.attacker() for _ in range(8)]
    async with town.honest_traffic():
        for number, attacker in enumerate(attackers):
            attacker.flood(
                interest(f"/silent/{number}/{each}", lifetime=60_000) for each in range(1000)
            )
        await town.until(lambda: town.node.counters["dropped.too_many"] >= 7000)
        assert town.node.sizes()["pit_waiting"] <= 1000
    assert town.blamed("dropped", "too_many") <= {each.called for each in attackers}


async def test_long_names_fill_no_more_than_their_bytes(idle_town: Town) -> None:
    town = idle_town
    await town.start(max_pit_bytes=1 << 20)
    silent, attacker = await town.attacker(), await town.attacker()
    await silent.answered(registration("/silent"))
    async with town.honest_traffic():
        attacker.flood(
            interest(f"/silent/{number}/{'x' * 8000}", lifetime=60_000) for number in range(1000)
        )
        await town.until(lambda: town.node.counters["dropped.too_many"] > 500)
        assert town.node.sizes()["pit_bytes"] <= (1 << 20) + 20_000
    assert town.blamed("dropped", "too_many") == {attacker.called}


async def test_one_name_asked_for_by_many_nonces_waits_once(town: Town) -> None:
    silent, attacker = await town.attacker(), await town.attacker()
    await silent.answered(registration("/silent"))
    async with town.honest_traffic():
        attacker.flood(interest("/silent/one", lifetime=60_000) for _ in range(2000))
        assert await attacker.is_served()
        assert town.node.sizes()["pit"] <= 10
    seen = await silent.packet()
    assert isinstance(seen, Interest)


async def test_interests_that_come_back_go_round_no_further(town: Town) -> None:
    """Two who send each other's Interests back, as two forwarders do that are wired in a circle."""
    first, second = await town.attacker(), await town.attacker()
    await first.answered(registration("/circle"))
    await second.answered(registration("/circle"))
    asking = await town.attacker()
    async with town.honest_traffic():
        for number in range(50):
            asking.write(interest(f"/circle/{number}"))
            packet = await first.packet()
            assert isinstance(packet, Interest)
            second.write(packet.raw)
            answer = await second.packet()
            assert isinstance(answer, LinkPacket)
            assert answer.nack == NackReason.DUPLICATE
    await town.until(lambda: town.blamed("ignored", "loop"))
    assert town.blamed("ignored", "loop") == {second.called}


# ---- answers to what others asked


async def test_data_for_what_others_were_asked_is_taken_from_none_but_them(town: Town) -> None:
    asked, liar, asking = [await town.attacker() for _ in range(3)]
    await asked.answered(registration("/riddle"))
    async with town.honest_traffic():
        asking.write(interest("/riddle/1"))
        assert isinstance(await asked.packet(), Interest)
        liar.write(data("/riddle/1", b"a lie"), nack("/riddle/1"))
        await town.until(lambda: town.blamed("ignored", "unsolicited"))
        asked.write(data("/riddle/1", b"the truth"))
        answer = await asking.packet()
    assert getattr(answer, "content", None) == b"the truth"
    assert town.blamed("ignored", "unsolicited") == {liar.called}


async def test_the_store_of_data_keeps_no_more_than_it_may(idle_town: Town) -> None:
    town = idle_town
    await town.start(max_cs=1 << 20)
    source, asking = await town.attacker(), await town.attacker()
    await source.answered(registration("/film"))
    async with town.honest_traffic():
        for number in range(300):
            asking.write(interest(f"/film/{number}"))
            question = await source.packet()
            assert isinstance(question, Interest)
            source.write(data(question.name, bytes(8000)))
            await asking.packet()
    assert town.node.sizes()["cs_bytes"] <= 1 << 20


async def test_nobody_is_held_back_for_answers_that_others_did_not_wait_for(
    slow_town: Town,
) -> None:
    """Interests that end at once make an honest publisher answer too late, again and again."""
    town = slow_town
    publisher = next(each for each in town.events if each.event == "connection_opened")
    attackers = [await town.attacker() for _ in range(3)]
    names = (f"{PUBLISHER}/msg{NEWS}/{number}" for number in itertools.count())
    async with town.honest_traffic():
        while not town.held_back("timed_out") >= {each.called for each in attackers}:
            for attacker in attackers:
                attacker.flood(interest(next(names), lifetime=1) for _ in range(200))
            await asyncio.sleep(0.01)
    await town.until(lambda: town.blamed("ignored", "late"))
    assert town.culprit(publisher) not in town.held_back("unsolicited")


# ---- slow readers


async def test_who_asks_and_never_reads_loses_its_own_answers(idle_town: Town) -> None:
    town = idle_town
    await town.start(face_queue_bytes=64 * 1024, max_queue_bytes=1 << 20, max_cs=0)
    source = await town.attacker()
    await source.answered(registration("/film"))
    deaf = await town.attacker(town.unix)
    deaf.writer.transport.pause_reading()  # type: ignore[attr-defined]
    numbers = itertools.count()
    async with town.honest_traffic():
        while not town.node.counters["dropped.queue_full"]:
            deaf.flood(interest(f"/film/{next(numbers)}") for _ in range(50))
            for _ in range(50):
                question = await source.packet()
                assert isinstance(question, Interest)
                source.write(data(question.name, bytes(8000)))
            await source.left()
    assert town.blamed("dropped", "queue_full") == {deaf.called}
    assert town.node.sizes()["bytes_waiting"] <= 64 * 1024 + 8800


async def test_many_who_never_read_are_closed_when_too_much_waits_for_them(
    idle_town: Town,
) -> None:
    town = idle_town
    await town.start(max_queue_bytes=256 * 1024, face_queue_bytes=128 * 1024)
    source = await town.attacker()
    await source.answered(registration("/film"))
    deaf = [await town.attacker(town.unix) for _ in range(6)]
    for attacker in deaf:
        attacker.writer.transport.pause_reading()  # type: ignore[attr-defined]
    async with town.honest_traffic():
        deaf[0].write(interest("/film/0"))
        question = await source.packet()
        assert isinstance(question, Interest)
        source.write(data(question.name, bytes(8000)))
        while not town.blamed("connection_closed", "too_slow"):
            for attacker in deaf:
                if not attacker.writer.is_closing():
                    attacker.flood(interest("/film/0") for _ in range(200))
                    await attacker.left()
            await town.until(lambda: town.node.sizes()["bytes_waiting"] <= 256 * 1024)
    assert town.blamed("connection_closed", "too_slow") <= {each.called for each in deaf}


def test_the_packets_of_these_floods_can_be_read() -> None:
    for raw in (
        next(messages_of_others()),
        next(hop_limits_at_their_end()),
        next(the_same_again()),
    ):
        decode_interest(raw)
    decode_interest(notify(INSIDE, "/x"))

"""Publishers and subscribers that are up to no good."""

from __future__ import annotations

import asyncio
import itertools

import pytest

from rumormill.ndn.wire.data import encode_data
from rumormill.ndn.wire.interest import Interest, encode_interest
from rumormill.ndn.wire.link import LinkPacket
from rumormill.ndn.wire.name import component, name_from_uri
from rumormill.ndn.wire.notify import decode_notify, message_name, notify_name
from tests.helpers.ndn.attacker import SIGNER, Attacker, data, interest, notify, registration
from tests.helpers.ndn.besieged import INSIDE, NEWS, PUBLISHER, Town


async def asked_of(attacker: Attacker) -> Interest:
    """The next Interest that somebody gets."""
    while True:
        packet = await attacker.packet()
        if isinstance(packet, Interest):
            return packet


# ---- notifications of messages that do not exist


async def test_notifications_of_made_up_publishers_are_bounded_and_told(idle_town: Town) -> None:
    town = idle_town
    await town.start(stranger_failures=20, strained_fetches=4, stranger_failure_rate=0.1)
    attacker = await town.attacker()
    async with town.honest_traffic():
        for number in itertools.count():
            attacker.write(notify(INSIDE, f"/made/up/{number}"))
            if number % 50 == 49:
                await asyncio.sleep(0.01)
                if town.node.counters["fetch_failed"] > 20:
                    break
    assert all(peer.startswith("/made/up/") for peer in town.blamed("fetch_failed", "nack"))
    sizes = town.node.sizes()
    assert sizes["publishers"] == 1  # the honest one
    assert sizes["fetches"] <= 20 + 4


async def test_a_flood_of_such_notifications_holds_back_its_sender(slow_town: Town) -> None:
    town = slow_town
    attacker = await town.attacker()
    async with town.honest_traffic():
        for number in itertools.count():
            attacker.write(notify(INSIDE, f"/made/up/{number}"))
            if number % 100 == 99:
                await asyncio.sleep(0.01)
                if town.held_back("refused"):
                    break
    assert town.held_back("refused") == {attacker.called}
    assert town.node.sizes()["arrivals"] <= 1024


async def test_reflection_at_somebody_who_asked_for_nothing_is_bounded(idle_town: Town) -> None:
    """Notifications that name a victim as their publisher make subscribers ask it."""
    town = idle_town
    await town.start(stranger_failures=10, strained_fetches=4, fetch_lifetime=60)
    victim, attacker = await town.attacker(town.unix), await town.attacker()
    await victim.answered(registration("/victim/msg"))
    asked = 0

    async def count() -> None:
        nonlocal asked
        while True:
            await asked_of(victim)
            asked += 1

    counting = asyncio.ensure_future(count())
    async with town.honest_traffic():
        for number in range(40):
            nonces = (b"%08d" % each for each in range(100 * number, 100 * number + 100))
            attacker.flood(notify(INSIDE, "/victim", nonce) for nonce in nonces)
            await asyncio.sleep(0.01)
        await town.until(lambda: town.node.counters["dropped.stranger_failures"] > 3000)
    counting.cancel()
    assert asked == 10  # while those wait, there are no more of them
    assert town.blamed("dropped", "stranger_failures") == {"/victim"}


async def test_an_honest_publisher_that_others_name_is_still_heard(idle_town: Town) -> None:
    town = idle_town
    await town.start(publisher_failures=4, strained_fetches=2)
    attacker = await town.attacker()
    async with town.honest_traffic():
        for number in range(20):
            nonces = (b"%08d" % each for each in range(20 * number, 20 * number + 20))
            attacker.flood(notify(INSIDE, PUBLISHER, nonce) for nonce in nonces)
            await asyncio.sleep(0.02)
    assert town.blamed("fetch_failed", "nack") <= {PUBLISHER}
    assert town.node.counters["fetch_failed"]


@pytest.mark.parametrize(
    ("parameters", "reason"),
    [
        (b"", "bad_notify"),
        (b"\x07\x03\x08\x01p", "bad_notify"),
        (b"\x81\x01x", "unknown_critical"),
        (b"\x07\xff" + b"\xff" * 8, "bad_tlv"),
        (bytes(3000), "notify_too_large"),
    ],
)
async def test_notifications_that_are_none_are_refused_at_once(
    town: Town, parameters: bytes, reason: str
) -> None:
    attacker = await town.attacker()
    raw = encode_interest(
        notify_name(name_from_uri(INSIDE)), nonce=b"1234", parameters=parameters, signer=SIGNER
    ).raw
    async with town.honest_traffic(least=5):
        attacker.write(raw)
        assert isinstance(await attacker.packet(), LinkPacket)
    assert town.node.counters[f"rejected.{reason}"] == 1


# ---- messages that are not what they were to be


async def test_a_publisher_whose_message_never_comes_keeps_nothing_for_long(
    idle_town: Town,
) -> None:
    town = idle_town
    await town.start(fetch_lifetime=0.05)
    liar = await town.attacker()
    await liar.answered(registration("/liar/msg"))
    async with town.honest_traffic():
        liar.flood(notify(INSIDE, "/liar") for _ in range(100))
        await town.until(lambda: town.node.counters["fetch_failed"] == 100)
    assert town.blamed("fetch_failed", "timed_out") == {"/liar"}
    await town.until(lambda: town.node.sizes()["arrivals"] == 0)
    assert (town.node.sizes()["fetches"], town.node.sizes()["interests"]) == (0, 0)


async def test_a_message_with_a_wrong_digest_is_not_delivered(town: Town) -> None:
    liar = await town.attacker()
    await liar.answered(registration("/liar/msg"))
    async with town.honest_traffic():
        for number in range(10):
            liar.write(notify(INSIDE, "/liar"))
            fetch = await asked_of(liar)
            lie = bytearray(encode_data(fetch.name, b"%d" % number, SIGNER).raw)
            lie[-1] ^= 1
            liar.write(bytes(lie))
        await town.until(lambda: town.node.counters["rejected.bad_signature"] == 10)
    assert town.blamed("rejected", "bad_signature") == {"/liar"}


async def test_one_message_notified_a_thousand_times_is_delivered_once(idle_town: Town) -> None:
    town = idle_town
    await town.start()
    attacker = await town.attacker()
    await attacker.answered(registration("/mallory/msg"))
    messages = town.node.subscribe("/open")
    async with town.honest_traffic():
        attacker.flood(notify("/open", "/mallory", b"12345678") for _ in range(1000))
        fetch = await asked_of(attacker)
        attacker.write(data(fetch.name, b"once"))
        assert (await messages.get(15)).data == b"once"
        attacker.flood(  # under other names, since the store of Data answers to those before
            notify("/open", "/mallory", b"12345678", f"/hint/{number}") for number in range(1000)
        )
        await town.until(lambda: town.node.counters["dropped.too_many_acknowledgements"])
    assert messages.pending == 0
    assert town.blamed("dropped", "too_many_acknowledgements") == {"/mallory"}


# ---- subscribers


async def test_who_acknowledges_what_it_never_fetched_is_all_that_a_publisher_hears_of(
    town: Town,
) -> None:
    """Whom forwarders believe to be the subscriber can say that it has a message; nobody else
    loses anything by it, and the publisher keeps no more than it may.
    """
    liar = await town.attacker()
    await liar.answered(registration("/gone/notify"))

    async def acknowledge() -> None:
        while True:
            question = await asked_of(liar)
            liar.write(data(question.name, None))

    lying = asyncio.ensure_future(acknowledge())
    async with town.honest_traffic():
        for number in range(100):
            receipt = await town.publisher.publish("/gone", b"%d" % number)
            assert receipt.outcome == "delivered"
    lying.cancel()
    assert town.publisher.sizes()["publications"] == 0


async def test_who_fetches_and_never_acknowledges_is_reported_as_unknown(idle_town: Town) -> None:
    town = idle_town
    await town.start()
    eve = await town.live.client(
        town.tcp, prefix="/eve", notify_lifetime=0.1, notify_attempts=2, max_lingering=10
    )
    await eve.publish(NEWS, b"message -1")  # its route stands
    thief = await town.attacker(town.unix)
    await thief.answered(registration("/taken/notify"))

    async def fetch() -> None:
        while True:
            question = await asked_of(thief)
            publisher, nonce, _ = decode_notify(question.parameters or b"")
            thief.write(interest(message_name(publisher, component(b"taken"), nonce)))

    fetching = asyncio.ensure_future(fetch())
    async with town.honest_traffic():
        receipts = await asyncio.gather(*(eve.publish("/taken", b"x") for _ in range(30)))
    fetching.cancel()
    assert {each.outcome for each in receipts} == {"unknown"}
    assert eve.sizes()["publications"] == 0

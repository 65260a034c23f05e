"""A neighbour that lies about what it reaches, and neighbours and programs that come and go."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

import pytest

from rumormill.ndn.routing.mail import Mail
from rumormill.ndn.routing.messages import (
    ROUTING,
    Goodbye,
    Group,
    Hello,
    RoutingMessage,
    Update,
    decode_message,
    encode_message,
    node_with_epoch,
)
from rumormill.ndn.wire.interest import Interest, encode_interest
from rumormill.ndn.wire.name import Name, name_from_uri
from tests.helpers.ndn.attacker import SIGNER, Attacker, data, fresh, interest, registration
from tests.helpers.ndn.besieged import INSIDE, NEWS, PUBLISHER, Town

LIAR = node_with_epoch(name_from_uri("/liar"), b"8 bytes!")


def packed(message: RoutingMessage) -> bytes:
    """A message as neighbours send it."""
    return encode_interest(
        ROUTING, nonce=fresh(), lifetime=1000, parameters=encode_message(message), signer=SIGNER
    ).raw


def update(number: int, prefixes: Iterable[str | Name], cost: int = 1, node: Name = LIAR) -> bytes:
    names = [each if isinstance(each, bytes) else name_from_uri(each) for each in prefixes]
    begin = number == 1
    return packed(Update(LIAR, number, begin, begin, (Group(node, cost, tuple(names)),)))


class LyingNode:
    """Says hello and answers hellos, as nodes do; what it tells is up to the test."""

    def __init__(self, town: Town, attacker: Attacker) -> None:
        self.town, self.attacker = town, attacker
        self.heard: list[RoutingMessage] = []
        self.nodes: set[Name] = set()
        self._answering = asyncio.ensure_future(self._answer())

    async def meet(self) -> None:
        """Be a neighbour."""
        up = self.town.node.counters["neighbour_up"]
        self.attacker.write(packed(Hello(LIAR, 0, bytes(8))))
        await self.town.until(lambda: self.town.node.counters["neighbour_up"] > up)

    async def _answer(self) -> None:
        while True:
            try:
                packet = await self.attacker.packet()
            except (ConnectionError, TimeoutError):
                return
            if isinstance(packet, Interest) and Mail.is_message(packet):
                message = decode_message(packet.parameters or b"")
                self.heard.append(message)
                self.nodes.add(message.node)
                self.attacker.write(data(packet.name, None))

    def stop(self) -> None:
        self._answering.cancel()
        self.attacker.cut()


async def lying_node(town: Town) -> LyingNode:
    node = LyingNode(town, await town.attacker())
    await node.meet()
    return node


async def test_more_prefixes_than_a_neighbour_may_tell_are_not_taken(idle_town: Town) -> None:
    town = idle_town
    await town.start(max_neighbour_prefixes=300, update_rate=100_000)
    liar = await lying_node(town)
    async with town.honest_traffic():
        for number in range(1, 6):
            liar.attacker.write(update(number, (f"/l/{number}/{each}" for each in range(100))))
        await town.until(lambda: town.node.counters["dropped.too_many_prefixes"] == 200)
        assert town.node.sizes()["routing_heard"] == 300
    assert town.blamed("dropped", "too_many_prefixes") == {liar.attacker.called}
    liar.stop()
    await town.until(lambda: town.node.sizes()["routing_heard"] == 0)
    assert town.node.sizes()["routes"] < 20


async def test_absurd_prefixes_are_not_taken(idle_town: Town) -> None:
    town = idle_town
    await town.start()
    liar = await lying_node(town)
    absurd = ("/localhost", "/localhost/nfd", "/localhop/rumormill", "/" + "x" * 3000)
    async with town.honest_traffic():
        liar.attacker.write(update(1, absurd))
        await town.until(lambda: town.node.counters["dropped.prefix_too_long"])
        ours = next(iter(liar.nodes))
        liar.attacker.write(update(2, [f"{NEWS}/notify"], node=ours))
        await town.until(lambda: town.node.counters["dropped.our_own"])
    for reason in ("scope", "prefix_too_long", "our_own"):
        assert town.blamed("dropped", reason) == {liar.attacker.called}
    assert town.node.sizes()["routing_heard"] == 0
    liar.stop()


async def test_who_claims_the_prefixes_of_programs_here_is_no_nearer_than_they_are(
    town: Town,
) -> None:
    liar = await lying_node(town)
    claimed = (f"{NEWS}/notify", f"{INSIDE}/notify", f"{PUBLISHER}/msg", "/")
    async with town.honest_traffic(least=50):
        liar.attacker.write(update(1, claimed, cost=0))
        await town.until(lambda: town.node.sizes()["routing_heard"] == 4)
    liar.stop()


async def test_bad_news_of_what_was_never_told_changes_nothing(town: Town) -> None:
    liar = await lying_node(town)
    before = town.node.sizes()["routes"]
    async with town.honest_traffic():
        liar.attacker.write(update(1, [f"{NEWS}/notify", f"{PUBLISHER}/msg"], cost=16))
        for number in range(2, 40):
            liar.attacker.write(update(number, (f"/n/{each}" for each in range(100)), cost=16))
        other = node_with_epoch(name_from_uri("/somebody/else"), b"8 bytes!")
        liar.attacker.write(packed(Goodbye(other)))
        await town.until(lambda: town.node.counters["routes_changed"])
    assert town.node.sizes()["routing_heard"] == 0
    assert town.node.sizes()["routes"] == before
    liar.stop()


async def test_a_flood_of_changes_is_held_back(idle_town: Town) -> None:
    town = idle_town
    await town.start(update_rate=100)
    liar = await lying_node(town)
    async with town.honest_traffic():
        number = 0
        while not town.held_back("routing_updates"):
            number += 1
            cost = 1 + number % 14
            liar.attacker.write(update(number, (f"/f/{each}" for each in range(100)), cost))
            await asyncio.sleep(0.01)
    assert town.held_back("routing_updates") == {liar.attacker.called}
    assert town.node.sizes()["routing_heard"] <= 100
    liar.stop()


@pytest.mark.parametrize(
    "raw",
    [
        b"", b"\x81\x00", b"\x83\xff" + b"\xff" * 8, b"\x99\x00",
        encode_message(Hello(name_from_uri("/liar"), 0, bytes(8))),
    ],
)  # fmt: skip
async def test_routing_messages_that_are_none_are_told_and_paid_for(
    slow_town: Town, raw: bytes
) -> None:
    town = slow_town
    attacker = await town.attacker()
    packet = encode_interest(ROUTING, nonce=fresh(), parameters=raw, signer=SIGNER).raw
    async with town.honest_traffic(least=5):
        attacker.flood([packet] * 2000)
        await town.until(lambda: any(each.event == "held_back" for each in town.events) or (
            town.blamed("protocol_error", "too_much_work")))  # fmt: skip
    told = {
        each.fields.get("address")
        for each in town.events
        if each.event in ("held_back", "protocol_error")
    }
    assert told == {attacker.called}
    assert town.node.sizes()["neighbours"] == 0


# ---- coming and going


async def test_connections_that_come_and_go_leave_nothing_behind(town: Town) -> None:
    before = town.node.sizes()
    async with town.honest_traffic():
        for number in range(100):
            attacker = await Attacker.connect(town.unix if number % 3 else town.tcp)
            attacker.write(
                registration(f"/come/{number}"),
                interest(f"/come/{number}/x"),
                interest(NEWS),
                packed(Hello(LIAR, 0, bytes(8))),
                b"\x05\xfd",
            )
            if number % 2:
                await attacker.left()
                await asyncio.sleep(0.001)
            attacker.cut()
        await town.until(lambda: town.node.sizes()["connections"] == 2)
    names = (
        "faces", "connections", "forwarder_faces", "routes", "prefixes", "neighbours", "managers",
        "routing_timers", "routing_heard", "accepted_sources", "connection_timers",
        "bytes_unfinished", "bytes_waiting", "local_prefixes", "arrivals", "fetches",
        "faces_to_flush", "pending_faces",
    )  # fmt: skip
    await town.until(lambda: _same(before, town.node.sizes(), names))
    await town.until(lambda: town.node.sizes()["pit"] == 0)


def _same(before: dict[str, int], after: dict[str, int], names: tuple[str, ...]) -> bool:
    return all(before[name] == after[name] for name in names)


async def test_when_there_is_no_room_for_more_connections_those_that_are_there_go_on(
    idle_town: Town,
) -> None:
    town = idle_town
    await town.start(max_faces=20)
    attackers = [await Attacker.connect(town.tcp) for _ in range(60)]
    async with town.honest_traffic():
        await town.until(lambda: town.node.counters["connection_refused.too_many_faces"] == 42)
        await town.until(lambda: town.node.sizes()["connections"] == 20)
    for attacker in attackers:
        attacker.cut()
    await town.until(lambda: town.node.sizes()["connections"] == 2)


@pytest.mark.usefixtures("far_away")
async def test_one_address_has_one_account_however_often_it_comes(slow_town: Town) -> None:
    town = slow_town
    first = await town.attacker(host="127.0.0.66")
    for number in range(67, 75):  # accounts that owe nothing are forgotten meanwhile
        (await town.attacker(host=f"127.0.0.{number}")).write(interest("/nobody"))
    async with town.honest_traffic():
        first.flood([b"\x05\x00"] * 450)
        await town.until(lambda: first.called in town.held_back("bad_tlv"))
        again = await town.attacker(host="127.0.0.66")
        again.write(b"\x05\x00")
        await town.until(lambda: again.called in town.held_back("bad_tlv"))
    assert town.held_back("bad_tlv") == {first.called, again.called}


@pytest.mark.usefixtures("far_away")
async def test_one_address_has_no_more_connections_than_its_share(idle_town: Town) -> None:
    town = idle_town
    await town.start(max_faces_of_owner=8)
    attackers = [await Attacker.connect(town.tcp, "127.0.0.66") for _ in range(30)]
    async with town.honest_traffic():
        await town.until(
            lambda: town.node.counters["connection_refused.too_many_faces_of_owner"] == 22
        )
        await town.attacker(host="127.0.0.67")  # others get theirs
    for attacker in attackers:
        attacker.cut()

"""Datagrams: fragments that never make a packet, and sources by the thousand."""

from __future__ import annotations

import asyncio
import itertools

from rumormill.ndn.wire.link import encode_link
from tests.helpers.ndn.attacker import DatagramAttacker, interest, registration
from tests.helpers.ndn.besieged import Town


async def test_fragments_that_never_complete_take_no_more_than_their_room(
    idle_town: Town,
) -> None:
    town = idle_town
    await town.start(radio=True, max_face_reassemblies=16, max_reassembly_bytes=128 * 1024)
    attackers = [town.radio_attacker() for _ in range(10)]
    most = 0
    async with town.honest_traffic():
        for attacker in attackers:
            attacker.write(registration("/radio"))
        numbers = itertools.count(1)
        while not town.node.counters["dropped.too_many_incomplete"] > 100:
            for attacker in attackers:
                for _ in range(5):
                    at = 1000 * next(numbers)
                    attacker.write(encode_link(bytes(1000), sequence=at, index=0, count=8))
            await asyncio.sleep(0.01)
            sizes = town.node.sizes()
            assert sizes["reassemblies"] <= 16 * 10
            most = max(most, sizes["reassembly_bytes"])
    assert 0 < most <= 128 * 1024 + 2000
    assert town.blamed("dropped", "too_many_incomplete") <= {each.called for each in attackers}
    await town.until(lambda: town.node.sizes()["reassemblies"] == 0)  # each has its time
    assert town.node.sizes()["reassembly_bytes"] == 0


async def test_who_sends_such_fragments_without_end_is_not_heard_for_a_while(
    idle_town: Town,
) -> None:
    town = idle_town
    await town.start(radio=True, work_share=0.001, work_burst=0.005)
    attacker = town.radio_attacker()
    async with town.honest_traffic():
        for number in itertools.count():
            attacker.write(encode_link(bytes(100), sequence=1000 * number, index=0, count=8))
            if number % 20 == 19:
                await asyncio.sleep(0.01)
                if town.held_back("incomplete_packets"):
                    break
    assert town.held_back("incomplete_packets") == {attacker.called}


async def test_junk_by_datagrams_makes_no_face(idle_town: Town) -> None:
    town = idle_town
    await town.start(radio=True, work_share=0.001, work_burst=0.005)
    attacker = town.radio_attacker()
    faces = town.node.sizes()["udp_faces"]
    async with town.honest_traffic():
        while not town.held_back("bad_packet"):
            attacker.write(*[b"junk"] * 20)
            await asyncio.sleep(0.01)
        assert town.node.sizes()["udp_faces"] == faces
    assert town.held_back("bad_packet") == {attacker.called}


async def test_sources_by_the_thousand_take_no_place_of_those_that_were_there(
    idle_town: Town,
) -> None:
    town = idle_town
    await town.start(radio=True, max_udp_faces=100)
    async with town.honest_traffic():
        for number in range(2000):
            attacker = DatagramAttacker(town.udp, f"127.0.{1 + number // 250}.{1 + number % 250}")
            attacker.write(interest("/nobody/there"))
            attacker.cut()
            if number % 20 == 19:
                await asyncio.sleep(0)
        await town.until(lambda: town.node.counters["connection_refused.too_many_faces"])
    sizes = town.node.sizes()
    assert sizes["udp_faces"] <= 100
    assert sizes["accounts"] <= 100
    assert sizes["resting"] <= 100

"""Packets that are none, while honest programs talk through the same node."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from rumormill.ndn.wire.link import encode_link
from rumormill.ndn.wire.name import component, name_from_uri, name_tlv
from rumormill.ndn.wire.tlv import tlv
from tests.helpers.ndn.attacker import data, interest
from tests.helpers.ndn.besieged import NEWS, Town

INTEREST, DATA, LINK = 0x05, 0x06, 0x64
NAME = name_tlv(name_from_uri(NEWS))
NONCE = tlv(0x0A, b"1234")


def nested(packet: bytes, depth: int) -> bytes:
    """Link packets within each other, so many, and a packet in the innermost."""
    for _ in range(depth):
        packet = tlv(LINK, tlv(0x50, packet))
    return packet


def changed_name() -> bytes:
    """An Interest with parameters that are not those that its name has the digest of."""
    digest = tlv(0x02, bytes(32))
    name = tlv(0x07, name_from_uri(NEWS) + component(b"notify") + digest)
    return tlv(INTEREST, name + NONCE + tlv(0x24, b"other"))


# ---- what ends a connection: nobody knows where the next packet begins

NO_STREAM = {
    "a length of 2 to the 64": (b"\x05\xff" + b"\xff" * 8, "packet_too_large"),
    "a length of 4 GiB": (b"\x06\xfe\xff\xff\xff\xff", "packet_too_large"),
    "a little more than a packet": (b"\x64\xfd\x22\x61", "packet_too_large"),
    "a length in a longer form than needed": (b"\x05\xfd\x00\x05abcde", "bad_tlv"),
    "and in the longest": (b"\x05\xff" + bytes(7) + b"\x05abcde", "bad_tlv"),
    "a name of 10,000 components": (
        tlv(INTEREST, tlv(0x07, b"\x08\0" * 10_000)),
        "packet_too_large",
    ),
    "a type of no packet": (b"\x07\x02\x08\x00", "bad_tlv"),
    "the type in a longer form": (b"\xfd\x00\x05\x02ab", "bad_tlv"),
    "another protocol": (b"GET / HTTP/1.1\r\n\r\n", "bad_tlv"),
}


@pytest.mark.parametrize("case", NO_STREAM)
async def test_what_is_no_stream_of_packets_ends_the_connection(town: Town, case: str) -> None:
    raw, reason = NO_STREAM[case]
    attackers = [await town.attacker(), await town.attacker(town.unix)]
    async with town.honest_traffic():
        for attacker in attackers:
            attacker.write(raw)
            assert await attacker.is_closed()
    assert town.blamed("protocol_error", reason) == {each.called for each in attackers}
    assert town.node.sizes()["bytes_unfinished"] == 0


async def test_a_packet_that_never_ends_takes_no_more_memory_than_a_packet(town: Town) -> None:
    attackers = [await town.attacker() for _ in range(20)]
    async with town.honest_traffic():
        for attacker in attackers:
            attacker.write(b"\x05\xfd\x22\x5c" + bytes(8000))  # 8800 bytes in all, it says
        await town.until(lambda: town.node.sizes()["bytes_unfinished"] == 20 * 8004)
    assert town.node.sizes()["bytes_unfinished"] == 20 * 8004


# ---- what costs its sender the packet, and more if there are many

BAD_PACKETS: dict[str, tuple[bytes, str]] = {
    "nothing inside": (tlv(INTEREST, b""), "bad_tlv"),
    "a link packet in a link packet": (nested(interest(NEWS), 2), "bad_packet"),
    "a thousand of them": (nested(interest(NEWS), 1000), "bad_packet"),
    "a length beyond the packet": (tlv(INTEREST, b"\x07\xfd\xff\xff"), "bad_tlv"),
    "a length of 2 to the 64 inside": (tlv(INTEREST, b"\x07\xff" + b"\xff" * 8), "bad_tlv"),
    "a longer form inside": (tlv(INTEREST, b"\x07\xfd\x00\x03\x08\x01a" + NONCE), "bad_tlv"),
    "4,000 components": (tlv(INTEREST, tlv(0x07, bytes((8, 0)) * 4000) + NONCE), "bad_name"),
    "a nonce of five bytes": (tlv(INTEREST, NAME + tlv(0x0A, b"12345")), "bad_packet"),
    "an unknown critical type": (
        tlv(INTEREST, NAME + NONCE + tlv(0x2F, b"?")), "unknown_critical",
    ),
    "an unknown critical type around it": (
        tlv(LINK, tlv(0x0355, b"") + tlv(0x50, interest(NEWS))), "unknown_critical",
    ),
    "a wrong digest of parameters": (changed_name(), "wrong_parameters_digest"),
    "a Data without a signature": (tlv(DATA, NAME + tlv(0x15, b"x")), "bad_tlv"),
    "fragment 7 of 3": (encode_link(b"x", sequence=9, index=7, count=3), "bad_link"),
    "a Nack of a Data": (encode_link(data(NEWS), nack=150), "bad_packet"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD_PACKETS)
async def test_a_bad_packet_is_told_and_the_next_one_is_read(town: Town, case: str) -> None:
    raw, reason = BAD_PACKETS[case]
    attacker = await town.attacker()
    async with town.honest_traffic(least=5):
        attacker.write(raw)
        assert await attacker.is_served()
    assert town.blamed("protocol_error", reason) == {attacker.called}


@pytest.mark.parametrize("case", BAD_PACKETS)
async def test_who_sends_many_of_them_alone_is_held_back(slow_town: Town, case: str) -> None:
    town = slow_town
    raw, reason = BAD_PACKETS[case]
    attacker = await town.attacker()
    async with town.honest_traffic(least=5):
        attacker.flood([raw] * 3000)
        await town.until(lambda: town.held_back(reason))
        assert await (await town.attacker()).is_served()
    assert town.held_back(reason) == {attacker.called}


# ---- bytes that hardly ever make a packet


async def test_who_sends_its_packets_byte_by_byte_is_held_back(slow_town: Town) -> None:
    town = slow_town
    attacker = await town.attacker()
    raw = interest("/nobody" + "/x" * 200)

    def pieces() -> Iterator[bytes]:
        while True:
            for at in range(len(raw)):
                yield raw[at : at + 1]

    endless = pieces()
    async with town.honest_traffic():
        while not town.held_back("pieces"):
            attacker.write(next(endless))
            await asyncio.sleep(0)
    assert town.held_back("pieces") == {attacker.called}


async def test_link_packets_with_nothing_in_them_hold_back_their_sender(slow_town: Town) -> None:
    town = slow_town
    attacker = await town.attacker(town.unix)
    async with town.honest_traffic():
        attacker.flood([tlv(LINK, b"")] * 30_000)
        await town.until(lambda: town.held_back("empty_link_packets"))
    assert town.held_back("empty_link_packets") == {attacker.called}

"""Any bytes give a packet or a refusal, in time that grows with their length and no faster."""

from __future__ import annotations

import copy
import pickle
import random
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ndn.encoding import parse_data, parse_interest

from rumormill.core.errors import RemoteProtocolError
from rumormill.ndn.wire.control import ControlParameters, encode_command, read_command
from rumormill.ndn.wire.data import Data, decode_data, encode_data
from rumormill.ndn.wire.interest import Interest, decode_interest, encode_interest
from rumormill.ndn.wire.link import LinkPacket, decode_link, encode_link
from rumormill.ndn.wire.name import check_name, component, name_from_uri, prefix_ends
from rumormill.ndn.wire.notify import NotifyParameters, encode_notify, notify_name
from rumormill.ndn.wire.tlv import tlv
from tests.helpers.core.steps import Work, work_of
from tests.helpers.ndn.wire import DIGEST, KEY, altered

TOPIC = name_from_uri("/t/x")
NOTIFY = encode_interest(
    notify_name(TOPIC),
    nonce=b"1234",
    parameters=encode_notify(NotifyParameters(component(b"alice"), b"1234")),
    signer=KEY,
    signature_nonce=b"12345678",
    signature_time=7,
)
PLAIN = encode_interest(
    TOPIC,
    nonce=b"1234",
    can_be_prefix=True,
    must_be_fresh=True,
    forwarding_hint=(component(b"h"),),
    hop_limit=9,
)
MESSAGE = encode_data(
    TOPIC, b"hello", KEY, freshness=9, final_block=component(b"\1", 50), content_type=2
)
LINK = encode_link(PLAIN.raw, b"token", nack=150, sequence=7, index=1, count=2, congestion=1)
COMMAND = encode_command(
    name_from_uri("/localhost/nfd/rib/register"),
    ControlParameters(name=TOPIC, cost=1, uri="udp://127.0.0.1:6363", strategy=TOPIC),
    form="v0.2",
    nonce=b"1234",
    timestamp_ms=1,
    random_bytes=bytes(8),
    signer=DIGEST,
)

Found = Interest | Data | LinkPacket


def command(raw: bytes) -> Found:
    found = decode_interest(raw)
    read_command(found)
    return found


SAMPLES: list[tuple[Callable[[bytes], Found], bytes]] = [
    (decode_interest, NOTIFY.raw),
    (decode_interest, PLAIN.raw),
    (decode_data, MESSAGE.raw),
    (decode_link, LINK),
    (command, COMMAND.raw),
]


def look_at(found: Found) -> None:
    """What holds for all that was read."""
    if isinstance(found, LinkPacket):
        assert 0 <= found.index < found.count and len(found.token) <= 32
        return
    check_name(found.name)
    assert prefix_ends(found.name)[-1] == len(found.name)
    if isinstance(found, Interest):
        assert found.nonce is None or found.raw[found.nonce_at :].startswith(found.nonce)
        assert found.hop_limit is None or found.raw[found.hop_limit_at] == found.hop_limit
    else:
        assert found.content is None or found.content in found.raw
    if found.signature is not None:
        assert len(found.signature.covered) < len(found.raw)


@given(st.binary(max_size=200), st.sampled_from(SAMPLES))
def test_any_bytes_are_read_or_refused(
    raw: bytes, sample: tuple[Callable[[bytes], Found], bytes]
) -> None:
    decode, good = sample
    for data in (raw, tlv(good[0], raw), good[:2] + raw):
        try:
            look_at(decode(data))
        except RemoteProtocolError:
            continue


@given(st.integers(0, 2**32), st.sampled_from(SAMPLES))
def test_packets_with_a_few_wrong_bytes_are_read_or_refused(
    seed: int, sample: tuple[Callable[[bytes], Found], bytes]
) -> None:
    decode, good = sample
    try:
        look_at(decode(altered(good, random.Random(seed))))
    except RemoteProtocolError:
        return


@pytest.mark.parametrize("number", range(len(SAMPLES)))
def test_every_beginning_of_a_packet_is_refused(number: int) -> None:
    decode, good = SAMPLES[number]
    for size in range(len(good)):
        with pytest.raises(RemoteProtocolError):
            decode(good[:size])


@given(st.integers(0, 2**32))
def test_what_we_read_python_ndn_reads_as_well(seed: int) -> None:
    source = random.Random(seed)
    try:
        found = decode_interest(altered(PLAIN.raw, source))
        theirs, said, _, _ = parse_interest(found.raw)
        assert b"".join(map(bytes, theirs)) == found.name
        assert said.hop_limit == found.hop_limit
        data = decode_data(altered(MESSAGE.raw, source))
        theirs, _, content, _ = parse_data(data.raw)
        assert b"".join(map(bytes, theirs)) == data.name
        assert (None if content is None else bytes(content)) == data.content
    except RemoteProtocolError:
        return


@pytest.mark.parametrize("packet", [NOTIFY, PLAIN, MESSAGE])
def test_packets_can_be_copied_and_sent_to_other_processes(packet: Interest | Data) -> None:
    for other in (pickle.loads(pickle.dumps(packet)), copy.deepcopy(packet)):
        assert other == packet
        if packet.signature is not None and other.signature is not None:
            assert other.signature.covered == packet.signature.covered


# ---- bombs


def bombs(size: int) -> dict[str, tuple[Callable[[bytes], object], bytes]]:
    """Packets of about a size that are made of many small things, or of deep ones."""
    nested = b""
    while len(nested) < size:
        nested = tlv(7, nested)
    name = tlv(7, component(b"a"))
    some = bytes.fromhex("f000") * (size // 2)
    names = bytes.fromhex("0700") * (size // 2)
    info = bytes.fromhex("16031b0100") + bytes.fromhex("1700")
    return {
        "components": (decode_interest, tlv(5, tlv(7, component(b"") * (size // 2)))),
        "components of a Data": (decode_data, tlv(6, tlv(7, component(b"") * (size // 2)) + info)),
        "long components": (decode_interest, tlv(5, tlv(7, tlv(0xFFFF, b"") * (size // 4)))),
        "nesting": (decode_interest, tlv(5, nested)),
        "nested hints": (decode_interest, tlv(5, name + tlv(0x1E, nested))),
        "hints": (decode_interest, tlv(5, name + tlv(0x1E, names))),
        "ignored fields": (decode_interest, tlv(5, name + some)),
        "ignored fields of a Data": (decode_data, tlv(6, name + some + info)),
        "ignored fields behind": (decode_data, tlv(6, name + info + some)),
        "key locators": (
            decode_data, tlv(6, name + tlv(0x16, b"\x1b\x01\x03" + tlv(0x1C, some)) + info[5:])
        ),
        "ignored fields of a link": (decode_link, tlv(0x64, tlv(804, b"") * (size // 4))),
        "acknowledgements": (decode_link, tlv(0x64, tlv(0x344, bytes(8)) * (size // 12))),
    }  # fmt: skip


@pytest.mark.parametrize("name", sorted(bombs(10)))
def test_a_packet_costs_what_its_length_is(name: str) -> None:
    def work(size: int) -> Work:
        decode, raw = bombs(size)[name]
        return work_of(lambda: decode(raw), (RemoteProtocolError,))

    short, long = work(2000), work(4000)
    assert long.steps <= 2.2 * short.steps + 200
    assert long.bytes <= 2.2 * short.bytes + 20_000

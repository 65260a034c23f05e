"""Lengths where their form changes: of components, names, contents, tokens and whole packets."""

from __future__ import annotations

import pytest

from rumormill.ndn.wire.data import decode_data, encode_data
from rumormill.ndn.wire.interest import decode_interest, encode_interest
from rumormill.ndn.wire.link import LinkPacket, decode_link, encode_link
from rumormill.ndn.wire.name import component, components, name_tlv, prefix_ends
from rumormill.ndn.wire.signature import SignatureType
from rumormill.ndn.wire.stream import Packets
from rumormill.ndn.wire.tlv import read_head, tlv
from tests.helpers.ndn.wire import DIGEST, NamedKey

AROUND = [*range(200, 262), *range(65_470, 65_545)]
"""Also what is around it comes to such a length by one of these."""


@pytest.mark.parametrize("size", AROUND)
def test_components_and_names_of_any_length(size: int) -> None:
    value = bytes(size)
    part = component(value)
    assert read_head(part, 0, len(part)) == (8, len(part) - size, len(part))
    assert part == tlv(8, value)
    assert name_tlv(value) == tlv(7, value)
    assert components(part + part) == [part, part]
    assert prefix_ends(part + part) == [0, len(part), 2 * len(part)]


@pytest.mark.parametrize("size", AROUND)
def test_interests_of_any_length(size: int) -> None:
    for name in (component(bytes(size)), component(b"") * 2 + component(bytes(size - 4))):
        made = encode_interest(name, nonce=b"1234")
        assert decode_interest(made.raw) == made
        made = encode_interest(name, nonce=b"1234", hop_limit=7, can_be_prefix=True)
        assert decode_interest(made.raw) == made
    made = encode_interest(component(b"a"), nonce=b"1234", parameters=bytes(size), signer=DIGEST)
    assert decode_interest(made.raw) == made


@pytest.mark.parametrize("size", AROUND)
def test_data_of_any_length(size: int) -> None:
    made = encode_data(component(b"a"), bytes(size), DIGEST)
    assert decode_data(made.raw) == made and made.content == bytes(size)
    signer = NamedKey(component(b"k"), SignatureType.RSA, size)
    made = encode_data(component(bytes(size)), b"", signer)
    assert decode_data(made.raw) == made and len(made.signature.value) == size


@pytest.mark.parametrize("size", AROUND)
def test_link_packets_of_any_length(size: int) -> None:
    for token in (b"", b"123456"):
        raw = encode_link(bytes(size), token, nack=1)
        assert decode_link(raw) == LinkPacket(bytes(size), token, 1)
    raw = encode_link(bytes(size), b"123456")
    assert decode_link(raw) == LinkPacket(bytes(size), b"123456")
    assert Packets(1 << 20).feed(raw + raw) == [raw, raw]

"""Fuzz what comes in by a face of NDN: packets in any cut, link packets, Interests and Data, and
all that is in them: names, signatures, commands, notifies, manifests and rows of status."""

from __future__ import annotations

import contextlib
import sys
from hashlib import sha256
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2]))

from tests.helpers.fuzz.fuzzing import Choices, fuzz, instrumented, pieces

with instrumented(__name__):
    from rumormill.core.errors import RemoteProtocolError
    from rumormill.ndn.wire.control import (
        ControlParameters,
        ControlResponse,
        decode_parameters,
        decode_response,
        encode_command,
        encode_parameters,
        encode_response,
        read_command,
    )
    from rumormill.ndn.wire.data import Data, decode_data, encode_data, full_name
    from rumormill.ndn.wire.dataset import (
        decode_faces,
        decode_fib,
        decode_general_status,
        decode_rib,
        decode_strategies,
        encode_faces,
        encode_fib,
        encode_general_status,
        encode_rib,
        encode_strategies,
    )
    from rumormill.ndn.wire.interest import (
        Interest,
        decode_interest,
        encode_interest,
        with_hop_limit,
        with_nonce,
    )
    from rumormill.ndn.wire.link import LinkPacket, decode_link, encode_link
    from rumormill.ndn.wire.manifest import decode_manifest, encode_manifest
    from rumormill.ndn.wire.name import (
        check_name,
        component,
        components,
        name_from_uri,
        name_to_uri,
        prefix_ends,
    )
    from rumormill.ndn.wire.notify import NotifyParameters, decode_notify, encode_notify
    from rumormill.ndn.wire.signature import Signature
    from rumormill.ndn.wire.stream import Packets
    from rumormill.ndn.wire.tlv import tlv
    from tests.helpers.ndn.wire import DIGEST, KEY

LARGEST = 4096
TOPIC, ALICE = name_from_uri("/t/x"), name_from_uri("/alice")
REGISTER = name_from_uri("/localhost/nfd/rib/register")
ABOUT = ControlParameters(name=TOPIC, face_id=7, uri="udp://a", cost=1, strategy=ALICE)
NOTIFY = encode_notify(NotifyParameters(ALICE, b"1234", TOPIC))


# ---- what holds for every packet


def packets_in(data: bytes, size: int) -> tuple[list[bytes], str]:
    """The packets of a stream in pieces of a size, and why it ended."""
    reader, seen = Packets(LARGEST), []
    try:
        for piece in pieces(data, size):
            seen += reader.feed(piece)
            assert reader.buffered < LARGEST, "more than a packet is kept"
        reader.feed(b"")
    except RemoteProtocolError as error:
        return seen, error.reason
    return seen, ""


def look_at(raw: bytes) -> None:
    assert len(raw) <= LARGEST
    with contextlib.suppress(RemoteProtocolError):
        look_at_link(decode_link(raw))


def look_at_link(link: LinkPacket) -> None:
    assert 0 <= link.index < link.count and len(link.token) <= 32
    again = encode_link(*link[:7])
    if again is not link.fragment:
        assert decode_link(again)[:3] == link[:3], "a link packet changes on its way"
    with contextlib.suppress(RemoteProtocolError):
        look_at_interest(decode_interest(link.fragment))
    with contextlib.suppress(RemoteProtocolError):
        look_at_data(decode_data(link.fragment))


def look_at_interest(interest: Interest) -> None:
    look_at_name(interest.name)
    for name in interest.forwarding_hint:
        look_at_name(name)
    changed = with_hop_limit(with_nonce(interest, b"5678"), 9)
    assert decode_interest(changed.raw) == changed, "a changed Interest cannot be read"
    assert (changed.nonce, changed.hop_limit) == (b"5678", 9)
    assert changed[2:6] == interest[2:6] and changed[7:9] == interest[7:9]
    if interest.signature is not None:
        look_at_signature(interest.signature, len(interest.raw))
    if interest.parameters is not None:
        with contextlib.suppress(RemoteProtocolError):
            notify = decode_notify(interest.parameters)
            look_at_name(notify.publisher)
            assert decode_notify(encode_notify(notify)) == notify
    with contextlib.suppress(RemoteProtocolError):
        look_at_command(interest)


def look_at_command(interest: Interest) -> None:
    command = read_command(interest)
    assert decode_parameters(encode_parameters(command.parameters)) == command.parameters
    assert len(command.signature.covered) < len(interest.raw)


def look_at_data(data: Data) -> None:
    look_at_name(data.name)
    check_name(full_name(data), 257)
    look_at_signature(data.signature, len(data.raw))
    if data.final_block is not None:
        assert components(data.final_block) == [data.final_block]
    if data.content is not None:
        assert data.content in data.raw
        look_at_content(data.content)


def look_at_signature(signature: Signature, size: int) -> None:
    assert len(signature.covered) + len(signature.value) < size
    if signature.key_name is not None:
        look_at_name(signature.key_name)


def look_at_name(name: bytes) -> None:
    check_name(name)
    ends = prefix_ends(name)
    assert ends[-1] == len(name) and b"".join(components(name)) == name
    uri = name_to_uri(name)
    assert name_from_uri(uri) == name and uri.isascii()


def look_at_content(content: bytes) -> None:
    """Whatever can be in a Data, by all who may read it."""
    with contextlib.suppress(RemoteProtocolError):
        manifest = decode_manifest(content)
        assert decode_manifest(encode_manifest(manifest)) == manifest
    with contextlib.suppress(RemoteProtocolError):
        response = decode_response(content)
        assert decode_response(encode_response(response)) == response
    with contextlib.suppress(RemoteProtocolError):
        status = decode_general_status(content)
        assert decode_general_status(encode_general_status(status)) == status
    with contextlib.suppress(RemoteProtocolError):
        faces = decode_faces(content)
        assert decode_faces(encode_faces(faces)) == faces
    with contextlib.suppress(RemoteProtocolError):
        assert decode_fib(encode_fib(decode_fib(content))) == decode_fib(content)
    with contextlib.suppress(RemoteProtocolError):
        assert decode_rib(encode_rib(decode_rib(content))) == decode_rib(content)
    with contextlib.suppress(RemoteProtocolError):
        choices = decode_strategies(content)
        assert decode_strategies(encode_strategies(choices)) == choices


# ---- packets that nearly make sense

TYPES = (
    0x05, 0x06, 0x07, 0x08, 0x01, 0x02, 0x0A, 0x0C, 0x12, 0x14, 0x15, 0x16, 0x17, 0x18, 0x19, 0x1A,
    0x1B, 0x1C, 0x1D, 0x1E, 0x21, 0x22, 0x24, 0x26, 0x28, 0x2A, 0x2C, 0x2E, 0x50, 0x51, 0x52, 0x53,
    0x62, 0x64, 0x65, 0x66, 0x67, 0x68, 0x69, 0x6A, 0x6B, 0x6C, 0x6D, 0x72, 0x80, 0x81, 0x83, 0x85,
    0xD3, 0xF0, 0xF1, 0x0320, 0x0321, 0x0340, 0x0344, 0x034C, 0xFFFF, 0x10000,
)  # fmt: skip


def element(choices: Choices, depth: int = 0) -> bytes:
    """Any element, with others in it."""
    type = TYPES[choices.number(len(TYPES))]
    kind = choices.number(4 if depth < 4 else 2)
    if kind == 0:
        return tlv(type, choices.take(choices.number(12)))
    if kind == 1:
        return tlv(type, bytes(choices.number(256)))
    return tlv(type, b"".join(element(choices, depth + 1) for _ in range(choices.number(5))))


def name_of(choices: Choices) -> bytes:
    parts = (component(choices.take(choices.number(6))) for _ in range(1 + choices.number(4)))
    return b"".join(parts)


def packet(choices: Choices, depth: int = 0) -> bytes:
    kind = choices.number(8 if depth < 4 else 7)
    if kind == 0:
        return element(choices)
    if kind == 1:
        return encode_interest(
            name_of(choices),
            nonce=b"1234",
            can_be_prefix=choices.number(2) == 0,
            forwarding_hint=(ALICE,) * choices.number(3),
            hop_limit=choices.number(256),
        ).raw
    if kind == 2:
        value = [NOTIFY, b"", NOTIFY[:9]][choices.number(3)] + element(choices)
        return encode_interest(name_of(choices), nonce=b"1234", parameters=value, signer=KEY).raw
    if kind == 3:  # fields of one's own, with the right digest
        rest = b"\x24\x00" + b"".join(element(choices) for _ in range(choices.number(4)))
        name = name_of(choices) + component(sha256(rest).digest(), 2) + name_of(choices)
        return tlv(0x05, tlv(0x07, name) + b"".join((b"\x0a\x041234", rest)))
    if kind == 4:
        return encode_data(name_of(choices), content(choices), KEY, freshness=1).raw
    if kind == 5:
        inside = tlv(0x07, name_of(choices)) + element(choices)
        return tlv(0x06, inside + b"\x16\x03\x1b\x01\x00" + element(choices) + b"\x17\x00")
    if kind == 6:
        return encode_command(
            REGISTER,
            ABOUT,
            form="v0.3" if choices.number(2) else "v0.2",
            nonce=b"1234",
            timestamp_ms=choices.number(256),
            random_bytes=bytes(8),
            signer=DIGEST,
        ).raw
    inside = b"".join(element(choices) for _ in range(choices.number(4)))
    return tlv(0x64, inside + tlv(0x50, packet(choices, depth + 1) if choices else b""))


def content(choices: Choices) -> bytes | None:
    kind = choices.number(4)
    if kind == 0:
        return encode_response(ControlResponse(200, "OK", ABOUT))
    if kind == 1:
        return None
    rows = (element(choices) for _ in range(choices.number(4)))
    return b"".join(tlv(0x80, row) if kind == 2 else row for row in rows)


def altered(choices: Choices, data: bytes) -> bytes:
    made = bytearray(data)
    for _ in range(choices.number(3)):
        place = choices.number(256) % len(made)
        made[place : place + choices.number(3)] = choices.take(choices.number(4))
        if not made:
            break
    return bytes(made)


def target(data: bytes) -> None:
    choices = Choices(data)
    cut, wire = choices.number(17), bytearray()
    while choices:
        if choices.number(8) == 0:
            wire += choices.take(choices.number(60))
        else:
            made = packet(choices)
            wire += altered(choices, made) if choices.number(2) else made
    whole = packets_in(bytes(wire), 0)
    assert packets_in(bytes(wire), cut) == whole, "the cut matters"
    for raw in whole[0]:
        look_at(raw)


SEEDS = [
    bytes((cut, 1, kind, *inside))
    for cut in (0, 1, 5)
    for kind in range(8)
    for inside in ((1, 2, 3, 4), tuple(range(0, 60, 7)), (2, 9, 9, 9, 9, 1, 3, 3, 3, 3, 2, 0, 1))
] + [
    b"\x00\x00\x3c" + encode_interest(TOPIC, nonce=b"1234").raw,
    b"\x01\x00\x3c" + encode_data(TOPIC, b"hello", DIGEST).raw[:59],
    b"\x02\x00\x3c" + encode_link(encode_interest(TOPIC, nonce=b"1234").raw, b"token", nack=150),
    b"\x00\x00\x04\x06\xfd\xff\xff",
    b"\x00\x00\x0a\x06" + b"\xff" * 9,
]

if __name__ == "__main__":
    fuzz(target, SEEDS)

"""Every reader of bytes that somebody else wrote: how it is fed, and what may be repeated in it.

``tests/attacks/test_linear_time.py`` measures their work. A new reader belongs here; a test there
fails for a module that has one and is not named.
"""

from __future__ import annotations

import contextlib
import random
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import pyarrow as pa

from rumormill.bcos.amop.parcel import read_parcel
from rumormill.bcos.live.pem_files import read_certificates
from rumormill.bcos.sdk.challenges.dialects import DIALECTS, detect
from rumormill.bcos.sdk.topic_keys import TopicPrivateKey, TopicPublicKey
from rumormill.bcos.wire import channel_packet as bcos_channel
from rumormill.bcos.wire import p2p_packet as bcos_p2p
from rumormill.bcos.wire.frames import FrameReader as BcosFrameReader
from rumormill.bcos.wire.json_text import read_json as read_bcos_json
from rumormill.bcos.wire.routed import decode_carried, decode_routes
from rumormill.bcos.wire.topic_body import decode_body
from rumormill.bcos.wire.topic_state import decode_changes, decode_list, decode_question
from rumormill.bcos.wire.verification import (
    decode_topic_status,
    decode_verify_request,
    need_verify,
    verify_channel,
    verify_channels,
    verify_channels_of,
)
from rumormill.bep50.live.key_file import item_key_in
from rumormill.bep50.overlay.saved import saved_state
from rumormill.bep50.wire import addresses as bep50_addresses
from rumormill.bep50.wire.bencode import DEEPEST, decode
from rumormill.bep50.wire.items import item_from_put, torrent_of
from rumormill.bep50.wire.krpc import Query, read_packet
from rumormill.bep50.wire.topics import parse_topic
from rumormill.capture import envelope
from rumormill.capture.files.folder import read_marks
from rumormill.capture.files.index import Header, IndexView, Record, encode_header, encode_record
from rumormill.capture.files.topics import TopicsView, encode_topics
from rumormill.capture.foreign.detect import examine
from rumormill.capture.reading.node_client import Answer
from rumormill.capture.reading.wanted import read_query
from rumormill.cli.networks.config import load_config
from rumormill.cli.networks.pub import read_lines
from rumormill.core import base58
from rumormill.core.errors import RemoteProtocolError, RumormillError
from rumormill.core.protobuf import bytes_field, read_message, varint_field
from rumormill.libp2p.descriptor.control_message import decode_control
from rumormill.libp2p.descriptor.descriptor import TopicDescriptor
from rumormill.libp2p.descriptor.edges import decode_edge
from rumormill.libp2p.discovery.addresses import usable
from rumormill.libp2p.discovery.kademlia import message as kademlia
from rumormill.libp2p.discovery.mdns import dns
from rumormill.libp2p.discovery.mdns.records import SERVICE, nodes_in
from rumormill.libp2p.discovery.rendezvous import message as rendezvous
from rumormill.libp2p.discovery.rendezvous.records import open_record, sign_record
from rumormill.libp2p.discovery.rendezvous.registrations import Registrations
from rumormill.libp2p.gossipsub.partial import PartList
from rumormill.libp2p.host.services import Echo, Listener
from rumormill.libp2p.live import key_file
from rumormill.libp2p.live.author_file import MAGIC as AUTHORS
from rumormill.libp2p.live.author_file import decode_authors
from rumormill.libp2p.live.peers_file import decode_peers, encode_peers
from rumormill.libp2p.live.topic_file import load_edges, load_keys, load_topic
from rumormill.libp2p.stack.envelope import decode_envelope
from rumormill.libp2p.stack.identify import decode_identify
from rumormill.libp2p.stack.keys import PrivateKey, PublicKey
from rumormill.libp2p.stack.multiaddr import Multiaddr
from rumormill.libp2p.stack.multistream import Negotiation
from rumormill.libp2p.stack.noise.handshake import NoiseHandshake, NoiseTransport
from rumormill.libp2p.stack.peer_id import from_text
from rumormill.libp2p.stack.peer_record import (
    decode_peer_record,
    open_peer_record,
    sign_peer_record,
)
from rumormill.libp2p.stack.reach import Reach
from rumormill.libp2p.stack.yamux.frames import encode_header as yamux_header
from rumormill.libp2p.stack.yamux.session import YamuxSession
from rumormill.libp2p.wire.control import ControlKinds
from rumormill.libp2p.wire.dont_want import IDONTWANT
from rumormill.libp2p.wire.extensions import EXTENSIONS as EXTENSIONS_KIND
from rumormill.libp2p.wire.extensions import decode_options, decode_partial
from rumormill.libp2p.wire.frames import FrameReader, length_prefixed
from rumormill.libp2p.wire.gossip import GOSSIP_KINDS
from rumormill.libp2p.wire.message import decode_message
from rumormill.libp2p.wire.rpc import decode_rpc
from rumormill.live.files.private import read_json
from rumormill.live.transports.client_hello import read_client_hello
from rumormill.ndn.client.commands import read_answer
from rumormill.ndn.faces.addresses import canonical
from rumormill.ndn.live.key_file import split_rule
from rumormill.ndn.live.settings import read_strategy
from rumormill.ndn.routing import messages as routing
from rumormill.ndn.routing.mail import Mail
from rumormill.ndn.routing.static_route import read_static_route
from rumormill.ndn.security.certificates import key_from_certificate
from rumormill.ndn.security.keys import public_key_from_text
from rumormill.ndn.security.private_keys import PrivateKey as NdnPrivateKey
from rumormill.ndn.security.signers import DigestSigner
from rumormill.ndn.wire.control import (
    ControlParameters,
    decode_response,
    encode_parameters,
    read_command,
)
from rumormill.ndn.wire.data import decode_data, encode_data
from rumormill.ndn.wire.dataset import decode_faces, decode_fib, decode_general_status, decode_rib
from rumormill.ndn.wire.interest import (
    decode_interest,
    encode_interest,
    with_hop_limit,
    with_nonce,
)
from rumormill.ndn.wire.link import decode_link, encode_link
from rumormill.ndn.wire.manifest import decode_manifest
from rumormill.ndn.wire.name import component, components, name_from_uri, name_to_uri
from rumormill.ndn.wire.notify import decode_notify
from rumormill.ndn.wire.stream import Packets
from rumormill.ndn.wire.tlv import tlv
from rumormill.node.guard import Refusal
from rumormill.node.json_body import read_object
from rumormill.node.ledger import Ledger
from rumormill.node.rows import BATCH_SCHEMA, decode_rows
from tests.helpers.capture.foreign_traces import read_rows
from tests.helpers.fuzz.fuzzing import pieces
from tests.helpers.ndn.faces import FaceBench

REFUSALS = (RumormillError, Refusal, ValueError)
"""How readers say no. A ValueError is only said inside: who calls makes a sentence of it."""


class Pump(NamedTuple):
    """An input of any length: ``again`` as often as one likes, between the other two."""

    before: bytes
    again: bytes
    after: bytes = b""

    def of(self, size: int) -> bytes:
        """About so many bytes."""
        return self.before + self.again * max(1, size // len(self.again)) + self.after


class Reader(NamedTuple):
    """One reader."""

    name: str
    read: Callable[[bytes, int], object]
    """Reads bytes in pieces of a size, or in one piece if that is 0."""
    pumps: dict[str, Pump]
    """Nesting, repetition and long numbers, as far as its format has them."""
    modules: tuple[str, ...]
    """Where its code is."""
    words: tuple[bytes, ...] = ()
    """What its format is made of, for inputs made up at random."""
    in_pieces: bool = False
    """Whether it takes its input in pieces."""
    bounded: frozenset[str] = frozenset()
    """Its functions that search parts of a buffer only (``tests/helpers/core/steps.py``)."""


READERS: list[Reader] = []


def whole(read: Callable[[bytes], object]) -> Callable[[bytes, int], object]:
    """Of a reader that takes its input as a whole."""
    return lambda data, _: read(data)


def add(name: str, read: Callable[[bytes, int], object], modules: str, **more: Any) -> None:
    READERS.append(Reader(name, read, modules=tuple(modules.split()), **more))


# ---- the DHT

PING = b"d1:ad2:id20:" + b"n" * 20 + b"e1:q4:ping1:t2:aa1:y1:qe"
BENCODE_PUMPS = {
    "open lists": Pump(b"", b"l"),
    "open dicts": Pump(b"", b"d1:a"),
    "deep lists": Pump(b"l" * (DEEPEST - 1), b"le", b"e" * (DEEPEST - 1)),
    "lists in a list": Pump(b"l", b"le", b"e"),
    "dicts in a list": Pump(b"l", b"d1:a0:e", b"e"),
    "strings": Pump(b"l", b"1:l", b"e"),
    "numbers": Pump(b"l", b"i7e", b"e"),
    "a long number": Pump(b"i", b"9", b"e"),
    "long numbers": Pump(b"l", b"i" + b"9" * 300 + b"e", b"e"),
    "a long length": Pump(b"", b"9", b":"),
    "text": Pump(b"d1:v900:", b"old hello", b"e"),
}
BENCODE_WORDS = (
    b"d", b"l", b"e", b"i", b"0:", b"1:", b"7", b"-", b"i0e", b"2:id", b"1:a", b"1:ad", b"1:v",
    b"100:", b"20:" + b"d" * 20, b"1:y1:q", b"l" * 18,
)  # fmt: skip
BOUNDED = frozenset(("_walk",))


def a_packet(raw: bytes) -> None:
    packet = read_packet(raw)
    if isinstance(packet, Query):
        torrent_of(item_from_put(packet.arguments).value)


add("bencode", whole(decode), "bep50.wire.bencode bep50.wire.nesting",
    pumps=BENCODE_PUMPS, words=BENCODE_WORDS, bounded=BOUNDED)  # fmt: skip
add("krpc", whole(a_packet), "bep50.wire.krpc bep50.wire.items", words=(PING[:-1], *BENCODE_WORDS),
    bounded=BOUNDED,
    pumps={
        **{name: Pump(b"d1:ad2:id20:" + b"n" * 20 + b"1:v" + pump.before, pump.again,
                      pump.after + b"e1:q3:put1:t2:aa1:y1:qe")
           for name, pump in BENCODE_PUMPS.items()},
        "unknown keys": Pump(PING[:-1], b"2:zz0:", b"e"),
    })  # fmt: skip
add("state", whole(saved_state.load), "bep50.overlay.saved.saved_state bep50.live.state_file",
    words=BENCODE_WORDS, bounded=BOUNDED,
    pumps={**BENCODE_PUMPS, "nodes": Pump(b"d2:id20:" + b"n" * 20 + b"6:topicsd20:" + b"t" * 20 +
                                          b"d5:nodes2600:", b"n" * 26, b"eee")})  # fmt: skip
add("nodes", whole(partial(bep50_addresses.read_nodes, ipv6=False)), "bep50.wire.addresses",
    pumps={"nodes": Pump(b"", b"n" * 20 + bytes((10, 0, 0, 1, 26, 225)))})  # fmt: skip
add("address", whole(lambda raw: bep50_addresses.parse_address(raw.decode("latin-1"))),
    "bep50.wire.addresses core.addresses",
    pumps={"names": Pump(b"", b"a.", b":1"), "colons": Pump(b"[", b":", b"]:1"),
           "a long port": Pump(b"a:", b"9")})  # fmt: skip
add("topic", whole(lambda raw: parse_topic(raw.decode("latin-1"))), "bep50.wire.topics",
    pumps={"escapes": Pump(b"0" * 64 + b":", b"%61"), "fields": Pump(b"magnet:?", b"s=00&"),
           "digits": Pump(b"", b"0")})  # fmt: skip
add("key file of bep50", whole(lambda raw: item_key_in(read_json(raw))), "bep50.live.key_file",
    pumps={"digits": Pump(b'{"type":"bep50","seed":"', b"9d", b'"}')})  # fmt: skip


# ---- TLS

EXTENSIONS = 704
"""Bytes of the extensions of a hello, so that the shorter input has all of them too."""
HELLO = (b"\x01" + (40 + EXTENSIONS).to_bytes(3, "big") + b"\x03\x03" + bytes(32) + bytes(4) +
         EXTENSIONS.to_bytes(2, "big"))  # fmt: skip
RECORD = b"\x16\x03\x01" + (len(HELLO) + EXTENSIONS).to_bytes(2, "big")


def hello(data: bytes, size: int) -> None:
    came = bytearray()
    for piece in pieces(data, size):
        came += piece
        if read_client_hello(came) is not None:
            return


add("client hello", hello, "live.transports.client_hello", in_pieces=True,
    words=(b"\x16\x03\x01\x01\x00", b"\x16\x03\x01\x40\x00", RECORD, HELLO,
           b"\x00\x0a\x00\x04\x00\x02", b"\x00\x0d", b"\x00", b"\xff\xff"),
    pumps={"a record": Pump(b"\x16\x03\x01\x40\x00", b"\x01"), "headers": Pump(b"", b"\x16\x03"),
           "extensions": Pump(RECORD + HELLO, bytes(4)),
           "groups": Pump(RECORD + HELLO, b"\x00\x0a\x00\x04\x00\x02\x00\x16")})  # fmt: skip


# ---- protobuf and pubsub

KEY = PrivateKey.from_seed(b"k" * 32)

PROTOBUF_WORDS = (
    b"\x08\x01", b"\x0a\x02", b"\x12\x05", b"\x1a\x00", b"\x22\x01a", b"\xff", b"\x80", b"\x0a",
    b"\x12", b"\x1a\x04\x0a\x02\x12\x00", b"\x2a\x40" + bytes(64),
)  # fmt: skip


def nested(number: int, size: int) -> bytes:
    """Messages inside of each other."""
    raw = b""
    while len(raw) < size:
        raw = bytes_field(number, raw)
    return raw


def in_frames(data: bytes, size: int) -> None:
    reader = FrameReader(largest=1 << 20)
    for piece in pieces(data, size):
        for frame in reader.feed(piece):
            decode_rpc(frame)


PROTOBUF_PUMPS = {
    "empty fields": Pump(b"", b"\x0a\x00"),
    "unknown fields": Pump(b"", b"\x78\x01"),
    "a long number": Pump(b"\x08", b"\xff"),
    "long numbers": Pump(b"", b"\x78" + b"\xff" * 9 + b"\x01"),
    "long tags": Pump(b"", b"\xff" * 4 + b"\x0f\x00"),
    "nesting": Pump(nested(3, 3000), b"\x1a\x00"),
    "messages": Pump(b"", bytes_field(2, b"\x22\x01a")),
    "subscriptions": Pump(b"", bytes_field(1, b"\x08\x01\x12\x01a")),
    "topics": Pump(b"\x12\x90\x4e", b"\x22\x01a"),
    "parts of control": Pump(b"", b"\x1a\x04\x12\x02\x0a\x00"),
    "ids": Pump(b"\x1a\x94\x4e\x12\x90\x4e", b"\x0a\x00"),
    "exchanged peers": Pump(b"\x1a\x94\x4e\x22\x90\x4e", b"\x12\x00"),
}
FIELD_PUMPS = {name: PROTOBUF_PUMPS[name] for name in ("empty fields", "long numbers", "nesting")}
add("protobuf", whole(lambda raw: read_message(raw, 0, len(raw))), "core.protobuf",
    pumps=PROTOBUF_PUMPS, words=PROTOBUF_WORDS)  # fmt: skip
KINDS = ControlKinds(*GOSSIP_KINDS, IDONTWANT)
add("rpc", whole(lambda raw: decode_rpc(raw, kinds=KINDS)),
    "libp2p.wire.rpc libp2p.wire.control libp2p.wire.gossip libp2p.wire.dont_want",
    pumps={**PROTOBUF_PUMPS, "refused ids": Pump(b"\x1a\x94\x4e\x2a\x90\x4e", b"\x0a\x00")},
    words=(*PROTOBUF_WORDS, b"\x1a\x06\x2a\x04\x0a\x02id"))  # fmt: skip
add("extensions", whole(lambda raw: decode_rpc(raw, kinds=ControlKinds(EXTENSIONS_KIND))),
    "libp2p.wire.extensions", words=(*PROTOBUF_WORDS, b"\x1a\x04\x32\x02\x50\x01"),
    pumps={**PROTOBUF_PUMPS, "announced": Pump(b"\x1a\x94\x4e\x32\x90\x4e", b"\x50\x01")},
)  # fmt: skip
add(
    "options of a subscription",
    whole(decode_options),
    "libp2p.wire.extensions",
    words=(b"\x18\x01", b"\x20\x00", *PROTOBUF_WORDS),
    pumps=FIELD_PUMPS,
)
add(
    "partial message",
    whole(decode_partial),
    "libp2p.wire.extensions",
    words=PROTOBUF_WORDS,
    pumps=FIELD_PUMPS,
)
add("parts", whole(lambda raw: PartList(b"group", 64).take(raw)),
    "libp2p.gossipsub.partial.part_list", words=(b"\xff" * 8, b"\x01", b"\x00", b"\x05parts"),
    pumps={"a long bitmap": Pump(b"", b"\xff"), "empty parts": Pump(b"\xff" * 8, b"\x00"),
           "a large part": Pump(b"\x01" + bytes(7) + b"\xff\x7f", b"a")})  # fmt: skip
PEERS = encode_peers([])
PEER_TEXT = PrivateKey.from_seed(bytes(32)).peer.encode()
MDNS = dns.encode_query(SERVICE)

DESCRIBED = TopicDescriptor("weather")


def a_topic_file(raw: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "weather.topic"
        path.write_bytes(raw)
        path.chmod(0o600)
        for read in (load_topic, lambda file: load_keys(file, DESCRIBED),
                     lambda file: load_edges(file, DESCRIBED)):  # fmt: skip
            with contextlib.suppress(RumormillError):
                read(path)


OPTIONS_OF_TOPIC = b"\x0a\x01w\x12\x90\x4e\x08\x01"
add("descriptor", whole(TopicDescriptor.decode), "libp2p.descriptor.descriptor",
    words=(*PROTOBUF_WORDS, b"\x0a\x07weather", b"\x12\x02\x08\x01"),
    pumps={**FIELD_PUMPS, "publishers": Pump(OPTIONS_OF_TOPIC, b"\x12\x01p"),
           "a long name": Pump(b"\x0a\x90\x4e", b"n")})  # fmt: skip
add("trust edge", whole(decode_edge), "libp2p.descriptor.edges", words=PROTOBUF_WORDS,
    pumps=FIELD_PUMPS)  # fmt: skip
add("words on trust", whole(decode_control),
    "libp2p.descriptor.control_message libp2p.descriptor.private_topic "
    "libp2p.descriptor.xchacha libp2p.descriptor.sealed_data libp2p.descriptor.sealed_keys",
    words=PROTOBUF_WORDS,
    pumps={**FIELD_PUMPS, "edges": Pump(b"", b"\x0a\x00"), "asks": Pump(b"", b"\x22\x00"),
           "boxes": Pump(b"\x1a\x90\x4e\x22\x80\x4e", b"b" * 56)})  # fmt: skip
add("files of a topic", whole(a_topic_file), "libp2p.live.topic_file",
    words=(b'{"type":"topic",', b'"topic":"x",', b'"descriptor":"', b"AAAA", b'"}', b"[", b"{"),
    pumps={"base64": Pump(b'{"type":"topic","descriptor":"', b"AAAA", b'"}'),
           "open lists": Pump(b"", b"["),
           "edges": Pump(b'{"type":"topic-trust","edges":[""', b',""', b"]}")})  # fmt: skip
add("authors", whole(decode_authors), "libp2p.live.author_file",
    words=(AUTHORS, b"\x03ann" + bytes(8), b"\xff", b"\x00"),
    pumps={"the same": Pump(AUTHORS, b"\x01a" + bytes(8)), "nobody": Pump(AUTHORS, bytes(9)),
           "a long number": Pump(AUTHORS, b"\xff")})  # fmt: skip
add("remembered peers", whole(decode_peers), "libp2p.live.peers_file",
    words=(PEERS, b'{"id": "', PEER_TEXT, b'", "addresses": ["/ip4/10.0.0.1/tcp/1"]',
           b', "last_seen": 1}\n', b"\n", b"{", b"[", b"9"),
    pumps={"empty lines": Pump(PEERS, b"\n"), "nesting": Pump(PEERS, b"["),
           "objects": Pump(PEERS, b"{}\n"), "a long number": Pump(PEERS, b"9"),
           "the same": Pump(PEERS, b'{"id": "' + PEER_TEXT + b'", "addresses": '
                            b'["/ip4/10.0.0.1/tcp/1"], "last_seen": 1}\n')})  # fmt: skip
add("mDNS", whole(lambda raw: nodes_in(dns.decode_message(raw))),
    "libp2p.discovery.mdns.dns libp2p.discovery.mdns.records",
    words=(MDNS, b"\x04_p2p\x04_udp\x05local\x00", b"\xc0\x0c", b"\x00\x0c\x00\x01", b"\x00",
           b"\x00\x10\x80\x01\x00\x00\x00\x78", b"\x00\x1a\x19dnsaddr=/ip4/1.2.3.4/tcp/1"),
    pumps={"questions": Pump(bytes((0, 0, 0, 0, 1, 0)) + bytes(6), bytes(5)),
           "records": Pump(b"\0\0\x84\0\0\0\1\0\0\0\0\0", b"\0\0\1\0\1\0\0\0\0\0\0"),
           "labels": Pump(bytes(4) + b"\0\1" + bytes(6), b"\1a"),
           "pointers": Pump(bytes(4) + b"\1\0" + bytes(6) + b"\1a\0\0\1\0\1", b"\xc0\x0c\0\1\0\1"),
           "texts": Pump(b"\0\0\x84\0\0\0\0\1\0\0\0\0\0\0\x10\0\1\0\0\0\0\x10\0", b"\1a")},
)  # fmt: skip
ADDRESSES = Multiaddr("ip4", "10.0.0.1", 4001).to_bytes()
NAMED = bytes_field(1, KEY.peer_id) + bytes_field(2, ADDRESSES)
add("Kademlia", whole(kademlia.decode_message), "libp2p.discovery.kademlia.message",
    words=(b"\x08\x04", b"\x08\x03", b"\x12\x03key", bytes_field(8, NAMED), bytes_field(9, NAMED),
           b"\x42", *PROTOBUF_WORDS),
    pumps={**FIELD_PUMPS, "closer peers": Pump(b"\x08\x04", bytes_field(8, NAMED)),
           "providers": Pump(b"\x08\x03", bytes_field(9, NAMED)),
           "addresses": Pump(b"\x42\x90\x4e", bytes_field(2, ADDRESSES)),
           "empty peers": Pump(b"", b"\x42\x00")})  # fmt: skip
add("rendezvous", whole(rendezvous.decode_message), "libp2p.discovery.rendezvous.message",
    words=(b"\x08\x00\x12", b"\x08\x04\x32", b"\x0a\x02ns", b"\x12\x03rec", b"\x18\x07",
           *PROTOBUF_WORDS),
    pumps={**FIELD_PUMPS, "registrations": Pump(b"\x08\x04\x32\x90\x4e", b"\x0a\x04\x0a\x02ns"),
           "a namespace": Pump(b"\x08\x00\x12\x90\x4e\x0a\x8d\x4e", b"n"),
           "insides": Pump(b"\x08\x02", b"\x22\x02\x0a\x00")})  # fmt: skip
add("cookie", whole(lambda raw: Registrations(random.Random(1)).of("ns", raw, None, 0.0)),
    "libp2p.discovery.rendezvous.registrations", words=(b"ns", bytes(8)),
    pumps={"a long cookie": Pump(b"", b"n")})  # fmt: skip
add("told addresses", whole(lambda raw: usable("", [raw[:600]] * 3 + [raw], near=Reach.LOOPBACK,
                                               only_public=False)),
    "libp2p.discovery.addresses", words=(ADDRESSES,),
    pumps={"the same": Pump(b"", ADDRESSES)})  # fmt: skip
add("registered record", whole(open_record), "libp2p.discovery.rendezvous.records",
    words=(sign_record(KEY, 7, [Multiaddr("ip4", "192.0.2.7", 4001)], "rust"), *PROTOBUF_WORDS),
    pumps=FIELD_PUMPS)  # fmt: skip
add("message", whole(lambda raw: decode_message(raw).signed_payload()), "libp2p.wire.message",
    words=PROTOBUF_WORDS,
    pumps={**PROTOBUF_PUMPS, "many topics": Pump(b"", b"\x22\x01a"),
           "out of order": Pump(b"", b"\x12\x00\x0a\x00")})  # fmt: skip
add("frames", in_frames, "libp2p.wire.frames libp2p.pubsub.inbound.inbox", in_pieces=True,
    words=(b"\x00", b"\x01\x00", b"\x80", b"\xff\x7f", *PROTOBUF_WORDS),
    pumps={"empty frames": Pump(b"", b"\x00"), "small frames": Pump(b"", b"\x02\x78\x01"),
           "one frame": Pump(b"\xff\xff\x3f", b"a"), "a long length": Pump(b"", b"\xff")},
)  # fmt: skip


# ---- the stack of libp2p

SIGNED_RECORD = sign_peer_record(KEY, 7, [Multiaddr("ip4", "192.0.2.7", 4001)])


def negotiate(dialer: bool, data: bytes, size: int) -> None:
    names = [f"/name/{number}" for number in range(50)]
    machine = Negotiation.dialer(names) if dialer else Negotiation.listener(names)
    for piece in pieces(data, size):
        if machine.receive(piece) is not None:
            return


def shake_hands(initiator: bool, data: bytes, size: int) -> None:
    machine = NoiseHandshake(KEY, initiator=initiator, entropy=random.Random(1))
    for piece in pieces(data, size):
        if machine.receive(piece) is not None:
            return


class Payload(NoiseHandshake):
    """Checks a payload as if it had been opened."""

    def check(self, payload: bytes) -> None:
        self._check_payload(payload)


def check_payload(raw: bytes) -> None:
    Payload(KEY, initiator=True, entropy=random.Random(1)).check(raw)


def sealed(data: bytes, frame: int) -> bytes:
    """The same bytes in encrypted frames of a size."""
    sender = NoiseTransport(bytes(32), bytes(32))
    return b"".join(sender.encrypt(piece) for piece in pieces(data, frame))


def open_frames(frame: int, data: bytes, size: int) -> None:
    receiver = NoiseTransport(bytes(32), bytes(32))
    for piece in pieces(sealed(data, frame) if frame else data, size):
        receiver.decrypt(piece)


def multiplex(data: bytes, size: int) -> None:
    session = YamuxSession(dialer=False, now=0.0)
    session.receive(yamux_header(1, 1, 1, 0), 0.0, [])
    for piece in pieces(data, size):
        session.receive(piece, 0.0, [])


def listen(data: bytes, size: int) -> None:
    listener, echo = Listener(), Echo()
    for piece in pieces(data, size):
        echo.receive(piece)
        listener.receive(piece)
    listener.end()


TOKEN_PUMPS = {
    "refusals": Pump(b"\x13/multistream/1.0.0\n", b"\x03na\n"),
    "one token": Pump(b"\x80\x08", b"a"),
    "long tokens": Pump(b"\x13/multistream/1.0.0\n", b"\x80\x08" + b"a" * 1023 + b"\n"),
}
TOKEN_WORDS = (b"\x13/multistream/1.0.0\n", b"\x03na\n", b"\x80\x08", b"\n", b"\x00", b"\x05/a/b\n")
for role in (True, False):
    add("multistream, " + ("dialer" if role else "listener"), partial(negotiate, role),
        "libp2p.stack.multistream libp2p.stack.upgrade", in_pieces=True,
        pumps=TOKEN_PUMPS, words=TOKEN_WORDS)  # fmt: skip
    add("noise, " + ("initiator" if role else "responder"), partial(shake_hands, role),
        "libp2p.stack.noise.handshake libp2p.stack.noise.pattern", in_pieces=True,
        words=(b"\x00\x20", bytes(32), b"\x20\x00", b"a"),
        pumps={"one message": Pump(b"\x20\x00", b"a"), "empty": Pump(b"", b"\x00\x00")},
    )  # fmt: skip
add("noise payload", whole(check_payload), "libp2p.stack.noise.handshake",
    pumps=FIELD_PUMPS, words=PROTOBUF_WORDS)  # fmt: skip
add("noise frames", partial(open_frames, 10), "libp2p.stack.noise.handshake", in_pieces=True,
    pumps={"frames of ten bytes": Pump(b"", b"a")})  # fmt: skip
add("noise frame", partial(open_frames, 0), "libp2p.stack.noise.handshake", in_pieces=True,
    pumps={"one frame": Pump(b"\xff\xff", b"a")})  # fmt: skip
add("yamux", multiplex, "libp2p.stack.yamux.receiving libp2p.stack.connection", in_pieces=True,
    words=(yamux_header(0, 0, 1, 4), b"aaaa", yamux_header(1, 1, 3, 0), yamux_header(2, 1, 0, 7),
           yamux_header(1, 0, 1, 9), yamux_header(0, 4, 1, 0), b"\x00"),
    pumps={"data": Pump(b"", yamux_header(0, 0, 1, 4) + b"aaaa"),
           "one frame": Pump(yamux_header(0, 0, 1, 100_000), b"a"),
           "pings": Pump(b"", yamux_header(2, 1, 0, 7)),
           "windows": Pump(b"", yamux_header(1, 0, 1, 7)),
           "late frames": Pump(b"", yamux_header(0, 0, 9, 4) + b"aaaa")})  # fmt: skip
add("identify", whole(decode_identify), "libp2p.stack.identify", words=PROTOBUF_WORDS,
    pumps={**FIELD_PUMPS, "addresses": Pump(b"", bytes_field(2, bytes(8))),
           "protocols": Pump(b"", bytes_field(3, b"/a"))})  # fmt: skip
add("identify and ping", listen, "libp2p.host.services libp2p.stack.ping", in_pieces=True,
    words=PROTOBUF_WORDS,
    pumps={"one message": Pump(b"\xff\xff\x03", b"a"), "messages": Pump(b"", b"\x02\x38\x01")},
)  # fmt: skip
add("public key", whole(PublicKey.from_protobuf), "libp2p.stack.keys", words=PROTOBUF_WORDS,
    pumps={**FIELD_PUMPS, "RSA": Pump(b"\x08\x00\x12\xe0\x5d", b"\x30\x80"),
           "types": Pump(b"", b"\x08\x01")})  # fmt: skip
add("envelope", whole(decode_envelope), "libp2p.stack.envelope", words=PROTOBUF_WORDS,
    pumps={**FIELD_PUMPS, "payloads": Pump(b"", bytes_field(3, b"a"))})  # fmt: skip
add("peer record", whole(decode_peer_record), "libp2p.stack.peer_record", words=PROTOBUF_WORDS,
    pumps={**FIELD_PUMPS, "addresses": Pump(b"", bytes_field(3, bytes_field(1, bytes(8)))),
           "numbers": Pump(b"", b"\x10\x01")})  # fmt: skip
add("signed peer record", whole(lambda raw: open_peer_record(raw, KEY.peer_id)),
    "libp2p.stack.peer_record libp2p.stack.envelope",
    words=(SIGNED_RECORD, SIGNED_RECORD[:100], SIGNED_RECORD[40:], *PROTOBUF_WORDS),
    pumps={"unknown fields": Pump(SIGNED_RECORD, b"\x78\x01"),
           "payloads": Pump(SIGNED_RECORD, bytes_field(3, b"a"))})  # fmt: skip
add("peer id", whole(lambda raw: from_text(raw.decode("latin-1"))), "libp2p.stack.peer_id",
    pumps={"base58": Pump(b"Qm", b"z"), "base32": Pump(b"b", b"a"), "base36": Pump(b"k", b"z"),
           "ones": Pump(b"", b"1")})  # fmt: skip
add("base58", whole(lambda raw: base58.decode(raw.decode("latin-1"))), "core.base58",
    pumps={"digits": Pump(b"", b"z"), "ones": Pump(b"", b"1")})  # fmt: skip
add("multiaddr", whole(lambda raw: Multiaddr.parse(raw.decode("latin-1"))),
    "libp2p.stack.multiaddr libp2p.live.addresses",
    pumps={"slashes": Pump(b"", b"/"), "hosts": Pump(b"", b"/ip4/127.0.0.1"),
           "a long port": Pump(b"/ip4/127.0.0.1/tcp/", b"9"),
           "a long name": Pump(b"/dns/", b"a.", b"/tcp/1")})  # fmt: skip
add("binary multiaddr", whole(Multiaddr.from_bytes), "libp2p.stack.multiaddr",
    pumps={"hosts": Pump(b"", b"\x04\x7f\x00\x00\x01"), "a long number": Pump(b"", b"\xff"),
           "a name": Pump(b"\x35\xff\x7f", b"a")})  # fmt: skip
add("key file", whole(key_file._decode), "libp2p.live.key_file live.files.private",
    words=(b"{", b"[", b'"type":', b'"ed25519",', b'"private_key":"', b"A", b'"', b"}", b"9"),
    pumps={"nesting": Pump(b"", b"["), "a long number": Pump(b"", b"9"),
           "base64": Pump(b'{"type":"ed25519","private_key":"', b"CAES", b'"}')})  # fmt: skip


# ---- the spool

HEADER = encode_header(Header(0, 0, 0, 0, 0, 0))


def search(raw: bytes) -> None:
    view = IndexView(raw)
    for offset in (0, 7, 1 << 40):
        view.find(offset)
    view.last()


def in_a_file(read: Callable[[Path], object], name: str = "file") -> Callable[[bytes, int], object]:
    """Of a reader of files."""

    def from_file(data: bytes, _: int) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, name)
            path.write_bytes(data)
            read(path)

    return from_file


JSON_WORDS = (b"{", b"[", b"]", b"}", b":", b",", b'"a"', b"9", b"\\", b'"', b" ", b"1e9", b"null")
JSON_PUMPS = {
    "nesting": Pump(b"", b"["),
    "objects": Pump(b"", b'{"a":'),
    "a long number": Pump(b"", b"9"),
    "a long fraction": Pump(b"0.", b"9"),
    "numbers": Pump(b"[0", b",1", b"]"),
    "a long text": Pump(b'"', b"a", b'"'),
    "escapes": Pump(b'"', b"\\u0041", b'"'),
    "spaces": Pump(b"", b" "),
    "one key": Pump(b'{"a":1', b',"a":1', b"}"),
}
ENVELOPE = envelope.MAGIC + b"\x01"

add("index", whole(search), "capture.files.index capture.writing.recovery capture.reading.local",
    pumps={"damaged records": Pump(HEADER, bytes(48)),
           "records": Pump(HEADER, encode_record(Record(1, 1, 0, 0, 1, 1, 0)))})  # fmt: skip
add("topics of batches", whole(lambda raw: TopicsView(raw).of(7)), "capture.files.topics",
    words=(encode_topics(7, ["a", "b"]), encode_topics(1 << 40, []), b"\x00", b"\xff\xff", b"a"),
    pumps={"batches": Pump(b"", encode_topics(7, ["a"])),
           "names": Pump(encode_topics(7, ["a"] * 500)[:12], b"a\x00")})  # fmt: skip
add("marks", in_a_file(lambda path: read_marks(path.parent), "marks"), "capture.files.folder",
    pumps=JSON_PUMPS, words=JSON_WORDS)  # fmt: skip
add("envelope", whole(envelope.decode), "capture.envelope",
    words=(ENVELOPE, b"\x03", b"\x01", b"\x00", b"\xff", b"a"),
    pumps={"headers": Pump(ENVELOPE + b"\x02\xff\x01", b"\x00\x00", b"\x01"),
           "a long number": Pump(ENVELOPE + b"\x01", b"\xff"),
           "a value": Pump(ENVELOPE + b"\x00\xff\x7f", b"a")})  # fmt: skip


# ---- traces of others

EVENT = (
    varint_field(1, 9) + bytes_field(2, bytes(38)) + varint_field(3, 1 << 60)
    + bytes_field(13, bytes_field(1, b"a"))
)  # fmt: skip
GO_LINE = b'{"type":9,"peerID":"AAEC","timestamp":1,"join":{"topic":"a"}}\n'
HERMES_LINE = (
    b'{"Type":"JOIN","Topic":"","PeerID":"12D3Koo","Timestamp":"2024-06-20T10:00:00Z",'
    b'"Data":{"Topic":"a"}}\n'
)
for form, line in (("go-json", GO_LINE), ("hermes-json", HERMES_LINE)):
    add(form, partial(read_rows, form),
        f"capture.foreign.{form.replace('-', '_')} capture.foreign.json_lines"
        " capture.foreign.hermes capture.foreign.translate",
        in_pieces=True, words=(line, line[:30], b"\n", *JSON_WORDS),
        pumps={**JSON_PUMPS, "lines": Pump(b"", line), "blank lines": Pump(b"", b"\n"),
               "bad lines": Pump(b"", b"?\n"), "no UTF-8": Pump(b"", b"\xff"),
               "one line": Pump(line[:-2], b" ")})  # fmt: skip
add("go-protobuf", partial(read_rows, "go-protobuf"),
    "capture.foreign.go_protobuf capture.foreign.protobuf", in_pieces=True,
    words=(length_prefixed(EVENT), *PROTOBUF_WORDS),
    pumps={"events": Pump(b"", length_prefixed(EVENT)), "one event": Pump(b"\xff\xff\x3f", b"a"),
           "a batch": Pump(b"\xff\xff\x3f", bytes_field(1, EVENT)),
           "a long length": Pump(b"", b"\xff")})  # fmt: skip
add("trace file", in_a_file(examine), "capture.foreign.detect capture.foreign.source",
    words=(GO_LINE, HERMES_LINE, b"\x1f\x8b\x08\x00", *JSON_WORDS),
    pumps={"lines": Pump(b"", GO_LINE), "spaces": Pump(b"", b" "),
           "spaces in it": Pump(b"{", b" "), "one event": Pump(b"\xff\xff\x3f", b"a"),
           "bad gzip": Pump(b"\x1f\x8b\x08\x00" + bytes(6), b"\x00")})  # fmt: skip


# ---- FISCO BCOS


def bcos_packets(smallest: int, decode: Callable[[bytes], object]) -> Callable[[bytes, int], None]:
    def read(data: bytes, size: int) -> None:
        reader = BcosFrameReader(smallest)
        for piece in pieces(data, size):
            for raw in reader.feed(piece):
                decode(raw)

    return read


def a_channel_packet(raw: bytes) -> None:
    decode_body(bcos_channel.decode_channel(raw).data)
    read_parcel(raw)


def a_list_of_topics(raw: bytes) -> None:
    topics = raw.decode("latin-1").split("\t")
    verify_channels(topics)
    verify_channels_of(need_verify("a"), topics)


TOPIC_KEY = TopicPrivateKey(b"k" * 32)
CHANNEL = verify_channel(need_verify("a"), "0" * 32)


def a_challenge(raw: bytes) -> None:
    detect(raw).prove(raw, TOPIC_KEY)


def a_proof(raw: bytes) -> None:
    for dialect in DIALECTS.values():
        dialect.proves(dialect.challenge(bytes(16), CHANNEL), raw, [TOPIC_KEY.public_key])


CHANNEL_PACKET = bcos_channel.encode_channel(
    bcos_channel.ChannelPacket(bcos_channel.ChannelType.REQUEST, bcos_channel.NO_SEQ, 0, b"\x02a!")
)
P2P_PACKET = bcos_p2p.encode_p2p(bcos_p2p.P2PPacket(bcos_p2p.Module.TOPIC, 1, 0, b"1\ta"))
PACKED_PACKET = bcos_p2p.encode_p2p(bcos_p2p.P2PPacket(bcos_p2p.Module.AMOP, 1, 7, bytes(1100)))
STATUS = b'{"checkResult":0,"nodeId":"' + b"a" * 128 + b'","topic":"'
add("channel packets", bcos_packets(bcos_channel.HEADER_SIZE, a_channel_packet),
    "bcos.wire.frames bcos.wire.channel_packet bcos.wire.topic_body bcos.amop.parcel",
    in_pieces=True,
    words=(CHANNEL_PACKET, CHANNEL_PACKET[:42], b"\x00\x00\x00", b"\x2b", b"\x00\x30", b"a"),
    pumps={"packets": Pump(b"", CHANNEL_PACKET), "one packet": Pump(b"\x00\x10\x00\x00", b"a"),
           "empty packets": Pump(b"", b"\x00\x00\x00\x2a" + bytes(38)),
           "lengths": Pump(b"", b"\x00\x00\x00\x2a")})  # fmt: skip
add("packets of nodes", bcos_packets(bcos_p2p.HEADER_SIZE, bcos_p2p.decode_p2p),
    "bcos.wire.frames bcos.wire.p2p_packet", in_pieces=True,
    words=(P2P_PACKET, PACKED_PACKET, PACKED_PACKET[:16], b"\x00\x00\x00", b"\x10", b"\x80", b"a"),
    pumps={"packets": Pump(b"", P2P_PACKET), "one packet": Pump(b"\x00\x10\x00\x00", b"a"),
           "compressed": Pump(b"", PACKED_PACKET),
           "empty packets": Pump(b"", b"\x00\x00\x00\x10" + bytes(12))})  # fmt: skip
add("JSON of bcos", whole(read_bcos_json), "bcos.wire.json_text",
    words=(b"\\ud800", b"\\udc00", *JSON_WORDS),
    pumps={**JSON_PUMPS, "lists in a list": Pump(b"[0", b",[]", b"]"),
           "halves of pairs": Pump(b'"', b"\\ud800", b'"'),
           "pairs": Pump(b'"', b"\\ud83d\\ude00", b'"')})  # fmt: skip
add("verification", whole(decode_verify_request), "bcos.wire.verification",
    words=(STATUS, b'"topicForCert":"' + CHANNEL.encode() + b'"', *JSON_WORDS), pumps=JSON_PUMPS,
)  # fmt: skip
add("status of a topic", whole(decode_topic_status), "bcos.wire.verification",
    words=(STATUS, *JSON_WORDS),
    pumps={**JSON_PUMPS, "a topic": Pump(STATUS + b"#!$TopicNeedVerify_", b"a", b'"}'),
           "a result": Pump(b'{"checkResult":', b"9", b"}")})  # fmt: skip
add("topics of a node", whole(a_list_of_topics), "bcos.wire.verification",
    pumps={"channels": Pump(b"", CHANNEL.encode() + b"\t"), "tabs": Pump(b"", b"\t"),
           "one topic": Pump(b"#!$VerifyChannel_#!$TopicNeedVerify_", b"a"),
           "one id": Pump(b"#!$VerifyChannel_#!$TopicNeedVerify_a_", b"0")})  # fmt: skip
add("list of topics", whole(lambda raw: (decode_question(raw), decode_list(raw, 1 << 20))),
    "bcos.wire.topic_state", words=(b"7", b"\t", b"a", b"\xc3\xa4", b"9" * 20),
    pumps={"tabs": Pump(b"1", b"\t"), "topics": Pump(b"1", b"\ta"), "digits": Pump(b"", b"9"),
           "one topic": Pump(b"1\t", b"a")})  # fmt: skip
add("changes of topics", whole(lambda raw: decode_changes(raw, 1 << 20)), "bcos.wire.topic_state",
    words=(b"7", b"\t", b"+a", b"-", b"\xc3\xa4", b"9" * 20),
    pumps={"tabs": Pump(b"1", b"\t"), "topics": Pump(b"1\t1", b"\t+a\t-b"),
           "digits": Pump(b"1\t", b"9"), "one topic": Pump(b"1\t1\t+", b"a")})  # fmt: skip
add("routes", whole(decode_routes), "bcos.wire.routed", pumps={"routes": Pump(b"", bytes(73))})
add("carried", whole(decode_carried), "bcos.wire.routed", pumps={"a payload": Pump(b"", b"a")})
DIALECT_MODULES = " ".join(
    f"bcos.sdk.challenges.{name}" for name in ("dialect", "dialects", *DIALECTS)
)
add("challenge", whole(a_challenge), DIALECT_MODULES,
    words=(b'{"randValue":"', b"7", b'","topic":"', b'"}', b"\x02a\x00\x14", *JSON_WORDS),
    pumps={**JSON_PUMPS, "digits": Pump(b'{"randValue":"', b"7", b'"}'), "bytes": Pump(b"", b"a"),
           "a text": Pump(b"\x02a\x03\x20", b"a")})  # fmt: skip
add("proof", whole(a_proof), DIALECT_MODULES,
    words=(b'{"signature":"', b"MAYCAQECAQE=", b'"}', b"\x02a\x00\x1f", *JSON_WORDS),
    pumps={**JSON_PUMPS, "base64": Pump(b'{"signature":"', b"AAAA", b'"}'),
           "bytes": Pump(b"", b"a"), "DER": Pump(b'{"signature":"MIIB', b"AgEB", b'"}'),
           "framed": Pump(b"\x02a\x03\x20", b'{"signature":"AAAA"}')})  # fmt: skip
add("keys of topics", whole(TopicPublicKey.from_pem), "bcos.sdk.topic_keys",
    words=(b"-----BEGIN PUBLIC KEY-----\n", b"-----END PUBLIC KEY-----\n", b"MFYw", b"\n", b"A"),
    pumps={"labels": Pump(b"", b"-----BEGIN PUBLIC KEY-----\n"), "dashes": Pump(b"", b"-----"),
           "a long label": Pump(b"-----BEGIN ", b"A"), "starts": Pump(b"", b"-----BEGIN "),
           "base64": Pump(b"-----BEGIN PUBLIC KEY-----\n", b"AAAA",
                          b"\n-----END PUBLIC KEY-----\n")})  # fmt: skip
add("certificates", in_a_file(read_certificates),
    "bcos.live.pem_files bcos.live.certificate_folder bcos.live.chain_folder",
    pumps={"labels": Pump(b"", b"-----BEGIN CERTIFICATE-----\n"), "dashes": Pump(b"", b"-----"),
           "base64": Pump(b"-----BEGIN CERTIFICATE-----\n", b"AAAA",
                          b"\n-----END CERTIFICATE-----\n")})  # fmt: skip


def a_hello(extensions: bytes) -> None:
    """Of a client of TLS that has these."""
    body = b"\x03\x03" + bytes(32) + b"\x00\x00\x02\x00\x00\x01\x00"
    body += len(extensions).to_bytes(2, "big") + extensions
    hello = b"\x01" + len(body).to_bytes(3, "big") + body
    read_client_hello(b"\x16\x03\x01" + len(hello).to_bytes(2, "big") + hello)


add("hello of TLS", whole(a_hello), "live.transports.client_hello",
    words=(b"\x00\x0a", b"\x00\x02", b"\x00", b"\x00\x0a\x00\x04\x00\x02\x00\x16"),
    pumps={"zeros": Pump(b"", bytes(4)), "bytes": Pump(b"", b"a"),
           "extensions": Pump(b"", b"\x00\x0a\x00\x04\x00\x02\x00\x16"),
           "one extension": Pump(b"\x00\x0a\xff\xff", b"\x00\x16")})  # fmt: skip


# ---- NDN

MANY = 1 << 20
"""Components: more than any input here has, so that they are walked over."""


def an_interest(fields: bytes) -> None:
    found = decode_interest(tlv(5, fields), MANY)
    with_hop_limit(with_nonce(found, b"1234"), 1)
    if found.signature is not None:
        found.signature.covered  # noqa: B018  # it is put together here


def a_data(fields: bytes) -> None:
    found = decode_data(tlv(6, fields), MANY)
    found.content, found.signature.covered  # noqa: B018


def a_name(parts: bytes) -> None:
    name = decode_interest(tlv(5, tlv(7, parts)), MANY).name
    components(name)
    name_to_uri(name)


def a_command(parts: bytes) -> None:
    """Its parameters are these bytes."""
    name = name_from_uri("/localhost/nfd/rib/register") + component(tlv(0x68, parts))
    name += component(bytes(8)) * 2 + component(b"\x16\x03\x1b\x01\x00") + component(b"\x17\x00")
    read_command(decode_interest(tlv(5, tlv(7, name))))


def rows_of_status(content: bytes) -> None:
    for read in (decode_faces, decode_fib, decode_rib, decode_general_status):
        with contextlib.suppress(RemoteProtocolError):
            read(content)


def ndn_packets(data: bytes, size: int) -> None:
    reader = Packets(MANY)
    for piece in pieces(data, size):
        for raw in reader.feed(piece):
            with contextlib.suppress(RemoteProtocolError):
                fragment = decode_link(raw).fragment
                decode_interest(fragment) if fragment[:1] == b"\x05" else decode_data(fragment)


def bytes_of_a_face(data: bytes, size: int) -> None:
    bench = FaceBench()
    other = bench.stream()
    for piece in pieces(data, size):
        other.write(piece)


def answer_to_a_command(content: bytes) -> None:
    read_answer(encode_data(component(b"a"), tlv(0x65, content), DigestSigner()))


def a_routing_message(fields: bytes) -> None:
    """A hello, an update, a goodbye, or the group of an update."""
    raws = [tlv(kind, fields) for kind in (routing.HELLO, routing.UPDATE, routing.GOODBYE)]
    raws.append(tlv(routing.UPDATE, ROUTING_HEAD + tlv(0x93, fields)))
    for raw in raws:
        with contextlib.suppress(RemoteProtocolError):
            interest = encode_interest(
                routing.ROUTING, nonce=b"1234", parameters=raw, signer=DigestSigner()
            )
            Mail.read(interest)


def a_route_by_hand(text: bytes) -> None:
    with contextlib.suppress(ValueError):
        read_static_route(text.decode("latin-1"))


def rules_of_ndn(raw: bytes) -> None:
    text = raw.decode("latin-1")
    with contextlib.suppress(RumormillError):
        split_rule(text)
    read_strategy(text)


def deep(type: int, size: int) -> bytes:
    """Elements inside of each other."""
    raw = b""
    while len(raw) < size:
        raw = tlv(type, raw)
    return raw


NDN_NAME = tlv(7, component(b"a"))
NDN_SIGNATURE = b"\x16\x03\x1b\x01\x00\x17\x00"
NDN_INTEREST = tlv(5, NDN_NAME + b"\x0a\x041234\x0c\x02\x0f\xa0")
NDN_DATA = tlv(6, NDN_NAME + b"\x15\x02hi" + NDN_SIGNATURE)
A_FRAGMENT = encode_link(b"a", sequence=1, index=1, count=3)
ROUTING_NODE = component(b"a") + component(bytes(8))
ROUTING_HEAD = tlv(0x87, ROUTING_NODE) + b"\x89\x01\x07"
ROUTING_GROUP = tlv(0x87, ROUTING_NODE) + b"\x95\x01\x02"
NDN_WORDS = (
    NDN_NAME, NDN_SIGNATURE, b"\x0a\x041234", b"\x0c\x01\x09", b"\x22\x01\x05", b"\x24\x00",
    b"\x1e\x02\x07\x00", b"\x14\x03\x18\x01\x00", b"\x15\x00", b"\xf0\x00", b"\xfd\x03\x4c\x00",
    b"\x08\x00", b"\x02\x20" + bytes(32), b"\xfd", b"\xff", b"\x00", b"\x80\x00",
)  # fmt: skip
NDN_PUMPS = {
    "ignored fields": Pump(NDN_NAME, b"\xf0\x00"),
    "ignored long fields": Pump(NDN_NAME, b"\xfe\x00\xff\xff\xf0\x00"),
    "names": Pump(b"", NDN_NAME),
    "nesting": Pump(NDN_NAME + deep(0x1E, 3000), b"\xf0\x00"),
    "zeros": Pump(b"", b"\x00"),
}
add("Interest", whole(an_interest), "ndn.wire.interest ndn.wire.signature ndn.wire.tlv",
    words=NDN_WORDS, pumps=NDN_PUMPS)  # fmt: skip
add("Data", whole(a_data), "ndn.wire.data ndn.wire.signature ndn.wire.tlv", words=NDN_WORDS,
    pumps={**NDN_PUMPS, "ignored behind": Pump(NDN_NAME + NDN_SIGNATURE, b"\xf0\x00"),
           "content": Pump(NDN_NAME, b"\x15\x00", NDN_SIGNATURE)})  # fmt: skip
add("name of NDN", whole(a_name), "ndn.wire.name ndn.wire.uri", words=NDN_WORDS,
    pumps={"components": Pump(b"", b"\x08\x00"), "escapes": Pump(b"", b"\x08\x03\x00\xff/"),
           "types": Pump(b"", b"\xfd\xff\xff\x00"), "periods": Pump(b"", b"\x08\x02..")},
)  # fmt: skip
add("URI of NDN", whole(lambda raw: name_from_uri(raw.decode("latin-1"))), "ndn.wire.uri",
    words=(b"/", b"/a", b"%41", b"%", b"v=", b"9", b"...", b"sha256digest=", b"0" * 64, b"8="),
    pumps={"slashes": Pump(b"", b"/"), "components": Pump(b"", b"/a"),
           "escapes": Pump(b"/", b"%41"), "digits": Pump(b"/v=", b"9"),
           "periods": Pump(b"/", b"."), "equals": Pump(b"/", b"="), "types": Pump(b"", b"/9=a"),
           "percents": Pump(b"/", b"%")})  # fmt: skip
add("link packet", whole(lambda raw: decode_link(tlv(0x64, raw))), "ndn.wire.link",
    words=(b"\x62\x01a", b"\x50\x00", b"\xfd\x03\x20\x00", b"\xfd\x03\x4c\x00", b"\x51\x08",
           b"\x52\x01\x00", b"\x53\x01\x02", b"\xfd\x03\x44\x08" + bytes(8)),
    pumps={"ignored fields": Pump(b"", b"\xfd\x03\x4c\x00"), "tokens": Pump(b"", b"\x62\x01a"),
           "acknowledgements": Pump(b"", b"\xfd\x03\x44\x08" + bytes(8)),
           "nesting": Pump(deep(0x34C, 3000), b"\xfd\x03\x4c\x00")})  # fmt: skip
add("packets of NDN", ndn_packets, "ndn.wire.stream", in_pieces=True,
    words=(NDN_INTEREST, NDN_DATA, tlv(0x64, tlv(0x50, NDN_DATA)), b"\x06\xfd\x01\x00", b"\x05"),
    pumps={"Interests": Pump(b"", NDN_INTEREST), "Data": Pump(b"", NDN_DATA),
           "one packet": Pump(b"\x06\xfd\xff\xff", b"a"), "empty packets": Pump(b"", b"\x05\x00"),
           "one more": Pump(b"\x06\xfe\x00\x01\x00\x00", b"a")})  # fmt: skip
add("face of NDN", bytes_of_a_face, "ndn.faces.streams ndn.faces.intake ndn.faces.fragments",
    in_pieces=True, words=(NDN_INTEREST, NDN_DATA, A_FRAGMENT, b"\x64\x00", b"\x05\x00"),
    pumps={"Interests": Pump(b"", NDN_INTEREST), "fragments": Pump(b"", A_FRAGMENT),
           "empty link packets": Pump(b"", b"\x64\x00"), "junk": Pump(b"", b"\x05\x00")},
)  # fmt: skip
add("address of a face", whole(lambda raw: canonical(raw.decode("latin-1"))), "ndn.faces.addresses",
    words=(b"tcp", b"udp4", b"unix", b"://", b"[", b"]", b":", b"/", b"1", b".", b"::", b"a"),
    pumps={"colons": Pump(b"tcp://", b":"), "digits": Pump(b"tcp://a:", b"9"),
           "periods": Pump(b"udp://", b"1."), "brackets": Pump(b"tcp://", b"["),
           "slashes": Pump(b"unix://", b"/a"), "schemes": Pump(b"", b"tcp://")})  # fmt: skip
add("answer to a command", whole(answer_to_a_command), "ndn.client.commands",
    words=(b"\x66\x01\xc8", b"\x67\x02OK", b"\x68\x03\x69\x01\x07", *NDN_WORDS),
    pumps={"codes": Pump(b"", b"\x66\x01\xc8"), "texts": Pump(b"", b"\x67\x02OK")})  # fmt: skip
add("command of NDN", whole(a_command), "ndn.wire.control ndn.wire.records",
    words=(encode_parameters(ControlParameters(name=b"", cost=1))[2:], b"\x69\x01\x07", *NDN_WORDS),
    pumps={**NDN_PUMPS, "numbers": Pump(b"", b"\x6a\x01\x01"), "texts": Pump(b"", b"\x72\x01a"),
           "strategies": Pump(b"", b"\x6b\x02\x07\x00")})  # fmt: skip
add("answer of NDN", whole(lambda raw: decode_response(tlv(0x65, raw))), "ndn.wire.control",
    words=(b"\x66\x01\xc8", b"\x67\x02OK", b"\x68\x03\x69\x01\x07", *NDN_WORDS),
    pumps={"codes": Pump(b"", b"\x66\x01\xc8"), "texts": Pump(b"", b"\x67\x02OK"),
           "parameters": Pump(b"\x66\x01\xc8", b"\x68\x03\x69\x01\x07")})  # fmt: skip
add("status of NDN", whole(rows_of_status), "ndn.wire.dataset ndn.wire.records",
    words=(b"\x80\x05" + NDN_NAME, b"\x81\x06\x69\x01\x07\x6a\x01\x01", b"\x80\x00", *NDN_WORDS),
    pumps={"rows": Pump(b"", b"\x80\x05" + NDN_NAME), "empty rows": Pump(b"", b"\x80\x00"),
           "hops": Pump(b"\x80\xfd\x03\x01" + NDN_NAME, b"\x81\x06\x69\x01\x07\x6a\x01\x01"),
           "nesting": Pump(deep(0x82, 3000), b"\xf0\x00")})  # fmt: skip
add("notify", whole(decode_notify), "ndn.wire.notify",
    words=(NDN_NAME, b"\x80\x041234", b"\xd3\x02\x07\x00", *NDN_WORDS),
    pumps={**NDN_PUMPS, "nonces": Pump(NDN_NAME, b"\x80\x00"),
           "a hint": Pump(NDN_NAME + b"\x80\x00\xd3\xfd\x03\x20", b"\xf0\x00")})  # fmt: skip
add("route by hand", whole(a_route_by_hand), "ndn.routing.static_route",
    words=(b"/a", b"=tcp://", b"h:1", b",", b"9", b"=unix:///", b"%41", b"8=x"),
    pumps={"addresses": Pump(b"/a", b"=tcp://h:1"), "digits": Pump(b"/a=tcp://h:1,", b"9"),
           "commas": Pump(b"/a=tcp://h:1", b","), "equals": Pump(b"/", b"=")})  # fmt: skip
add("routing message", whole(a_routing_message), "ndn.routing.messages ndn.routing.mail",
    words=(tlv(0x87, ROUTING_NODE), b"\x89\x01\x07", b"\x8b\x08" + bytes(8), b"\x8d\x00",
           b"\x8f\x00", b"\x91\x00", b"\x95\x01\x02", tlv(0x93, ROUTING_GROUP), *NDN_WORDS),
    pumps={"groups": Pump(ROUTING_HEAD, tlv(0x93, ROUTING_GROUP + NDN_NAME)),
           "names": Pump(ROUTING_GROUP, NDN_NAME), "ends": Pump(ROUTING_HEAD, b"\x91\x00"),
           "components": Pump(ROUTING_GROUP, tlv(7, component(b"a") * 40)),
           "ignored fields": Pump(ROUTING_HEAD, b"\xf0\x00")})  # fmt: skip
add("manifest", whole(decode_manifest), "ndn.wire.manifest",
    words=(b"\x81\x01\x02", b"\x83\x01\x02", b"\x85\x20" + bytes(32), b"\xf0\x00"),
    pumps={"segments": Pump(b"", b"\x81\x01\x00"), "ignored fields": Pump(b"", b"\xf0\x00")},
)  # fmt: skip
add("key file of ndn", whole(lambda raw: NdnPrivateKey.from_json(read_json(raw))),
    "ndn.live.key_file ndn.security.private_keys",
    words=(b"{", b"[", b'"type":"ndn-hmac",', b'"name":"/a",', b'"secret":"', b"0a", b'"', b"}"),
    pumps={"nesting": Pump(b"", b"["), "a long secret": Pump(
        b'{"type":"ndn-hmac","name":"/a","secret":"', b"0a", b'"}')})  # fmt: skip
add("public key of ndn", whole(lambda raw: public_key_from_text(raw.decode("latin-1"))),
    "ndn.security.keys",
    pumps={"words": Pump(b"", b"a "), "base64": Pump(b"ndn-ed25519 /a ", b"MCow")})  # fmt: skip
add("certificate of ndn", whole(key_from_certificate), "ndn.security.certificates",
    pumps={"lines": Pump(b"", b"a: b\n"), "base64": Pump(b"", b"MCow"),
           "marks": Pump(b"", b"-----BEGIN NDN CERT-----")})  # fmt: skip
add("rules of ndn", whole(rules_of_ndn), "ndn.live.key_file ndn.live.settings",
    pumps={"equals": Pump(b"/a", b"="), "components": Pump(b"", b"/a", b"=multicast"),
           "a key": Pump(b"/a=ndn-ed25519 /", b"a=")})  # fmt: skip


# ---- what users and programs on this machine write


def lines_of_input(data: bytes, size: int) -> None:
    """Standard input that comes in these pieces."""
    with mock.patch("os.read", side_effect=[*pieces(data, size), b""]):
        for _ in read_lines(0, 1 << 20):
            pass


def arrow(rows: int) -> bytes:
    """A batch to be published."""
    sink = pa.BufferOutputStream()
    columns = {"topic": ["a"] * rows, "key": [None] * rows, "value": [b"v"] * rows,
               "headers": [None] * rows}  # fmt: skip
    with pa.ipc.new_stream(sink, BATCH_SCHEMA) as stream:
        stream.write_batch(pa.record_batch(columns, BATCH_SCHEMA))
    found: bytes = sink.getvalue().to_pybytes()
    return found


add("node.toml", in_a_file(load_config),
    "cli.networks.config live.configuration.settings live.configuration.setting_keys",
    words=(b"[[network]]\n", b'name = "gossipsub"\n', b"[", b"]", b"a.", b"a = ", b"1", b'"', b"\n",
           b"#", b"{", b"}"),
    bounded=frozenset(("skip_comment", "skip_until")),  # of tomllib: to the end of a line
    pumps={"nesting": Pump(b"a = ", b"["), "tables": Pump(b"", b"[[network]]\n"),
           "a long number": Pump(b"a = ", b"9"), "comments": Pump(b"", b"#\n"),
           "keys": Pump(b"", b"\n"), "a long text": Pump(b'a = "', b"a", b'"')})  # fmt: skip
# The node reads what it is sent with the same function.
add("JSON over HTTP", whole(lambda raw: Answer(None, raw).json()),  # type: ignore[arg-type]
    "capture.reading.node_client capture.reading.remote node.publish_routes node.guard",
    pumps=JSON_PUMPS, words=JSON_WORDS)  # fmt: skip
add("topics that are wanted", whole(lambda raw: read_query({"topics": raw.decode("latin-1")})),
    "capture.reading.wanted", pumps=JSON_PUMPS, words=JSON_WORDS)  # fmt: skip
add("a pattern that is wanted", whole(lambda raw: read_query({"pattern": raw.decode("latin-1")})),
    "capture.reading.wanted", words=(b"(", b")", b"a", b"*", b"|", b"{9}", b"[", b"]", b"\\"),
    pumps={"groups": Pump(b"", b"("), "stars": Pump(b"", b"a*"), "names": Pump(b"a", b"|a")},
)  # fmt: skip
add("a message over HTTP", whole(read_object), "node.json_body",
    pumps=JSON_PUMPS, words=JSON_WORDS)  # fmt: skip
add("rows over HTTP", whole(lambda raw: decode_rows(arrow(len(raw) // 8), 1 << 20)),
    "node.rows node.arrow_body",
    pumps={"rows": Pump(b"", bytes(8))})  # fmt: skip
add("ledger", in_a_file(lambda path: Ledger(path)), "node.ledger",
    pumps={"lines": Pump(b"", b"00000000 00 a\n"), "one line": Pump(b"", b"a"),
           "blank lines": Pump(b"", b"\n")})  # fmt: skip
add("lines of input", lines_of_input, "cli.networks.pub", in_pieces=True,
    pumps={"lines": Pump(b"", b"a\n"), "one line": Pump(b"", b"a")})  # fmt: skip

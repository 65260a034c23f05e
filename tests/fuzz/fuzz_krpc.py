"""Fuzz the packets of the DHT: any bytes, and dicts that are nearly packets, down to their items
and nodes. What we would answer must be a packet again."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2]))

from tests.helpers.fuzz.fuzzing import Choices, fuzz, instrumented

with instrumented(__name__):
    from rumormill.bep50.wire.addresses import compact_nodes, from_compact, is_ipv6, read_nodes
    from rumormill.bep50.wire.bencode import Dict, Value, decode, encode
    from rumormill.bep50.wire.items import (
        LARGEST_VALUE,
        Item,
        genuine,
        item_from_get,
        item_from_put,
        torrent_of,
    )
    from rumormill.bep50.wire.krpc import (
        Answer,
        BadArgument,
        BadQuery,
        Failure,
        PutTemplate,
        Query,
        answer_packet,
        bytes_of,
        failure_packet,
        int_of,
        query_packet,
        read_packet,
    )
    from rumormill.bep50.wire.topics import TopicName, parse_topic
    from rumormill.core.errors import LocalProtocolError, RemoteProtocolError

ID, TOPIC, KEY = b"n" * 20, b"t" * 20, b"k" * 32
NAMES = [b"a", b"c", b"e", b"ip", b"q", b"r", b"ro", b"t", b"v", b"y", b"zz"]
INNER = [
    b"cas", b"id", b"ih", b"k", b"nodes", b"nodes6", b"salt", b"seq", b"sig", b"target", b"token",
    b"v", b"values", b"want",
]  # fmt: skip


# ---- what holds for every packet


def look_at(raw: bytes) -> None:
    """Read a datagram as a node does."""
    try:
        packet = read_packet(raw)
    except BadQuery as error:
        answer = failure_packet(error.transaction, error.code, error.text, error.topic)
        expected = Failure(error.transaction, error.code, error.text, error.topic)
        assert read_packet(answer) == expected, "an error of ours cannot be read"
        return
    except RemoteProtocolError:
        return
    assert encode(decode(raw)) == raw, "two forms of one packet"
    assert packet.topic is None or len(packet.topic) == 20
    if isinstance(packet, Query):
        look_at_query(packet)
    elif isinstance(packet, Answer):
        look_at_answer(packet)
    else:
        assert 0 <= packet.code < 1000 and len(packet.text) <= 200


def look_at_query(query: Query) -> None:
    arguments = query.arguments
    assert len(bytes_of(arguments, b"id")) == 20
    again = query_packet(query.transaction, query.method, arguments, query.topic, query.read_only)
    assert read_packet(again) == query, "a query changes on its way"
    for key in INNER:
        with contextlib.suppress(BadArgument):
            int_of(arguments, key, 0, 65535)
    with contextlib.suppress(BadArgument):
        item = item_from_put(arguments)
        look_at_item(item)
        assert item == item_from_get(arguments, item.salt)
        put = PutTemplate(ID, item, query.topic).packet(b"aa", b"token", 7)
        sent = read_packet(put)
        assert isinstance(sent, Query) and item_from_put(sent.arguments) == item


def look_at_answer(answer: Answer) -> None:
    values = answer.values
    assert len(bytes_of(values, b"id")) == 20
    if answer.ip is not None:
        from_compact(answer.ip)
    again = answer_packet(answer.transaction, values, answer.topic, answer.ip)
    assert read_packet(again) == answer, "an answer changes on its way"
    for key, ipv6 in ((b"nodes", False), (b"nodes6", True)):
        with contextlib.suppress(BadArgument):
            nodes = read_nodes(bytes_of(values, key), ipv6)
            assert all(is_ipv6(node.peer) == ipv6 for node in nodes)
            assert read_nodes(compact_nodes(nodes), ipv6) == nodes
    with contextlib.suppress(BadArgument):
        item = item_from_get(values, b"")
        if item is not None:
            look_at_item(item)


def look_at_item(item: Item) -> None:
    assert len(item.value) <= LARGEST_VALUE and len(item.salt) <= 64
    assert 0 <= item.seq < 1 << 63
    assert encode(decode(item.value)) == item.value
    assert not genuine(item), "nobody can guess a signature"
    torrent_of(item.value)
    name = TopicName(item.public_key, item.salt)
    assert parse_topic(name.text) == name and name.target == item.target


# ---- packets that nearly make sense


def value(choices: Choices, depth: int = 0) -> Value:
    kind = choices.number(8 if depth < 4 else 5)
    if kind == 0:
        return choices.number(256) - 9
    if kind == 1:
        return int.from_bytes(choices.take(choices.number(12)), "big")
    if kind == 2:
        return choices.take(choices.number(30))
    if kind == 3:
        return bytes(choices.number(256) * 5)
    if kind == 4:
        return [ID, TOPIC, KEY, b"s" * 64, b"get"][choices.number(5)]
    if kind == 5:
        return [value(choices, depth + 1) for _ in range(choices.number(4))]
    return {choices.take(2): value(choices, depth + 1) for _ in range(choices.number(4))}


def fields(choices: Choices) -> Dict:
    """Arguments or values, most of them good."""
    good: Dict = {
        b"id": ID,
        b"k": KEY,
        b"nodes": ID + bytes((10, 0, 0, 1, 26, 225)),
        b"nodes6": ID + bytes(15) + b"\x01\x1a\xe1",
        b"salt": b"salt",
        b"seq": choices.number(4),
        b"sig": b"s" * 64,
        b"target": TOPIC,
        b"token": b"token",
        b"v": {b"ih": ID},
    }
    for _ in range(choices.number(4)):
        key = INNER[choices.number(len(INNER))]
        if choices.number(2):
            good[key] = value(choices)
        else:
            good.pop(key, None)
    return good


def packet(choices: Choices) -> bytes:
    made: Dict = {
        b"a": fields(choices),
        b"c": TOPIC,
        b"e": [203, b"no"],
        b"ip": bytes(6),
        b"q": [b"get", b"put", b"ping", b"find_node"][choices.number(4)],
        b"r": fields(choices),
        b"t": b"aa",
        b"y": [b"q", b"r", b"e"][choices.number(3)],
    }
    for _ in range(choices.number(4)):
        key = NAMES[choices.number(len(NAMES))]
        if choices.number(2):
            made[key] = value(choices)
        else:
            made.pop(key, None)
    raw = bytearray(encode(made))
    if choices.number(8) == 0:
        raw[choices.number(256) % len(raw)] ^= 1 << choices.number(8)
    return bytes(raw)


def target(data: bytes) -> None:
    choices = Choices(data)
    kind = choices.number(4)
    if kind == 0:
        look_at(data[1:])
    elif kind == 1:
        with contextlib.suppress(LocalProtocolError):
            parse_topic("0" * 64 + ":" + data[1:].decode("utf-8", "surrogateescape"))
    else:
        look_at(packet(choices))


SEEDS = [
    b"\0" + query_packet(b"aa", "ping", {b"id": ID}, TOPIC),
    b"\0" + answer_packet(b"aa", {b"id": ID, b"nodes": bytes(52), b"v": b"x"}, TOPIC, bytes(6)),
    b"\0" + failure_packet(b"aa", 203, "no such thing", TOPIC),
    b"\0" + b"l" * 2000 + b"e" * 2000,
    b"\0" + b"l" * 4000,
    b"\0" + b"d1:a" * 1000,
    b"\0" + b"i" + b"9" * 4000 + b"e",
    b"\0" + b"d1:ad2:id20:" + ID + b"1:vi007eee",
    b"\x01weather %ff",
    bytes((2, 0, 0, 0, 0, 1)),
    bytes((2, 1, 2, 3, 1, 6, 0, 2, 0, 1, 1, 0, 3, 1, 7, 200, 0)),
    bytes((3, *range(60))),
]

if __name__ == "__main__":
    fuzz(target, SEEDS, slow=0.004)  # one packet: a thousand of them come in a second

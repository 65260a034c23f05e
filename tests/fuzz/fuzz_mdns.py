"""Fuzz what others say by mDNS: any bytes, and messages that nearly make sense, down to whom a node
would dial. What it says itself can be read."""

from __future__ import annotations

import contextlib
import random
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2]))

from tests.helpers.fuzz.fuzzing import Choices, fuzz, instrumented

with instrumented(__name__):
    from rumormill.core.errors import RemoteProtocolError
    from rumormill.core.machine import Connect
    from rumormill.libp2p.discovery.discovery import Discovery
    from rumormill.libp2p.discovery.effects import (
        DatagramReceived,
        LinkChanged,
        SendDatagram,
        TopicsChanged,
    )
    from rumormill.libp2p.discovery.mdns import dns, records
    from rumormill.libp2p.discovery.mdns.way import Mdns
    from rumormill.libp2p.stack.keys import PrivateKey
    from rumormill.libp2p.stack.multiaddr import Multiaddr
    from rumormill.libp2p.stack.reach import Reach, reach_of
    from tests.helpers.libp2p.discovery_bench import Hungry

US, OTHER = (PrivateKey.from_seed(bytes([number]) * 32).peer for number in (1, 2))
LINK, HOST, SENDER = "eth0/4", "10.0.0.1", "10.0.0.2"
NAMES: list[dns.Name] = [
    records.SERVICE, records.EVERY_SERVICE, (b"name",), (b"name", *records.SERVICE), (),
]  # fmt: skip
TEXTS = [
    b"dnsaddr=/ip4/10.0.0.2/tcp/4001/p2p/" + OTHER.encode(),
    b"dnsaddr=/ip4/8.8.8.8/tcp/4001/p2p/" + OTHER.encode(),
    b"dnsaddr=/ip4/127.0.0.1/tcp/1/p2p/" + US.encode(),
    b"dnsaddr=/ip6/fd00::1/tcp/1", b"dnsaddr=", b"x", b"dnsaddr=/ip4/10.0.0.2/udp/1/quic-v1",
]  # fmt: skip


def a_node() -> Discovery:
    machine = Discovery(node=US, ways=[Mdns()], census=Hungry(), random=random.Random(1))
    machine.handle(TopicsChanged(), 0.0)
    machine.handle(LinkChanged("mdns", LINK, HOST, (f"/ip4/{HOST}/tcp/4001",)), 0.0)
    machine.wake(0.2)
    return machine


def look_at(raw: bytes) -> None:
    """Hear a datagram as a node does."""
    machine = a_node()
    effects = machine.handle(DatagramReceived("mdns", SENDER, raw, LINK), 5.0)
    effects += machine.wake(10.0)
    for effect in effects:
        if isinstance(effect, SendDatagram):
            dns.decode_message(effect.data)  # what we say can be read
        elif isinstance(effect, Connect):
            assert effect.peer != US and effect.addresses
            for address in map(Multiaddr.parse, effect.addresses):
                assert reach_of(address) is Reach.PRIVATE or address.host == SENDER
    with contextlib.suppress(RemoteProtocolError):
        message = dns.decode_message(raw)
        assert len(records.nodes_in(message)) <= records.MOST_NODES


def record(choices: Choices) -> bytes:
    name = NAMES[choices.number(len(NAMES))]
    kind = choices.number(4)
    if kind == 0:
        target = dns.encode_name(NAMES[choices.number(len(NAMES))])
        data = target if choices.number(4) else b"\x04name\xc0" + bytes((choices.number(64),))
        return dns.encode_record(name, dns.PTR, choices.number(4), data)
    if kind == 1:
        texts = [TEXTS[choices.number(len(TEXTS))] for _ in range(choices.number(4))]
        return dns.encode_record(name, dns.TXT, choices.number(4), dns.encode_strings(texts))
    return dns.encode_record(name, choices.number(40), 9, choices.take(choices.number(20)))


def message(choices: Choices) -> bytes:
    if choices.number(6) == 0:
        return dns.encode_query(NAMES[choices.number(len(NAMES))], choices.number(40))
    answers = [record(choices) for _ in range(choices.number(4))]
    raw = bytearray(
        dns.encode_response(answers, [record(choices) for _ in range(choices.number(4))])
    )
    if choices.number(4) == 0:
        raw[choices.number(256) % len(raw)] ^= 1 << choices.number(8)
    return bytes(raw)


def target(data: bytes) -> None:
    choices = Choices(data)
    look_at(message(choices) if choices.number(3) else data[1:])


SEEDS = [
    b"\0" + records.QUERY,
    b"\0" + records.service_answer(120),
    b"\0" + records.node_answer(b"name", OTHER, [Multiaddr.parse("/ip4/10.0.0.2/tcp/1")], 120),
    b"\0" + records.QUERY[:12] + b"\xc0\x0c" + bytes(4),
    bytes((1, 1, 2, 0, 0, 3, 1, 1, 3, 1, 2, 0, 1)),
    bytes((2, *range(60))),
]

if __name__ == "__main__":
    fuzz(target, SEEDS, slow=0.004)

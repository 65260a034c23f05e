"""Attacks a node of the DHT with as many sources as wanted, all in this process.

python -m bench.siege.attackers.bep50 ATTACK --target HOST:PORT --seconds S [--attackers N]

Each attacker has an address of its own in 127.0.0.0/8 and sends as fast as it can. It speaks with
nodes of an overlay (``--topic``, the siege's by default) and, with ``--main``, with those of the
main DHT, as libtorrent's. Says when it begins, and at its end one line of JSON: see
:class:`~bench.siege.attackers.report.Report`.
"""

from __future__ import annotations

import argparse
import contextlib
import random
import socket
import time
from collections.abc import Callable, Iterator
from itertools import chain

from bencode2 import BencodeDecodeError, bdecode

from bench.bep50.krpc_crowd import id_of
from bench.siege.attackers.report import Report, announce
from rumormill.bep50.wire.bencode import Dict
from rumormill.bep50.wire.krpc import PutTemplate, query_packet
from tests.helpers.bep50.siege import KEY, SALT, TOPIC

AT_ONCE = 32
"""Packets of one source before the next has its turn."""

PREPARED = 512
"""Packets of each kind that are made beforehand, and sent again and again: what differs in each of
them is written into them."""

PATIENCE = 0.25
"""Seconds for a token."""

LARGEST = 4096


class Source:
    """One who attacks, at an address of its own."""

    def __init__(self, number: int, target: tuple[str, int], topic: bytes | None) -> None:
        self.id = id_of(f"attacker {number}")
        self.topic = topic
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind((f"127.66.{number // 250}.{1 + number % 250}", 0))
        self.socket.connect(target)
        self.sent_bytes = self.received_bytes = self.units = 0

    @property
    def peer(self) -> str:
        """What the node calls it."""
        host, port = self.socket.getsockname()
        return f"{host}:{port}"

    def query(self, transaction: bytes, method: str, arguments: Dict) -> bytes:
        """A query in the topic, of one who is in nobody's table."""
        arguments = {b"id": self.id, **arguments}
        return query_packet(transaction, method, arguments, self.topic, read_only=True)

    def token(self) -> bytes:
        """A token of the node's, as an honest one would get it; a guess if it gives none."""
        self.socket.settimeout(PATIENCE)
        with contextlib.suppress(OSError, BencodeDecodeError, KeyError, TypeError):
            self.socket.send(self.query(b"tokn", "get", {b"target": TOPIC.target}))
            answer = bdecode(self.socket.recv(LARGEST))
            return bytes(answer[b"r"][b"token"])
        return bytes(8)

    def flood(self, packets: Iterator[bytes]) -> None:
        """Send some, and throw away what has come."""
        send = self.socket.send
        for _ in range(AT_ONCE):
            packet = next(packets)
            try:
                self.sent_bytes += send(packet)
                self.units += 1
            except OSError:  # the system's buffer is full, or nobody is there
                break
        with contextlib.suppress(OSError):
            while received := self.socket.recv(LARGEST):
                self.received_bytes += len(received)


# ---- the attacks


def _nested(source: Source) -> Iterator[bytes]:
    """Lists in lists, as deep as a packet is long."""
    packet = b"l" * 4000
    while True:
        yield packet


def _pings(source: Source) -> Iterator[bytes]:
    packet = source.query(b"ping", "ping", {})
    while True:
        yield packet


def _distinct_topics(source: Source) -> Iterator[bytes]:
    """Each in another topic, which the node has never heard of."""
    mark = b"c" * 20
    before, after = query_packet(
        b"tops", "get", {b"id": source.id, b"target": TOPIC.target}, mark, read_only=True
    ).split(mark)
    chance = random.Random(source.peer)
    while True:
        yield b"%b%b%b" % (before, chance.randbytes(20), after)


def _forged_puts(source: Source) -> Iterator[bytes]:
    """New values with a good token and a wrong signature, each another."""
    token = source.token()
    first = int(time.time()) + 1_000_000
    packets = [
        PutTemplate(
            source.id,
            KEY.item(SALT, first, b"64:" + b"?" * 64)._replace(
                seq=first + number, signature=number.to_bytes(64, "big")
            ),
            source.topic,
            read_only=True,
        ).packet(b"forg", token)
        for number in range(PREPARED)
    ]
    while True:
        yield from packets


def _queries(source: Source) -> Iterator[bytes]:
    """``get`` and ``find_node``: the answers are longer than the questions."""
    packets = [
        source.query(b"%04d" % number, method, {b"target": TOPIC.target})
        for number in range(PREPARED // 2)
        for method in ("get", "find_node")
    ]
    while True:
        yield from packets


ATTACKS: dict[str, Callable[[Source], Iterator[bytes]]] = {
    "nested": _nested,
    "pings": _pings,
    "distinct-topics": _distinct_topics,
    "forged-puts": _forged_puts,
    "queries": _queries,
}


def attack(arguments: argparse.Namespace) -> Report:
    """Attack for as long as was said."""
    host, port = arguments.target.rsplit(":", 1)
    topic = None if arguments.main else TOPIC.target
    sources = [Source(each, (host, int(port)), topic) for each in range(arguments.attackers)]
    floods = []
    for source in sources:
        packets = ATTACKS[arguments.attack](source)
        first = next(packets)  # with all that has to be made or asked for
        source.socket.setblocking(False)
        floods.append((source, chain((first,), packets)))
    report = Report(arguments.attack, arguments.attackers)
    report.peers = [source.peer for source in sources]
    report.begin()
    announce(arguments.attack)
    until = time.monotonic() + arguments.seconds
    while time.monotonic() < until:
        for source, packets in floods:
            source.flood(packets)
    for source in sources:
        report.sent_bytes += source.sent_bytes
        report.received_bytes += source.received_bytes
        report.units += source.units
    return report


def main() -> None:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(prog="python -m bench.siege.attackers.bep50")
    parser.add_argument("attack", choices=list(ATTACKS))
    parser.add_argument("--target", required=True, help="HOST:PORT of the node")
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--attackers", type=int, default=1)
    parser.add_argument("--main", action="store_true", help="a node of the main DHT")
    print(attack(parser.parse_args()).line(), flush=True)


if __name__ == "__main__":
    main()

"""A producer and a consumer that do next to nothing, so that the forwarder is what is measured.

python -m bench.ndn.bare producer ADDRESS
python -m bench.ndn.bare consumer ADDRESS

The producer answers every Interest below /bench/SIZE with that many bytes, signed by a digest. The
consumer takes commands as JSON lines: how many Interests, how many of them under way, which size.
Both write once for all that one read has brought.
"""

from __future__ import annotations

import json
import secrets
import socket
import sys
import time
from typing import Any

from bench.bcos.load import say, summary
from bench.ndn.bare_packets import (
    PREFIX,
    Answers,
    base_name,
    interest,
    name_of,
    number_of,
    opened,
    packets,
)
from rumormill.ndn.security.signers import DigestSigner
from rumormill.ndn.wire.control import ControlParameters, decode_response, encode_command
from rumormill.ndn.wire.data import decode_data
from rumormill.ndn.wire.name import name_from_uri

PATIENCE = 20.0
"""Seconds for the next answer."""
PIECE = 1 << 18
REGISTER = name_from_uri("/localhost/nfd/rib/register")
SUCCESS = 200


def connected(address: str) -> socket.socket:
    """A connection to ``tcp://HOST:PORT`` or ``unix:///PATH``."""
    scheme, _, rest = address.partition("://")
    if scheme == "unix":
        line = socket.socket(socket.AF_UNIX)
        line.connect(rest)
        return line
    host, _, port = rest.rpartition(":")
    line = socket.create_connection((host, int(port)))
    line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return line


def register(line: socket.socket) -> None:
    """Get the Interests below the prefix of all tests."""
    command = encode_command(
        REGISTER,
        ControlParameters(name=PREFIX),
        form="v0.3",
        nonce=secrets.token_bytes(4),
        timestamp_ms=time.time_ns() // 1_000_000,
        random_bytes=secrets.token_bytes(8),
        signer=DigestSigner(),
    )
    line.sendall(command.raw)
    pending = bytearray()
    while True:
        pending += received(line)
        for raw in packets(pending):
            code = decode_response(decode_data(opened(raw).network).content or b"").code
            if code != SUCCESS:
                raise SystemExit(f"the forwarder refused to register: {code}")
            return


def received(line: socket.socket) -> bytes:
    """What came next."""
    data = line.recv(PIECE)
    if not data:
        raise SystemExit("the forwarder has closed the connection")
    return data


def produce(line: socket.socket) -> None:
    """Answer until the end."""
    answers: dict[bytes, Answers] = {}
    register(line)
    say(event="ready")
    pending = bytearray()
    while True:
        pending += received(line)
        out = []
        for raw in packets(pending):
            network, token, _ = opened(raw)
            name = name_of(network)
            base = name[:-10]
            if base not in answers:
                answers[base] = Answers(int(base[len(PREFIX) + 2 :]))
            out.append(answers[base].to(name, token))
        line.sendall(b"".join(out))


class Consumer:
    """Asks, and takes the time."""

    def __init__(self, line: socket.socket) -> None:
        self._line = line
        self._line.settimeout(PATIENCE)
        self._pending = bytearray()
        # No name that anybody has asked for: neither a content store nor a loop check may know it.
        self._next = secrets.randbits(62)

    def ask(self, count: int, window: int, size: int) -> dict[str, Any]:
        """So many Interests, ``window`` under way at once."""
        base, until = base_name(size), self._next + count
        sent: dict[int, float] = {}
        latencies: list[float] = []
        nacks = 0
        began = time.monotonic()
        self._send(base, min(window, count), sent)
        while sent:
            self._pending += received(self._line)
            now = time.monotonic()
            came = 0
            for raw in packets(self._pending):
                network, _, nack = opened(raw)
                nacks += nack
                latencies.append((now - sent.pop(number_of(network))) * 1e6)
                came += 1
            self._send(base, min(came, until - self._next), sent)
        seconds = time.monotonic() - began
        return {"count": count, "seconds": seconds, "nacks": nacks, **summary(latencies)}

    def _send(self, base: bytes, count: int, sent: dict[int, float]) -> None:
        if not count:
            return
        numbers = range(self._next, self._next + count)
        self._next += count
        out = b"".join([interest(base, number) for number in numbers])
        sent.update(dict.fromkeys(numbers, time.monotonic()))
        self._line.sendall(out)


def consume(line: socket.socket) -> None:
    """Ask as told."""
    consumer = Consumer(line)
    say(event="ready")
    for command in sys.stdin:
        say(event="done", **consumer.ask(**json.loads(command)))


def main() -> None:
    """Do what the command line says."""
    role, address = sys.argv[1:]
    with connected(address) as line:
        (produce if role == "producer" else consume)(line)


if __name__ == "__main__":
    main()

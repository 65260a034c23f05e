"""Those around the node that is measured: its neighbours, and who asks and publishes.

All of them live in this process, on sockets of their own, and do as little as possible: what is
measured is the node.
"""

from __future__ import annotations

import hashlib
import select
import socket
import time
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, Self

from bencode2 import BencodeDecodeError, bdecode, bencode

Packet = dict[bytes, Any]

PATIENCE = 10.0
"""Seconds without any packet after which a measurement is given up."""

BUFFER = 4 << 20
LARGEST = 2048


class CrowdError(Exception):
    """The node did not do what the measurement needs."""


def open_socket() -> socket.socket:
    """A socket on loopback with room for a burst."""
    opened = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER)
    opened.bind(("127.0.0.1", 0))
    return opened


def id_of(name: str) -> bytes:
    """A node id."""
    return hashlib.sha1(name.encode(), usedforsecurity=False).digest()


class Neighbour:
    """A node that answers what it is asked, and takes every put for good."""

    def __init__(self, number: int) -> None:
        self.id = id_of(f"neighbour {number}")
        self.socket = open_socket()
        self.socket.setblocking(False)
        self.address: tuple[str, int] = self.socket.getsockname()
        self.nodes = b""
        """What it tells about the others."""
        self.seq = -1
        """The newest that it was given."""
        self.puts = 0

    @property
    def compact(self) -> bytes:
        host, port = self.address
        return self.id + socket.inet_aton(host) + port.to_bytes(2, "big")

    def drain(self) -> int:
        """Answer all that lies in the socket; returns how many datagrams that were."""
        count = 0
        while True:
            try:
                raw, sender = self.socket.recvfrom(LARGEST)
            except BlockingIOError:
                return count
            count += 1
            answer = self._answer(raw)
            if answer is not None:
                self.socket.sendto(answer, sender)

    def _answer(self, raw: bytes) -> bytes | None:
        try:
            packet: Packet = bdecode(raw)
        except BencodeDecodeError:
            return None
        if packet.get(b"y") != b"q":
            return None
        arguments: Packet = packet[b"a"]
        method = packet[b"q"]
        values: Packet = {b"id": self.id}
        if method == b"put":
            self.puts += 1
            self.seq = max(self.seq, arguments[b"seq"])
        elif method != b"ping":
            values[b"nodes"] = self.nodes
            values[b"token"] = b"neighbor"
            if method == b"get" and self.seq >= 0:
                values[b"seq"] = self.seq
        answer = {b"r": values, b"t": packet[b"t"], b"y": b"r"}
        if b"c" in packet:
            answer[b"c"] = packet[b"c"]
        return bencode(answer)


class Crowd:
    """The neighbours of a node, and one who asks it. Leaving the context closes the sockets."""

    def __init__(self, neighbours: int) -> None:
        self.neighbours = [Neighbour(number) for number in range(neighbours)]
        nodes = b"".join(each.compact for each in self.neighbours)
        for each in self.neighbours:
            each.nodes = nodes
        self.id = id_of("asker")
        self.socket = open_socket()
        self.socket.setblocking(False)
        self._poll = select.epoll()
        self._by_file = {each.socket.fileno(): each for each in self.neighbours}
        for file in (*self._by_file, self.socket.fileno()):
            self._poll.register(file, select.EPOLLIN)
        self.lively = time.monotonic()
        """When something was heard of the node last."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._poll.close()
        self.socket.close()
        for each in self.neighbours:
            each.socket.close()

    @property
    def addresses(self) -> list[str]:
        """Of the neighbours, for the node to begin with."""
        return [f"{host}:{port}" for host, port in (each.address for each in self.neighbours)]

    def reach(self, node: tuple[str, int]) -> None:
        """Ask this node from now on."""
        self.socket.connect(node)

    def turn(self, wait: float, on_answer: Callable[[bytes], None]) -> None:
        """Serve the neighbours, and hand over what the node answered, for at most ``wait`` seconds
        of silence; too long a silence is an error."""
        events = self._poll.poll(wait)
        now = time.monotonic()
        if events:
            self.lively = now
        elif now - self.lively > PATIENCE:
            raise CrowdError(f"nothing was heard of the node for {PATIENCE:g} seconds")
        for file, _ in events:
            neighbour = self._by_file.get(file)
            if neighbour is not None:
                neighbour.drain()
                continue
            while True:
                try:
                    raw = self.socket.recv(LARGEST)
                except BlockingIOError:
                    break
                except ConnectionRefusedError:
                    raise CrowdError("the node is not there") from None
                on_answer(raw)

    def wait_until(
        self, condition: Callable[[], bool], problem: str, timeout: float = 20.0
    ) -> None:
        """Serve the neighbours until something is so."""
        self.lively = time.monotonic()
        deadline = self.lively + timeout
        while not condition():
            if time.monotonic() > deadline:
                raise CrowdError(problem)
            self.lively = time.monotonic()
            self.turn(0.02, lambda raw: None)

    # ---- asking

    def ask(self, method: str, arguments: Packet, topic: bytes | None) -> Packet:
        """One query; returns the values of the answer. It is asked again if none comes."""
        query = self.query(method, arguments, topic)
        found: list[Packet] = []

        def answered(raw: bytes) -> None:
            packet: Packet = bdecode(raw)
            if packet.get(b"y") == b"q":
                self.answer_ping(packet)
            elif packet.get(b"t") == b"ask!":
                found.append(packet)

        for _ in range(10):
            self.lively = time.monotonic()
            self.socket.send(query + b"4:ask!1:y1:qe")
            deadline = time.monotonic() + 1.0
            while not found and time.monotonic() < deadline:
                self.turn(0.05, answered)
            if found:
                if b"r" not in found[0]:
                    raise CrowdError(f"{method} was answered by {found[0].get(b'e')}")
                values: Packet = found[0][b"r"]
                return values
        raise CrowdError(f"the node does not answer {method}")

    def answer_ping(self, packet: Packet) -> None:
        """The node wants to know whether we are who we say."""
        answer = {b"r": {b"id": self.id}, b"t": packet[b"t"], b"y": b"r"}
        if b"c" in packet:
            answer[b"c"] = packet[b"c"]
        self.socket.send(bencode(answer))

    def query(self, method: str, arguments: Packet, topic: bytes | None) -> bytes:
        """A query up to its transaction id: ``4:`` and four bytes and ``1:y1:qe`` are to follow.

        We say that we are read-only, so that the node does not take us for a neighbour.
        """
        packet: Packet = {b"a": {b"id": self.id, **arguments}, b"q": method.encode(), b"ro": 1}
        if topic is not None:
            packet[b"c"] = topic
        return bencode(packet)[:-1] + b"1:t"


def exchange(crowd: Crowd, packets: Sequence[bytes], window: int) -> float:
    """Send the packets, never more than ``window`` of them without an answer; returns seconds.

    Packets are told apart by their order: the node has to answer each one, in any order. What was
    lost on the way is not sent again; that it was lost is an error.
    """
    sent = answered = 0
    send = crowd.socket.send

    def on_answer(raw: bytes) -> None:
        nonlocal sent, answered
        if not raw.endswith(b"1:y1:re"):
            packet = bdecode(raw)
            if packet.get(b"y") != b"q":
                raise CrowdError(f"a query was answered by {packet.get(b'e')}")
            crowd.answer_ping(packet)
            return
        answered += 1
        if sent < len(packets):
            send(packets[sent])
            sent += 1

    began = time.perf_counter()
    crowd.lively = time.monotonic()
    while sent < min(window, len(packets)):
        send(packets[sent])
        sent += 1
    while answered < len(packets):
        crowd.turn(0.5, on_answer)
    return time.perf_counter() - began

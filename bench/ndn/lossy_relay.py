"""A relay of datagrams on loopback that loses some, by a seed.

python -m bench.ndn.lossy_relay udp://127.0.0.1:6363 --loss 0.05 --seed 1

It says where it listens. Each sender has a socket of its own towards the target, so that the target
sees as many peers as there are. Datagrams get lost on either way, from the moment on that a line on
stdin says so: what comes before is to succeed. At each line it tells how many came and got lost.
"""

from __future__ import annotations

import argparse
import json
import random
import selectors
import socket
import sys
from typing import Any

from bench.bcos.load import say

HOST = "127.0.0.1"
LARGEST = 65_535
BUFFER = 4 << 20
"""Bytes that a socket may hold: none is to be lost but by chance."""


class LossyRelay:
    """Passes datagrams on, most of them."""

    def __init__(self, target: tuple[str, int], loss: float, seed: int) -> None:
        self._target = target
        self._loss = loss
        self._chance = random.Random(seed)
        self._selector = selectors.DefaultSelector()
        self._front = _socket()
        self._selector.register(self._front, selectors.EVENT_READ, None)
        self._lines: dict[Any, socket.socket] = {}
        self.losing = False
        self.passed = self.lost = 0

    @property
    def address(self) -> str:
        """Where senders find it."""
        return "udp://{}:{}".format(*self._front.getsockname())

    def serve(self) -> None:
        """Until stdin ends."""
        self._selector.register(sys.stdin, selectors.EVENT_READ, None)
        while True:
            for key, _ in self._selector.select():
                if key.fileobj is sys.stdin:
                    if not self._obey():
                        return
                elif key.fileobj is self._front:
                    self._outward()
                else:
                    self._inward(key)

    def _obey(self) -> bool:
        line = sys.stdin.readline()
        if line:
            self.losing = json.loads(line)["losing"]
            say(event="count", passed=self.passed, lost=self.lost)
        return bool(line)

    def _outward(self) -> None:
        data, sender = self._front.recvfrom(LARGEST)
        line = self._lines.get(sender)
        if line is None:
            line = self._lines[sender] = _socket()
            line.connect(self._target)
            self._selector.register(line, selectors.EVENT_READ, sender)
        if not self._is_lost():
            line.send(data)

    def _inward(self, key: selectors.SelectorKey) -> None:
        assert isinstance(key.fileobj, socket.socket)
        data = key.fileobj.recv(LARGEST)
        if not self._is_lost():
            self._front.sendto(data, key.data)

    def _is_lost(self) -> bool:
        lost = self.losing and self._chance.random() < self._loss
        self.lost += lost
        self.passed += not lost
        return lost


def _socket() -> socket.socket:
    made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER)
    made.bind((HOST, 0))
    return made


def main() -> None:
    """Do what the command line says."""
    parser = argparse.ArgumentParser()
    parser.add_argument("target")
    parser.add_argument("--loss", type=float, required=True)
    parser.add_argument("--seed", type=int, required=True)
    arguments = parser.parse_args()
    host, _, port = arguments.target.removeprefix("udp://").rpartition(":")
    relay = LossyRelay((host, int(port)), arguments.loss, arguments.seed)
    say(event="ready", address=relay.address)
    relay.serve()


if __name__ == "__main__":
    main()

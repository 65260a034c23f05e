"""Ports for programs that must be told one, or that come back on the one they had."""

from __future__ import annotations

import itertools
import os
import socket

HOST = "127.0.0.1"
FIRST, LAST = 15_000, 32_000
"""Below the ports that systems give to those who ask for any: nobody else gets one by chance."""

_next = itertools.count(FIRST + os.getpid() * 97 % (LAST - FIRST))


def own_port() -> int:
    """A free port that only this process of tests uses."""
    for number in itertools.islice(_next, LAST - FIRST):
        port = FIRST + (number - FIRST) % (LAST - FIRST)
        try:
            socket.create_server((HOST, port)).close()
        except OSError:
            continue
        return port
    raise AssertionError("no port is free")

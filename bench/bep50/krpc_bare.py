"""A node that only moves datagrams, for ``bench krpc``: what no node in Python can do without.

python -m bench.bep50.krpc_bare NEIGHBOUR ...

It acknowledges each put and sends it on as it came, and looks at nothing. Says where it is when it
is ready, and ends with its stdin, with the number of puts that it had.
"""

from __future__ import annotations

import json
import select
import socket
import sys
from typing import Any

from bencode2 import bdecode, bencode

from bench.bep50.krpc_crowd import LARGEST, id_of, open_socket

OWN_ID = id_of("bare")


def serve(node: socket.socket, neighbours: list[tuple[str, int]]) -> int:
    """Answer until stdin ends; returns how many puts there were."""
    node.setblocking(False)
    poll = select.epoll()
    poll.register(node.fileno(), select.EPOLLIN)
    poll.register(sys.stdin.fileno(), select.EPOLLIN | select.EPOLLHUP)
    puts = 0
    while True:
        if any(file != node.fileno() for file, _ in poll.poll()):
            return puts
        while True:
            try:
                raw, sender = node.recvfrom(LARGEST)
            except BlockingIOError:
                break
            if not raw.endswith(b"1:y1:qe"):
                continue  # a neighbour has it
            if b"1:q3:put" in raw:
                puts += 1
                at = raw.rindex(b"1:t4:") + 5
                ack = b"d1:rd2:id20:%be1:t4:%b1:y1:re" % (OWN_ID, raw[at : at + 4])
                node.sendto(ack, sender)
                for neighbour in neighbours:
                    node.sendto(raw, neighbour)
            else:
                node.sendto(_answer(bdecode(raw), len(neighbours)), sender)


def _answer(query: dict[bytes, Any], neighbours: int) -> bytes:
    """As if it knew them all."""
    values = {b"id": OWN_ID, b"token": b"bare", b"nodes": bytes(26 * neighbours)}
    return bencode({b"r": values, b"t": query[b"t"], b"y": b"r"})


def main() -> None:
    """Do what the command line says."""
    places = [address.rsplit(":", 1) for address in sys.argv[1:]]
    with open_socket() as node:
        print(json.dumps({"address": "{}:{}".format(*node.getsockname())}), flush=True)
        puts = serve(node, [(host, int(port)) for host, port in places])
    print(json.dumps({"messages": puts}), flush=True)


if __name__ == "__main__":
    main()

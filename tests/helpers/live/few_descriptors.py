"""A process that listens by TCP and may have few descriptors; commands on stdin, JSON on stdout.

python -m tests.helpers.live.few_descriptors LOOP DESCRIPTORS

It says its address; then each line that it reads is answered by how many connections it has, and
how often there was no descriptor for one.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import resource
import sys

import uvloop

from rumormill.core.addresses import HostPort
from rumormill.live.transports.tcp import Tcp


def say(**fields: object) -> None:
    print(json.dumps(fields), flush=True)


def limit_with_room(more: int) -> int:
    """A limit that leaves so many, whichever the interpreter and the loop have."""
    free = []
    for number in itertools.count():
        try:
            os.fstat(number)
        except OSError:
            free.append(number)
            if len(free) == more:
                return number + 1
    raise AssertionError


async def main(more: int) -> None:
    short = 0

    def count() -> None:
        nonlocal short
        short += 1

    tcp = Tcp(lambda _: None, HostPort(), on_short=count)
    (address,) = await tcp.listen(["127.0.0.1:0"])
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    limit = limit_with_room(more)
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
    say(address=address, limit=limit)
    while await reader.readline():
        say(connections=tcp.sizes()["connections"], short=short)
    await tcp.close(0.0)


if __name__ == "__main__":
    loops = {"asyncio": asyncio.new_event_loop, "uvloop": uvloop.new_event_loop}
    with asyncio.Runner(loop_factory=loops[sys.argv[1]]) as runner:
        runner.run(main(int(sys.argv[2])))

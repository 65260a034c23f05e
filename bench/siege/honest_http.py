"""An ordinary client of a node's HTTP side: it publishes one message after the other.

python -m bench.siege.honest_http ADDRESS TOPIC

Each request has a connection of its own, as those of scripts do. What is answered by 200 in time
counts; whatever else comes, or nothing, does not.

Command {"do": "publish", "run", "count", "rate", "patience"}, answered by ``received``, with
``answers``: how often each status came.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections import Counter
from urllib.parse import urlsplit

import rumormill
from bench.siege.honest_gossipsub import Command, commands, say
from bench.siege.stamps import summary


class Client:
    """One who publishes by HTTP."""

    def __init__(self, address: str, topic: str) -> None:
        parts = urlsplit(address)
        assert parts.hostname is not None and parts.port is not None
        self._host, self._port = parts.hostname, parts.port
        self._topic = topic

    async def obey(self, command: Command) -> None:
        """Publish, each message when it is due, whether or not the one before was answered."""
        late: dict[int, float] = {}
        answers: Counter[str] = Counter()
        began = time.monotonic()
        async with asyncio.TaskGroup() as tasks:
            for number in range(command["count"]):
                await asyncio.sleep(began + number / command["rate"] - time.monotonic())
                tasks.create_task(self._publish(number, command["patience"], late, answers))
        run, count = command["run"], command["count"]
        say("received", run=run, answers=dict(answers), **summary(late, count))

    async def _publish(
        self, number: int, patience: float, late: dict[int, float], answers: Counter[str]
    ) -> None:
        began = time.monotonic()
        try:
            async with asyncio.timeout(patience):
                status = await self._post({"topic": f"{self._topic}/http", "data": f"{number}"})
        except (OSError, TimeoutError, asyncio.IncompleteReadError) as error:
            answers[type(error).__name__] += 1
            return
        answers[status] += 1
        if status == "200":
            late[number] = (time.monotonic() - began) * 1e3

    async def _post(self, message: dict[str, str]) -> str:
        reader, writer = await asyncio.open_connection(self._host, self._port)
        try:
            body = json.dumps(message).encode()
            head = (
                f"POST /v1/publish HTTP/1.1\r\nHost: {self._host}:{self._port}\r\n"
                "Content-Type: application/json\r\nConnection: close\r\n"
                f"Content-Length: {len(body)}\r\n\r\n"
            )
            writer.write(head.encode() + body)
            await writer.drain()
            line = await reader.readuntil(b"\r\n")
            return line.split()[1].decode()
        finally:
            writer.close()


async def serve(address: str, topic: str) -> None:
    """Obey until stdin ends."""
    say("ready")
    await commands(Client(address, topic).obey)


def main() -> None:
    """Do what the command line says."""
    rumormill.run(serve(*sys.argv[1:]))


if __name__ == "__main__":
    main()

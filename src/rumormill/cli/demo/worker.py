"""One node of a demo, in a process of its own, led by JSON lines on stdin; answers on stdout.

The first line says who it is (:class:`Orders`). From then on:

    {"do": "connect", "addresses": [...]}   -> {"event": "connected", "failed": [...]}
    {"do": "publish", "number": 17}         -> {"event": "published", "number": 17, "at": ...}
    {"do": "count"}                         -> {"event": "count", ...}, the last "status"
    {"do": "stop"}, or the end of stdin     -> the process ends

Every delivery is told at once, so that a kill costs as little of the books as it can. Times are of
the machine's monotonic clock, which all processes share.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
import time
from collections.abc import AsyncIterator
from typing import Any, NamedTuple

import rumormill
from rumormill.capture.tap import attach, open_spool
from rumormill.cli.output import write_all
from rumormill.cli.sentences import sentence_of
from rumormill.core.message import Message
from rumormill.core.trace import DELIVERED, DUPLICATE

TOPIC = "rumormill-demo"
STATUS_INTERVAL = 0.25
LONGEST_LINE = 1 << 20


class Orders(NamedTuple):
    """The first line: who this worker is."""

    node: int
    network: str
    listen: str
    key_file: str | None
    spool: str | None = None
    """The folder in which it keeps what happens to it."""
    topic: str = TOPIC


class Worker:
    """Carries out what the lines say."""

    def __init__(self, orders: Orders, network: rumormill.Network) -> None:
        self._orders = orders
        self._topic = orders.topic
        self._network = network

    async def obey(self, order: dict[str, Any]) -> None:
        """Do what one line asks for."""
        match order["do"]:
            case "connect":
                await self._connect(order["addresses"])
            case "publish":
                await self._publish(order["number"])
            case "count":
                self.tell_status("count")

    async def _connect(self, addresses: list[str]) -> None:
        outcomes = await asyncio.gather(
            *(self._network.connect(address) for address in addresses), return_exceptions=True
        )
        failed = [str(outcome) for outcome in outcomes if isinstance(outcome, BaseException)]
        tell("connected", failed=failed)

    async def _publish(self, number: int) -> None:
        at = time.monotonic()
        data = {"publisher": self._orders.node, "number": number, "at": at}
        receipt = await self._network.publish(self._topic, json.dumps(data).encode())
        tell("published", number=number, at=at, peers=len(receipt.peers), seq=self._newest())

    async def listen(self, messages: rumormill.Subscription) -> None:
        """Tell of every message; those of our own are not delivered to us."""
        async for message in messages:
            self._tell_delivery(message)

    def _tell_delivery(self, message: Message) -> None:
        now = time.monotonic()
        data = json.loads(message.data)
        tell("delivered", number=data["number"], latency=now - data["at"])

    async def tell_now_and_then(self) -> None:
        """Tell the status again and again."""
        while True:
            self.tell_status()
            await asyncio.sleep(STATUS_INTERVAL)

    def _newest(self) -> int | None:
        """The number of the newest value, on a network that keeps one."""
        if self._network.capabilities.every_message:
            return None
        from rumormill.bep50.live.network import Bep50Network

        assert isinstance(self._network, Bep50Network)
        message = self._network.latest(self._topic)
        return None if message is None else message.fields["seq"]

    def tell_status(self, event: str = "status") -> None:
        """Tell who is in our mesh (in floodsub: everybody), and what was counted."""
        counters = self._network.counters
        tell(
            event,
            at=time.monotonic(),
            mesh=sorted(self._network.mesh(self._topic)),
            seq=self._newest(),
            delivered=counters.get(DELIVERED, 0),
            duplicates=counters.get(DUPLICATE, 0),
        )


async def work() -> None:
    """Run one worker until it is told to stop, or nobody is left to tell it."""
    lines = read_lines()
    orders = Orders(**await anext(lines))
    async with contextlib.AsyncExitStack() as stack:
        # Closed after the network, so that it knows of its last moments too.
        spool = None
        if orders.spool is not None:
            spool = await stack.enter_async_context(open_spool(orders.spool))
        network = await stack.enter_async_context(
            rumormill.open(
                orders.network, listen=orders.listen, key_file=orders.key_file, deliver_own=False
            )
        )
        if spool is not None:
            attach(network, spool)
        worker = Worker(orders, network)
        async with network.subscribe(orders.topic) as messages, asyncio.TaskGroup() as tasks:
            side = [
                tasks.create_task(worker.listen(messages)),
                tasks.create_task(worker.tell_now_and_then()),
            ]
            tell("ready", id=network.id, addresses=network.addresses)
            async for order in lines:
                if order["do"] == "stop":
                    break
                await worker.obey(order)
            for task in side:
                task.cancel()


async def read_lines() -> AsyncIterator[dict[str, Any]]:
    """The lines of stdin, as they come."""
    reader = asyncio.StreamReader(limit=LONGEST_LINE)
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := await reader.readline():
        yield json.loads(line)


def tell(event: str, **fields: Any) -> None:
    """Write one line to whoever leads us."""
    write_all(1, json.dumps({"event": event, **fields}).encode() + b"\n")


def main() -> int:
    """The process; what went wrong is told to whoever leads it, as far as they still listen."""
    try:
        rumormill.run(work())
    except KeyboardInterrupt:
        pass
    except Exception as error:
        with contextlib.suppress(OSError):
            tell("failed", problem=sentence_of(error))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Honest users of a node of a DHT: each puts a value, and another one asks for it.

python -m bench.siege.honest_bep50 HOST:PORT TOPIC

TOPIC is ``topic`` for a node of an overlay, ``main`` for one of the main DHT. Every user has an
address of its own, so that nobody's limit for one address is in the way. Before the attack each has
got its token. A value counts as delivered when somebody else is told by the node that there is one
with its number; whoever gets no answer asks again, as all do on UDP.

Command {"do": "publish", "run", "count", "rate", "patience"}, answered by ``received``.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
import time
from typing import Any

from bencode2 import BencodeDecodeError, bdecode, bencode

import rumormill
from bench.bep50.krpc_crowd import id_of
from bench.siege.honest_gossipsub import Command, commands, say
from bench.siege.stamps import summary
from rumormill.bep50.wire.krpc import PutTemplate
from tests.helpers.bep50.siege import KEY, SALT, TOPIC

AGAIN = 0.25
"""Seconds without an answer after which the same is asked again."""
PATIENCE = 15.0
"""Seconds for one token, in peace."""

Packet = dict[bytes, Any]


class User(asyncio.DatagramProtocol):
    """One who asks, at an address of its own."""

    def __init__(self, number: int, topic: bytes | None) -> None:
        self.host = f"127.77.{number // 250}.{1 + number % 250}"
        self.id = id_of(f"honest {number}")
        self.token = b""
        self._topic = topic
        self._transport: asyncio.DatagramTransport | None = None
        self._waiting: dict[bytes, asyncio.Future[Packet]] = {}
        self._transactions = 0

    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def datagram_received(self, data: bytes, address: Any) -> None:
        with contextlib.suppress(BencodeDecodeError, TypeError, AttributeError):
            packet: Packet = bdecode(data)
            if packet.get(b"y") == b"q":
                self._answer(packet)
            elif (answer := self._waiting.pop(packet.get(b"t", b""), None)) is not None:
                answer.set_result(packet)

    def error_received(self, error: Exception) -> None:
        """The node is not there: nobody answers, and that shows."""

    def _answer(self, packet: Packet) -> None:
        """The node wants to know whether this is our address."""
        answer: Packet = {b"r": {b"id": self.id}, b"t": packet[b"t"], b"y": b"r"}
        if b"c" in packet:
            answer[b"c"] = packet[b"c"]
        self._send(bencode(answer))

    def _send(self, raw: bytes) -> None:
        if self._transport is not None:
            self._transport.sendto(raw)

    async def ask(self, raw: bytes, transaction: bytes, deadline: float) -> Packet:
        """Send until an answer comes; :class:`TimeoutError` if none does."""
        answer: asyncio.Future[Packet] = asyncio.get_running_loop().create_future()
        self._waiting[transaction] = answer
        try:
            while True:
                self._send(raw)
                left = deadline - time.monotonic()
                if left <= 0:
                    raise TimeoutError
                done, _ = await asyncio.wait([answer], timeout=min(AGAIN, left))
                if done:
                    return answer.result()
        finally:
            self._waiting.pop(transaction, None)

    async def get(self, deadline: float) -> Packet:
        """What the node says of the topic's value."""
        transaction = self._next()
        packet: Packet = {
            b"a": {b"id": self.id, b"target": TOPIC.target},
            b"q": b"get",
            b"ro": 1,
            b"t": transaction,
            b"y": b"q",
        }
        if self._topic is not None:
            packet[b"c"] = self._topic
        answer = await self.ask(bencode(packet), transaction, deadline)
        values: Packet = answer.get(b"r", {})
        return values

    async def put(self, seq: int, deadline: float) -> bool:
        """Put a new value; whether the node took it."""
        item = KEY.item(SALT, seq, b"64:%b" % (b"%012d" % seq).ljust(64, b"."))
        transaction = self._next()
        raw = PutTemplate(self.id, item, self._topic, read_only=True).packet(
            transaction, self.token
        )
        answer = await self.ask(raw, transaction, deadline)
        # A newer one may have overtaken it, or the answer to the first copy got lost.
        return b"r" in answer or answer.get(b"e", [0])[0] == 302

    def _next(self) -> bytes:
        self._transactions += 1
        return self._transactions.to_bytes(4, "big")


class Users:
    """All of them: each value has one who puts it and one who asks for it."""

    def __init__(self, target: str, topic: bytes | None) -> None:
        host, port = target.rsplit(":", 1)
        self._target = (host, int(port))
        self._topic = topic
        self._users: list[User] = []
        self._seq = int(time.time())

    async def user(self) -> User:
        """One more."""
        user = User(len(self._users), self._topic)
        self._users.append(user)
        await asyncio.get_running_loop().create_datagram_endpoint(
            lambda: user, local_addr=(user.host, 0), remote_addr=self._target
        )
        return user

    async def obey(self, command: Command) -> None:
        """Publish and ask."""
        run, count, rate = command["run"], command["count"], command["rate"]
        if command["do"] == "prepare":
            self._pairs = [(await self.user(), await self.user()) for _ in range(count)]
            for giver, _ in self._pairs:
                values = await giver.get(time.monotonic() + PATIENCE)
                giver.token = bytes(values[b"token"])
            say("prepared", run=run)
            return
        late: dict[int, float] = {}
        began = time.monotonic()
        async with asyncio.TaskGroup() as tasks:
            for number, (giver, taker) in enumerate(self._pairs):
                await asyncio.sleep(began + number / rate - time.monotonic())
                self._seq += 1
                patience = command["patience"]
                tasks.create_task(self._deliver(number, self._seq, giver, taker, patience, late))
        say("received", run=run, **summary(late, count))

    async def _deliver(
        self,
        number: int,
        seq: int,
        giver: User,
        taker: User,
        patience: float,
        late: dict[int, float],
    ) -> None:
        began = time.monotonic()
        with contextlib.suppress(TimeoutError):
            if not await giver.put(seq, began + patience):
                return
            while True:
                values = await taker.get(began + patience)
                if int(values.get(b"seq", -1)) >= seq:
                    late[number] = (time.monotonic() - began) * 1e3
                    return
                await asyncio.sleep(AGAIN)


async def serve(target: str, topic: str) -> None:
    """Obey until stdin ends."""
    users = Users(target, TOPIC.target if topic == "topic" else None)
    probe = await users.user()
    values = await probe.get(time.monotonic() + PATIENCE)
    if b"token" not in values:
        sys.exit("the node gives no token")
    say("ready")
    await commands(users.obey)


def main() -> None:
    """Do what the command line says."""
    rumormill.run(serve(*sys.argv[1:]))


if __name__ == "__main__":
    main()

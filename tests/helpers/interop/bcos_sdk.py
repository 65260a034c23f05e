"""Clients on the real SDKs of FISCO BCOS, several of them in one process.

    go = await GoSdk.start(program)
    client = await go.connect("alice", node.channel, chain.sdk(0))
    await client.subscribe("weather")
    (message,) = await client.messages("weather", 1)

A client answers each message of a topic with :func:`answer_of` it.
"""

from __future__ import annotations

import base64
import itertools
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, NamedTuple, Self, TypeAlias

from tests.helpers.interop.peer_process import Event, PeerProcess

NOBODY = 100
"""The result code of a node that knows of no subscriber."""
PATIENCE = 60.0
"""Seconds to wait for what takes one on an idle machine."""


class Answer(NamedTuple):
    """What a publisher gets for its message."""

    code: int
    data: bytes
    problem: str = ""
    """The SDK's own words for a code other than 0."""
    seconds: float = 0.0


class SdkProcess(PeerProcess):
    """A process with clients on one SDK. Leaving the context stops it."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._numbers = itertools.count(1)

    @classmethod
    async def start(cls, program: Path) -> Self:
        """Start the process, without a client."""
        return await cls.launch(program, [])

    async def connect(
        self, name: str, address: str, certificates: Path, **more: object
    ) -> SdkClient:
        """Connect a client to a node's channel; ``certificates`` holds ca.crt, sdk.crt, sdk.key."""
        fields = {"client": name, "address": address, "certificates": str(certificates), **more}
        answer = await self.tell("connect", PATIENCE, **fields)
        return SdkClient(self, name, float(answer["seconds"]))

    async def tell(self, do: str, timeout: float = PATIENCE, **fields: Any) -> Event:
        """Give a command; those of one process may run at the same time."""
        number = next(self._numbers)
        await self._write({"do": do, "number": number, **fields})
        return await self._take_answer(do, do, timeout, number=number)

    async def take(self, event: str, fields: Event, count: int, timeout: float) -> list[Event]:
        """Wait for ``count`` events with these fields, and take them."""
        return await self._take(event, fields, count=count, timeout=timeout)


class SdkClient:
    """One client: what an application has."""

    def __init__(self, process: SdkProcess, name: str, seconds: float) -> None:
        self.process = process
        self.name = name
        self.seconds = seconds
        """How long the SDK took to come up."""

    async def subscribe(self, topic: str, *, private_key: Path | None = None) -> None:
        """Subscribe to a topic; with a key, to a private one."""
        key = {} if private_key is None else {"private_key": str(private_key)}
        await self._tell("subscribe", topic=topic, **key)

    async def unsubscribe(self, topic: str, *, private: bool = False) -> None:
        """Leave the topic."""
        await self._tell("unsubscribe", topic=topic, private=private)

    async def admit(self, topic: str, *public_keys: Path) -> None:
        """Be a publisher of a private topic for subscribers that have one of these keys."""
        await self._tell("admit", topic=topic, public_keys=[str(file) for file in public_keys])

    async def unicast(
        self, topic: str, data: bytes, *, private: bool = False, timeout: float = 5.0
    ) -> Answer:
        """Send a message to one of the subscribers; ``timeout`` is Java's own, for Go has none."""
        fields = {"topic": topic, "data_base64": _text(data), "private": private}
        got = await self._tell("unicast", **fields, seconds=timeout)
        answer = base64.b64decode(got["data_base64"] or "")
        return Answer(got["code"], answer, got["problem"] or "", got["seconds"])

    async def multicast(self, topic: str, data: bytes, *, private: bool = False) -> None:
        """Send a message to all subscribers."""
        await self._tell("multicast", topic=topic, data_base64=_text(data), private=private)

    async def messages(self, topic: str, count: int, *, timeout: float = PATIENCE) -> list[bytes]:
        """Wait for ``count`` messages of the topic, in the order in which they came."""
        wanted = {"client": self.name, "topic": topic}
        taken = await self.process.take("message", wanted, count, timeout)
        return [base64.b64decode(event["data_base64"]) for event in taken]

    def waiting(self, topic: str) -> int:
        """How many messages of the topic no one has taken yet."""
        pending = self.process.pending("message")
        return sum((each["client"], each["topic"]) == (self.name, topic) for each in pending)

    async def nodes(self) -> list[str]:
        """Nodes that it is connected to; of Java only."""
        nodes: list[str] = (await self._tell("nodes"))["nodes"]
        return nodes

    async def disconnect(self) -> None:
        """Close the connection; of Java only, a client of Go ends with its process."""
        await self._tell("disconnect")

    async def _tell(self, do: str, **fields: Any) -> Event:
        return await self.process.tell(do, client=self.name, **fields)


ConnectSdk: TypeAlias = Callable[[str, str, Path], Awaitable[SdkClient]]
"""Connects a client of one of the SDKs: its name, a node's channel, its certificates."""


def answer_of(name: str, data: bytes) -> Answer:
    """What a client of this name answers to a message, without the time that it took.

    >>> answer_of("alice", b"rain").data
    b'alice:rain'
    """
    return Answer(0, name.encode() + b":" + data)


def _text(raw: bytes) -> str:
    return base64.b64encode(raw).decode()

"""Our own nodes of FISCO BCOS, certificates for all, and our own client beside the real SDKs.

Nodes run as the public command, in processes of their own. What the command, its first line and
the client's methods look like is said here and nowhere else in these tests.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self

import rumormill
from rumormill import Subscription
from rumormill.bcos.errors import AmopError
from rumormill.bcos.live.bcos_network import BcosNetwork
from tests.helpers.interop.bcos_sdk import PATIENCE, Answer, answer_of
from tests.helpers.interop.our_node import eventually
from tests.helpers.interop.our_process import OurProcess
from tests.helpers.places import environment, program

LOOPBACK = "127.0.0.1:0"


class Chain(NamedTuple):
    """A chain of certificates as ``rumormill keygen`` makes it."""

    folder: Path

    @classmethod
    def make(cls, folder: Path, **counts: int) -> Self:
        """Make a chain with so many ``nodes``, ``sdks`` and ``topic_keys``."""
        numbers = [
            word
            for name, count in counts.items()
            for word in (f"--{name.replace('_', '-')}", str(count))
        ]
        arguments = ["keygen", "--network", "bcos", "--out", str(folder), *numbers]
        command = program("rumormill.cli", *arguments)
        done = subprocess.run(command, capture_output=True, text=True, env=environment())
        assert done.returncode == 0, done.stderr
        return cls(folder)

    def node(self, number: int) -> Path:
        """What a node takes."""
        return self.folder / "nodes" / str(number)

    def sdk(self, number: int, profile: str = "ec") -> Path:
        """What an SDK takes: ca.crt, sdk.crt and sdk.key of the profile ``ec`` or ``rsa``."""
        own = self.folder / "sdks" / str(number)
        return own if profile == "ec" else own / "channel_cert"

    def private_key(self, number: int) -> Path:
        """By which a subscriber of private topics proves itself."""
        return self.folder / "topic_keys" / str(number) / "private.pem"

    def public_key(self, number: int) -> Path:
        """By which a publisher knows it."""
        return self.folder / "topic_keys" / str(number) / "public.pem"


class OurBcosNode(OurProcess):
    """One running ``rumormill node``. Leaving the context stops it."""

    language = "rumormill node"

    @classmethod
    def command(cls, program: Path) -> list[str]:
        """How the program is run: ``program`` is the interpreter."""
        return [str(program), "-m", "rumormill.cli", "node", "--network", "bcos", "--json"]

    @classmethod
    async def start(
        cls,
        certificates: Path,
        *,
        peers: Sequence[str] = (),
        listen: str = LOOPBACK,
        channel: str = LOOPBACK,
        **settings: object,
    ) -> Self:
        """Start a node that dials ``peers``, and wait until it is ready."""
        settings = {"channel_listen": channel, **settings}
        arguments = ["--certificates", str(certificates)]
        arguments += [word for peer in peers for word in ("--peer", peer)]
        arguments += [
            word for key, value in settings.items() for word in ("--set", f"{key}={value}")
        ]
        return await cls.launch(Path(sys.executable), arguments, listen=listen)

    @property
    def channel(self) -> str:
        """Where SDKs connect to."""
        return str(self.ready["services"]["channel"][0])


class OurClient:
    """Our own client with the methods that clients on the real SDKs have in the tests.

    Its topics are private if it was opened with keys.
    """

    def __init__(self, name: str, network: BcosNetwork) -> None:
        self.name = name
        self.network = network
        self._subscriptions: dict[str, Subscription] = {}

    @classmethod
    async def open(cls, name: str, address: str, certificates: Path, **settings: Any) -> Self:
        """Connect to a node's channel, and wait until that is done."""
        network = await rumormill.open(
            "bcos", certificates=certificates, bootstrap=[address], **settings
        )
        assert isinstance(network, BcosNetwork)
        await eventually(lambda: bool(network.peers), f"{name} is connected to {address}")
        return cls(name, network)

    async def subscribe(self, topic: str, *, private_key: Path | None = None) -> None:
        """Subscribe, and answer; the key was given when it was opened."""
        self._subscriptions[topic] = self.network.subscribe(topic)
        self.network.respond(topic, lambda message: answer_of(self.name, message.data).data)

    async def admit(self, topic: str, *public_keys: Path) -> None:
        """The keys were given when it was opened."""

    async def unicast(
        self, topic: str, data: bytes, *, private: bool = False, timeout: float = 5.0
    ) -> Answer:
        """Send a message to one of the subscribers."""
        try:
            answer = await self.network.unicast(topic, data, timeout=timeout)
        except AmopError as error:
            return Answer(error.code, b"", str(error))
        return Answer(0, answer.data)

    async def multicast(self, topic: str, data: bytes, *, private: bool = False) -> None:
        """Send a message to all subscribers."""
        await self.network.multicast(topic, data)

    async def messages(self, topic: str, count: int, *, timeout: float = PATIENCE) -> list[bytes]:
        """Wait for ``count`` messages of the topic, in the order in which they came."""
        found: list[bytes] = []
        try:
            async with asyncio.timeout(timeout):
                while len(found) < count:
                    found.append((await self._subscriptions[topic].get()).data)
        except TimeoutError:
            counters = {name: number for name, number in self.network.counters.items() if number}
            raise AssertionError(f"{len(found)} of {count} messages came; {counters}") from None
        return found

    async def close(self) -> None:
        """Leave."""
        await self.network.close()

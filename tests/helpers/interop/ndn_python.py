"""Programs on python-ndn as test peers: ``tests/interop/peers/ndn-python``.

Its packages are installed into an environment of its own in the cache outside the tree, once for
each version of ``requirements.txt``.
"""

from __future__ import annotations

import base64
import itertools
import sys
from pathlib import Path
from typing import Any, NamedTuple, Self

from tests.helpers.interop.peer_process import Event, PeerProcess
from tests.helpers.interop.py_peer import pip_installed
from tests.helpers.interop.real_peers import SOURCES

FOLDER = "ndn-python"
PATIENCE = 60.0
"""Seconds to wait for what takes one on an idle machine."""


class Published(NamedTuple):
    """What its publisher knows."""

    delivered: bool
    seconds: float


class PythonProgram(PeerProcess):
    """One application on python-ndn: the original PubSub, a ping server, a ping client."""

    language = "python-ndn"

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._numbers = itertools.count(1)

    @classmethod
    def command(cls, program: Path) -> list[str]:
        """How the program is run: ``program`` is the interpreter of the environment."""
        return [str(program), str(SOURCES / FOLDER / "peer.py")]

    @classmethod
    async def start(
        cls, forwarder: str, prefix: str, *, signer: str = "digest", hint: str = ""
    ) -> Self:
        """Start one on a forwarder, with the prefix that it publishes under."""
        arguments = ["--forwarder", forwarder, "--prefix", prefix, "--signer", signer]
        arguments += ["--hint", hint] if hint else []
        return await cls.launch(installed_program(), arguments)

    async def tell(self, do: str, timeout: float = PATIENCE, **fields: Any) -> Event:
        """Give a command; several may be under way."""
        number = next(self._numbers)
        await self._write({"do": do, "number": number, **fields})
        return await self._take_answer(do, do, timeout, number=number)

    async def subscribe(self, topic: str) -> None:
        """Subscribe, and wait until the route stands."""
        await self.tell("subscribe", topic=topic)

    async def publish(self, topic: str, data: bytes) -> Published:
        """Publish one message, and wait for what becomes of it."""
        text = base64.b64encode(data).decode()
        answer = await self.tell("publish", topic=topic, data_base64=text)
        return Published(answer["delivered"], answer["seconds"])

    async def messages(self, topic: str, count: int, *, timeout: float = PATIENCE) -> list[bytes]:
        """Wait for ``count`` messages of the topic, in the order in which they came."""
        taken = await self._take("message", {"topic": topic}, count=count, timeout=timeout)
        return [base64.b64decode(event["data_base64"]) for event in taken]

    async def serve(self, prefix: str) -> None:
        """Answer every Interest below the prefix."""
        assert (await self.tell("serve", prefix=prefix))["registered"]

    async def ping(self, prefix: str, count: int, window: int = 1) -> int:
        """Ask a server so often; returns how many answers were right."""
        answer = await self.tell("ping", prefix=prefix, count=count, window=window)
        return len(answer["times_ms"]) - int(answer["wrong"])


def installed_program() -> Path:
    """The interpreter with python-ndn; skips or fails the test if there is no way."""
    name = f"{FOLDER}{sys.version_info.major}.{sys.version_info.minor}"
    return pip_installed(name, FOLDER)

"""Programs on python-ndn, driven by JSON lines: the original PubSub, and a ping server and client.

Commands come on stdin, events go to stdout; the language is written down in ../README.md. The
program ends with its stdin, so it cannot outlive the test that started it. It runs in an
environment of its own, with the packages of ``requirements.txt``.
"""

# mypy: ignore-errors
# It runs in an environment of its own, with packages that the project does not have.

from __future__ import annotations

import argparse
import asyncio
import base64
import contextlib
import json
import logging
import sys
import time
from collections.abc import Coroutine
from typing import Any

from Cryptodome.PublicKey import ECC
from ndn.app import NDNApp
from ndn.encoding import Component, Name
from ndn.security import KeychainDigest, Sha256WithEcdsaSigner
from ndn.transport.stream_face import TcpFace, UnixFace
from ndn.transport.udp_face import UdpFace
from ndn_python_repo.utils.pubsub import PubSub

BENCH_TIMEOUT = 120.0


def say(event: str, **fields: Any) -> None:
    sys.stdout.write(json.dumps({"event": event, **fields}) + "\n")
    sys.stdout.flush()


class OneKey(KeychainDigest):
    """Signs everything with one ECDSA key."""

    def __init__(self, name: str) -> None:
        key = ECC.generate(curve="P-256")
        identity = [*Name.from_str(name), Component.from_str("KEY"), Component.from_bytes(b"\x01")]
        private = bytes(key.export_key(format="DER", use_pkcs8=False))
        self._signer = Sha256WithEcdsaSigner(identity, private)
        self.public = bytes(key.public_key().export_key(format="DER"))
        self.key_name = Name.to_str(identity)

    def get_signer(self, sign_args: dict[str, Any]) -> Any:
        return self._signer


def face_of(address: str) -> Any:
    scheme, _, rest = address.partition("://")
    if scheme == "unix":
        return UnixFace(rest)
    host, _, port = rest.rpartition(":")
    return {"tcp": TcpFace, "udp": UdpFace}[scheme](host, int(port))


class Program:
    """One application on one forwarder."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        keychain = KeychainDigest() if arguments.signer == "digest" else OneKey(arguments.prefix)
        self.app = NDNApp(face=face_of(arguments.forwarder), keychain=keychain)
        hint = Name.from_str(arguments.hint) if arguments.hint else None
        self.pubsub = PubSub(self.app, Name.from_str(arguments.prefix), hint)
        self.key = keychain if isinstance(keychain, OneKey) else None
        self._stopped = asyncio.Event()
        self._tasks: set[asyncio.Future[None]] = set()
        """The loop itself does not keep tasks alive, nor who reads stdin."""

    async def run(self) -> None:
        await self.pubsub.wait_for_ready()
        key = {} if self.key is None else {
            "key_name": self.key.key_name, "public_key": base64.b64encode(self.key.public).decode(),
        }  # fmt: skip
        say("ready", id="python", addresses=[], **key)
        self._begin(self._obey())
        await self._stopped.wait()
        self.app.shutdown()

    async def _obey(self) -> None:
        reader = asyncio.StreamReader(limit=16 * 1024 * 1024)
        loop = asyncio.get_running_loop()
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        while line := await reader.readline():
            command = json.loads(line)
            if command["do"] == "stop":
                break
            self._begin(self._carry_out(command))
        self._stopped.set()

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _carry_out(self, command: dict[str, Any]) -> None:
        do, number = command.pop("do"), command.pop("number")
        try:
            say(do, number=number, **await getattr(self, f"do_{do}")(**command))
        except Exception as error:
            say("error", do=do, number=number, problem=f"{type(error).__name__}: {error}")

    # ---- the original PubSub

    async def do_subscribe(self, topic: str) -> dict[str, Any]:
        def came(data: bytes) -> None:
            say("message", topic=topic, data_base64=base64.b64encode(bytes(data)).decode())

        # As its subscribe() does, but so that it is known when the route stands.
        await self.pubsub._subscribe_helper(Name.from_str(topic), came)
        return {"topic": topic}

    async def do_unsubscribe(self, topic: str) -> dict[str, Any]:
        self.pubsub.unsubscribe(Name.from_str(topic))
        return {"topic": topic}

    async def do_publish(self, topic: str, data_base64: str) -> dict[str, Any]:
        began = time.monotonic()
        done = await self.pubsub.publish(Name.from_str(topic), base64.b64decode(data_base64))
        return {"topic": topic, "delivered": bool(done), "seconds": time.monotonic() - began}

    async def do_bench_receive(self, topic: str) -> dict[str, Any]:
        """Subscribe without a word for each message."""
        self.received = 0

        def came(data: bytes) -> None:
            self.received += 1

        await self.pubsub._subscribe_helper(Name.from_str(topic), came)
        return {"topic": topic}

    async def do_bench_report(self) -> dict[str, Any]:
        return {"received": self.received, "cpu_seconds": time.process_time()}

    async def do_bench_publish(
        self, topic: str, count: int, size: int, window: int
    ) -> dict[str, Any]:
        """Publish so many messages, ``window`` of them under way at once."""
        name, data = Name.from_str(topic), b"." * size
        left, delivered, times = count, 0, []
        began, cpu = time.monotonic(), time.process_time()

        async def publish_some() -> None:
            nonlocal left, delivered
            while left > 0:
                left -= 1
                start = time.monotonic()
                done = await self.pubsub.publish(name, data)
                delivered += bool(done)
                times.append(1000 * (time.monotonic() - start))

        tasks = (publish_some() for _ in range(window))
        await asyncio.wait_for(asyncio.gather(*tasks), BENCH_TIMEOUT)
        return {
            "topic": topic, "count": count, "delivered": delivered, "times_ms": times,
            "seconds": time.monotonic() - began, "cpu_seconds": time.process_time() - cpu,
        }  # fmt: skip

    # ---- ping

    async def do_serve(self, prefix: str, size: int = 0) -> dict[str, Any]:
        """Answer every Interest below the prefix with its last component."""

        def asked(name: Any, parameter: Any, parameters: Any) -> None:
            content = bytes(Component.get_value(name[-1])).ljust(size, b".")
            self.app.put_data(name, content=content, freshness_period=1)

        done = await self.app.register(Name.from_str(prefix), asked)
        return {"prefix": prefix, "registered": bool(done)}

    async def do_ping(self, prefix: str, count: int, window: int = 1) -> dict[str, Any]:
        """Ask the server so often, and look at each answer."""
        base, left, times, wrong = Name.from_str(prefix), count, [], 0
        began, cpu = time.monotonic(), time.process_time()

        async def ask_some() -> None:
            nonlocal left, wrong
            while left > 0:
                left -= 1
                text, start = b"%d" % left, time.monotonic()
                name = [*base, Component.from_bytes(text)]
                _, _, content = await self.app.express_interest(
                    name, must_be_fresh=True, can_be_prefix=False, lifetime=4000
                )
                wrong += not bytes(content).startswith(text)
                times.append(1000 * (time.monotonic() - start))

        await asyncio.gather(*(ask_some() for _ in range(window)))
        return {
            "prefix": prefix, "times_ms": times, "wrong": wrong,
            "seconds": time.monotonic() - began, "cpu_seconds": time.process_time() - cpu,
        }  # fmt: skip

    async def do_cpu(self) -> dict[str, Any]:
        return {"cpu_seconds": time.process_time()}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--forwarder", required=True)
    parser.add_argument("--prefix", required=True)
    parser.add_argument("--signer", choices=("digest", "ecdsa"), default="digest")
    parser.add_argument("--hint", default="")
    logging.disable(logging.CRITICAL)
    program = Program(parser.parse_args())
    with contextlib.suppress(KeyboardInterrupt):
        program.app.run_forever(after_start=program.run())


if __name__ == "__main__":
    main()

"""A js-libp2p node as a test peer: ``tests/interop/peers/js/peer.mjs`` in a process of its own.

    async with await JsPeer.start(program, topics=["weather"]) as peer:
        await peer.expect("subscription-change", id=our_id)
        await peer.publish("weather", b"rain at noon")

The Node packages are installed by name into a cache outside the tree, once for each version of
``package.json``.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import subprocess
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeAlias

from real_peers import missing_peer, peer_cache

SOURCES = Path(__file__).parent.parent / "interop" / "peers" / "js"
OLDEST_NODE = 20
LONGEST_LINE = 16 * 1024 * 1024
STDERR_LINES = 60

Event = dict[str, Any]


# ---- the program


def installed_program() -> Path:
    """The js program with its packages beside it; skips or fails the test if there is no way."""
    for tool in ("node", "npm"):
        if shutil.which(tool) is None:
            missing_peer(f"js peer: {tool} is not installed")
    version = subprocess.run(["node", "--version"], capture_output=True, text=True).stdout.strip()
    if int(version.removeprefix("v").partition(".")[0] or 0) < OLDEST_NODE:
        missing_peer(f"js peer: Node {OLDEST_NODE} or newer is needed, this is {version or 'none'}")
    return _copy_program(_install_packages())


def _install_packages() -> Path:
    manifest = (SOURCES / "package.json").read_bytes()
    folder = peer_cache() / f"js-{hashlib.sha256(manifest).hexdigest()[:16]}"
    folder.mkdir(parents=True, exist_ok=True)
    done = folder / "installed"
    with (folder / "lock").open("w") as lock:
        # Test processes that start together install once.
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            (folder / "package.json").write_bytes(manifest)
            _npm_install(folder)
            done.touch()
    return folder


def _npm_install(folder: Path) -> None:
    options = ["--no-package-lock", "--no-audit", "--no-fund", "--ignore-scripts"]
    # A machine without a network should not wait minutes to learn it.
    options += ["--fetch-retries=1", "--fetch-retry-mintimeout=1000"]
    try:
        result = subprocess.run(
            ["npm", "install", *options, "--loglevel=error"],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=240,
        )
    except subprocess.TimeoutExpired:
        missing_peer("js peer: npm install did not end within 240 s")
    if result.returncode != 0:
        problem = " ".join(result.stderr.split("\n")[:4])
        missing_peer(f"js peer: npm install failed: {problem}")


def _copy_program(folder: Path) -> Path:
    # Node looks for packages beside the program. The name holds the content's hash: another
    # checkout that shares the cache may have another version of it.
    source = (SOURCES / "peer.mjs").read_bytes()
    program = folder / f"peer-{hashlib.sha256(source).hexdigest()[:16]}.mjs"
    if not program.exists():
        unfinished = program.with_suffix(f".{os.getpid()}")
        unfinished.write_bytes(source)
        unfinished.replace(program)
    return program


# ---- the process


class JsPeerError(AssertionError):
    """The js peer did not do what the test waited for; says what it did instead."""


class JsPeer:
    """One running js node. Leaving the context stops it."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.id = ""
        self.addresses: list[str] = []
        self._process = process
        self._events: list[Event] = []
        self._waiting: list[_Wanted] = []
        self._stderr: deque[str] = deque(maxlen=STDERR_LINES)
        self._readers = [
            asyncio.create_task(self._read_events()),
            asyncio.create_task(self._read_stderr()),
        ]

    @classmethod
    async def start(
        cls,
        program: Path,
        *,
        router: str = "gossipsub",
        listen: str = "/ip4/127.0.0.1/tcp/0",
        dial: Sequence[str] = (),
        topics: Sequence[str] = (),
        policy: str = "StrictSign",
        options: dict[str, Any] | None = None,
    ) -> Self:
        """Start a node and wait until it is ready; ``options`` go to the js router as they are."""
        arguments = ["--router", router, "--listen", listen, "--policy", policy]
        arguments += [part for address in dial for part in ("--dial", address)]
        arguments += [part for topic in topics for part in ("--topic", topic)]
        process = await asyncio.create_subprocess_exec(
            *("node", str(program), *arguments, "--options", json.dumps(options or {})),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            limit=LONGEST_LINE,
        )
        peer = cls(process)
        try:
            ready = await peer.expect("ready", timeout=30)
        except BaseException:
            await peer.stop()
            raise
        peer.id, peer.addresses = ready["id"], ready["addresses"]
        return peer

    @property
    def address(self) -> str:
        """The first address it listens on, with its peer id."""
        return self.addresses[0]

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.stop()

    # ---- what it says

    async def expect(self, event: str, *, timeout: float = 15, **fields: Any) -> Event:
        """Wait for the next event of this name with these fields, and take it."""
        taken = await self._take(event, fields, count=1, timeout=timeout)
        return taken[0]

    async def messages(self, topic: str, count: int, *, timeout: float = 30) -> list[Event]:
        """Wait for ``count`` messages of the topic; each has its bytes in ``data``."""
        taken = await self._take("message", {"topic": topic}, count=count, timeout=timeout)
        return [event | {"data": base64.b64decode(event["data_base64"])} for event in taken]

    def pending(self, event: str) -> list[Event]:
        """The events of this name that no one has taken yet."""
        return [held for held in self._events if held["event"] == event]

    # ---- what it is told

    async def publish(self, topic: str, data: bytes) -> list[str]:
        """Publish one message; returns the peers that js says it sent it to."""
        answer = await self._command(
            "publish", topic=topic, data_base64=base64.b64encode(data).decode()
        )
        recipients: list[str] = answer["recipients"]
        return recipients

    async def publish_many(
        self, topic: str, count: int, *, size: int = 0, prefix: str = "", timeout: float = 60
    ) -> Event:
        """Publish what :func:`numbered_payloads` lists, as fast as the peers take it."""
        fields = {"topic": topic, "count": count, "size": size, "prefix": prefix}
        return await self._command("publish_many", timeout, **fields)

    async def subscribe(self, topic: str) -> None:
        """Subscribe to the topic."""
        await self._command("subscribe", topic=topic)

    async def unsubscribe(self, topic: str) -> None:
        """Leave the topic."""
        await self._command("unsubscribe", topic=topic)

    async def dial(self, address: str) -> str:
        """Connect to the address; returns the peer id that answered."""
        answer = await self._command("dial", address=address)
        return str(answer["id"])

    async def peers(self) -> list[Event]:
        """Its connected peers, with the protocol that it ``sends_on`` and ``receives_on``."""
        answer = await self._command("peers")
        peers: list[Event] = answer["peers"]
        return peers

    async def mesh(self, topic: str) -> list[str]:
        """Its mesh of the topic; with floodsub, everyone who is subscribed."""
        answer = await self._command("mesh", topic=topic)
        peers: list[str] = answer["peers"]
        return peers

    async def stop(self) -> None:
        """Let it close its connections; kill it if it does not end by itself."""
        if self._process.returncode is None:
            with contextlib.suppress(ConnectionError, TimeoutError):
                await self._write({"do": "stop"})
                await asyncio.wait_for(self._process.wait(), 5)
        if self._process.returncode is None:
            self._process.kill()
        await self._process.wait()
        await asyncio.gather(*self._readers)
        if self._process.stdin is not None:
            self._process.stdin.close()

    # ---- the pipe

    async def _command(self, do: str, timeout: float = 15, **fields: Any) -> Event:
        await self._write({"do": do, **fields})
        answer = await self._take_answer(do, timeout)
        if answer["event"] == "error":
            raise JsPeerError(f"the js peer could not {do}: {answer['problem']}")
        return answer

    async def _write(self, command: Event) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(command).encode() + b"\n")
        await self._process.stdin.drain()

    async def _take_answer(self, do: str, timeout: float) -> Event:
        def is_answer(event: Event) -> bool:
            return bool(event["event"] == do or (event["event"], event.get("do")) == ("error", do))

        return (await self._wait_for(_Wanted(f"an answer to {do!r}", is_answer, 1), timeout))[0]

    async def _take(self, name: str, fields: Event, *, count: int, timeout: float) -> list[Event]:
        def matches(event: Event) -> bool:
            return event["event"] == name and fields.items() <= event.items()

        wanted = _Wanted(f"{count} x {name!r} {fields or ''}".rstrip(), matches, count)
        return await self._wait_for(wanted, timeout)

    async def _wait_for(self, wanted: _Wanted, timeout: float) -> list[Event]:
        self._events = [event for event in self._events if not wanted.takes(event)]
        if self._readers[0].done() and not wanted.complete.is_set():
            raise JsPeerError(self._report("had ended", wanted))
        self._waiting.append(wanted)
        try:
            await asyncio.wait_for(wanted.complete.wait(), timeout)
        except TimeoutError:
            raise JsPeerError(self._report(f"was silent for {timeout} s", wanted)) from None
        finally:
            self._waiting.remove(wanted)
        if len(wanted.found) < wanted.count:
            raise JsPeerError(self._report("ended", wanted))
        return wanted.found

    def _report(self, what: str, wanted: _Wanted) -> str:
        latest = "\n".join(f"  {json.dumps(event)[:200]}" for event in self._events[-10:])
        return (
            f"the js peer {what}, waiting for {wanted.name} ({len(wanted.found)} came)\n"
            f"exit code: {self._process.returncode}\n"
            f"latest events not waited for:\n{latest or '  none'}\n"
            f"stderr:\n{''.join(self._stderr) or '  empty'}"
        )

    async def _read_events(self) -> None:
        assert self._process.stdout is not None
        async for line in self._process.stdout:
            event = json.loads(line)
            if not any(wanted.takes(event) for wanted in self._waiting):
                self._events.append(event)
        for wanted in self._waiting:
            wanted.complete.set()

    async def _read_stderr(self) -> None:
        assert self._process.stderr is not None
        async for line in self._process.stderr:
            self._stderr.append(f"  {line.decode(errors='replace')}")


StartJsPeer: TypeAlias = Callable[..., Awaitable[JsPeer]]
"""The fixture ``start_js_peer``: :meth:`JsPeer.start` without the program."""


class _Wanted:
    """Events that a test waits for; complete when all came, or when none can come any more."""

    def __init__(self, name: str, matches: Callable[[Event], bool], count: int) -> None:
        self.name = name
        self.count = count
        self.found: list[Event] = []
        self.complete = asyncio.Event()
        self._matches = matches

    def takes(self, event: Event) -> bool:
        if len(self.found) >= self.count or not self._matches(event):
            return False
        self.found.append(event)
        if len(self.found) == self.count:
            self.complete.set()
        return True


def numbered_payloads(count: int, *, size: int = 0, prefix: str = "") -> list[bytes]:
    """The messages of :meth:`JsPeer.publish_many`, for tests that publish the same themselves.

    >>> numbered_payloads(2, size=12, prefix="a-")
    [b'a-00000000..', b'a-00000001..']
    """
    return [f"{prefix}{index:08}".ljust(size, ".").encode() for index in range(count)]

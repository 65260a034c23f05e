"""A peer of another implementation in a process of its own, driven by JSON lines.

    async with await JsPeer.start(program, topics=["weather"]) as peer:
        await peer.expect("subscription-change", id=our_id)
        await peer.publish("weather", b"rain at noon")

The programs stand under ``tests/interop/peers``, and the language in the README there. What each
of them needs to be built is in a module of its own: ``js_peer``, ``rust_peer``, ``py_peer``,
``go_peer``, ``bcos_go``, ``bcos_java``.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import subprocess
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, Self

LONGEST_LINE = 16 * 1024 * 1024
STDERR_LINES = 60

Event = dict[str, Any]


class PeerProcessError(AssertionError):
    """The peer did not do what the test waited for; says what it did instead."""


class PeerProcess:
    """One running node. Leaving the context stops it."""

    language: ClassVar[str]

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.id = ""
        self.addresses: list[str] = []
        self.ready: Event = {}
        """The first thing that it said."""
        self._process = process
        self._events: list[Event] = []
        self._waiting: list[_Wanted] = []
        self._subscribed: set[tuple[str, str]] = set()
        self._stderr: deque[str] = deque(maxlen=STDERR_LINES)
        self._readers = [
            asyncio.create_task(self._read_events()),
            asyncio.create_task(self._read_stderr()),
        ]

    @classmethod
    def command(cls, program: Path) -> list[str]:
        """How the program is run."""
        return [str(program)]

    @classmethod
    async def launch(
        cls, program: Path, arguments: Sequence[str], *, listen: str = "", dial: Sequence[str] = ()
    ) -> Self:
        """Start the program and wait until it is ready; not every program listens."""
        addresses = ["--listen", listen] if listen else []
        addresses += [part for to in dial for part in ("--dial", to)]
        process = await asyncio.create_subprocess_exec(
            *(*cls.command(program), *addresses, *arguments),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            limit=LONGEST_LINE,
        )
        peer = cls(process)
        try:
            peer.ready = await peer.expect("ready", timeout=30)
        except BaseException:
            await peer.stop()
            raise
        peer.id, peer.addresses = peer.ready["id"], peer.ready["addresses"]
        return peer

    @property
    def address(self) -> str:
        """The first address it listens on, with its peer id."""
        return self.addresses[0]

    @property
    def process_id(self) -> int:
        """The number of its process."""
        return self._process.pid

    @property
    def said_to_stderr(self) -> str:
        """The latest lines that are no events."""
        return "".join(self._stderr)

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

    def pending(self, event: str) -> list[Event]:
        """The events of this name that no one has taken yet."""
        return [held for held in self._events if held["event"] == event]

    # ---- what it is told

    async def dial(self, address: str) -> str:
        """Connect to the address; returns the peer id that answered."""
        answer = await self._command("dial", address=address)
        return str(answer["id"])

    async def peers(self) -> list[Event]:
        """Its connected peers."""
        answer = await self._command("peers")
        peers: list[Event] = answer["peers"]
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

    async def abandon(self) -> int:
        """Close its stdin, as the end of a test process would; returns its exit code."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        return await asyncio.wait_for(self._process.wait(), 15)

    # ---- the pipe

    async def _command(self, do: str, timeout: float = 15, **fields: Any) -> Event:
        await self._write({"do": do, **fields})
        return await self._take_answer(do, do, timeout)

    async def _write(self, command: Event) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(command).encode() + b"\n")
        await self._process.stdin.drain()

    async def _take_answer(self, do: str, name: str, timeout: float, **fields: Any) -> Event:
        # Either the event that answers the command, or the complaint about it, which need not have
        # all of the fields.
        def is_answer(event: Event) -> bool:
            if event["event"] == "error":
                same = all(event.get(key, value) == value for key, value in fields.items())
                return bool(event.get("do") == do) and same
            return event["event"] == name and fields.items() <= event.items()

        wanted = _Wanted(f"an answer to {do!r}", is_answer, 1)
        (answer,) = await self._wait_for(wanted, timeout)
        if answer["event"] == "error":
            problem = answer["problem"]
            raise PeerProcessError(f"the {self.language} peer could not {do}: {problem}")
        return answer

    async def _take(self, name: str, fields: Event, *, count: int, timeout: float) -> list[Event]:
        def matches(event: Event) -> bool:
            return event["event"] == name and fields.items() <= event.items()

        wanted = _Wanted(f"{count} x {name!r} {fields or ''}".rstrip(), matches, count)
        return await self._wait_for(wanted, timeout)

    async def _wait_for(self, wanted: _Wanted, timeout: float) -> list[Event]:
        self._events = [event for event in self._events if not wanted.takes(event)]
        if self._readers[0].done() and not wanted.complete.is_set():
            raise PeerProcessError(self._report("had ended", wanted))
        self._waiting.append(wanted)
        try:
            await asyncio.wait_for(wanted.complete.wait(), timeout)
        except TimeoutError:
            raise PeerProcessError(self._report(f"was silent for {timeout} s", wanted)) from None
        finally:
            self._waiting.remove(wanted)
        if len(wanted.found) < wanted.count:
            raise PeerProcessError(self._report("ended", wanted))
        return wanted.found

    def _report(self, what: str, wanted: _Wanted) -> str:
        latest = "\n".join(f"  {json.dumps(event)[:200]}" for event in self._events[-10:])
        return (
            f"the {self.language} peer {what}, waiting for {wanted.name}"
            f" ({len(wanted.found)} came)\n"
            f"exit code: {self._process.returncode}\n"
            f"latest events not waited for:\n{latest or '  none'}\n"
            f"stderr:\n{''.join(self._stderr) or '  empty'}"
        )

    async def _read_events(self) -> None:
        assert self._process.stdout is not None
        async for line in self._process.stdout:
            event = json.loads(line)
            self._note_subscriptions(event)
            if not any(wanted.takes(event) for wanted in self._waiting):
                self._events.append(event)
        for wanted in self._waiting:
            wanted.complete.set()

    def _note_subscriptions(self, event: Event) -> None:
        if event["event"] == "subscription-change":
            for change in event["subscriptions"]:
                subscribed = (event["id"], change["topic"])
                if change["subscribe"]:
                    self._subscribed.add(subscribed)
                else:
                    self._subscribed.discard(subscribed)
        elif event["event"] == "peer" and event["state"] == "disconnected":
            self._subscribed = {held for held in self._subscribed if held[0] != event["id"]}

    async def _read_stderr(self) -> None:
        assert self._process.stderr is not None
        async for line in self._process.stderr:
            self._stderr.append(f"  {line.decode(errors='replace')}")


class RouterPeer(PeerProcess):
    """A node with a pubsub router: gossipsub or floodsub."""

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
        message_id: str | None = None,
        options: dict[str, Any] | None = None,
        more: Sequence[str] = (),
    ) -> Self:
        """Start a node and wait until it is ready; ``options`` go to its router as they are."""
        arguments = ["--router", router, "--policy", policy]
        arguments += ["--message-id", message_id] if message_id else []
        arguments += [part for topic in topics for part in ("--topic", topic)]
        arguments += ["--options", json.dumps(options or {}), *more]
        return await cls.launch(program, arguments, listen=listen, dial=dial)

    async def messages(self, topic: str, count: int, *, timeout: float = 30) -> list[Event]:
        """Wait for ``count`` messages of the topic; each has its bytes in ``data``."""
        taken = await self._take("message", {"topic": topic}, count=count, timeout=timeout)
        return [event | {"data": base64.b64decode(event["data_base64"])} for event in taken]

    async def sees(self, peer: str, topic: str, *, timeout: float = 15) -> None:
        """Wait until it knows that the peer is subscribed to the topic; takes no event."""

        def told(event: Event) -> bool:
            return (peer, topic) in self._subscribed

        if (peer, topic) in self._subscribed:
            return
        wanted = _Wanted(f"{peer} to subscribe to {topic!r}", told, 1, keep=True)
        await self._wait_for(wanted, timeout)

    async def publish(self, topic: str, data: bytes) -> list[str]:
        """Publish one message; returns to whom it was sent, where the library tells that."""
        answer = await self._command(
            "publish", topic=topic, data_base64=base64.b64encode(data).decode()
        )
        recipients: list[str] | None = answer["recipients"]
        return recipients or []

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

    async def peers(self) -> list[Event]:
        """Its connected peers, with the protocol that it ``sends_on`` and ``receives_on``."""
        return await super().peers()

    async def mesh(self, topic: str) -> list[str]:
        """Its mesh of the topic; with floodsub, everyone who is subscribed."""
        answer = await self._command("mesh", topic=topic)
        peers: list[str] = answer["peers"]
        return peers

    async def meshes(self, peer: str, topic: str, *, timeout: float = 15) -> None:
        """Wait until its mesh of the topic holds the peer: py sends to no one else."""
        try:
            async with asyncio.timeout(timeout):
                while peer not in await self.mesh(topic):
                    await asyncio.sleep(0.05)
        except TimeoutError:
            problem = f"has no {peer} in its mesh of {topic!r} after {timeout} s"
            raise PeerProcessError(f"the {self.language} peer {problem}") from None

    async def score_of(self, peer: str) -> Event:
        """What its router thinks of a peer: ``score``; from go also the ``lowest`` ever, and
        ``behaviour_penalty``.

        go keeps a score with the option ``Score``, rust with ``score``, js always.
        """
        scores: dict[str, Event] = (await self._command("scores"))["peers"]
        return scores[peer]

    # ---- benchmarks

    async def bench_publish(
        self, topic: str, count: int, *, size: int, window: int, timeout: float = 120
    ) -> Event:
        """Publish to a peer that was told to ``bench_receive``; returns the ``bench`` event."""
        await self._command("bench_publish", topic=topic, count=count, size=size, window=window)
        result = {"role": "publisher", "topic": topic}
        return await self._take_answer("bench_publish", "bench", timeout, **result)

    async def bench_receive(self, topic: str, count: int, *, window: int) -> None:
        """Subscribe and acknowledge what :meth:`bench_publish` of another peer sends."""
        await self._command("bench_receive", topic=topic, count=count, window=window)

    async def bench_received(self, topic: str, *, timeout: float = 15) -> Event:
        """Wait for the end of :meth:`bench_receive`; returns the ``bench`` event."""
        result = {"role": "subscriber", "topic": topic}
        return await self._take_answer("bench_receive", "bench", timeout, **result)

    async def bench_rate(
        self, topic: str, *, rate: float, count: int, size: int, timeout: float | None = None
    ) -> Event:
        """Publish ``rate`` messages a second; returns the ``bench`` event."""
        await self._command("bench_rate", topic=topic, rate=rate, count=count, size=size)
        result = {"role": "publisher", "topic": topic}
        timeout = timeout or count / rate * 2 + 30
        return await self._take_answer("bench_rate", "bench", timeout, **result)

    async def bench_reset(self, topic: str) -> None:
        """From now on count, and do not print, what arrives of :meth:`bench_rate`."""
        await self._command("bench_reset", topic=topic)

    async def bench_report(self) -> Event:
        """What arrived since :meth:`bench_reset`, how late, and the CPU time it took."""
        return await self._command("bench_report")


async def bench_pair(
    publisher: RouterPeer,
    subscriber: RouterPeer,
    topic: str,
    *,
    count: int,
    size: int,
    window: int,
    timeout: float = 120,
) -> tuple[Event, Event]:
    """Measure publisher to subscriber, which are connected; returns both ``bench`` events."""
    await publisher.subscribe(f"{topic}/ack")
    await subscriber.bench_receive(topic, count, window=window)
    # An acknowledgement that no one hears, or a message, would be lost.
    await subscriber.sees(publisher.id, f"{topic}/ack")
    await publisher.sees(subscriber.id, topic)
    sent = await publisher.bench_publish(topic, count, size=size, window=window, timeout=timeout)
    return sent, await subscriber.bench_received(topic)


class _Wanted:
    """Events that a test waits for; complete when all came, or when none can come any more."""

    def __init__(
        self, name: str, matches: Callable[[Event], bool], count: int, *, keep: bool = False
    ) -> None:
        self.name = name
        self.count = count
        self.found: list[Event] = []
        self.complete = asyncio.Event()
        self._matches = matches
        self._keep = keep

    def takes(self, event: Event) -> bool:
        if len(self.found) >= self.count or not self._matches(event):
            return False
        self.found.append(event)
        if len(self.found) == self.count:
            self.complete.set()
        return not self._keep


def numbered_payloads(count: int, *, size: int = 0, prefix: str = "") -> list[bytes]:
    """The messages of :meth:`RouterPeer.publish_many`, for tests that publish the same themselves.

    >>> numbered_payloads(2, size=12, prefix="a-")
    [b'a-00000000..', b'a-00000001..']
    """
    return [f"{prefix}{index:08}".ljust(size, ".").encode() for index in range(count)]

"""A rumormill node that is driven by JSON lines: commands on stdin, events on stdout.

The language is written down in ../README.md; --options are settings of ``rumormill.open``. The
program ends with its stdin, so it cannot outlive the test that started it.

It uses nothing but the public API, and its benchmarks are the loops that a user would write. Two
things are its own: --native 0|1 says by whom signatures are made and checked (without it, by the
fastest that is installed), and the command ``profile`` has the next measured stretch profiled.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import contextlib
import json
import math
import resource
import sys
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from typing import Any, TypeAlias

import rumormill
from rumormill.core import ed25519, trace

LONGEST_SILENCE = 30
"""Seconds without an acknowledgement after which a benchmark is given up."""

PROFILE_INTERVAL = 0.0005

# What came in, with repetitions, and what of it was verified: a copy that has been seen, or that
# equals one under check, is a duplicate without a look at its signature.
VERIFIED = ("delivered", "rejected.bad_signature")
COPIES = (*VERIFIED, "duplicate", "ignored.own_message", "dropped.checks_full")

Fields = dict[str, Any]
Loop: TypeAlias = Callable[[rumormill.Subscription], Coroutine[Any, Any, None]]


def say(event: str, **fields: Any) -> None:
    sys.stdout.write(json.dumps({"event": event, **fields}) + "\n")
    sys.stdout.flush()


def complain(do: str, problem: BaseException) -> None:
    say("error", do=do, problem=f"{type(problem).__name__}: {problem}")


class Talker:
    """Says who comes and goes, as the trace has it."""

    def __init__(self, network: rumormill.Network) -> None:
        self.addresses: dict[str, list[str]] = {}
        self.protocols: dict[str, str] = {}
        self._network = network
        self._stop = network.on_trace(self._on_trace)
        self._words: dict[str, Callable[[str, rumormill.TraceEvent], None]] = {
            trace.CONNECTION_OPENED: self._opened,
            trace.CONNECTION_CLOSED: self._closed,
            trace.PEER_IDENTIFIED: self._identified,
            trace.PEER_JOINED: self._joined,
            trace.PEER_SUBSCRIBED: self._subscribed,
            trace.PEER_UNSUBSCRIBED: self._subscribed,
        }

    @contextlib.contextmanager
    def silenced(self) -> Iterator[None]:
        """Listen to nothing: whoever measures does not want to see every event."""
        self._stop()
        try:
            yield
        finally:
            self._stop = self._network.on_trace(self._on_trace)

    def _on_trace(self, event: rumormill.TraceEvent) -> None:
        word = self._words.get(event.event)
        if word is not None and event.peer is not None:
            word(event.peer, event)

    def _opened(self, peer: str, event: rumormill.TraceEvent) -> None:
        if peer not in self.addresses:
            say("peer", id=peer, state="connected")
        self.addresses.setdefault(peer, []).append(str(event.fields["address"]))

    def _closed(self, peer: str, event: rumormill.TraceEvent) -> None:
        left = self.addresses.get(peer, [])
        if event.fields["address"] in left:
            left.remove(str(event.fields["address"]))
        if not left and self.addresses.pop(peer, None) is not None:
            self.protocols.pop(peer, None)
            say("peer", id=peer, state="disconnected")

    def _identified(self, peer: str, event: rumormill.TraceEvent) -> None:
        protocols = str(event.fields["protocols"]).split()
        agent = event.fields["agent"]
        say("peer", id=peer, state="identified", protocols=protocols, agent=agent)

    def _joined(self, peer: str, event: rumormill.TraceEvent) -> None:
        self.protocols[peer] = str(event.fields["protocol"])

    def _subscribed(self, peer: str, event: rumormill.TraceEvent) -> None:
        subscribe = event.event == trace.PEER_SUBSCRIBED
        changes = [{"topic": event.topic, "subscribe": subscribe}]
        say("subscription-change", id=peer, subscriptions=changes)


# ---- measuring


class Stopwatch:
    """Wall-clock time and CPU time of the whole process from here on."""

    def __init__(self) -> None:
        self.started = time.monotonic()
        self._cpu_at_start = _cpu_seconds()

    def read(self) -> dict[str, float]:
        return {
            "seconds": time.monotonic() - self.started,
            "cpu_seconds": _cpu_seconds() - self._cpu_at_start,
        }


def _cpu_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def stamped(index: int, size: int) -> bytes:
    """A message of a benchmark: wall clock in nanoseconds, index, filling."""
    header = time.time_ns().to_bytes(8, "big") + index.to_bytes(8, "big")
    return header.ljust(size, b".")


class Collecting:
    """What arrives of ``bench_rate``, between ``bench_reset`` and ``bench_report``."""

    def __init__(self, network: rumormill.Network) -> None:
        self._counters = network.counters
        self._before = dict(network.counters)
        self._arrivals: list[tuple[bytes, int]] = []
        self._watch = Stopwatch()

    async def read(self, subscription: rumormill.Subscription) -> None:
        arrivals = self._arrivals
        async for message in subscription:
            arrivals.append((message.data[:16], time.time_ns()))

    def report(self, topic: str) -> Fields:
        times = self._watch.read()
        latencies = sorted(
            (arrived - int.from_bytes(header[:8], "big")) / 1e6
            for header, arrived in self._arrivals
        )
        return {
            "topic": topic,
            "received": len(self._arrivals),
            "distinct": len({header for header, _ in self._arrivals}),
            "p50_ms": _percentile(latencies, 0.50),
            "p99_ms": _percentile(latencies, 0.99),
            "max_ms": latencies[-1] if latencies else None,
            "copies": self._counted(COPIES),
            "verifies": self._counted(VERIFIED),
            **times,
        }

    def _counted(self, names: tuple[str, ...]) -> int:
        return sum(self._counters[name] - self._before.get(name, 0) for name in names)


def _percentile(ordered: list[float], share: float) -> float | None:
    if not ordered:
        return None
    return ordered[max(math.ceil(share * len(ordered)), 1) - 1]


class Profile:
    """A profile of one measured stretch, for whoever asked for it."""

    def __init__(self) -> None:
        self.file = ""

    @contextlib.contextmanager
    def of_stretch(self) -> Iterator[None]:
        file, self.file = self.file, ""
        if not file:
            yield
            return
        import pyinstrument

        # What runs, and not what waits for it.
        profiler = pyinstrument.Profiler(interval=PROFILE_INTERVAL, async_mode="disabled")
        profiler.start()
        try:
            yield
        finally:
            profiler.stop().save(file)


# ---- the node


class Peer:
    """The node with its commands: each method that is called like one answers it."""

    def __init__(self, network: rumormill.Network) -> None:
        self.network = network
        self._talker = Talker(network)
        self._subscriptions: dict[str, rumormill.Subscription] = {}
        self._readers: dict[str, asyncio.Task[None]] = {}
        self._background: set[asyncio.Task[None]] = set()
        self._profile = Profile()
        self._collecting: Collecting | None = None
        self._collected_topic = ""
        self._stretch = contextlib.ExitStack()

    async def obey(self, command: Fields) -> None:
        do = str(command.pop("do", ""))
        method = COMMANDS.get(do)
        try:
            if method is None:
                raise ValueError(f"no such command: {do}")
            answer: Fields = await method(self, **command)
        except Exception as error:
            complain(do, error)
        else:
            say(do, **answer)

    def _in_background(self, do: str, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        async def run() -> None:
            try:
                await work
            except Exception as error:
                complain(do, error)

        task = asyncio.create_task(run())
        self._background.add(task)
        task.add_done_callback(self._background.discard)
        return task

    # ---- commands

    async def publish(self, topic: str, data_base64: str) -> Fields:
        receipt = await self.network.publish(topic, base64.b64decode(data_base64))
        return {"topic": topic, "recipients": list(receipt.peers)}

    async def publish_many(self, topic: str, count: int, size: int = 0, prefix: str = "") -> Fields:
        fewest = math.inf
        for index in range(count):
            data = f"{prefix}{index:08}".ljust(size, ".").encode()
            receipt = await self.network.publish(topic, data)
            fewest = min(fewest, len(receipt.peers))
        return {"topic": topic, "count": count, "fewest_recipients": fewest if count else 0}

    async def subscribe(self, topic: str) -> Fields:
        if topic not in self._readers:
            self._read(topic, self._print)
        return {"topic": topic}

    async def unsubscribe(self, topic: str) -> Fields:
        if topic in self._readers:
            self._readers.pop(topic).cancel()
            self._subscriptions.pop(topic).close()
        return {"topic": topic}

    async def dial(self, address: str) -> Fields:
        return {"address": address, "id": await self.network.connect(address)}

    async def peers(self) -> Fields:
        def describe(peer: str) -> Fields:
            addresses = self._talker.addresses.get(peer, [])
            sends_on = self._talker.protocols.get(peer)
            # The trace does not say what the peer's own stream speaks.
            return {"id": peer, "addresses": addresses, "sends_on": sends_on, "receives_on": None}

        return {"peers": [describe(peer) for peer in self.network.peers]}

    async def mesh(self, topic: str) -> Fields:
        return {"topic": topic, "peers": sorted(self.network.mesh(topic))}

    async def profile(self, file: str) -> Fields:
        self._profile.file = file
        return {"file": file}

    def _read(self, topic: str, loop: Loop, do: str = "subscribe") -> None:
        """From now on ``loop`` reads the topic, in place of whoever did so far."""
        before = self._readers.pop(topic, None)
        if before is not None and before is not asyncio.current_task():
            before.cancel()
        if topic not in self._subscriptions:
            self._subscriptions[topic] = self.network.subscribe(topic)
        self._readers[topic] = self._in_background(do, loop(self._subscriptions[topic]))

    async def _print(self, subscription: rumormill.Subscription) -> None:
        async for message in subscription:
            sequence = message.fields.get("sequence")
            say(
                "message",
                topic=message.topic,
                data_base64=base64.b64encode(message.data).decode(),
                **{"from": message.sender},
                # A 64-bit number does not fit into a number of JavaScript.
                seqno=None if sequence is None else str(sequence),
            )

    # ---- benchmarks: a window

    @contextlib.contextmanager
    def _measured(self) -> Iterator[Stopwatch]:
        with self._talker.silenced(), self._profile.of_stretch():
            yield Stopwatch()

    async def bench_receive(self, topic: str, count: int, window: int) -> Fields:
        async def receive(subscription: rumormill.Subscription) -> None:
            await self._receive(subscription, count, max(window // 2, 1))
            self._read(topic, self._print)

        self._read(topic, receive, "bench_receive")
        return {"topic": topic}

    async def _receive(self, messages: rumormill.Subscription, count: int, every: int) -> None:
        network, acknowledgements = self.network, f"{messages.topic}/ack"
        received = 0
        with contextlib.ExitStack() as stretch:
            async for _ in messages:
                if not received:
                    watch = stretch.enter_context(self._measured())
                received += 1
                if received == count:
                    break
                if received % every == 0:
                    await network.publish(acknowledgements, acknowledgement(received))
            times = watch.read()
        say("bench", role="subscriber", topic=messages.topic, count=received, **times)
        if not await network.publish(acknowledgements, acknowledgement(received)):
            raise LookupError("no one takes the acknowledgement")

    async def bench_publish(self, topic: str, count: int, size: int, window: int) -> Fields:
        credit = Credit(window)
        self._read(f"{topic}/ack", credit.read, "bench_publish")
        self._in_background("bench_publish", self._publish_window(topic, count, size, credit))
        return {"topic": topic}

    async def _publish_window(self, topic: str, count: int, size: int, credit: Credit) -> None:
        network = self.network
        with self._measured() as watch:
            for index in range(count):
                if index >= credit.granted:
                    await credit.wait(index + 1)
                receipt = await network.publish(topic, stamped(index, size))
                if not receipt or receipt.dropped:
                    raise LookupError(f"not everyone gets message {index}: {receipt}")
            await credit.wait(count + credit.window)
            times = watch.read()
        say("bench", role="publisher", topic=topic, count=count, **times)

    # ---- benchmarks: a steady rate

    async def bench_rate(self, topic: str, rate: float, count: int, size: int) -> Fields:
        self._in_background("bench_rate", self._publish_steadily(topic, rate, count, size))
        return {"topic": topic}

    async def _publish_steadily(self, topic: str, rate: float, count: int, size: int) -> None:
        watch, latest, failed = Stopwatch(), 0.0, 0
        for index in range(count):
            due = watch.started + index / rate
            while (early := due - time.monotonic()) > 0:
                await asyncio.sleep(early)
            latest = max(latest, -early)
            receipt = await self.network.publish(topic, stamped(index, size))
            failed += not receipt or bool(receipt.dropped)
        result = {"role": "publisher", "topic": topic, "count": count, **watch.read()}
        say("bench", **result, failed=failed, latest_ms=latest * 1e3)

    async def bench_reset(self, topic: str) -> Fields:
        self._stretch.close()
        self._stretch.enter_context(self._measured())
        self._collecting, self._collected_topic = Collecting(self.network), topic
        self._read(topic, self._collecting.read, "bench_reset")
        return {"topic": topic}

    async def bench_report(self) -> Fields:
        if self._collecting is None:
            raise ValueError("bench_reset comes first")
        report = self._collecting.report(self._collected_topic)
        self._stretch.close()
        return report


def acknowledgement(received: int) -> bytes:
    return received.to_bytes(8, "big") + time.time_ns().to_bytes(8, "big")


class Credit:
    """How many messages may be sent before the next acknowledgement."""

    def __init__(self, window: int) -> None:
        self.window = window
        self.granted = window
        self._news = asyncio.Event()

    async def read(self, subscription: rumormill.Subscription) -> None:
        async for message in subscription:
            received = int.from_bytes(message.data[:8], "big")
            self.granted = max(self.granted, received + self.window)
            self._news.set()

    async def wait(self, wanted: int) -> None:
        while self.granted < wanted:
            self._news.clear()
            try:
                async with asyncio.timeout(LONGEST_SILENCE):
                    await self._news.wait()
            except TimeoutError:
                so_far = self.granted - self.window
                problem = f"no acknowledgement for {LONGEST_SILENCE} s, {so_far} so far"
                raise TimeoutError(problem) from None


COMMANDS: dict[str, Callable[..., Coroutine[Any, Any, Fields]]] = {
    name: method
    for name, method in vars(Peer).items()
    if callable(method) and not name.startswith("_") and name != "obey"
}


# ---- the program


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--router", choices=["gossipsub", "floodsub"], default="gossipsub")
    parser.add_argument("--listen", action="append", default=[])
    parser.add_argument("--dial", action="append", default=[])
    parser.add_argument("--topic", action="append", default=[])
    parser.add_argument("--policy", choices=["StrictSign", "StrictNoSign"], default="StrictSign")
    parser.add_argument("--message-id")
    parser.add_argument("--options", type=json.loads, default={})
    parser.add_argument("--native", type=int, choices=[0, 1])
    return parser.parse_args()


def choose_library(native: int | None) -> None:
    if native is not None and ed25519.use_native(bool(native)) != bool(native):
        raise SystemExit("rumormill-native is not installed: make native")


async def lines_of_stdin() -> AsyncIterator[bytes]:
    reader = asyncio.StreamReader(limit=16 * 1024 * 1024)
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    async for line in reader:
        yield line


async def serve(settings: argparse.Namespace) -> None:
    # As the others do: what a node publishes itself, it does not print.
    chosen = {"signing": settings.policy, "deliver_own": False, **settings.options}
    if settings.message_id is not None:
        chosen["message_id"] = settings.message_id
    async with rumormill.open(settings.router, listen=settings.listen, **chosen) as network:
        peer = Peer(network)
        for topic in settings.topic:
            await peer.subscribe(topic)
        say("ready", id=network.id, addresses=list(network.addresses))
        for address in settings.dial:
            await peer.obey({"do": "dial", "address": address})
        async for line in lines_of_stdin():
            command = json.loads(line)
            if command["do"] == "stop":
                break
            await peer.obey(command)
    say("stop")


def main() -> None:
    settings = parse_arguments()
    choose_library(settings.native)
    with contextlib.suppress(KeyboardInterrupt, BrokenPipeError):
        rumormill.run(serve(settings))


if __name__ == "__main__":
    main()

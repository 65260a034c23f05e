"""What keeping a spool costs a node: its event loop, and all threads together.

Records are handed over on an event loop in small bursts, as a socket brings them, at a fixed rate
or as fast as they are taken. The same is done once more with a listener that does nothing; what is
shown is the difference, so the price is that of the spool alone. A ticker on the loop shows how
long others wait for their turn, while the writer's thread has the interpreter.
"""

from __future__ import annotations

import asyncio
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from bench.progress import Progress
from rumormill.capture.parameters import SpoolParameters
from rumormill.capture.writing.writer import SpoolWriter
from rumormill.core.message import Message
from rumormill.core.percentiles import percentile
from rumormill.core.trace import TraceEvent, type_of_field

BURST = 0.01
"""Seconds between two bursts."""
LOT = 100
"""Records of a burst without a rate."""
TICK = 0.001
NODE = "12D3KooW" + 44 * "n"

Record = Message | TraceEvent
Listener = Callable[[Any], object]


@dataclass(frozen=True)
class CapturePlan:
    """How much is measured."""

    rounds: int = 5
    seconds: float = 2.0
    rates: tuple[int | None, ...] = (1_000, 10_000, None)
    """Records a second; None: as fast as they are taken."""


QUICK = CapturePlan(rounds=1, seconds=0.1)


class Cost(NamedTuple):
    """What a pass cost."""

    records: int
    loop: float
    """Seconds of CPU of the loop's thread, while it handed records over."""
    waited: float
    """Seconds that passed meanwhile, waiting for the interpreter included."""
    total: float
    """Seconds of CPU of all threads, from the first record to the last being in the file."""
    wall: float
    late: list[float]
    """How late the ticker was, each time."""


async def run(plan: CapturePlan, progress: Progress) -> dict[str, Any]:
    """Measure; returns the part ``capture`` of the results."""
    records: dict[str, Sequence[Record]] = {
        "message of 1 KiB": make_messages(20_000),
        "trace event": make_events(20_000),
    }
    cases = [(what, rate) for what in records for rate in plan.rates]
    samples: dict[tuple[str, int | None], list[dict[str, float]]] = {case: [] for case in cases}
    progress.begin("capture", plan.rounds)
    for number in range(plan.rounds):
        progress.step(f"capture: round {number + 1} of {plan.rounds}")
        for what, rate in cases:
            plain = await hand_over(records[what], lambda _: None, rate, plan.seconds)
            kept, size = await _captured(records[what], rate, plan.seconds)
            samples[what, rate].append(_figures(plain, kept, size))
    rows = [
        {"what": what, "rate": rate, **_summary(found)} for (what, rate), found in samples.items()
    ]
    return {"rounds": plan.rounds, "rows": rows}


async def _captured(
    records: Sequence[Record], rate: int | None, seconds: float
) -> tuple[Cost, float]:
    """A pass with a spool, and how many bytes a record takes in it."""
    with tempfile.TemporaryDirectory(prefix="rumormill-bench-") as folder:
        # Nothing is to be dropped here: a loss would look like speed.
        parameters = SpoolParameters(buffer_records=10_000_000, buffer_bytes=1 << 34)
        writer = await asyncio.to_thread(SpoolWriter, folder, parameters)

        def keep_message(record: Message) -> None:
            writer.message(record, NODE)

        def keep_event(record: TraceEvent) -> None:
            writer.trace(record, "gossipsub")

        listener: Listener = keep_message if isinstance(records[0], Message) else keep_event
        cost = await hand_over(records, listener, rate, seconds, writer.flush)
        await asyncio.to_thread(writer.close)
        size = sum(file.stat().st_size for file in Path(folder).glob("*/*.arrow"))
        written = sum(writer.written.values())
        assert written == cost.records and not any(writer.lost.values())
    return cost, size / max(1, cost.records)


async def hand_over(
    records: Sequence[Record],
    listener: Listener,
    rate: int | None,
    seconds: float,
    flush: Callable[[], object] = lambda: None,
) -> Cost:
    """Hand records over for some seconds, in bursts; ``flush`` waits for the last of them."""
    late: list[float] = []
    ticker = asyncio.create_task(_tick(late))
    lot = LOT if rate is None else max(1, int(rate * BURST))
    loop_time = waited = 0
    position = count = 0
    began, processor = time.perf_counter(), time.process_time()
    end = began + seconds
    following = began
    while time.perf_counter() < end:
        burst = records[position : position + lot]
        position = (position + lot) % (len(records) - lot)
        before, clock = time.thread_time_ns(), time.perf_counter_ns()
        for record in burst:
            listener(record)
        waited += time.perf_counter_ns() - clock
        loop_time += time.thread_time_ns() - before
        count += len(burst)
        following += BURST
        await asyncio.sleep(0 if rate is None else max(0.0, following - time.perf_counter()))
    await asyncio.to_thread(flush)
    total, wall = time.process_time() - processor, time.perf_counter() - began
    ticker.cancel()
    return Cost(count, loop_time / 1e9, waited / 1e9, total, wall, late)


async def _tick(late: list[float]) -> None:
    while True:
        due = time.perf_counter() + TICK
        await asyncio.sleep(TICK)
        late.append(time.perf_counter() - due)


def _figures(plain: Cost, kept: Cost, size: float) -> dict[str, float]:
    def more(name: str) -> float:
        before, after = getattr(plain, name) / plain.records, getattr(kept, name) / kept.records
        return float(after - before) * 1e6

    return {
        "loop_us": more("loop"),
        "loop_wall_us": more("waited"),
        "total_us": more("total"),
        "records_per_second": kept.records / kept.wall,
        "late_p99_ms": (percentile(sorted(kept.late), 0.99) or 0.0) * 1e3,
        "late_max_ms": max(kept.late, default=0.0) * 1e3,
        "late_p99_plain_ms": (percentile(sorted(plain.late), 0.99) or 0.0) * 1e3,
        "bytes": size,
    }


def _summary(samples: Sequence[dict[str, float]]) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    for name in samples[0]:
        values = [sample[name] for sample in samples]
        best = max(values) if name == "records_per_second" else min(values)
        found[name] = {"best": best, "median": statistics.median(values)}
    return found


# ---- records as a libp2p node makes them


def _peers(chance: random.Random) -> list[str]:
    return ["12D3KooW" + f"{chance.getrandbits(176):044x}" for _ in range(12)]


def make_messages(count: int) -> list[Message]:
    """Messages of 1 KiB by some authors, from some peers."""
    chance = random.Random(1)
    peers = _peers(chance)
    begin = 1_700_000_000.0
    return [
        Message(
            "weather",
            chance.randbytes(1024),
            chance.choice(peers),
            chance.randbytes(46),
            "gossipsub",
            chance.choice(peers),
            begin + number * 1e-4,
            {"sequence": (1 << 60) + number},
        )
        for number in range(count)
    ]


def make_events(count: int) -> list[TraceEvent]:
    """Events as a mesh makes them: mostly packets, deliveries and duplicates."""
    chance = random.Random(1)
    peers = _peers(chance)
    counts = {"subscriptions": 0, "messages": 1, "ihave": 0, "iwant": 0, "graft": 0, "prune": 0}
    events: list[TraceEvent] = []
    for number in range(count):
        now, peer, kind = 1_700_000_000.0 + number * 1e-5, chance.choice(peers), number % 10
        if kind < 6:
            name = "packet_received" if kind < 3 else "packet_sent"
            fields = {"size": chance.randrange(50, 2000), **counts}
            events.append(TraceEvent(now, NODE, name, None, None, peer, fields))
        elif kind < 8:
            delivered: dict[str, type_of_field] = {
                "size": 1024,
                "sender": chance.choice(peers),
            }
            message = chance.randbytes(46)
            events.append(TraceEvent(now, NODE, "delivered", "weather", message, peer, delivered))
        else:
            message = chance.randbytes(46)
            events.append(TraceEvent(now, NODE, "duplicate", "weather", message, peer))
    return events

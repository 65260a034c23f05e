"""A thousand messages over UDP, where one datagram in twenty gets lost on the faces of both ends.

What the publisher was told of each message is held against what its subscriber has: a message may
be delivered though its publisher does not know, since the last acknowledgement can get lost; never
the other way round, and never twice.
"""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.ndn.ends import STARTING, End, start_ours, until_delivered, words_of
from bench.ndn.pubsub_bench import SIZE
from bench.progress import Progress
from bench.siege.processes import Program, SiegeError
from tests.helpers.interop.ndn_forwarders import start_forwarder
from tests.helpers.interop.ndn_python import PythonProgram
from tests.helpers.interop.peer_process import PeerProcessError

Row = dict[str, Any]

FORWARDERS = ("ndnd", "ours")
TOPIC = "/bench/loss"
WINDOW = 32
CONFIRMED, DENIED = "delivered", "no_subscriber"
SETTLING = 5.0
"""Seconds in which what is still under way arrives."""


@dataclass(frozen=True)
class LossPlan:
    """How much is sent."""

    messages: int = 1000
    loss: float = 0.05
    seed: int = 14
    contestants: tuple[str, ...] = ("original", "ours")


QUICK = LossPlan(messages=60, contestants=("ours",))


async def run(plan: LossPlan, progress: Progress) -> Row:
    """Send all; returns what the table is made of."""
    rows = []
    for forwarder in FORWARDERS:
        for contestant in plan.contestants:
            progress.step(f"ndn, loss: {contestant} over {forwarder}")
            row: Row = {"contestant": contestant, "forwarder": forwarder}
            try:
                rows.append(row | await _send_all(contestant, forwarder, plan))
            except (SiegeError, PeerProcessError) as error:
                rows.append(row | {"missing": words_of(error)})
            except TimeoutError:
                rows.append(row | {"missing": "nothing arrived, even without loss"})
    return {"messages": plan.messages, "loss": plan.loss, "window": WINDOW, "rows": rows}


async def _send_all(contestant: str, forwarder: str, plan: LossPlan) -> Row:
    async with contextlib.AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        place = await stack.enter_async_context(await start_forwarder(forwarder, folder))
        words = [place.udp, "--loss", str(plan.loss), "--seed", str(plan.seed)]
        relay = Program.module("the lossy relay", "bench.ndn.lossy_relay", *words)
        await stack.enter_async_context(relay)
        address = (await relay.expect("ready", STARTING))["address"]
        publisher, subscriber = [
            await _start(stack, contestant, prefix, address)
            for prefix in ("/bench/publisher", "/bench/subscriber")
        ]
        await subscriber.receive(TOPIC)
        await until_delivered(publisher, TOPIC, SIZE)
        await subscriber.numbers()
        await relay.say(losing=True)
        await relay.expect("count", STARTING)
        done = await publisher.publish(TOPIC, plan.messages, SIZE, WINDOW)
        await asyncio.sleep(SETTLING)
        await relay.say(losing=False)
        datagrams = await relay.expect("count", STARTING)
        return compared(done["outcomes"], await subscriber.numbers()) | {
            "seconds": done["seconds"],
            "datagrams": datagrams["passed"] + datagrams["lost"],
            "lost": datagrams["lost"],
        }


def compared(outcomes: Sequence[str], numbers: Sequence[int]) -> Row:
    """What publisher and subscriber know of the messages, held against each other.

    >>> row = compared(["delivered", "unknown", "no_subscriber", "delivered"], [0, 1, 1])
    >>> row["confirmed"], row["agree"], row["twice"], row["unheard"], row["false"]
    (2, 2, 1, 1, 1)
    """
    times = Counter(numbers)
    there = [bool(times[number]) for number in range(len(outcomes))]
    pairs = Counter(zip(outcomes, there, strict=True))
    unheard = (
        sum(count for (outcome, came), count in pairs.items() if came) - pairs[CONFIRMED, True]
    )
    false = pairs[CONFIRMED, False] + pairs[DENIED, True]
    return {
        "delivered": sum(there),
        "twice": sum(count > 1 for count in times.values()),
        "confirmed": outcomes.count(CONFIRMED),
        "unknown": sum(outcome not in (CONFIRMED, DENIED) for outcome in outcomes),
        "denied": outcomes.count(DENIED),
        "agree": pairs[CONFIRMED, True] + sum(
            count for (outcome, came), count in pairs.items() if outcome != CONFIRMED and not came
        ),
        "unheard": unheard,
        "false": false,
    }  # fmt: skip


async def _start(
    stack: contextlib.AsyncExitStack, contestant: str, prefix: str, forwarder: str
) -> End:
    if contestant == "ours":
        return await start_ours(stack, prefix, "--forwarder", forwarder)
    program = await PythonProgram.start(forwarder, prefix)
    return OriginalByNumber(await stack.enter_async_context(program))


class OriginalByNumber:
    """The original, told of each message by itself, so that it is known what became of which."""

    def __init__(self, program: PythonProgram) -> None:
        self._program = program

    @property
    def pid(self) -> int:
        """See :class:`End`."""
        return self._program.process_id

    async def receive(self, topic: str) -> None:
        """See :class:`End`."""
        await self._program.subscribe(topic)

    async def publish(self, topic: str, count: int, size: int, window: int) -> Row:
        """See :class:`End`; False of the original's says nothing of whether it was delivered."""
        outcomes = [""] * count
        left = iter(range(count))
        clock = asyncio.get_running_loop().time
        began = clock()

        async def publish_some() -> None:
            for number in left:
                done = await self._program.publish(topic, number.to_bytes(8, "big").ljust(size))
                outcomes[number] = CONFIRMED if done.delivered else "unknown"

        async with asyncio.TaskGroup() as group:
            for _ in range(window):
                group.create_task(publish_some())
        return {"outcomes": outcomes, "seconds": clock() - began, "times_ms": []}

    async def numbers(self) -> list[int]:
        """See :class:`End`."""
        count = len(self._program.pending("message"))
        came = await self._program.messages(TOPIC, count) if count else []
        return [int.from_bytes(data[:8], "big") for data in came]

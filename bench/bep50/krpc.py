"""One node of an overlay over UDP, and what an answer and a put cost it.

The node runs in a process of its own; its neighbours, and who asks and publishes, are in this one
(:mod:`bench.bep50.krpc_crowd`). There are never more queries under way than a window, so nothing
is lost.

*Puts*: each brings a new value, signed beforehand. The node verifies and stores it, delivers it,
acknowledges it and passes it on to its neighbours, who acknowledge it in turn. *Queries*: ping,
find_node with eight neighbours to name, and get of a value of 100 bytes with them; beside other
implementations of the DHT, that are asked the same without a topic.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from bench import signatures
from bench.bep50.krpc_crowd import Crowd, CrowdError, Packet, exchange
from bench.bep50.krpc_programs import PROGRAMS, Program, Running
from bench.progress import Progress
from rumormill.bep50.wire.keys import ItemKey
from rumormill.bep50.wire.krpc import PutTemplate
from rumormill.bep50.wire.topics import TopicName

SIGNED_BESIDES = 12
"""Bytes that are signed besides the value."""

MOST_NEIGHBOURS = 8

KEY = ItemKey.from_seed(b"rumormill benchmark of the krpc ")
TOPIC = TopicName(KEY.public_key)


class PutCase(NamedTuple):
    """What is put, to how many it is passed on, and how."""

    size: int
    """Of the bencoded value."""
    neighbours: int
    forward: str

    @property
    def name(self) -> str:
        words = f"{self.size} B, {self.neighbours} neighbour{'s' * (self.neighbours > 1)}"
        return words if self.forward == "put" else f"{words}, asked first"


SIZES = (100, 999)
PUT_CASES = (
    # At once, whatever the size: only so is every value passed on to everyone.
    *(PutCase(size, neighbours, "put") for neighbours in (1, 4, 8) for size in SIZES),
    # The default: a large value is offered first, and newer ones come meanwhile.
    *(PutCase(999, neighbours, "adaptive") for neighbours in (1, 8)),
)
QUERIES = ("ping", "find_node", "get")


@dataclass(frozen=True)
class KrpcPlan:
    """How much is measured."""

    rounds: int = 3
    seconds: float = 2.0
    """Roughly, of one measurement."""
    warm_up: int = 500
    warm_up_seconds: float = 1.0
    """In all, for each kind of query. bittorrent-dht is slow until its code is compiled."""
    fewest: int = 500
    most: int = 200_000
    window: int = 32
    signature_passes: int = 60


QUICK = KrpcPlan(
    rounds=1,
    seconds=0.1,
    warm_up=100,
    warm_up_seconds=0.0,
    fewest=100,
    most=200,
    signature_passes=3,
)

METRICS = {"per_second": max, "us": min}
"""What is measured, and which of several values is the best."""

Sample = dict[str, float]


class Measured:
    """The samples of all rounds."""

    def __init__(self) -> None:
        self.samples: dict[tuple[str, str], list[Sample]] = {}
        self.failures: dict[tuple[str, str], str] = {}
        self.signatures: list[dict[str, signatures.Costs]] = []


async def run(plan: KrpcPlan, progress: Progress) -> dict[str, Any]:
    """Measure everyone who is there; returns the part ``krpc`` of the results."""
    missing = {program.name: reason for program in PROGRAMS if (reason := program.missing())}
    present = [program for program in PROGRAMS if program.name not in missing]
    measured = Measured()
    progress.begin("krpc", plan.rounds * sum(each.answers + len(_setups(each)) for each in present))
    for number in range(plan.rounds):
        measured.signatures.append(
            {
                str(size): signatures.measure(
                    size + SIGNED_BESIDES - signatures.ENVELOPE, plan.signature_passes
                )
                for size in SIZES
            }
        )
        # Whoever comes first in one round comes last in the next.
        turn = number % len(present)
        for program in present[turn:] + present[:turn]:
            where = f"krpc: round {number + 1} of {plan.rounds}, {program.name}"
            for neighbours, forward in _setups(program):
                progress.step(f"{where}, puts to {neighbours}")
                _measure_puts(program, neighbours, forward, plan, measured)
            if program.answers:
                progress.step(f"{where}, queries")
                _measure_queries(program, plan, measured)
    return _results(plan, measured, missing, present)


def _setups(program: Program) -> list[tuple[int, str]]:
    """The nodes that puts are measured on: each has its neighbours and its way to forward."""
    setups = dict.fromkeys((case.neighbours, case.forward) for case in PUT_CASES)
    return [(many, how) for many, how in setups if _takes_part(program, how)]


def _takes_part(program: Program, forward: str) -> bool:
    """Only a node of an overlay has puts passed on; only a real one asks before."""
    return program.has_topics and (program.answers or forward == "put")


def _warm_and_measure(measure: Callable[[int], Sample], plan: KrpcPlan) -> Sample:
    """Send more and more until the time is up; then as much as takes the seconds of the plan."""
    count, seconds = plan.warm_up, 0.0
    while True:
        sample = measure(count)
        seconds += sample["seconds"]
        if seconds >= plan.warm_up_seconds:
            return measure(
                int(min(max(sample["per_second"] * plan.seconds, plan.fewest), plan.most))
            )
        count = min(count * 2, plan.most)


# ---- puts


def _measure_puts(
    program: Program, neighbours: int, forward: str, plan: KrpcPlan, measured: Measured
) -> None:
    cases = [case for case in PUT_CASES if (case.neighbours, case.forward) == (neighbours, forward)]
    try:
        with (
            Crowd(neighbours) as crowd,
            program.start(TOPIC.text, crowd.addresses, {"forward": forward}) as node,
        ):
            crowd.wait_until(node.is_ready, "the node did not say that it is ready")
            crowd.reach(node.address)
            bench = _Puts(crowd, node, TOPIC.target)
            for case in cases:
                sample = _warm_and_measure(partial(bench.measure, case, plan.window), plan)
                measured.samples.setdefault((program.name, case.name), []).append(sample)
            messages = int(node.end()["messages"])
            for case in cases:
                measured.samples[program.name, case.name][-1]["messages"] = messages / bench.puts
    except CrowdError as error:
        for case in cases:
            measured.failures.setdefault((program.name, case.name), str(error))


class _Puts:
    """Someone who publishes through the node."""

    def __init__(self, crowd: Crowd, node: Running, topic: bytes | None) -> None:
        self._crowd, self._node, self._topic = crowd, node, topic
        self.token = _join(crowd, topic)
        self.puts = 0
        self._numbers: Iterator[int] = iter(range(1 << 40))

    def packets(self, size: int, count: int) -> list[bytes]:
        """Puts of new values, each newer than all before."""
        found: list[bytes] = []
        length = size - len(str(size)) - 1
        for _ in range(count):
            seq = 1 + next(self._numbers)
            value = b"%d:%b" % (length, (b"%012d" % seq).ljust(length, b"."))
            item = KEY.item(b"", seq, value)
            put = PutTemplate(self._crowd.id, item, self._topic, read_only=True)
            found.append(put.packet(seq.to_bytes(4, "big"), self.token))
        self.puts += count
        return found

    def measure(self, case: PutCase, window: int, count: int) -> Sample:
        crowd, packets = self._crowd, self.packets(case.size, count)
        before = sum(each.puts for each in crowd.neighbours)
        cpu = self._node.cpu_seconds()
        seconds = exchange(crowd, packets, window)
        crowd.wait_until(
            lambda: all(each.seq == self.puts for each in crowd.neighbours),
            "the newest value did not reach every neighbour",
        )
        cpu = self._node.cpu_seconds() - cpu
        forwarded = sum(each.puts for each in crowd.neighbours) - before
        return {
            "count": count,
            "seconds": seconds,
            "per_second": count / seconds,
            "us": cpu / count * 1e6,
            "forwarded": forwarded / count / case.neighbours,
        }


def _join(crowd: Crowd, topic: bytes | None) -> bytes:
    """Wait until the node knows its neighbours, and prove our address; returns a token."""
    target: Packet = {b"target": TOPIC.target}
    token = bytes(crowd.ask("get", target, topic)[b"token"])
    wanted = len(crowd.neighbours)

    def knows_all() -> bool:
        values = crowd.ask("find_node", {**target, b"token": token}, topic)
        return len(values.get(b"nodes", b"")) // 26 >= wanted

    crowd.wait_until(knows_all, f"the node did not find its {wanted} neighbours")
    return token


# ---- queries


def _measure_queries(program: Program, plan: KrpcPlan, measured: Measured) -> None:
    topic = TOPIC.target if program.has_topics else None
    try:
        with (
            Crowd(MOST_NEIGHBOURS) as crowd,
            program.start(TOPIC.text, crowd.addresses) as node,
        ):
            crowd.wait_until(node.is_ready, "the node did not say that it is ready")
            crowd.reach(node.address)
            puts = _Puts(crowd, node, topic)
            exchange(crowd, puts.packets(SIZES[0], 1), 1)
            for method in QUERIES:
                ask = partial(_ask_many, crowd, node, method, topic, plan.window)
                sample = _warm_and_measure(ask, plan)
                measured.samples.setdefault((program.name, method), []).append(sample)
    except CrowdError as error:
        for method in QUERIES:
            measured.failures.setdefault((program.name, method), str(error))


def _ask_many(
    crowd: Crowd, node: Running, method: str, topic: bytes | None, window: int, count: int
) -> Sample:
    arguments: Packet = {} if method == "ping" else {b"target": TOPIC.target}
    values = crowd.ask(method, arguments, topic)
    if method == "get" and b"v" not in values:
        raise CrowdError("the node did not answer get with the value that it was given")
    query = crowd.query(method, arguments, topic)
    packets = [b"%b4:%b1:y1:qe" % (query, at.to_bytes(4, "big")) for at in range(count)]
    cpu = node.cpu_seconds()
    seconds = exchange(crowd, packets, window)
    cpu = node.cpu_seconds() - cpu
    return {
        "count": count,
        "seconds": seconds,
        "per_second": count / seconds,
        "us": cpu / count * 1e6,
        "nodes": len(values.get(b"nodes", b"")) // 26,
    }


# ---- results


def _results(
    plan: KrpcPlan, measured: Measured, missing: dict[str, str], present: list[Program]
) -> dict[str, Any]:
    return {
        "rounds": plan.rounds,
        "window": plan.window,
        "versions": {program.name: program.versions() for program in present},
        "missing": missing,
        "signatures": _best_signatures(measured.signatures),
        "puts": [
            _row(program, case.name, measured, missing) | {"size": case.size}
            for case in PUT_CASES
            for program in PROGRAMS
            if _takes_part(program, case.forward)
        ],
        "queries": [
            _row(program, method, measured, missing)
            for method in QUERIES
            for program in PROGRAMS
            if program.answers
        ],
    }


def _best_signatures(rounds: list[dict[str, signatures.Costs]]) -> dict[str, Any]:
    return {
        size: {
            route: {
                "best": min(costs[size][route] for costs in rounds),
                "median": statistics.median(costs[size][route] for costs in rounds),
            }
            for route in costs
        }
        for size, costs in rounds[0].items()
    }


def _row(
    program: Program, case: str, measured: Measured, missing: dict[str, str]
) -> dict[str, Any]:
    key = (program.name, case)
    samples = measured.samples.get(key, [])
    failure = measured.failures.get(key, "")
    row: dict[str, Any] = {
        "contestant": program.name,
        "case": case,
        "missing": missing.get(program.name, "" if samples else failure),
        "failed_rounds": failure,
        "samples": samples,
    }
    for metric, better in METRICS.items() if samples else ():
        values = [sample[metric] for sample in samples]
        row[metric] = {"best": better(values), "median": statistics.median(values)}
    return row

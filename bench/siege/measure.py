"""One row: a fresh node, an honest side in peace, then the attack, and what became of both."""

from __future__ import annotations

import asyncio
import tempfile
import time
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.siege.families import CALM, Family
from bench.siege.honest import Honest, Load
from bench.siege.nodes import Contestant, Node
from bench.siege.processes import Program, SiegeError
from bench.siege.stamps import summary
from bench.siege.trace import said_of, size_of
from bench.siege.watch import Watch

Row = dict[str, Any]

LEAD = 0.5
"""Seconds of attack before the honest side is measured."""
TAIL = 0.5
"""Seconds that the attack should go on behind it."""
NICE = 5
"""Of the attacker: in the world it has a machine of its own, and here it must not take the honest
side's."""
ARRIVAL = 6.0
"""Seconds in which an honest side that comes during the attack must have been taken in."""
WATCHDOG = 90.0
"""Seconds for one row, beyond those of the attack."""
KEPT_COUNTERS = 12


@dataclass(frozen=True)
class Case:
    """What is measured."""

    family: Family
    attack: str
    attackers: int
    contestant: Contestant
    load: Load
    calm: Load
    """What the honest side does in peace, before."""

    @property
    def comes_last(self) -> bool:
        """Whether the honest side comes when the attack is under way."""
        return self.attack in self.family.held_before

    @property
    def seconds(self) -> float:
        """Of the attack."""
        more = ARRIVAL * self.comes_last + self.contestant.patience
        return LEAD + self.load.seconds + TAIL + more

    @property
    def words(self) -> str:
        """For who waits."""
        many = f" x {self.attackers}" if self.attackers else ""
        return f"{self.family.name}, {self.contestant.name}, {self.attack}{many}"


async def besiege(case: Case) -> Row:
    """Measure; a node that dies or hangs is a row that says so."""
    row: Row = {
        "family": case.family.name,
        "attack": case.attack,
        "attackers": case.attackers,
        "contestant": case.contestant.name,
        "label": case.contestant.label,
        "problem": case.contestant.missing,
    }
    if row["problem"]:
        return row
    with tempfile.TemporaryDirectory(prefix="rumormill-siege-") as folder:
        node = case.contestant.start(Path(folder))
        try:
            async with asyncio.timeout(case.seconds + WATCHDOG):
                await _measure(case, node, row)
        except SiegeError as error:
            row["problem"] = str(error)
        except TimeoutError:
            row["problem"] = f"not done {WATCHDOG:g} s after the attack: it hangs"
        except Exception as error:  # whatever it is: the other rows are worth having
            row["problem"] = f"{type(error).__name__}: {error}"
        if node.spool is not None and "attack_report" in row:
            row.update(_trace(node.spool, row))
    return row


def _trace(spool: Path, row: Row) -> Row:
    """What the node's trace says about the attackers."""
    try:
        said = said_of(spool, row["attack_report"].get("peers", []), row["began_at"])
    except Exception as error:  # a spool that cannot be read is told, and costs no row
        return {"trace_problem": f"{type(error).__name__}: {error}"}
    return {**said, "trace_mb": size_of(spool) / 1e6}


async def _measure(case: Case, node: Node, row: Row) -> None:
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(node)
        await node.ready()
        attacker: Program | None = None
        if case.attack != CALM and case.family.prepares:
            # It prepares itself while the others come together, and waits for a word.
            attacker = await stack.enter_async_context(_attacker(case, node))
        honest = case.family.honest(case.contestant, node)
        if not case.comes_last:
            await stack.enter_async_context(honest)
        if attacker is not None:
            await attacker.expect("prepared", case.family.announced)
        if not case.comes_last:
            calm = await honest.measure(0, case.calm, newcomer=False)
            row["calm_p50_ms"], row["calm_p95_ms"] = calm["p50_ms"], calm["p95_ms"]
            await honest.prepare(1, case.load)
        if case.attack == CALM:
            watch = Watch(node.pid)
            row.update(await honest.measure(1, case.load, newcomer=True))
        else:
            if attacker is None:
                attacker = await stack.enter_async_context(_attacker(case, node))
            watch = await _attack(case, node, attacker, honest, stack, row)
        row.update(await watch.stop())
        row["counters"] = _loudest(node.counters())
        if not node.alive:
            # It says why.
            await node.line(0.1)


async def _attack(
    case: Case, node: Node, attacker: Program, honest: Honest, stack: AsyncExitStack, row: Row
) -> Watch:
    watch = Watch(node.pid)
    await attacker.say(do="begin")
    try:
        said = await attacker.line(case.family.announced)
        if said.get("event") != "began":
            raise SiegeError(f"the attacker gave up: {said}")
    except SiegeError:
        if not attacker.alive or case.family.announced > case.seconds:
            raise
    row["began_at"] = time.time()
    await asyncio.sleep(LEAD)
    if case.comes_last:
        row.update(await _arrive(case, honest, stack))
    else:
        row.update(await honest.measure(1, case.load, newcomer=True))
    report = await _last_words(attacker, case)
    row["attack_report"] = report
    row["dropped_after"] = report.get("dropped_after")
    sent, received = report.get("sent_bytes", 0), report.get("received_bytes", 0)
    row["out_per_in"] = received / sent if sent else None
    return watch


async def _arrive(case: Case, honest: Honest, stack: AsyncExitStack) -> Row:
    """Let the honest side come while others hold the places, and measure what it gets."""
    began = time.monotonic()
    try:
        async with asyncio.timeout(ARRIVAL):
            await stack.enter_async_context(honest)
    except (TimeoutError, SiegeError):
        nothing = summary({}, case.load.count)
        return {**nothing, "newcomer_s": None, "problem": f"not taken in within {ARRIVAL:g} s"}
    taken_in = time.monotonic() - began
    return {**await honest.measure(1, case.load, newcomer=False), "newcomer_s": taken_in}


def _attacker(case: Case, node: Node) -> Program:
    arguments = [case.attack, "--target", case.family.target(node), "--seconds", str(case.seconds)]
    if case.family.counts:
        arguments += ["--attackers", str(case.attackers)]
    if case.family.prepares:
        arguments.append("--wait")
    arguments += case.family.options(case.contestant)
    return Program.module("the attacker", case.family.attacker, *arguments, nice=NICE)


async def _last_words(attacker: Program, case: Case) -> Row:
    while True:
        said = await attacker.line(case.seconds + WATCHDOG / 2)
        if "sent_bytes" in said:
            return said


def _loudest(counters: dict[str, int]) -> dict[str, int]:
    """Those that say why: with a reason, the largest first."""
    reasons = {name: count for name, count in counters.items() if "." in name}
    ordered = sorted(reasons.items(), key=lambda each: -each[1])
    return dict(ordered[:KEPT_COUNTERS])

"""Where the time goes: publisher, subscriber and a node of a mesh, each profiled while it works.

Two views of each. pyinstrument sees Python functions; what C code and the kernel do counts for the
function that called them, or, if the event loop did, as waiting. perf, where it is installed, sees
processor time and in which library it was spent, but no Python functions. Profiling costs time
itself: the shares are what counts, and the CPU time per message stands beside them as it was
without.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from pyinstrument.session import Session

from bench import perf
from bench.contestants import CONTESTANTS, Entry
from bench.mesh import SIZE, TOPIC, FullMesh
from bench.pair import POLICIES
from bench.progress import Progress
from tests.helpers.interop.peer_process import bench_pair
from tests.helpers.interop.rumormill_peer import RumormillPeer

TOP = 30
"""Functions that are listed."""

WINDOW = 512
BUILT_IN = "<built-in>"

Key = TypeVar("Key")


@dataclass(frozen=True)
class ProfilePlan:
    """How much is profiled."""

    signed: int = 15_000
    unsigned: int = 40_000
    mesh_rate: int = 100
    mesh_seconds: float = 15.0


QUICK = ProfilePlan(signed=500, unsigned=500, mesh_rate=50, mesh_seconds=1.0)


@dataclass(frozen=True)
class Finding:
    """One process in one stretch of work."""

    role: str
    title: str
    messages: int
    plain_us: float
    """CPU per message without a profiler."""
    session: Session
    libraries: str
    """What perf says, or why it says nothing."""


async def run(folder: Path, quick: bool, progress: Progress) -> list[Path]:
    """Profile all three; returns the files that were written."""
    plan = QUICK if quick else ProfilePlan()
    findings: list[Finding] = []
    progress.begin("profile", 3)
    ours = CONTESTANTS[0]
    entry = Entry(ours, ours.find())
    for signing, count in (("signed", plan.signed), ("unsigned", plan.unsigned)):
        progress.step(f"profile: pair, {signing}")
        findings += await profile_pair(entry, signing, count)
    progress.step("profile: mesh")
    findings += await profile_mesh(entry, plan)
    return _write(folder, findings)


def _write(folder: Path, findings: Sequence[Finding]) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    files: list[Path] = []
    for role in dict.fromkeys(finding.role for finding in findings):
        texts = [describe(finding) for finding in findings if finding.role == role]
        files.append(folder / f"profile-{role}.txt")
        files[-1].write_text("\n\n".join(texts))
    return files


# ---- the stretches of work


class _Subject:
    """A process that is profiled three times over: plain, by pyinstrument, by perf."""

    def __init__(self, role: str, title: str, peer: RumormillPeer, files: Path) -> None:
        self.role, self.title = role, title
        self.peer = peer
        self.session_file = files / f"{role}.session"
        self.perf_file = files / f"{role}.perf"
        self.plain_us = 0.0
        self.libraries = ""

    def finding(self, messages: int) -> Finding:
        session = Session.load(self.session_file)
        return Finding(self.role, self.title, messages, self.plain_us, session, self.libraries)


async def profile_pair(entry: Entry, signing: str, count: int) -> list[Finding]:
    """Publisher and subscriber."""
    async with contextlib.AsyncExitStack() as stack:
        files = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        subscriber = await stack.enter_async_context(await _start(entry, signing))
        publisher = await stack.enter_async_context(await _start(entry, signing, subscriber))
        title = f"{signing} {SIZE} B"
        subjects = [
            _Subject("publisher", f"publisher, {title}", publisher, files),
            _Subject("subscriber", f"subscriber, {title}", subscriber, files),
        ]

        async def work(topic: str) -> list[float]:
            events = await bench_pair(
                publisher, subscriber, topic, count=count, size=SIZE, window=WINDOW
            )
            return [event["cpu_seconds"] / count * 1e6 for event in events]

        await work("warm-up")
        return await _thrice(subjects, work, count)


async def _start(entry: Entry, signing: str, other: RumormillPeer | None = None) -> RumormillPeer:
    dial = [] if other is None else [other.address]
    peer = await entry.start(policy=POLICIES[signing], dial=dial)
    assert isinstance(peer, RumormillPeer)
    return peer


async def profile_mesh(entry: Entry, plan: ProfilePlan) -> list[Finding]:
    """One of the nine nodes that take messages and pass them on."""
    mesh = await FullMesh.start(entry)
    count = int(plan.mesh_rate * plan.mesh_seconds)
    try:
        node = mesh.nodes[1]
        assert isinstance(node, RumormillPeer)

        async def work(topic: str) -> list[float]:
            await node.bench_reset(TOPIC)
            await mesh.nodes[0].bench_rate(TOPIC, rate=plan.mesh_rate, count=count, size=SIZE)
            report = await node.bench_report()
            return [report["cpu_seconds"] / count * 1e6]

        with tempfile.TemporaryDirectory() as files:
            title = f"a node of the mesh, signed {SIZE} B, {plan.mesh_rate}/s"
            subject = _Subject("mesh-node", title, node, Path(files))
            return await _thrice([subject], work, count)
    finally:
        await mesh.stop()


async def _thrice(
    subjects: Sequence[_Subject], work: Callable[[str], Awaitable[list[float]]], count: int
) -> list[Finding]:
    for subject, microseconds in zip(subjects, await work("plain"), strict=True):
        subject.plain_us = microseconds
    for subject in subjects:
        await subject.peer.profile(subject.session_file)
    await work("pyinstrument")
    watched = [(subject.peer.process_id, subject.perf_file) for subject in subjects]
    async with perf.recording(watched):
        await work("perf")
    for subject in subjects:
        subject.libraries = await perf.libraries(subject.perf_file, subject.plain_us)
    return [subject.finding(count) for subject in subjects]


# ---- what the profile says


@dataclass(frozen=True)
class Function:
    """Where a sample was taken: a function, or one in C that it called."""

    name: str
    file: str

    @property
    def waits(self) -> bool:
        """Whether it is the event loop itself: what it does in C, and its sleep."""
        return self.file.endswith("asyncio/runners.py")

    @property
    def place(self) -> str:
        """The file without what is the same for all."""
        for marker in ("site-packages/", "/src/", "/tests/"):
            _, found, rest = self.file.rpartition(marker)
            if found:
                return rest
        return "/".join(Path(self.file).parts[-2:])


def own_times(session: Session) -> dict[Function, float]:
    """Seconds spent in each function itself, the longest first."""
    times: dict[Function, float] = {}
    for stack, seconds in session.frame_records:
        function = _function(stack)
        times[function] = times.get(function, 0.0) + seconds
    return _longest_first(times)


def _function(stack: Sequence[str]) -> Function:
    name, file = _name_and_file(stack[-1])
    if file == BUILT_IN and len(stack) > 1:
        caller, file = _name_and_file(stack[-2])
        name = f"{name} in {caller}"
    return Function(name, file)


def _name_and_file(identifier: str) -> tuple[str, str]:
    # name NUL file NUL line, then attributes that each begin with \x01
    name, file, *_ = [*identifier.split("\x01")[0].split("\x00"), ""]
    return name, file


def _longest_first(times: dict[Key, float]) -> dict[Key, float]:
    return dict(sorted(times.items(), key=lambda item: -item[1]))


def describe(finding: Finding) -> str:
    """The text of one stretch of work."""
    times = own_times(finding.session)
    waiting = sum(seconds for function, seconds in times.items() if function.waits)
    busy = {function: seconds for function, seconds in times.items() if not function.waits}
    total = sum(busy.values()) or 1.0
    head = (
        f"{finding.title}: {finding.messages} messages\n"
        f"CPU per message without a profiler: {finding.plain_us:.1f} us\n"
        f"pyinstrument: {total:.2f} s in Python functions and what they call,"
        f" {waiting:.2f} s in the event loop or waiting\n"
    )
    return "\n".join(
        [
            head,
            "by library and kernel (perf)",
            finding.libraries,
            "by file (pyinstrument, own time of its functions)",
            *_shares(_by_file(busy), total),
            "",
            "by function (pyinstrument, own time)",
            *_shares({f"{each.name}  {each.place}": busy[each] for each in busy}, total),
            "",
        ]
    )


def _by_file(times: dict[Function, float]) -> dict[str, float]:
    files: dict[str, float] = {}
    for function, seconds in times.items():
        files[function.place] = files.get(function.place, 0.0) + seconds
    return _longest_first(files)


def _shares(times: dict[str, float], total: float) -> list[str]:
    return [f"{seconds / total:7.1%}  {name}" for name, seconds in list(times.items())[:TOP]]

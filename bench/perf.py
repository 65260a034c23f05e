"""Linux perf, if it is there: processor time by library."""

from __future__ import annotations

import asyncio
import contextlib
import re
import shutil
import signal
import subprocess
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

FREQUENCY = 1999
TOP = 25

KINDS = (
    ("kernel", r"^\[kernel|^\[vdso|^\[unknown|^\[guest"),
    ("cryptography", r"sodium|cryptography|_rust\.abi3|libcrypto|rumormill_native"),
    ("event loop (uvloop)", r"^loop\.|uvloop"),
    ("interpreter", r"python"),
    ("C library", r"^libc[.-]|^ld-|libm[.-]|libpthread"),
)

_LINE = re.compile(r"^\s*(?P<share>[\d.]+)%\s+(?P<rest>\S.*?)[\s-]*$")

ATTACHING = 0.5
"""Seconds until it has found all threads of a process."""


@contextlib.asynccontextmanager
async def recording(watched: Sequence[tuple[int, Path]]) -> AsyncIterator[None]:
    """Record these processes, each into a file; nothing happens where there is no perf."""
    recorders: list[asyncio.subprocess.Process] = []
    if shutil.which("perf") is not None:
        for process_id, file in watched:
            options = ["-q", "-F", str(FREQUENCY), "-p", str(process_id), "-o", str(file)]
            recorders.append(
                await asyncio.create_subprocess_exec(
                    "perf", "record", *options,
                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                )
            )  # fmt: skip
        await asyncio.sleep(ATTACHING)
    try:
        yield
    finally:
        for recorder in recorders:
            with contextlib.suppress(ProcessLookupError):
                recorder.send_signal(signal.SIGINT)
            await recorder.wait()


async def libraries(file: Path, microseconds: float) -> str:
    """Shares of kinds of code, then of single functions; ``microseconds`` is the whole."""
    if not file.exists():
        return "  perf is not installed, or may not be used here\n"
    by_library = await _report(file, "dso")
    if not by_library:
        return "  perf saw nothing\n"
    kinds: dict[str, float] = {}
    for library, share in by_library:
        kind = next((name for name, pattern in KINDS if re.search(pattern, library)), library)
        kinds[kind] = kinds.get(kind, 0.0) + share
    ordered = sorted(kinds.items(), key=lambda item: -item[1])
    lines = [
        f"{share:7.1%}  {share * microseconds:6.1f} us  {kind}"
        for kind, share in ordered
        if share >= 0.002
    ]
    functions = await _report(file, "dso,symbol")
    lines += ["", "by function of C code and kernel (perf)"]
    lines += [f"{share:7.1%}  {name}" for name, share in functions[:TOP]]
    return "\n".join([*lines, ""])


async def _report(file: Path, keys: str) -> list[tuple[str, float]]:
    command = ["perf", "report", "-i", str(file), "--stdio", "--sort", keys]
    process = await asyncio.create_subprocess_exec(
        *command, "--percentage", "relative", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    output, _ = await process.communicate()
    found = [_LINE.match(line) for line in output.decode(errors="replace").splitlines()]
    return [(match["rest"], float(match["share"]) / 100) for match in found if match]

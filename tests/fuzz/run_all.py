"""Run every fuzz target, two at a time, for a minute of wall time together.

    python tests/fuzz/run_all.py --seconds 60

One line per target. A crash shows the input that brings it back, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

sys.path.append(str(Path(__file__).parents[2]))

from tests.helpers.fuzz.fuzzing import atheris_is_missing, exit_code_without_atheris

HERE = Path(__file__).parent
AT_ONCE = 2
START_UP = 2.0
"""Seconds that a target needs before the first execution and after the last."""

HANGS = ("-timeout=100", "-report_slow_units=100")
"""Seconds of wall time, which on a busy machine say little: only an input that never ends is found
so. Slow ones are found by the time of the processor that they take (``watched``)."""


class Result(NamedTuple):
    """What came of one target."""

    name: str
    executions: int
    coverage: int
    crash: str
    """Empty if all went well, else what to show."""

    @property
    def line(self) -> str:
        verdict = "CRASHED" if self.crash else "ok"
        numbers = f"{self.executions:>9} executions, coverage {self.coverage:>5}"
        return f"{self.name:<20} {numbers}, {verdict}"


def targets() -> list[Path]:
    return sorted(HERE.glob("fuzz_*.py"))


def seconds_each(total: float, count: int) -> int:
    """How long each of ``count`` targets may fuzz so that all are done in ``total`` seconds."""
    rounds = -(-count // AT_ONCE)
    return max(1, int(total / max(rounds, 1) - START_UP))


def run(script: Path, seconds: int) -> Result:
    with tempfile.TemporaryDirectory(prefix="fuzz-artifacts-") as folder:
        options = [f"-max_total_time={seconds}", "-print_final_stats=1", *HANGS]
        command = [sys.executable, str(script), *options, f"-artifact_prefix={folder}/"]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace")
        artifacts = sorted(Path(folder).iterdir())
        log = done.stdout + done.stderr
        crash = describe(script, log, artifacts) if done.returncode or artifacts else ""
    return Result(
        script.stem,
        executions=last_number(r"^(?:stat::number_of_executed_units: +|#)(\d+)", log),
        coverage=last_number(r"\bcov: (\d+)", log),
        crash=crash,
    )


def last_number(pattern: str, log: str) -> int:
    """The last of the numbers that the pattern finds; 0 if it finds none."""
    numbers = re.findall(pattern, log, re.MULTILINE)
    return int(numbers[-1]) if numbers else 0


def describe(script: Path, log: str, artifacts: Sequence[Path]) -> str:
    """The traceback, and the input with a way to run it again."""
    start = log.find("=== Uncaught Python exception")
    shown = [log[max(start, 0) :][-3000:] if start >= 0 else log[-3000:]]
    for artifact in artifacts:
        data = artifact.read_bytes().hex()
        shown.append(
            f"the input ({artifact.name}), in hexadecimal: {data or '(empty)'}\n"
            f"run it again: echo {data} | xxd -r -p > input && python {script} input"
        )
    return "\n".join(shown)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=60.0, help="wall time for all together")
    seconds = parser.parse_args(arguments).seconds
    if atheris_is_missing():
        return exit_code_without_atheris()
    scripts = targets()
    each = seconds_each(seconds, len(scripts))
    with ThreadPoolExecutor(AT_ONCE) as pool:
        results = []
        for result in pool.map(run, scripts, [each] * len(scripts)):
            print(result.line, flush=True)
            results.append(result)
    for result in results:
        if result.crash:
            print(f"\n---- {result.name} ----\n{result.crash}")
    return 1 if any(result.crash for result in results) else 0


if __name__ == "__main__":
    sys.exit(main())

"""What holds for every test."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import Any

import hypothesis
import pytest

from tests.helpers import parallel
from tests.helpers.cli.command import Command, StartCommand
from tests.helpers.fuzz import fuzzing
from tests.helpers.interop import interop_matrix
from tests.helpers.spark.java_or_skip import java_or_skip

# Programs for other tools: importing them as tests would start a fuzzer or need a foreign package.
collect_ignore_glob = ["fuzz/targets/*", "interop/peers/*"]

# Equal runs everywhere: the same examples each time, and no limit that a busy machine breaks.
hypothesis.settings.register_profile(
    "steady",
    deadline=None,
    derandomize=True,
    # How long it takes to make examples up is a matter of what else the machine does.
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
# New examples each time: HYPOTHESIS_PROFILE=search looks for what the steady ones missed.
hypothesis.settings.register_profile("search", deadline=None, max_examples=2_000)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))


# ---- several processes


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> parallel.ByGroup | None:
    """``-n 3 --dist loadfile`` keeps together what shares more than a file."""
    if config.getvalue("dist") != "loadfile":
        return None
    config.option.loadscopereorder = False  # the collection is in the right order
    return parallel.ByGroup(config, log)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if hasattr(config, "workerinput"):
        parallel.longest_first(items)


# ---- what is shown at the end


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What came of the fuzzing, and the matrices of the real peers.

    Here, and not in their folders: of several processes, the one that shows it collects no test.
    """
    for report in terminalreporter.stats.get("passed", ()):
        for name, lines in getattr(report, "user_properties", ()):
            if name == fuzzing.PROPERTY:
                terminalreporter.section("fuzzing")
                terminalreporter.write(lines)
    interop_matrix.show(terminalreporter)


# ---- fixtures


@pytest.fixture
def start() -> Iterator[StartCommand]:
    """Start ``rumormill`` commands; what still runs at the end of the test is killed."""
    commands: list[Command] = []

    def start_one(*arguments: str, env: dict[str, str] | None = None) -> Command:
        commands.append(Command(*arguments, env=env))
        return commands[-1]

    yield start_one
    for command in commands:
        command.process.kill()
        command.process.wait()
        for stream in (command.process.stdin, command.process.stdout, command.process.stderr):
            assert stream is not None
            with contextlib.suppress(BrokenPipeError):
                stream.close()


@pytest.fixture
def java() -> None:
    """For tests that start Spark; skipped by name where there is no Java."""
    java_or_skip()

"""What holds for every test."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

import hypothesis
import pytest

from tests.helpers.cli.command import Command, StartCommand
from tests.helpers.spark.java_or_skip import java_or_skip

# Programs for other tools: importing them as tests would start a fuzzer or need a foreign package.
collect_ignore_glob = ["fuzz/targets/*", "interop/peers/*"]

# Equal runs everywhere: the same examples each time, and no limit that a busy machine breaks.
hypothesis.settings.register_profile("steady", deadline=None, derandomize=True)
# New examples each time: HYPOTHESIS_PROFILE=search looks for what the steady ones missed.
hypothesis.settings.register_profile("search", deadline=None, max_examples=2_000)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))


@pytest.fixture
def start() -> Iterator[StartCommand]:
    """Start ``rumormill`` commands; what still runs at the end of the test is killed."""
    commands: list[Command] = []

    def start_one(*arguments: str) -> Command:
        commands.append(Command(*arguments))
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

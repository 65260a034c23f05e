"""Where things are, and how a program of the tests is started in a process of its own."""

from __future__ import annotations

import os
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src"
DOCS = ROOT / "docs"
TESTS = ROOT / "tests"
VECTORS = TESTS / "vectors"


def program(module: str, *arguments: object) -> list[str]:
    """The command that runs a module, such as ``tests.helpers.capture.killed_writer``."""
    return [sys.executable, "-m", module, *map(str, arguments)]


def environment(**more: str) -> dict[str, str]:
    """For such a process: it finds the package and the helpers that this one has."""
    paths = os.pathsep.join(map(str, (ROOT, SOURCE)))
    return {**os.environ, "PYTHONPATH": paths, **more}

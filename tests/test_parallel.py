"""How the tests are shared out among the processes that run them."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.helpers.parallel import (
    LONGEST_FIRST,
    OWN_SPARK,
    RUNS,
    TABLES,
    WAITING,
    ByGroup,
    group,
    longest_first,
)
from tests.helpers.places import ROOT, environment


@dataclass
class Item:
    nodeid: str


def test_tests_that_ask_for_the_spark_session_are_in_three_groups() -> None:
    users = [
        path.relative_to(ROOT).as_posix()
        for path in sorted((ROOT / "tests" / "spark").rglob("test_*.py"))
        if "spark: SparkSession" in path.read_text()
    ]
    groups = {group(f"{path}::test_something[1::2]") for path in users}
    assert groups == {"spark", "spark runs", "spark tables"}


def test_what_needs_no_session_shares_a_process_only_with_its_file() -> None:
    files = [f"tests/spark/{name}" for name in OWN_SPARK]
    files += ["tests/report/test_page.py", "src/rumormill/core/errors.py"]
    assert [group(f"{path}::test_something") for path in files] == files


DYING = """
import os

def test_before(): pass
def test_that_ends_its_process(): os._exit(3)
def test_after(): pass
"""


def test_a_test_that_ends_its_process_fails_once_and_the_others_still_run(tmp_path: Path) -> None:
    (tmp_path / "test_dying.py").write_text(DYING)
    (tmp_path / "test_other.py").write_text("def test_other(): pass")
    (tmp_path / "pytest.ini").write_text("[pytest]")
    (tmp_path / "conftest.py").write_text(
        "from tests.helpers.parallel import ByGroup\n"
        "def pytest_xdist_make_scheduler(config, log): return ByGroup(config, log)\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-n", "2", "--dist", "loadfile", "-rA"],
        cwd=tmp_path, env=environment(), capture_output=True, text=True, timeout=200,
    )  # fmt: skip
    lines = [line.partition(" - ")[0] for line in done.stdout.splitlines()]
    assert sorted(line for line in lines if line.startswith(("PASSED ", "FAILED "))) == [
        "FAILED test_dying.py::test_that_ends_its_process",
        "PASSED test_dying.py::test_after",
        "PASSED test_dying.py::test_before",
        "PASSED test_other.py::test_other",
    ], done.stdout
    assert done.returncode == 1
    assert "crashed while running 'test_dying.py::test_that_ends_its_process'" in done.stdout


def test_what_is_named_is_there() -> None:
    folders = [each for each in (*LONGEST_FIRST, WAITING) if "/" in each]
    assert [each for each in folders if not (ROOT / each).is_dir()] == []
    assert [
        each for each in (*OWN_SPARK, *RUNS, *TABLES) if not (ROOT / "tests/spark" / each).exists()
    ] == []


def test_what_takes_long_begins_and_the_rest_keeps_its_order() -> None:
    order = [
        "tests/core/test_x.py::test_y",
        "src/rumormill/x.py::y",
        "tests/cli/demo/test_x.py::test_y",
        "tests/spark/test_readme.py::test_y",
        "tests/interop/test_x.py::test_y",
        "tests/spark/source/test_x.py::test_y",
        "tests/spark/silver/test_x.py::test_y",
        "tests/spark/lake/test_x.py::test_y",
    ]
    items = [Item(each) for each in order]
    longest_first(items)  # type: ignore[arg-type]
    assert [item.nodeid for item in items] == [*reversed(order[2:]), *order[:2]]


# ---- what waits


class Process:
    """One of those that run tests: it is told which, by their places in the collection."""

    shutting_down = False
    gateway = SimpleNamespace(id="one of them")

    def __init__(self) -> None:
        self.given: list[int] = []

    def send_runtest_some(self, places: list[int]) -> None:
        self.given += places

    def shutdown(self) -> None:
        self.shutting_down = True


class Config:
    def __init__(self, processes: int) -> None:
        self.processes = processes
        self.option = SimpleNamespace(loadscopereorder=False)

    def getvalue(self, name: str) -> list[str]:
        return [f"{self.processes}*popen"]


EACH = 10
WAITS = [f"tests/interop/test_{file}.py::test_{n}" for file in "abcdef" for n in range(EACH)]
WORKS = [f"tests/core/test_{file}.py::test_{n}" for file in range(10) for n in range(EACH)]


def last_turn(ran: list[list[tuple[int, str]]], tests: list[str]) -> int:
    return max(turn for those in ran for turn, test in those if test in tests)


def shared_out(tests: list[str], processes: int) -> list[list[tuple[int, str]]]:
    """For each process its tests, each with the turn in which it began: a test takes one turn."""
    at_work = [Process() for _ in range(processes)]
    scheduler = ByGroup(Config(processes))  # type: ignore[arg-type]
    for process in at_work:
        scheduler.add_node(process)  # type: ignore[arg-type]
    for process in at_work:
        scheduler.add_node_collection(process, tests)  # type: ignore[arg-type]
    scheduler.schedule()
    ran: list[list[tuple[int, str]]] = [[] for _ in at_work]
    for turn in range(len(tests)):
        for process, those in zip(at_work, ran, strict=True):
            if len(those) < len(process.given):
                place = process.given[len(those)]
                those.append((turn, tests[place]))
                scheduler.mark_test_complete(process, place)  # type: ignore[arg-type]
    return ran


@pytest.mark.parametrize(("processes", "waiters"), [(2, 1), (3, 1), (6, 2)])
def test_few_processes_wait_while_there_is_work_for_the_others(
    processes: int, waiters: int
) -> None:
    ran = shared_out([*WORKS, *WAITS], processes)
    assert sorted(test for those in ran for _, test in those) == sorted([*WORKS, *WAITS])
    both = min(last_turn(ran, WORKS), last_turn(ran, WAITS)) - EACH
    assert both > EACH
    for turn in range(both):
        now = [test for those in ran for at, test in those if at == turn]
        assert len(now) == processes
        assert sum(test in WAITS for test in now) == waiters


def test_what_is_left_at_the_end_is_done_by_all() -> None:
    assert [len(those) for those in shared_out(WAITS, 3)] == [20, 20, 20]

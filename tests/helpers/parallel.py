"""Which tests run in one process, and which of them begin, when pytest runs several processes.

A file is never torn apart: its fixtures are made once. The files that share a Spark session stay
together, for a session costs more than most tests. What takes long begins first, so that no
process is left with a long file at the end while the others have nothing to do. What mostly waits
runs beside what has the cores busy.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath

import pytest
from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import WorkerController

LONGEST_FIRST = (
    "spark runs",
    "spark tables",
    "spark",
    "tests/interop",
    "tests/bench",
    "tests/fuzz",
    "tests/spark",
    "tests/conformance",
    "tests/cli",
    "tests/attacks",
    "tests/bep50",
)
"""Groups, and folders of files, that begin before the others, in this order."""

RUNS = ("test_family_reports.py", "test_go_network.py", "test_runner.py", "lake")
"""Files and folders of ``tests/spark`` that run the whole pipeline, in a session they share."""

TABLES = ("gold", "silver", "test_collisions.py", "test_second_opinion.py")
"""Those that make tables without it, in another one."""

OWN_SPARK = (
    "test_attack_alerts.py",
    "test_cluster.py",
    "test_command.py",
    "test_java.py",
    "test_readme.py",
    "source/test_newest_spark.py",
)
"""Files of ``tests/spark`` that start Spark in processes of their own, or do without."""

WAITING = "tests/interop"
"""Its tests mostly wait, for real peers and their heartbeats."""
PROCESSES = 3
"""Of so many one does what waits, as long as there is other work for the others."""


class ByGroup(LoadScopeScheduling):
    """Gives whole groups to the processes: in the order of the collection, but few that wait."""

    def _split_scope(self, nodeid: str) -> str:
        return group(nodeid)

    def _assign_work_unit(self, node: WorkerController) -> None:
        others = [work for other, work in self.assigned_work.items() if other is not node]
        waiting = sum(any(map(_waits, _unfinished(work))) for work in others)
        first = next_group(self.workqueue, waiting, len(self.nodes))
        self.workqueue.move_to_end(first, last=False)
        super()._assign_work_unit(node)

    def remove_node(self, node: WorkerController) -> str | None:
        """A test that ended its process has failed and is not run again; the rest of its group is.

        Without this, the test would go to the next process and end that one too.
        """
        units = self.assigned_work[node]
        ended = next((each for unit in units.values() for each in unit if not unit[each]), None)
        if ended is not None:
            units[group(ended)][ended] = True
        self.assigned_work[node] = {name: units[name] for name in _unfinished(units)}
        super().remove_node(node)
        return ended


def group(nodeid: str) -> str:
    """The tests that one process runs together: those of a file, or of a Spark session.

    >>> group("tests/spark/gold/test_links.py::test_a_link"), group("tests/core/a.py::b")
    ('spark tables', 'tests/core/a.py')
    """
    path = PurePosixPath(nodeid.partition("::")[0])
    if not path.is_relative_to("tests/spark"):
        return str(path)
    within = path.relative_to("tests/spark")
    if str(within) in OWN_SPARK:
        return str(path)
    first = within.parts[0]
    return "spark runs" if first in RUNS else "spark tables" if first in TABLES else "spark"


def next_group(queued: Iterable[str], waiting: int, processes: int) -> str:
    """Which group of the queue comes next in a process, while so many of the others wait.

    If all of them waited at once, the cores would have nothing to do meanwhile.

    >>> queue = ["spark", "tests/interop/test_mesh.py"]
    >>> next_group(queue, waiting=0, processes=3), next_group(queue, waiting=1, processes=3)
    ('tests/interop/test_mesh.py', 'spark')
    """
    groups = list(queued)
    wanted = waiting < max(1, processes // PROCESSES)
    return next((name for name in groups if _waits(name) is wanted), groups[0])


def longest_first(items: list[pytest.Item]) -> None:
    """Put first what takes long; what is equal keeps its order."""
    items.sort(key=lambda item: _rank(group(item.nodeid)))


def _unfinished(work: Mapping[str, Mapping[str, bool]]) -> list[str]:
    return [name for name, tests in work.items() if not all(tests.values())]


def _waits(name: str) -> bool:
    return name.startswith(f"{WAITING}/")


def _rank(name: str) -> int:
    matching = (at for at, each in enumerate(LONGEST_FIRST) if f"{name}/".startswith(f"{each}/"))
    return next(matching, len(LONGEST_FIRST))

"""Which tests run in one process, and which of them begin, when pytest runs several processes.

A file is never torn apart: its fixtures are made once. The files that share a Spark session stay
together, for a session costs more than most tests. What takes long begins first, so that no
process is left with a long file at the end while the others have nothing to do.
"""

from __future__ import annotations

from pathlib import PurePosixPath

import pytest
from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import WorkerController

LONGEST_FIRST = (
    "spark runs",
    "spark tables",
    "spark",
    # It mostly waits, and leaves the cores to Spark.
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

OWN_SPARK = ("test_cluster.py", "test_command.py", "test_java.py", "test_readme.py")
"""Files of ``tests/spark`` that start Spark in processes of their own, or do without."""


class ByGroup(LoadScopeScheduling):
    """Gives whole groups to the processes, in the order of the collection."""

    def _split_scope(self, nodeid: str) -> str:
        return group(nodeid)

    def remove_node(self, node: WorkerController) -> str | None:
        """A test that ended its process has failed and is not run again; the rest of its group is.

        Without this, the test would go to the next process and end that one too.
        """
        units = self.assigned_work[node]
        ended = next((each for unit in units.values() for each in unit if not unit[each]), None)
        if ended is not None:
            units[group(ended)][ended] = True
        self.assigned_work[node] = {
            name: unit for name, unit in units.items() if not all(unit.values())
        }
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
    first = path.relative_to("tests/spark").parts[0]
    if first in OWN_SPARK:
        return str(path)
    return "spark runs" if first in RUNS else "spark tables" if first in TABLES else "spark"


def longest_first(items: list[pytest.Item]) -> None:
    """Put first what takes long; what is equal keeps its order."""
    items.sort(key=lambda item: _rank(group(item.nodeid)))


def _rank(name: str) -> int:
    matching = (at for at, each in enumerate(LONGEST_FIRST) if f"{name}/".startswith(f"{each}/"))
    return next(matching, len(LONGEST_FIRST))

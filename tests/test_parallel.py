"""How the tests are shared out among the processes that run them."""

from __future__ import annotations

from dataclasses import dataclass

from tests.helpers.parallel import LONGEST_FIRST, OWN_SPARK, group, longest_first
from tests.helpers.places import ROOT


@dataclass
class Item:
    nodeid: str


def test_tests_that_ask_for_the_spark_session_are_in_two_groups() -> None:
    users = [
        path.relative_to(ROOT).as_posix()
        for path in sorted((ROOT / "tests" / "spark").rglob("test_*.py"))
        if "spark: SparkSession" in path.read_text()
    ]
    assert {group(f"{path}::test_something[1::2]") for path in users} == {"spark", "spark tables"}


def test_what_needs_no_session_shares_a_process_only_with_its_file() -> None:
    files = [f"tests/spark/{name}" for name in OWN_SPARK]
    files += ["tests/spark/report/test_page.py", "src/rumormill/core/errors.py"]
    assert [group(f"{path}::test_something") for path in files] == files


def test_what_is_named_is_there() -> None:
    folders = [each for each in LONGEST_FIRST if "/" in each]
    assert [each for each in folders if not (ROOT / each).is_dir()] == []
    assert [each for each in OWN_SPARK if not (ROOT / "tests/spark" / each).exists()] == []


def test_what_takes_long_begins_and_the_rest_keeps_its_order() -> None:
    order = [
        "tests/core/test_x.py::test_y",
        "src/rumormill/x.py::y",
        "tests/cli/demo/test_x.py::test_y",
        "tests/spark/report/test_x.py::test_y",
        "tests/interop/test_x.py::test_y",
        "tests/spark/test_x.py::test_y",
        "tests/spark/tables/test_x.py::test_y",
    ]
    items = [Item(each) for each in order]
    longest_first(items)  # type: ignore[arg-type]
    assert [item.nodeid for item in items] == [*reversed(order[2:]), *order[:2]]

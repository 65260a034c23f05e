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
    assert [each for each in LONGEST_FIRST if not (ROOT / each).exists()] == []
    assert [each for each in OWN_SPARK if not (ROOT / "tests/spark" / each).exists()] == []


def test_what_takes_long_begins_and_the_rest_keeps_its_order() -> None:
    items = [Item(f"{folder}/test_x.py::test_y") for folder in ("tests/core", "src", "tests/cli")]
    items += [Item(f"{folder}/test_x.py::test_y") for folder in reversed(LONGEST_FIRST)]
    longest_first(items)  # type: ignore[arg-type]
    order = [item.nodeid.removesuffix("/test_x.py::test_y") for item in items]
    assert order[-2:] == ["tests/core", "src"]
    assert list(dict.fromkeys(order[:-2])) == list(LONGEST_FIRST)

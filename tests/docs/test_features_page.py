"""docs/features.md says of nothing that we have it without a test that shows it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from tests.helpers.named_tests import missing, named_tests, rows
from tests.helpers.places import DOCS, TESTS

PAGE = (DOCS / "features.md").read_text()
OURS, SHOWN_BY = -2, -1
COLUMNS = ["go", "rust", "js", "nim", "py", "rumormill", "shown by"]
ABSENT = "\N{EN DASH}"
ROWS = [row for row in rows(PAGE) if len(row) == len(COLUMNS) + 1]


def test_every_table_has_a_column_for_each_implementation() -> None:
    heads = re.findall(r"^\| (?:feature|part) \|(.*)\|$", PAGE, re.MULTILINE)
    assert len(heads) == 7
    for head in heads:
        assert [cell.strip() for cell in head.split("|")] == COLUMNS
    assert len(ROWS) == len(rows(PAGE)) - 5, "all but those that say what was read"


def test_every_test_that_the_page_names_exists() -> None:
    assert missing(named_tests(row[SHOWN_BY] for row in ROWS)) == []


def test_what_we_have_is_shown_by_a_test() -> None:
    for row in ROWS:
        assert all(row[:SHOWN_BY]), row
        if not row[OURS].startswith(ABSENT):
            assert named_tests([row[SHOWN_BY]]), row


def test_there_are_as_many_tests_as_the_page_says() -> None:
    (told,) = re.findall(r"more than (\d+) of this family", PAGE)
    functions = sum(
        len(re.findall(r"^(?:async )?def test_", file.read_text(), re.MULTILINE))
        for file in files_of_the_family()
    )
    assert functions > int(told)


def files_of_the_family() -> Iterator[Path]:
    yield from (TESTS / "libp2p").rglob("test_*.py")
    yield from (TESTS / "conformance").glob("test_*.py")
    yield from (TESTS / "attacks").glob("test_*.py")

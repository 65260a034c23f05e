"""docs/conformance.md names tests that exist."""

from __future__ import annotations

from tests.helpers.named_tests import missing, named_tests, rows
from tests.helpers.places import DOCS

PAGE, _, LACKING = (DOCS / "conformance.md").read_text().partition("## What we do not have")
ROWS = rows(PAGE)


def test_every_test_that_the_page_names_exists() -> None:
    assert missing(named_tests(row[-1] for row in ROWS)) == []


def test_every_behaviour_has_a_test() -> None:
    assert len(named_tests(row[-1] for row in ROWS)) > 500
    for row in ROWS:
        assert named_tests(row[-1:]), row


def test_no_behaviour_stands_twice() -> None:
    behaviours = [row[0] for row in ROWS]
    assert len(behaviours) == len(set(behaviours))


def test_what_we_do_not_have_is_told_with_what_comes_nearest() -> None:
    lacking = rows(LACKING)
    assert lacking
    for row in lacking:
        assert all(row), row

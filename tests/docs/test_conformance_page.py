"""docs/conformance.md names tests that exist."""

from __future__ import annotations

import re
from pathlib import Path

TESTS = Path(__file__).parent.parent
PAGE = TESTS.parent / "docs" / "conformance.md"


def named_tests() -> list[tuple[str, str]]:
    """File and name of each of our tests that a row names."""
    found = []
    for row in PAGE.read_text().splitlines():
        if not row.startswith("|"):
            continue
        for group in row.rstrip("| ").split("|")[-1].split("<br>"):
            path, *names = re.findall(r"`([^`]+)`", group) or [""]
            found += [(path, name) for name in names]
    return found


def test_every_test_that_the_page_names_exists() -> None:
    sources: dict[str, str] = {}
    for path, name in named_tests():
        source = sources.setdefault(path, (TESTS / path).read_text())
        assert re.search(rf"^(?:async )?(?:def )?{name}\b", source, re.MULTILINE), (path, name)


def test_every_behaviour_has_a_test() -> None:
    assert len(named_tests()) > 200
    for row in PAGE.read_text().split("## Of later versions")[0].splitlines():
        if row.startswith("| ") and not row.startswith("| behaviour"):
            assert ".py`: `" in row, row

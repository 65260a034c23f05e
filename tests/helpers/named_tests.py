"""Tests that a page of the documentation names: in tables, in the last column."""

from __future__ import annotations

import re
from collections.abc import Iterable

from tests.helpers.places import TESTS


def rows(page: str) -> list[list[str]]:
    """The cells of each row of each table, heads and lines between left out."""
    found = []
    lines = page.splitlines()
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        between = line.startswith("|--") or following.startswith("|--")
        if line.startswith("|") and not between:
            found.append([cell.strip() for cell in line.split("|")[1:-1]])
    return found


def named_tests(cells: Iterable[str]) -> list[tuple[str, str]]:
    """File and name of each of our tests that these cells name."""
    found = []
    for cell in cells:
        for group in cell.split("<br>"):
            path, *names = re.findall(r"`([^`]+)`", group) or [""]
            found += [(path, name) for name in names]
    return found


def missing(named: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Of these tests, those that do not exist."""
    sources: dict[str, str] = {}
    lost = []
    for path, name in named:
        if path not in sources:
            file = TESTS / path
            sources[path] = file.read_text() if file.is_file() else ""
        if not re.search(rf"^(?:async )?(?:def )?{re.escape(name)}\b", sources[path], re.MULTILINE):
            lost.append((path, name))
    return lost

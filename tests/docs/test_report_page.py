"""The page on the report names everything that the report has."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rumormill.report import read_report, report_json
from tests.helpers.report.gold_tables import story
from tests.helpers.report.lake_on_disk import write_lake

PAGE = Path(__file__).parents[2] / "docs" / "report.md"
NAMED = {
    "topics",
    "peers",
    "events",
    "scores",
    "networks",
    "by_hop",
    "agents",
    "lifetimes",
    "tables",
    "snapshots",
}

"""Objects whose own keys are names that somebody chose."""

AGAIN = "other"
"""The other run's report, with the same keys."""


def keys(value: Any) -> Iterator[str]:
    """All keys of an object and of those in it; of objects with chosen names, the first one's."""
    if isinstance(value, list):
        value = {str(place): inner for place, inner in enumerate(value)}
        yield from (key for inner in value.values() for key in keys(inner))
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield key
            if key == AGAIN:
                continue
            if key in NAMED and isinstance(inner, dict):
                yield from (found for each in list(inner.values())[:1] for found in keys(each))
            else:
                yield from keys(inner)


def test_every_key_of_the_json_form_is_explained(tmp_path: Path) -> None:
    report = read_report(write_lake(tmp_path, story()))
    found = set(keys(report_json(report, report)))
    assert len(found) > 50
    text = PAGE.read_text()
    assert [key for key in sorted(found) if f'"{key}"' not in text] == []

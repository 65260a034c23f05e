"""docs/alerts.md names every threshold of alerts, with its default."""

from __future__ import annotations

import re
from dataclasses import fields

import pytest

from tests.helpers.places import DOCS

IN_A_SENTENCE = r"`(\w+)` \((\d[\d.]*)\)"
IN_A_TABLE = r"^\| `(\w+)` \| (\d[\d.]*) \|"


def test_every_threshold_is_on_the_page_with_its_default() -> None:
    pytest.importorskip("pyspark")
    from rumormill.pipeline.gold import AlertParameters

    page = (DOCS / "alerts.md").read_text()
    told = [
        (name, float(value))
        for form in (IN_A_SENTENCE, IN_A_TABLE)
        for name, value in re.findall(form, page, re.MULTILINE)
    ]
    parameters = AlertParameters()
    known = [(each.name, float(getattr(parameters, each.name))) for each in fields(parameters)]
    assert sorted(told) == sorted(known)

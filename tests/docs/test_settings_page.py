"""docs/settings.md and the pages of other families say what the code says."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

from rumormill.live.configuration.settings import known_keys

DOCS = Path(__file__).parent.parent.parent / "docs"
MAKER = runpy.run_path(str(DOCS / "make_settings.py"))


@pytest.mark.parametrize("page", MAKER["PAGES"], ids=lambda page: str(page.file))
def test_the_page_is_what_the_code_makes_of_it(page: Any) -> None:
    assert (DOCS / page.file).read_text() == MAKER["page"](page), "run `make docs`"


@pytest.mark.parametrize(
    ("network", "file"),
    [
        ("gossipsub", "settings.md"),
        ("floodsub", "settings.md"),
        ("randomsub", "settings.md"),
        ("bep50", "bep50-settings.md"),
        ("ndn", "ndn-settings.md"),
    ],
)
def test_every_key_has_a_row_and_a_meaning(network: str, file: str) -> None:
    rows = (DOCS / file).read_text().splitlines()
    for key in known_keys(network):
        (row,) = [row for row in rows if row.startswith(f"| `{key}` |")]
        assert row.split("|")[3].strip(), f"{key} has no meaning"

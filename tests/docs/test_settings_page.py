"""docs/settings.md says what the code says."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from rumormill.live.settings import known_keys

DOCS = Path(__file__).parent.parent.parent / "docs"
MAKER = runpy.run_path(str(DOCS / "make_settings.py"))


def test_the_page_is_what_the_code_makes_of_it() -> None:
    assert (DOCS / "settings.md").read_text() == MAKER["page"](), "run `make docs`"


@pytest.mark.parametrize("network", ["gossipsub", "floodsub"])
def test_every_key_has_a_row_and_a_meaning(network: str) -> None:
    rows = (DOCS / "settings.md").read_text().splitlines()
    for key in known_keys(network):
        (row,) = [row for row in rows if row.startswith(f"| `{key}` |")]
        assert row.split("|")[3].strip(), f"{key} has no meaning"

"""The house's rule: rooms that serve every family name none of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from rumormill.live.family.families import families
from tests.helpers.places import SOURCE

ROOMS = ("live", "simulate", "cli", "node", "capture", "pipeline")

# Traces of other implementations are named after them; so is what reads them, and its help.
ABOUT_OTHERS = SOURCE / "rumormill" / "capture" / "foreign"
OTHERS = re.compile(r"go-libp2p(-pubsub)?")


def named(path: Path) -> Iterator[str]:
    names = {word for family in families() for word in (family.name, *family.networks)}
    words = re.compile("|".join(sorted(names)), re.IGNORECASE)
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if words.search(OTHERS.sub("", line)):
            yield f"{path.relative_to(SOURCE)}:{number}: {line.strip()}"


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_that_serves_every_family_names_none_of_them(room: str) -> None:
    files = sorted((SOURCE / "rumormill" / room).rglob("*.py"))
    assert len(files) > 5
    found = [line for file in files if ABOUT_OTHERS not in file.parents for line in named(file)]
    assert found == []

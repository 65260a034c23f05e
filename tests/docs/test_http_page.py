"""The page on the HTTP side has every limit, with its default and its meaning."""

from __future__ import annotations

import re
import runpy
from dataclasses import Field, fields
from typing import Any

import pytest

from rumormill.node.settings import HttpLimits
from tests.helpers.places import DOCS, SOURCE

documented_fields = runpy.run_path(str(DOCS / "make_settings.py"))["documented_fields"]
PAGE = (DOCS / "http.md").read_text()


@pytest.mark.parametrize("field", fields(HttpLimits), ids=lambda field: field.name)
def test_every_limit_is_on_the_page(field: Field[Any]) -> None:
    meaning = documented_fields(HttpLimits)[field.name]
    assert f"| `{field.name}` | `{field.default}` | {meaning} |" in PAGE


def test_every_reason_is_on_the_page() -> None:
    room = SOURCE / "rumormill" / "node"
    source = "".join(
        (room / name).read_text() for name in ("connections.py", "server.py", "http_connection.py")
    )
    reasons = set(
        re.findall(r'"(evicted\w*|no_room|too_many_open_files|\w+_timeout|\w+_unread)', source)
    )
    assert len(reasons) == 10
    assert {reason for reason in reasons if f"`{reason}`" not in PAGE} == set()

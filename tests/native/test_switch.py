"""``RUMORMILL_NATIVE=0`` does without the extension."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from rumormill.core import ed25519
from tests.helpers.interop.real_peers import missing_peer

PROGRAM = """
import rumormill, rumormill.core.ed25519 as ed25519
rumormill.Libp2pNetwork  # loaded at first use
print(ed25519.native_in_use())
"""


@pytest.mark.parametrize(
    ("value", "used"), [("0", False), ("1", True), ("", True), (None, True)], ids=str
)
def test_the_environment_says_whether_the_extension_is_used(value: str | None, used: bool) -> None:
    if used and not ed25519._installed:
        missing_peer("rumormill-native is not installed: make native")
    environment = {name: text for name, text in os.environ.items() if name != "RUMORMILL_NATIVE"}
    if value is not None:
        environment["RUMORMILL_NATIVE"] = value
    result = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == str(used)

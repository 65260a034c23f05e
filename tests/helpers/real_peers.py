"""Peers of other implementations: where they are kept, and what a missing one means."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NoReturn

import pytest


def peer_cache() -> Path:
    """The folder outside the tree in which built and installed peers are kept between runs."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "rumormill" / "peers"


def missing_peer(reason: str) -> NoReturn:
    """Skip the test by name and with the reason; fail it where all peers are required."""
    if os.environ.get("RUMORMILL_REQUIRE_PEERS") == "1":
        pytest.fail(f"{reason} (RUMORMILL_REQUIRE_PEERS=1)", pytrace=False)
    pytest.skip(reason)

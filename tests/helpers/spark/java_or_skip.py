"""Tests with Spark need Java: without it they are skipped, by name."""

from __future__ import annotations

import os

import pytest

from rumormill.core.errors import ConfigError
from rumormill.pipeline.java import java_home

REQUIRE = "RUMORMILL_REQUIRE_PEERS"
"""Set in CI, where a test that could not run is a failure."""


def java_or_skip() -> None:
    """Skip the test at hand where Spark could not start."""
    try:
        java_home()
    except ConfigError as error:
        if os.environ.get(REQUIRE):
            raise
        pytest.skip(str(error))

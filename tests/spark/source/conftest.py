"""Spark 4.1 leaves the sockets open by which it hands rows to the driver; that is not ours."""

from __future__ import annotations

from pathlib import Path

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"))
            unraisable = (
                "ignore:Exception ignored in. <socket:pytest.PytestUnraisableExceptionWarning"
            )
            item.add_marker(pytest.mark.filterwarnings(unraisable))

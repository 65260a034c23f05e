"""Tests with real peers: marked as such, given more time, and the peers as fixtures."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from js_peer import JsPeer, StartJsPeer, installed_program

# The first test of a fresh machine also waits for the peer's packages.
TIMEOUT = 300


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.interop)
            if item.get_closest_marker("timeout") is None:
                item.add_marker(pytest.mark.timeout(TIMEOUT))


@pytest.fixture(scope="session")
def js_program() -> Path:
    """The js peer's program, with its packages installed."""
    return installed_program()


@pytest.fixture
async def start_js_peer(js_program: Path) -> AsyncIterator[StartJsPeer]:
    """Starts js peers (arguments of :meth:`JsPeer.start`) and stops them after the test."""
    peers: list[JsPeer] = []

    async def start(**arguments: object) -> JsPeer:
        peer = await JsPeer.start(js_program, **arguments)  # type: ignore[arg-type]
        peers.append(peer)
        return peer

    yield start
    for peer in peers:
        await peer.stop()

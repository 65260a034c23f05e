"""Every asynchronous test of this folder runs on asyncio's own loop and on uvloop."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from tests.helpers.live.loops import no_callback_fails, pytest_asyncio_loop_factories, watch_loop
from tests.helpers.ndn.live_town import LiveTown


@pytest.fixture
async def town(tmp_path: Path) -> AsyncIterator[LiveTown]:
    """Nodes and programs, closed at the end."""
    async with AsyncExitStack() as stack:
        yield LiveTown(tmp_path, stack)


__all__ = ["no_callback_fails", "pytest_asyncio_loop_factories", "town", "watch_loop"]

"""The original PubSub and ours on forwarders of every kind, which a module of tests shares."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.helpers.interop.ndn_town import Town


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def town(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Town]:
    """Forwarders as tests ask for them, and programs on them."""
    # Short: the path of a Unix socket has at most 107 bytes.
    async with Town(tmp_path_factory.mktemp("n")) as town:
        yield town

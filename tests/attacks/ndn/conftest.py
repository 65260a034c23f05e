from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from rumormill.ndn.faces import addresses, stream_face, transport_face
from tests.helpers.ndn.besieged import Town

FAR = 66
"""The last number of the first address that is somewhere else."""


@pytest.fixture
async def idle_town(tmp_path: Path) -> AsyncIterator[Town]:
    """A town that the test starts itself, with settings of its own."""
    async with AsyncExitStack() as stack:
        yield Town(tmp_path, stack)


@pytest.fixture
async def town(idle_town: Town) -> Town:
    """A node with default settings, and honest programs on it."""
    await idle_town.start()
    return idle_town


@pytest.fixture
async def slow_town(idle_town: Town) -> Town:
    """The same, where time hardly pays for work: so a flood is one on a slow machine, too."""
    await idle_town.start(work_share=0.001, work_burst=0.02)
    return idle_town


@pytest.fixture
def far_away(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Who comes from 127.0.0.66 and above is not on this machine."""
    is_local = addresses.is_local

    def near(text: str) -> bool:
        return "://127.0.0." not in text or int(text.split(".")[3].split(":")[0]) < FAR

    def nearby(text: str) -> bool:
        return is_local(text) and near(text)

    addresses.source_of.cache_clear()
    for module in addresses, stream_face, transport_face:
        monkeypatch.setattr(module, "is_local", nearby)
    yield
    addresses.source_of.cache_clear()

from __future__ import annotations

import functools
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from rumormill.bcos.live.chain_folder import extend_chain
from rumormill.core.limits import WorkLimits
from tests.helpers.bcos.besieged import NODES, SDKS, Town


@pytest.fixture(scope="session")
def chain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A chain that keygen made, for honest ones and attackers."""
    folder = tmp_path_factory.mktemp("besieged") / "chain"
    extend_chain(folder, nodes=NODES, sdks=SDKS, topic_keys=0)
    return folder


@pytest.fixture
def lasting_debts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Time hardly pays for work: so a flood is one on a slow machine, too."""
    limits = functools.partial(WorkLimits, share=0.001)
    for module in "node.machine", "channel.session":
        monkeypatch.setattr(f"rumormill.bcos.{module}.WorkLimits", limits)


@pytest.fixture
async def idle_town(chain: Path) -> AsyncIterator[Town]:
    """A town that the test starts itself, with settings of its own."""
    async with AsyncExitStack() as stack:
        yield Town(chain, stack)


@pytest.fixture
async def town(idle_town: Town) -> Town:
    """Two nodes with default settings, and honest SDKs."""
    await idle_town.start()
    return idle_town

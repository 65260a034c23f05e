from __future__ import annotations

from pathlib import Path

import pytest

from rumormill.bcos.live.chain_folder import extend_chain


@pytest.fixture(scope="session")
def chain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A chain that keygen made, for tests that only read it."""
    folder = tmp_path_factory.mktemp("chains") / "chain"
    extend_chain(folder, nodes=2, sdks=2, topic_keys=1)
    return folder

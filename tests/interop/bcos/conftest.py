"""Real clients of FISCO BCOS on our own nodes: those of a module share nodes and an event loop."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.helpers.interop import bcos_go, bcos_java
from tests.helpers.interop.bcos_town import Town
from tests.helpers.interop.our_bcos_node import Chain


@pytest.fixture(scope="session")
def bcos_go_program() -> Path:
    """The program on the Go SDK, compiled."""
    return bcos_go.built_program()


@pytest.fixture(scope="session")
def bcos_java_program() -> Path:
    """The class path of the program on the Java SDK, compiled."""
    return bcos_java.built_program()


@pytest.fixture(scope="session")
def chain(tmp_path_factory: pytest.TempPathFactory) -> Chain:
    """Certificates for two nodes and two SDKs, and two keys for private topics."""
    return Chain.make(tmp_path_factory.mktemp("bcos") / "chain", nodes=2, sdks=2, topic_keys=2)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def town(chain: Chain, bcos_go_program: Path, bcos_java_program: Path) -> AsyncIterator[Town]:
    """Two nodes of ours, and clients of every kind."""
    async with Town(chain, bcos_go_program, bcos_java_program) as town:
        yield town

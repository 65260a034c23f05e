"""Tests with real peers: marked as such, given more time, and the peers as fixtures.

At the end of a run, ``tests/conftest.py`` prints the matrices of what was tested with whom.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, TypeVar

import pytest
import pytest_asyncio

from tests.helpers.interop import (
    dht_peer,
    go_peer,
    interop_matrix,
    js_peer,
    py_peer,
    rumormill_peer,
    rust_peer,
)
from tests.helpers.interop.dht_peer import DhtPeer, StartDhtPeer
from tests.helpers.interop.finding_peer import StartFindingPeers
from tests.helpers.interop.go_peer import GoPeer, StartGoPeer
from tests.helpers.interop.js_peer import JsPeer, StartJsPeer
from tests.helpers.interop.network_namespace import NetworkNamespace
from tests.helpers.interop.our_node import OpenNode, OurNode, open_our_node
from tests.helpers.interop.peer_process import PeerProcess, RouterPeer
from tests.helpers.interop.private_dht import PrivateDht
from tests.helpers.interop.py_peer import PyPeer, StartPyPeer
from tests.helpers.interop.rumormill_peer import RumormillPeer, StartRumormillPeer
from tests.helpers.interop.rust_peer import RustPeer, StartRustPeer
from tests.helpers.interop.transcript import RecordingPubsub

TIMEOUT = 300

# Programs for other environments than that of the tests.
collect_ignore = ["peers"]

Peer = TypeVar("Peer", bound=PeerProcess)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "matrix(behaviour, direction, peer): see interop_matrix")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.interop)
            cells = interop_matrix.cells_of(item)
            item.user_properties += [("matrix", list(cell)) for cell in cells]
            if item.get_closest_marker("timeout") is None:
                # Without the fixtures: the first test of a fresh machine waits until its peer is
                # built, which has a limit of its own.
                item.add_marker(pytest.mark.timeout(TIMEOUT, func_only=True))


# ---- the programs


@pytest.fixture(scope="session")
def js_program() -> Path:
    """The js peer's program, with its packages installed."""
    return js_peer.installed_program()


@pytest.fixture(scope="session")
def dht_program() -> Path:
    """The bittorrent-dht peer's program, with its packages installed."""
    return dht_peer.installed_program()


@pytest.fixture(scope="session")
def rust_program() -> Path:
    """The rust peer's program, compiled."""
    return rust_peer.built_program()


@pytest.fixture(scope="session")
def go_program() -> Path:
    """The go peer's program, compiled."""
    return go_peer.built_program()


@pytest.fixture(scope="session")
def py_program() -> Path:
    """The interpreter that runs the py peer, with its packages installed."""
    return py_peer.installed_program()


# ---- a network of its own


@pytest.fixture
def lan() -> Iterator[NetworkNamespace]:
    """A network with multicast that the test is in, with all the peers that it starts."""
    with NetworkNamespace.make() as namespace, namespace.entered():
        yield namespace


# ---- the peers


def _starter(
    stack: AsyncExitStack, start: Callable[..., Awaitable[Peer]], program: Path
) -> Callable[..., Awaitable[Peer]]:
    async def start_one(**arguments: Any) -> Peer:
        peer = await start(program, **arguments)
        stack.push_async_callback(peer.stop)
        return peer

    return start_one


@pytest.fixture
async def start_js_peer(js_program: Path) -> AsyncIterator[StartJsPeer]:
    """Starts js peers (arguments of :meth:`JsPeer.start`) and stops them after the test."""
    async with AsyncExitStack() as stack:
        yield _starter(stack, JsPeer.start, js_program)


@pytest.fixture
async def start_rust_peer(rust_program: Path) -> AsyncIterator[StartRustPeer]:
    """Starts rust peers (arguments of :meth:`RustPeer.start`) and stops them after the test."""
    async with AsyncExitStack() as stack:
        yield _starter(stack, RustPeer.start, rust_program)


@pytest.fixture
async def start_py_peer(py_program: Path) -> AsyncIterator[StartPyPeer]:
    """Starts py peers (arguments of :meth:`PyPeer.start`) and stops them after the test."""
    async with AsyncExitStack() as stack:
        yield _starter(stack, PyPeer.start, py_program)


@pytest.fixture
async def start_go_peer(go_program: Path) -> AsyncIterator[StartGoPeer]:
    """Starts go peers (arguments of :meth:`GoPeer.start`) and stops them after the test."""
    async with AsyncExitStack() as stack:
        yield _starter(stack, GoPeer.start, go_program)


@pytest.fixture
async def start_rumormill_peer() -> AsyncIterator[StartRumormillPeer]:
    """Starts nodes of ours in processes of their own, and stops them after the test."""
    async with AsyncExitStack() as stack:
        yield _starter(stack, RumormillPeer.start, rumormill_peer.installed_program())


@pytest.fixture
def start_peer(request: pytest.FixtureRequest, peer: str) -> Callable[..., Awaitable[RouterPeer]]:
    """Starts peers of the kind that the test's parameter ``peer`` names."""
    start: Callable[..., Awaitable[RouterPeer]] = request.getfixturevalue(f"start_{peer}_peer")
    return start


@pytest.fixture
def start_finding(
    start_rust_peer: StartRustPeer, start_js_peer: StartJsPeer, start_go_peer: StartGoPeer
) -> StartFindingPeers:
    """Starts peers that find others, by their language: rust, js, go."""
    return {"rust": start_rust_peer, "js": start_js_peer, "go": start_go_peer}


# ---- the main DHT of bep50: nodes for all tests of a module, which share one event loop


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def private_dht() -> AsyncIterator[PrivateDht]:
    """Ten libtorrent nodes that know each other and nobody else."""
    async with PrivateDht() as dht:
        yield dht


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def start_dht_peer(dht_program: Path) -> AsyncIterator[StartDhtPeer]:
    """Starts bittorrent-dht nodes (arguments of :meth:`DhtPeer.start`), stops them at the end."""
    async with AsyncExitStack() as stack:
        yield _starter(stack, DhtPeer.start, dht_program)


# ---- our own nodes


@pytest.fixture
async def open_node(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[OpenNode]:
    """Opens nodes of ours that write down what they say, and closes them after the test."""
    monkeypatch.setattr("rumormill.libp2p.live.network.Pubsub", RecordingPubsub)
    async with AsyncExitStack() as stack:

        async def open_one(*arguments: Any, **settings: Any) -> OurNode:
            node = await open_our_node(*arguments, **settings)
            stack.push_async_callback(node.network.close)
            stack.callback(_blames_nobody, node)
            return node

        yield open_one


def _blames_nobody(node: OurNode) -> None:
    """No limit of ours is one that an honest peer meets; to be slowed down is no blame."""
    blames = ("protocol_error.too_much_work", "connection_evicted", "dropped.signatures_too_dear")
    counted = {name: count for name, count in node.network.counters.items() if count}
    held_back = {name for name in counted if name.startswith("held_back.")} - {"held_back.messages"}
    assert not held_back.union(name for name in counted if name.startswith(blames)), node.state()

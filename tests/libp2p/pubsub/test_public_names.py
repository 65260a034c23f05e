"""The public names of the pubsub rooms: sorted, there, and importable from whichever side."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

ROOMS = ["rumormill.libp2p.gossipsub", "rumormill.libp2p.pubsub", "rumormill.libp2p.wire"]


@pytest.mark.parametrize("room", ROOMS)
def test_the_public_names_are_all_there_once(room: str) -> None:
    module = importlib.import_module(room)
    names = module.__all__
    assert len(names) == len(set(names))
    assert all(hasattr(module, name) for name in names)


@pytest.mark.parametrize(
    "first",
    [
        *ROOMS,
        "rumormill.libp2p.effects",
        "rumormill.libp2p.pubsub.router",
        "rumormill.libp2p.pubsub.part",
        "rumormill.libp2p.gossipsub.mesh.mesh",
        "rumormill.libp2p.wire.merging",
        "rumormill.libp2p.host.host",
    ],
)
def test_it_does_not_matter_what_is_imported_first(first: str) -> None:
    code = f"import {first}, {', '.join(ROOMS)}"
    subprocess.run([sys.executable, "-c", code], check=True)

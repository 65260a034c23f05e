"""Who takes part: our own node, with one library for signatures or the other or without what came
after gossipsub 1.0, and the others.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from bench import versions
from tests.helpers.interop import go_peer, js_peer, py_peer, rumormill_peer, rust_peer
from tests.helpers.interop.peer_process import PeerProcessError, RouterPeer

Versions = dict[str, str]


@dataclass(frozen=True)
class Contestant:
    """One implementation."""

    name: str
    """What ``--only`` calls it, and the results."""
    peer: type[RouterPeer]
    find: Callable[[], Path]
    """Builds or installs its program."""
    versions: Callable[[Path], Versions]
    mesh_options: dict[str, Any]
    """A mesh of six in its own words."""
    options: dict[str, Any] = field(default_factory=dict)
    """How it is set up wherever it takes part."""
    in_meshes: bool = True
    verifies_known_by: str = ""
    """How we know how often it verifies; empty if it does not say and nobody has looked."""
    verifies_every_copy: bool = False


MESH_LOW, MESH_SIZE, MESH_HIGH = 5, 6, 12

_GO_MESH = {"D": MESH_SIZE, "Dlo": MESH_LOW, "Dhi": MESH_HIGH}
_GO_COUNT = "nothing: it verifies copies that come before the first is checked, and counts none"

_RUST_MESH = {
    "mesh_n": MESH_SIZE,
    "mesh_n_low": MESH_LOW,
    "mesh_n_high": MESH_HIGH,
    # By default it takes no RPC with a message of 64 KiB.
    "max_transmit_size": 1024 * 1024,
}

_OUR_MESH = {"D": MESH_SIZE, "D_low": MESH_LOW, "D_high": MESH_HIGH}
_OUR_COUNT = "its counters: delivered + rejected.bad_signature; other copies are not looked at"

_PLAIN = {"score": "off", "protocols": ["/meshsub/1.0.0"]}
"""None of what came after gossipsub 1.0."""

CONTESTANTS = (
    Contestant(
        "ours",
        rumormill_peer.RumormillPeer,
        rumormill_peer.installed_program,
        versions.ours,
        _OUR_MESH,
        verifies_known_by=_OUR_COUNT,
    ),
    Contestant(
        "plain",
        rumormill_peer.RumormillPeer,
        rumormill_peer.installed_program,
        versions.ours,
        _OUR_MESH,
        options=_PLAIN,
        in_meshes=False,
    ),
    Contestant(
        "native",
        rumormill_peer.NativeRumormillPeer,
        rumormill_peer.installed_native_program,
        versions.native,
        _OUR_MESH,
        verifies_known_by=_OUR_COUNT,
    ),
    Contestant(
        "rust",
        rust_peer.RustPeer,
        rust_peer.built_program,
        versions.rust,
        _RUST_MESH,
        verifies_known_by="its source: the codec verifies every copy it decodes, duplicates too",
        verifies_every_copy=True,
    ),
    Contestant(
        "go",
        go_peer.GoPeer,
        go_peer.built_program,
        versions.go,
        _GO_MESH,
        verifies_known_by=_GO_COUNT,
    ),
    Contestant(
        "go-1",
        go_peer.SingleThreadGoPeer,
        go_peer.built_program,
        versions.go,
        _GO_MESH,
        verifies_known_by=_GO_COUNT,
    ),
    Contestant(
        "js",
        js_peer.JsPeer,
        js_peer.installed_program,
        versions.js,
        {"D": MESH_SIZE, "Dlo": MESH_LOW, "Dhi": MESH_HIGH},
        verifies_known_by="its source: the copies are counted behind the signature check",
        verifies_every_copy=True,
    ),
    Contestant(
        "py",
        py_peer.PyPeer,
        py_peer.installed_program,
        versions.py,
        {},
        # It loses messages at the lowest of the rates.
        in_meshes=False,
    ),
)

NAMES = tuple(contestant.name for contestant in CONTESTANTS)

LABELS = {
    "ours": "ours (PyNaCl)",
    "plain": "ours (plain 1.0)",
    "native": "ours (native)",
    "rust": "rust-libp2p",
    "go": "go-libp2p",
    "go-1": "go-libp2p, one thread",
    "js": "js-libp2p",
    "py": "py-libp2p",
}


@dataclass(frozen=True)
class Entry:
    """A contestant on this machine: its program, or the reason why there is none."""

    contestant: Contestant
    program: Path | None
    missing: str = ""

    @property
    def name(self) -> str:
        return self.contestant.name

    async def start(self, **arguments: Any) -> RouterPeer:
        """Start a node of it."""
        assert self.program is not None, self.missing
        arguments["options"] = {**self.contestant.options, **arguments.get("options", {})}
        return await self.contestant.peer.start(self.program, **arguments)


def enter(contestant: Contestant) -> Entry:
    """Build or install what the contestant needs, if that is possible."""
    try:
        return Entry(contestant, contestant.find())
    except (pytest.skip.Exception, pytest.fail.Exception) as missing:
        return Entry(contestant, None, str(missing.msg))


def problem_of(error: PeerProcessError) -> str:
    """What went wrong, in one line: the first, and the last that the process said itself."""
    first, *rest = str(error).splitlines()
    last = rest[-1].strip() if rest else "empty"
    return first if last == "empty" else f"{first}: {last}"


def chosen(only: Sequence[str]) -> list[Contestant]:
    """The contestants of these names; all without any."""
    return [each for each in CONTESTANTS if not only or each.name in only]


def versions_of(entries: Iterable[Entry]) -> dict[str, Versions]:
    """What each of them consists of."""
    found: dict[str, Versions] = {}
    for entry in entries:
        if entry.program is not None:
            try:
                found[entry.name] = entry.contestant.versions(entry.program)
            except (OSError, ValueError, LookupError, subprocess.SubprocessError) as error:
                found[entry.name] = {"unknown": str(error)}
    return found

"""The nodes that are attacked, each in a process of its own, with default settings.

Two things are not as by default. Everybody here is on loopback, which ours would take for one
address: ``limit_loopback`` is off. And rust reads RPCs of 1 MiB, as we and go do, not of 64 KiB.
"""

from __future__ import annotations

import importlib.util
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from bench.contestants import LABELS, Entry
from bench.siege.processes import Program, SiegeError
from rumormill.capture.open import open_log
from rumormill.capture.schema import TRACE
from tests.helpers.bep50.siege import TOPIC as DHT_TOPIC
from tests.helpers.libp2p.siege_payloads import TOPIC

STARTING = 30.0
"""Seconds until a node says where it is."""

ROUTER_OPTIONS = {"rust": '{"max_transmit_size": 1048576}'}


class Node(Program):
    """A node that runs."""

    address = ""
    """Where others reach it."""
    http = ""
    """Where its HTTP side is."""
    spool: Path | None = None

    async def ready(self) -> None:
        """Wait until it says where it is."""
        said = await self.line(STARTING)
        if said.get("event") not in ("ready", None):
            raise SiegeError(f"{self.what} did not start: {said}")
        self.address = said.get("address") or said["addresses"][0]
        self.http = said.get("http") or ""
        if "--router" in self._command:
            # Counted and not printed, from now on.
            await self.say(do="bench_reset", topic=TOPIC)
        self.drain()

    def counters(self) -> dict[str, int]:
        """What it counted, if it is ours."""
        counters: dict[str, int] = self.newest().get("counters", {})
        return counters


@dataclass(frozen=True)
class Contestant:
    """Somebody who is attacked."""

    name: str
    label: str
    start: Callable[[Path], Node]
    """Given a folder for whatever it keeps."""
    missing: str = ""
    alone_only: bool = False
    """Whether one attacker is enough to see what it is there for."""


# ---- ours


def _ours(*more: str) -> Callable[[Path], Node]:
    command = [
        sys.executable, "-m", "rumormill.cli", "node", "--json", "--status", "1",
    ]  # fmt: skip
    return lambda folder: Node("our node", [*command, *more])


GOSSIPSUB = (
    "--topic", TOPIC, "--listen", "/ip4/127.0.0.1/tcp/0", "--set", "limit_loopback=false",
)  # fmt: skip


def _with_spool(folder: Path) -> Node:
    node = _ours(*GOSSIPSUB, "--spool", str(folder / "spool"))(folder)
    node.spool = folder / "spool"
    return node


def gossipsub_contestants(entries: Iterable[Entry]) -> list[Contestant]:
    """Ours, ours with a spool, and the other implementations."""
    found: list[Contestant] = []
    for entry in entries:
        if entry.name == "ours":
            found.append(Contestant("ours", "ours", _ours(*GOSSIPSUB)))
            found.append(Contestant("spool", "ours, with a spool", _with_spool, alone_only=True))
        elif entry.name in ("rust", "js", "go"):
            found.append(_foreign(entry))
    return found


def _foreign(entry: Entry) -> Contestant:
    def start(folder: Path) -> Node:
        assert entry.program is not None
        # All make ids alike, so that the attacker knows what to ask for.
        command = [
            *entry.contestant.peer.command(entry.program),
            "--listen", "/ip4/127.0.0.1/tcp/0", "--router", "gossipsub", "--policy", "StrictSign",
            "--topic", TOPIC, "--options", ROUTER_OPTIONS.get(entry.name, "{}"),
            "--message-id", "origin_bytes",
        ]  # fmt: skip
        return Node(f"the {entry.name} node", command)

    return Contestant(entry.name, LABELS[entry.name], start, entry.missing)


def http_contestants(entries: Iterable[Entry]) -> list[Contestant]:
    """Nobody but us has such a side."""
    mine = [entry for entry in entries if entry.name == "ours"]
    start = _ours(*GOSSIPSUB, "--http", "127.0.0.1:0")
    return [Contestant("ours", "ours", start) for _ in mine]


def bep50_contestants(entries: Iterable[Entry]) -> list[Contestant]:
    """Ours, and libtorrent on the main DHT if others than ours are wanted."""
    names = [entry.name for entry in entries]
    found: list[Contestant] = []
    if "ours" in names:
        listen = ("--network", "bep50", "--listen", "127.0.0.1:0", "--topic", DHT_TOPIC.text)
        found.append(Contestant("ours", "ours", _ours(*listen)))
    if names != ["ours"]:
        lacking = "" if importlib.util.find_spec("libtorrent") else "libtorrent is not installed"
        found.append(Contestant("libtorrent", "libtorrent", _libtorrent, lacking))
    return found


def _libtorrent(folder: Path) -> Node:
    return Node("libtorrent", [sys.executable, "-m", "bench.siege.libtorrent_node"])


# ---- what the trace says


def named_in(spool: Path, peers: Iterable[str]) -> dict[str, int]:
    """The events of the trace that name the attackers, by kind and reason."""
    wanted = set(peers)
    found: Counter[str] = Counter()
    log = open_log(spool, TRACE)
    bounds = log.bounds()
    for _, batch in log.read(bounds.earliest, bounds.latest):
        mine = batch.filter(pc.is_in(batch["peer"], _values(wanted)))
        columns = (mine[name].to_pylist() for name in ("event", "reason", "count"))
        for event, reason, count in zip(*columns, strict=True):
            found[f"{event}.{reason}" if reason else event] += count or 1
    return dict(found.most_common())


def _values(names: set[str]) -> Any:
    return pa.array(sorted(names), pa.string())


def size_of(folder: Path) -> int:
    """Bytes of all files in a folder."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())

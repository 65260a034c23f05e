"""The nodes that ``bench krpc`` measures, each in a process of its own."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import platform
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version as _version_of
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pytest

import bench
from bench import process_tree, versions
from bench.bep50.krpc_crowd import CrowdError
from tests.helpers.interop import dht_peer

OPEN_HANDED = {"work_burst": 1e9}
"""We measure what the node can do, not what it allows one address."""


class Running:
    """A node in its process. Leaving the context ends it."""

    def __init__(self, command: Sequence[str]) -> None:
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 - it lives as long as the process
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            cwd=bench.ROOT,
        )
        self._address: tuple[str, int] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._process.kill()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()
        self._process.wait()
        self._errors.close()

    def is_ready(self) -> bool:
        """Whether it has said where it is. It may need its neighbours before it can."""
        assert self._process.stdout is not None
        if self._address is None:
            readable, _, _ = select.select([self._process.stdout], [], [], 0)
            if readable:
                said = self._said()
                self._address = _address(said.get("address") or said["addresses"][0])
        return self._address is not None

    @property
    def address(self) -> tuple[str, int]:
        """Where it is."""
        assert self._address is not None
        return self._address

    def cpu_seconds(self) -> float:
        """Processor time that it took so far, threads and kernel included."""
        try:
            # The clock of another process, as clock_getcpuclockid(3) makes it: exact, and free.
            return time.clock_gettime((~self._process.pid << 3) | 2)
        except OSError:
            return process_tree.cpu_seconds(self._process.pid)

    def end(self) -> dict[str, Any]:
        """Let it end by itself; returns its last words."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        return self._said()

    def _said(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            self._process.wait(10)
            self._errors.seek(0)
            lines = self._errors.read().strip().splitlines()
            raise CrowdError(f"the node ended: {lines[-1] if lines else 'it said nothing'}")
        said: dict[str, Any] = json.loads(line)
        return said


def _address(text: str) -> tuple[str, int]:
    host, port = text.rsplit(":", 1)
    return host, int(port)


@dataclass(frozen=True)
class Program:
    """An implementation that answers queries."""

    name: str
    label: str
    has_topics: bool
    """Whether it is ours, with ``c`` in each packet."""
    command: Callable[[str, Sequence[str], dict[str, Any]], list[str]]
    """Of the topic, the neighbours and our settings."""
    versions: Callable[[], dict[str, str]]
    missing: Callable[[], str]
    """Why it cannot take part, if so."""
    answers: bool = True
    """Whether it answers queries in earnest."""

    def start(
        self, topic: str, neighbours: Sequence[str], settings: dict[str, Any] | None = None
    ) -> Running:
        """Run it."""
        return Running(self.command(topic, neighbours, settings or {}))


def _ours(native: bool) -> Callable[[str, Sequence[str], dict[str, Any]], list[str]]:
    def command(topic: str, neighbours: Sequence[str], settings: dict[str, Any]) -> list[str]:
        given = {"bootstrap": list(neighbours), **OPEN_HANDED, **settings}
        module = [sys.executable, "-m", "bench.bep50.krpc_node"]
        return [*module, str(int(native)), topic, json.dumps(given)]

    return command


def _bare(topic: str, neighbours: Sequence[str], settings: dict[str, Any]) -> list[str]:
    return [sys.executable, "-m", "bench.bep50.krpc_bare", *neighbours]


def _libtorrent(topic: str, neighbours: Sequence[str], settings: dict[str, Any]) -> list[str]:
    return [sys.executable, "-m", "bench.bep50.krpc_libtorrent", *neighbours]


def _bittorrent_dht(topic: str, neighbours: Sequence[str], settings: dict[str, Any]) -> list[str]:
    command = dht_peer.DhtPeer.command(dht_peer.installed_program())
    dial = [part for to in neighbours for part in ("--dial", to)]
    return [*command, "--listen", "127.0.0.1:0", *dial]


def _bittorrent_dht_missing() -> str:
    try:
        dht_peer.installed_program()
    except (pytest.skip.Exception, pytest.fail.Exception) as missing:
        return str(missing.msg)
    return ""


def _our_versions() -> dict[str, str]:
    return {**versions.ours(Path()), "bencode2": _version_of("bencode2")}


def _native_versions() -> dict[str, str]:
    return {**_our_versions(), **versions.native(Path())}


def _lacking(module: str, words: str) -> Callable[[], str]:
    return lambda: "" if importlib.util.find_spec(module) else words


PROGRAMS = (
    Program(
        "ours",
        "ours (PyNaCl)",
        True,
        _ours(native=False),
        _our_versions,
        lambda: "",
    ),
    Program(
        "native",
        "ours (native)",
        True,
        _ours(native=True),
        _native_versions,
        _lacking("rumormill_native", "rumormill-native is not installed: make native"),
    ),
    Program(
        "bare",
        "the datagrams alone",
        True,
        _bare,
        lambda: {"python": platform.python_version()},
        lambda: "",
        answers=False,
    ),
    Program(
        "libtorrent",
        "libtorrent",
        False,
        _libtorrent,
        lambda: {"libtorrent": _version_of("libtorrent")},
        _lacking("libtorrent", "libtorrent is not installed: pip install libtorrent"),
    ),
    Program(
        "bittorrent-dht",
        "bittorrent-dht",
        False,
        _bittorrent_dht,
        lambda: versions.bittorrent_dht(dht_peer.installed_program()),
        _bittorrent_dht_missing,
    ),
)

LABELS = {program.name: program.label for program in PROGRAMS}

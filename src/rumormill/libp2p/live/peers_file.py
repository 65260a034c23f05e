"""The file in which a node keeps whom it knew, so that it finds its network again after a restart.

Lines of JSON: what the file is, then one peer each, the latest first:

    {"file": "rumormill peers", "version": 1}
    {"id": "12D3KooW...", "addresses": ["/ip4/192.0.2.7/tcp/4001"], "last_seen": 1795000000}

A line that makes no sense costs that peer. A file that is something else altogether is moved aside,
to the same name with ``.bad``, and said so: a node begins without memory rather than not at all.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rumormill.core.errors import LocalProtocolError
from rumormill.libp2p.discovery.addresses import MOST_ADDRESSES
from rumormill.libp2p.discovery.remembered import MOST_PEERS, RememberedPeer
from rumormill.libp2p.stack.multiaddr import LONGEST_ADDRESS, Multiaddr
from rumormill.libp2p.stack.peer_id import from_text, to_text
from rumormill.live.files.private import read_private, replace_whole

KEY = "remember_peers"
"""The setting that names the file."""
HEADER = {"file": "rumormill peers", "version": 1}
LARGEST_FILE = 1024 * 1024
SHORTEST_LINE, LONGEST_LINE = 32, 16 * 1024
"""Characters: others are not worth the while to read."""
MOST_LINES = 4 * MOST_PEERS
"""Lines that are looked at."""
LATEST = 2.0**40
"""Seconds since the epoch beyond which no clock goes."""
FIRST_DELAY, INTERVAL = 5.0, 30.0
"""Seconds until the first write, and between two: a node that is killed soon knows somebody."""

log = logging.getLogger("rumormill")


def encode_peers(peers: Sequence[RememberedPeer]) -> bytes:
    """The file's content."""
    lines: list[dict[str, Any]] = [HEADER]
    for each in peers:
        line: dict[str, Any] = {
            "id": each.peer,
            "addresses": list(each.addresses[:MOST_ADDRESSES]),
            "last_seen": round(each.last_seen),
        }
        if each.failures:
            line["failures"] = each.failures
        lines.append(line)
    return "".join(json.dumps(line) + "\n" for line in lines).encode()


def decode_peers(raw: bytes) -> tuple[list[RememberedPeer], int]:
    """The peers, and how many lines made no sense; :class:`ValueError` says what the file is
    instead.
    """
    if len(raw) > LARGEST_FILE:
        raise ValueError(f"more than {LARGEST_FILE} bytes")
    lines = raw.decode(errors="replace").split("\n", MOST_LINES)
    header = _json(lines[0])
    if header is None or header.get("file") != HEADER["file"]:
        raise ValueError("it begins otherwise")
    if header.get("version") != HEADER["version"]:
        raise ValueError(
            f"its version is {header.get('version')!r:.20}, we know {HEADER['version']}"
        )
    peers: dict[str, RememberedPeer] = {}
    bad = 0
    for line in lines[1:]:
        if not line:
            continue
        peer = _peer(_json(line))
        if peer is None:
            bad += 1
        elif len(peers) < MOST_PEERS:
            peers.setdefault(peer.peer, peer)
    return list(peers.values()), bad


def _json(line: str) -> dict[str, Any] | None:
    if not SHORTEST_LINE <= len(line) <= LONGEST_LINE:
        return None
    try:
        content = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return content if isinstance(content, dict) else None


def _peer(content: dict[str, Any] | None) -> RememberedPeer | None:
    if content is None:
        return None
    id, addresses = content.get("id"), content.get("addresses")
    last_seen: Any = content.get("last_seen")
    failures = content.get("failures", 0)
    if not isinstance(id, str) or not isinstance(addresses, list):
        return None
    if not _is_time(last_seen) or type(failures) is not int or not 0 <= failures <= 1000:
        return None
    try:
        peer = to_text(from_text(id))
        places = [_place(each, peer) for each in addresses[:MOST_ADDRESSES]]
    except LocalProtocolError:
        return None
    return RememberedPeer(peer, tuple(places), float(last_seen), failures) if places else None


def _is_time(value: Any) -> bool:
    return type(value) in (int, float) and math.isfinite(value) and 0 <= value < LATEST


def _place(text: object, peer: str) -> str:
    if not isinstance(text, str) or len(text) > LONGEST_ADDRESS:
        raise LocalProtocolError("no address")
    address = Multiaddr.parse(text)
    if address.peer not in (None, peer):
        raise LocalProtocolError("the address of another peer")
    return str(address.without_peer())


class PeersFile:
    """Reads the file once, and writes what ``state`` gives whenever it has changed."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.problem = ""
        """What was wrong with the file, in one sentence."""
        self.peers = self._read()
        """Who was remembered."""
        self._written = b""
        self._keeping: asyncio.Task[None] | None = None
        self._state: Callable[[], Sequence[RememberedPeer]] = tuple
        self._failed: Callable[[OSError], None] = lambda error: None
        self._warned = False

    def _read(self) -> list[RememberedPeer]:
        """Raises :class:`ConfigError` for what cannot be read, or is not ours alone to write."""
        try:
            raw = read_private(self._path, KEY, LARGEST_FILE, secret=False)
        except FileNotFoundError:
            return []
        if not raw:
            return []
        try:
            peers, bad = decode_peers(raw)
        except ValueError as error:
            aside = self._path.with_name(f"{self._path.name}.bad")
            with contextlib.suppress(OSError):
                self._path.replace(aside)
            self.problem = f"{KEY}: {self._path} is no file of peers ({error}): moved to {aside}"
            log.warning("%s", self.problem)
            return []
        if bad:
            self.problem = f"{KEY}: {bad} lines of {self._path} make no sense and are left out"
            log.warning("%s", self.problem)
        return peers

    def start(
        self, state: Callable[[], Sequence[RememberedPeer]], failed: Callable[[OSError], None]
    ) -> None:
        """Begin to write; ``failed`` hears of what goes wrong, and it is tried again."""
        self._state, self._failed = state, failed
        self._keeping = asyncio.ensure_future(self._keep())

    async def _keep(self) -> None:
        delay = FIRST_DELAY
        while True:
            await asyncio.sleep(delay)
            await self._save_or_say()
            delay = INTERVAL

    async def _save_or_say(self) -> None:
        try:
            await self.save(self._state())
        except OSError as error:
            self._failed(error)
            if not self._warned:
                self._warned = True
                log.warning("%s: cannot write %s: %s", KEY, self._path, error.strerror)

    async def save(self, peers: Sequence[RememberedPeer]) -> None:
        """Write the file if something changed; raises :class:`OSError`.

        Who knows nobody has nothing to say that is better than what the file says.
        """
        raw = encode_peers(peers)
        if not peers or raw == self._written:
            return
        await asyncio.to_thread(replace_whole, self._path, raw)
        self._written = raw

    async def close(self) -> None:
        """Write for the last time."""
        if self._keeping is not None:
            self._keeping.cancel()
            await asyncio.wait([self._keeping])
            await self._save_or_say()

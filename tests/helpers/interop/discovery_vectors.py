"""What real peers say when they look for each other, kept as test vectors.

Files of ``tests/vectors/discovery``: one frame or packet a line, in hex, after a comment that says
what it is. ``tests/interop/test_discovery_vectors.py`` makes them.

    for line in read("kademlia", "rust"):
        if line.kind == "GET_PROVIDERS answer":
            decode(line.raw)
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from tests.helpers.interop.peer_versions import discovery_versions
from tests.helpers.interop.relay_node import Said
from tests.helpers.places import VECTORS

FOLDER = VECTORS / "discovery"
# More of a kind would teach nothing more.
MOST_OF_A_KIND = 3

KADEMLIA_KINDS = {
    0: "PUT_VALUE", 1: "GET_VALUE", 2: "ADD_PROVIDER", 3: "GET_PROVIDERS", 4: "FIND_NODE",
    5: "PING",
}  # fmt: skip
RENDEZVOUS_KINDS = {
    0: "REGISTER", 1: "REGISTER_RESPONSE", 2: "UNREGISTER", 3: "DISCOVER", 4: "DISCOVER_RESPONSE",
}  # fmt: skip


class VectorLine(NamedTuple):
    """One frame with its length prefix, or one packet."""

    kind: str
    raw: bytes


def kademlia_kind(said: Said) -> str:
    """Such as ``FIND_NODE request``."""
    way = "request" if said.request else "answer"
    return f"{KADEMLIA_KINDS[_type_of(said.frame)]} {way}"


def rendezvous_kind(said: Said) -> str:
    """Such as ``DISCOVER_RESPONSE``."""
    return RENDEZVOUS_KINDS[_type_of(said.frame)]


def packet_kind(packet: bytes) -> str:
    """Whether an mDNS packet asks or answers."""
    return "answer" if packet[2] & 0x80 else "query"


def _type_of(frame: bytes) -> int:
    """Field 1 of the message, which both protocols begin with; left out by some if it is 0."""
    start = next(at for at, byte in enumerate(frame) if byte < 0x80) + 1
    return frame[start + 1] if frame[start : start + 1] == b"\x08" else 0


# ---- files


def keep(way: str, peer: str, lines: Iterable[VectorLine]) -> None:
    """Keep what a peer said, in place of what was kept before, if this run is to write vectors."""
    if os.environ.get("RUMORMILL_WRITE_VECTORS") != "1":
        return
    text = [f"# {discovery_versions(way)[peer]}"]
    counts: Counter[str] = Counter()
    for line in lines:
        counts[line.kind] += 1
        if counts[line.kind] <= MOST_OF_A_KIND:
            text += [f"# {line.kind}", line.raw.hex()]
    FOLDER.mkdir(parents=True, exist_ok=True)
    _file(way, peer).write_text("\n".join(text) + "\n")


def read(way: str, peer: str) -> Iterator[VectorLine]:
    """What was kept of a peer; ``way`` is ``kademlia``, ``rendezvous`` or ``mdns``."""
    kind = ""
    for text in _file(way, peer).read_text().splitlines():
        if text.startswith("#"):
            kind = text.removeprefix("#").strip()
        else:
            yield VectorLine(kind, bytes.fromhex(text))


def _file(way: str, peer: str) -> Path:
    return FOLDER / f"{way}-{peer}.hex"

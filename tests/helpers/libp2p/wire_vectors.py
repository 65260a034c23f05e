"""What a real go-libp2p-pubsub node and its probes said to each other: tests/vectors/go-wire."""

from __future__ import annotations

import hashlib
import re
from typing import NamedTuple

from rumormill.libp2p.stack.keys import PrivateKey
from rumormill.libp2p.wire.frames import FrameReader
from tests.helpers.places import VECTORS

FOLDER = VECTORS / "go-wire"


class VectorFrame(NamedTuple):
    """One frame: when it was sent, and its bytes with the length prefix."""

    time: float
    raw: bytes

    @property
    def rpc(self) -> bytes:
        (frame,) = FrameReader(largest=1 << 20).feed(self.raw)
        return frame


def versions() -> list[str]:
    """All captured protocol versions and variants."""
    return sorted({path.name.rsplit("-", 2)[0] for path in FOLDER.glob("*.hex")})


def frames(version: str, direction: str, probe: str) -> list[VectorFrame]:
    """Frames from ("from") or to ("to") a probe, in order."""
    found: list[VectorFrame] = []
    time = 0.0
    for line in (FOLDER / f"{version}-{direction}-{probe}.hex").read_text().splitlines():
        if not line.startswith("#"):
            found.append(VectorFrame(time, bytes.fromhex(line)))
        elif match := re.match(r"# \d+  \+([\d.]+)s", line):
            time = float(match[1])
    return found


def all_frames() -> list[tuple[str, VectorFrame]]:
    """Every frame of every file, with the file's name."""
    return [
        (path.name, frame)
        for path in sorted(FOLDER.glob("*.hex"))
        for version, direction, probe in [path.stem.rsplit("-", 2)]
        for frame in frames(version, direction, probe)
    ]


def identity(name: str) -> PrivateKey:
    """The key of "go node", "probe B", "probe C" or "probe D"."""
    return PrivateKey.from_seed(hashlib.sha256(f"rumormill wire {name}".encode()).digest())

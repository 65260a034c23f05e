"""What our node and a peer said to each other on their pubsub streams, frame by frame.

A recording node is one whose ``Pubsub`` is a :class:`RecordingPubsub`. Transcripts are kept as
files in the form of ``tests/vectors/go-wire``: one frame a line in hex, with its length prefix,
after comments that say when it was sent and what is in it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from rumormill.core.machine import Received, Send
from rumormill.libp2p.effects import StreamRestarted
from rumormill.libp2p.pubsub.pubsub import Pubsub
from rumormill.libp2p.wire import Control, Graft, IHave, IWant, Prune, Rpc, decode_rpc
from rumormill.libp2p.wire.frames import FrameReader, length_prefixed
from rumormill.libp2p.wire.message import WireMessage
from tests.helpers.core.machines import AnyEffect, AnyInput

LARGEST_FRAME = 16 * 1024 * 1024


class Line(NamedTuple):
    """One frame; ``ours`` if our node said it."""

    time: float
    peer: str
    ours: bool
    raw: bytes
    """The frame with its length prefix."""

    @property
    def frame(self) -> bytes:
        """The frame without its length prefix."""
        (frame,) = FrameReader(LARGEST_FRAME).feed(self.raw)
        return frame

    @property
    def rpc(self) -> Rpc:
        """What it says."""
        return decode_rpc(self.frame)


class Transcript:
    """All frames of one node with all its peers, in the order in which it sent and read them."""

    def __init__(self, lines: list[Line] | None = None) -> None:
        self.lines: list[Line] = lines or []
        self._readers: dict[str, FrameReader] = {}

    def restart(self, peer: str) -> None:
        """The peer began a new stream."""
        self._readers.pop(peer, None)

    def heard(self, peer: str, data: bytes, time: float) -> None:
        """Bytes came from the peer, cut anywhere."""
        reader = self._readers.setdefault(peer, FrameReader(LARGEST_FRAME))
        for frame in reader.feed(data):
            self.lines.append(Line(time, peer, False, length_prefixed(frame)))

    def said(self, peer: str, packet: bytes, time: float) -> None:
        """Whole frames went to the peer."""
        for frame in FrameReader(LARGEST_FRAME).feed(packet):
            self.lines.append(Line(time, peer, True, length_prefixed(frame)))

    # ---- looking

    def rpcs(self, *, ours: bool) -> Iterator[Rpc]:
        """What we said, or what we heard."""
        return (line.rpc for line in self.lines if line.ours is ours)

    def messages(self, *, ours: bool) -> list[WireMessage]:
        """The messages among it."""
        return [message for rpc in self.rpcs(ours=ours) for message in rpc.messages]

    def controls(self, *, ours: bool) -> list[Control]:
        """The control messages among it."""
        return [rpc.control for rpc in self.rpcs(ours=ours) if rpc.control is not None]

    def pruned(self, topic: str, *, ours: bool) -> bool:
        """Whether the topic was pruned."""
        controls = self.controls(ours=ours)
        return any(prune.topic == topic for control in controls for prune in control.of(Prune))

    def told(self, *, ours: bool) -> set[bytes]:
        """The ids in IHAVE."""
        controls = self.controls(ours=ours)
        return {
            each for control in controls for part in control.of(IHave) for each in part.message_ids
        }

    def wanted(self, *, ours: bool) -> set[bytes]:
        """The ids in IWANT."""
        controls = self.controls(ours=ours)
        return {
            each for control in controls for part in control.of(IWant) for each in part.message_ids
        }


class RecordingPubsub(Pubsub):
    """Writes down what goes in and out of it."""

    def __init__(self, **arguments: Any) -> None:
        super().__init__(**arguments)
        self.transcript = Transcript()

    def handle(self, input: AnyInput, now: float) -> list[AnyEffect]:
        if isinstance(input, Received):
            self.transcript.heard(input.peer, input.packet, now)
        elif isinstance(input, StreamRestarted):
            self.transcript.restart(input.peer)
        return self._write_down(super().handle(input, now), now)

    def wake(self, now: float) -> list[AnyEffect]:
        return self._write_down(super().wake(now), now)

    def _write_down(self, effects: list[AnyEffect], now: float) -> list[AnyEffect]:
        for effect in effects:
            if isinstance(effect, Send):
                self.transcript.said(effect.peer, effect.packet, now)
        return effects


# ---- files


def write(path: Path, title: str, lines: list[Line], began: float) -> None:
    """Keep frames as a file; times are counted from ``began``."""
    text = [f"# {title}"]
    for number, line in enumerate(lines):
        text.append(f"# {number}  +{max(0.0, line.time - began):.3f}s")
        text.append(f"# {json.dumps(in_words(line.rpc), separators=(',', ':'))}")
        text.append(line.raw.hex())
    path.write_text("\n".join(text) + "\n")


def read(path: Path, *, ours: bool) -> list[Line]:
    """The frames of a file."""
    found: list[Line] = []
    time = 0.0
    for text in path.read_text().splitlines():
        if not text.startswith("#"):
            found.append(Line(time, "", ours, bytes.fromhex(text)))
        elif match := re.match(r"# \d+  \+([\d.]+)s", text):
            time = float(match[1])
    return found


def in_words(rpc: Rpc) -> dict[str, Any]:
    """An RPC for human eyes."""
    control = rpc.control or Control()
    found: dict[str, list[Any]] = {
        "subscriptions": [{"topic": s.topic, "subscribe": s.subscribe} for s in rpc.subscriptions],
        "publish": [
            {
                "from": (message.sender_id or b"").hex(),
                "seqno": (message.sequence or b"").hex(),
                "topics": list(message.topics),
                "bytes": len(message.data),
                "signed": message.signature is not None,
                "key": message.key is not None,
            }
            for message in rpc.messages
        ],
        "graft": [graft.topic for graft in control.of(Graft)],
        "prune": [{"topic": prune.topic, "backoff": prune.backoff} for prune in control.of(Prune)],
        "ihave": [
            {"topic": ihave.topic, "ids": [each.hex() for each in ihave.message_ids]}
            for ihave in control.of(IHave)
        ],
        "iwant": [[each.hex() for each in iwant.message_ids] for iwant in control.of(IWant)],
    }
    return {name: value for name, value in found.items() if value}

"""Fuzz a yamux session: raw bytes, and frames that nearly make sense, while its owner works."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2]))

from tests.helpers.fuzz.fuzzing import Choices, fuzz, instrumented, pieces

with instrumented(__name__):
    from rumormill.core.errors import RemoteProtocolError
    from rumormill.libp2p.stack.events import StreamData, StreamEnded, StreamReset
    from rumormill.libp2p.stack.limits import ConnectionLimits
    from rumormill.libp2p.stack.yamux.frames import DATA, HEADER, encode_header
    from rumormill.libp2p.stack.yamux.receiving import StreamArrived, YamuxEvent
    from rumormill.libp2p.stack.yamux.session import YamuxSession

# Small, so that every limit is within reach of a short input.
LIMITS = ConnectionLimits(
    streams_inbound=6,
    streams_outbound=3,
    inbound_backlog=4,
    held_bytes=1000,
    send_backlog=400_000,
    empty_frames_rate=10,
    empty_frames_burst=60,
    pings_rate=1,
    pings_burst=3,
)
LENGTHS = [0, 1, 2, 100, 1000, 131_072, 262_144, 262_145, 2**32 - 1]


class Owner:
    """Uses a session as a connection does, and checks what it is told."""

    def __init__(self, dialer: bool) -> None:
        self.session = YamuxSession(dialer=dialer, now=0.0, limits=LIMITS)
        self.now = 0.0
        self.open: dict[int, bool] = {}

    def receive(self, data: bytes) -> None:
        events: list[YamuxEvent] = []
        try:
            self.session.receive(data, self.now, events)
        finally:
            for event in events:
                self.on_event(event)
        self.check()

    def on_event(self, event: YamuxEvent) -> None:
        if isinstance(event, StreamArrived):
            assert event.stream not in self.open, "a stream arrived twice"
            self.open[event.stream] = True
        elif isinstance(event, StreamData):
            assert self.open.get(event.stream), "data on a stream that is not open"
            assert event.data, "an empty event"
        elif isinstance(event, StreamEnded):
            assert self.open[event.stream], "a stream ended twice"
            self.open[event.stream] = False
        elif isinstance(event, StreamReset):
            assert event.stream in self.open
            self.open[event.stream] = False

    def act(self, choices: Choices) -> None:
        session, stream = self.session, choices.number(12)
        action = choices.number(9)
        if action == 0:
            session.write(stream, bytes(choices.number(256) * 300))
        elif action == 1:
            session.end(stream)
        elif action == 2:
            session.reset(stream)
        elif action == 3:
            session.hold(stream, choices.number(2) == 1)
        elif action == 4:
            opened = session.open_stream()
            if opened is not None:
                self.open[opened] = True
        elif action == 5:
            session.accept(stream)
        elif action == 6:
            self.send()
        else:
            self.now += choices.number(40)
            session.wake(self.now)

    def send(self) -> None:
        """What we send must be frames in order, within what the peer granted."""
        raw, offset = self.session.data_to_send(), 0
        while offset < len(raw):
            kind, flags, stream, length = HEADER.unpack_from(raw, offset)
            assert kind <= 3 and flags <= 15
            assert kind != DATA or (stream and length <= 262_144)
            offset += HEADER.size + (length if kind == DATA else 0)
        assert offset == len(raw)
        self.check()

    def check(self) -> None:
        session, table = self.session, self.session._table
        assert len(session._partial) < HEADER.size
        assert not session._pieces
        assert 0 <= session.queued <= LIMITS.send_backlog
        assert session.queued == sum(stream.queued for stream in table.open.values())
        assert 0 <= session._held_bytes <= LIMITS.held_bytes
        assert 0 <= table._inbound <= LIMITS.streams_inbound
        assert 0 <= table._outbound <= LIMITS.streams_outbound
        assert table._inbound + table._outbound == len(table.open)
        assert len(table._waiting) <= LIMITS.inbound_backlog
        assert all(stream.send_window >= 0 for stream in table.open.values())


def frame(choices: Choices) -> bytes:
    kind, flags = choices.number(5), choices.number(17)
    stream, length = choices.number(12), LENGTHS[choices.number(len(LENGTHS))]
    header = encode_header(kind, flags, stream, length)
    return header + bytes(min(length, choices.number(256) * 600)) if kind == DATA else header


def target(data: bytes) -> None:
    choices = Choices(data)
    owner = Owner(dialer=choices.number(2) == 1)
    structured, size = choices.number(4) > 0, choices.number(17)
    try:
        while choices and not owner.session.gone:
            if structured:
                if choices.number(3):
                    raw = frame(choices)
                    # A thousand pieces of a long frame show as much as all of its bytes.
                    for piece in pieces(raw, size and max(size, len(raw) // 1000)):
                        owner.receive(piece)
                else:
                    owner.act(choices)
            else:
                owner.receive(choices.take(choices.number(60)))
    except RemoteProtocolError:
        pass


SEEDS = [
    # A stream begins, sends, is held and ends.
    bytes((0, 1, 0, 1, 0, 1, 1, 3, 9, 0, 0, 1, 3, 1, 1, 0, 4, 1, 3, 200, 0, 1, 0, 0, 1, 6)),
    # Ours: opened, written to, granted more, reset.
    bytes((1, 1, 7, 0, 0, 4, 0, 1, 0, 255, 0, 1, 6, 1, 1, 0, 1, 5, 0, 0, 0, 1, 6, 0, 1, 2)),
    bytes((0, 1, 0, 1, 2, 1, 0, 0, 0, 1, 3, 0, 0, 0, 0)),
    b"\x00\x00\x00" + b"\x0c" + encode_header(0, 1, 1, 5) + b"\x05hello",
    b"\x00\x00\x00" + b"\x0c" + encode_header(1, 1, 3, 500) + b"\x0c" + encode_header(2, 1, 0, 9),
]

if __name__ == "__main__":
    fuzz(target, SEEDS)

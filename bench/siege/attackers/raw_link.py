"""A connection whose every yamux frame is the attacker's own: thousands of tiny ones."""

from __future__ import annotations

from bench.siege.attackers.link import AT_ONCE, MESHSUB, Link
from rumormill.core.errors import RemoteProtocolError
from rumormill.libp2p.stack.limits import INITIAL_WINDOW
from rumormill.libp2p.stack.multistream import GREETING, encode_token
from rumormill.libp2p.stack.noise.handshake import NoiseTransport
from rumormill.libp2p.stack.upgrade import Upgrade
from rumormill.libp2p.stack.yamux.frames import (
    DATA,
    GO_AWAY,
    HEADER,
    HEADER_SIZE,
    SYN,
    WINDOW_UPDATE,
    encode_header,
)
from tests.helpers.libp2p.siege_payloads import Payload

STREAM = 1
SPOKEN = MESHSUB[-1]
WORST = 8192
"""Bytes that one payload may take of the window."""


class RawLink(Link):
    """It opens one stream by hand, and keeps its window: that much the node would not forgive."""

    def _begin_handshake(self) -> None:
        self._upgrade = Upgrade(self.identity, dialer=True, entropy=self._entropy)
        self._noise: NoiseTransport | None = None
        self._window = INITIAL_WINDOW
        self._unread = b""
        self._write(self._upgrade.data_to_send())

    def _take(self, data: bytes) -> None:
        try:
            if self._noise is not None:
                self._read(self._noise.decrypt(data))
                return
            rest = self._upgrade.receive(data)
            self._write(self._upgrade.data_to_send())
        except RemoteProtocolError as error:
            self._end(error.reason)
            return
        if rest is not None:
            self._noise = self._upgrade.transport
            self._open_stream()
            self._read(rest)

    def _open_stream(self) -> None:
        assert self._noise is not None and self._make_flood is not None
        words = encode_token(GREETING) + encode_token(SPOKEN)
        self._window -= len(words)
        self._write(self._noise.encrypt(encode_header(DATA, SYN, STREAM, len(words)) + words))
        self._watcher.started(self)
        self._flood = self._make_flood()
        self._soon()

    def _read(self, plaintext: bytes) -> None:
        """Look for what the node grants us, and for its goodbye."""
        data = self._unread + plaintext
        at = 0
        while at + HEADER_SIZE <= len(data):
            kind, _, stream, length = HEADER.unpack_from(data, at)
            end = at + HEADER_SIZE + (length if kind == DATA else 0)
            if end > len(data):
                break
            if kind == WINDOW_UPDATE and stream == STREAM:
                self._window += length
            elif kind == GO_AWAY:
                self._end("gone_away")
                return
            at = end
        self._unread = data[at:]
        self._soon()

    def _pump(self) -> None:
        self._scheduled = False
        if self._over or self._flood is None or self._noise is None:
            return
        for _ in range(AT_ONCE):
            # Of every unit at most one byte counts.
            if self._full or self._window < WORST:
                return
            payload: Payload = next(self._flood)
            if payload.data[1] == DATA:
                self._window -= payload.units
            self._watcher.sent(payload)
            self._write(self._noise.encrypt(payload.data))
        self._soon()

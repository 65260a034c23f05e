"""yamux: many streams over one connection, each with its own flow control.

The session turns plaintext into events (:mod:`~rumormill.libp2p.stack.yamux.receiving`) and, here,
the other way round: writes are collected, and :meth:`YamuxSession.data_to_send` makes one frame per
stream of them.
"""

from __future__ import annotations

from rumormill.core.errors import RemoteProtocolError
from rumormill.libp2p.stack.yamux.frames import PING, SYN, encode_header
from rumormill.libp2p.stack.yamux.receiving import Receiving

YAMUX = "/yamux/1.0.0"


class YamuxSession(Receiving):
    """One side of a session. The dialer's streams have odd numbers.

    >>> ours, theirs = YamuxSession(dialer=True, now=0.0), YamuxSession(dialer=False, now=0.0)
    >>> stream = ours.open_stream()
    >>> ours.write(stream, b"hel"), ours.write(stream, b"lo")
    (0, 0)
    >>> events = []
    >>> theirs.receive(ours.data_to_send(), 0.0, events)
    >>> events
    [StreamArrived(stream=1), StreamData(stream=1, data=b'hello')]
    """

    __slots__ = ()

    # ---- streams

    def open_stream(self) -> int | None:
        """Begin a stream of ours, whose first frame leaves with its first write.

        None if there are too many.
        """
        return None if self._table.full else self._table.add_ours().number

    def skip_stream(self) -> int:
        """A number of ours that no stream will have: the name of one that cannot be opened."""
        return self._table.next_number()

    def accept(self, stream: int) -> None:
        """The owner knows what to do with a stream that the peer began."""
        self._table.accept(stream)

    def write(self, stream: int, data: bytes) -> int:
        """Queue bytes; on a stream that is gone, or that we ended, nothing happens.

        Returns what of the stream waits for the peer's window. Raises
        :class:`RemoteProtocolError` when more is queued than a peer may keep us waiting for.
        """
        target = self._streams.get(stream)
        if target is None or target.end_wanted or not data:
            return 0 if target is None else target.unsent
        size = len(data)
        target.chunks.append(data)
        target.queued += size
        self.dirty[stream] = target
        self.queued += size
        if self.queued > self._limits.send_backlog:
            self.keep(0)
        if target.queued <= target.send_window:
            return 0
        target.blocked = True
        return target.unsent

    def keep(self, size: int) -> None:
        """Count bytes that wait for the peer, here or with the owner."""
        self.queued += size
        if self.queued > self._limits.send_backlog:
            raise RemoteProtocolError("send_backlog", f"{self.queued} bytes wait for the peer")

    def unsent(self, stream: int) -> int:
        """Bytes that wait for the peer's window."""
        target = self._streams.get(stream)
        return 0 if target is None else target.unsent

    def unconfirmed(self, stream: int) -> int:
        """Bytes written that the peer may not have read; see :class:`YamuxStream`.

        Of a stream that the peer has reset, until more of the peer's bytes are read.
        """
        target = self._streams.get(stream)
        return self._reset.get(stream, 0) if target is None else target.unconfirmed

    def all_unconfirmed(self) -> dict[int, int]:
        """The same of every stream that there is."""
        return {number: stream.unconfirmed for number, stream in self._streams.items()}

    def end(self, stream: int) -> None:
        """Send nothing more on this stream once what is queued has left."""
        target = self._streams.get(stream)
        if target is not None:
            target.end_wanted = True
            self.dirty[stream] = target

    def reset(self, stream: int) -> None:
        """Drop a stream, with all that is queued on it."""
        target = self._streams.get(stream)
        if target is not None:
            self._forget(target)
            if target.first_flags != SYN:  # else the peer never heard of it
                self._refuse(stream)

    def hold(self, stream: int, held: bool) -> None:
        """While held, the peer is granted no room for more on this stream."""
        target = self._streams.get(stream)
        if target is not None and target.held != held:
            self._held_bytes -= target.held_bytes
            target.set_held(held)
            if target.receive_window <= target.low_water:
                self.dirty[stream] = target

    # ---- sending and time

    def data_to_send(self) -> bytes:
        """Everything that may leave now."""
        if not self.dirty and not self.control:
            return b""
        out: list[bytes | memoryview] = [*self.control]
        self.control.clear()
        dirty, self.dirty = self.dirty, {}
        for stream in dirty.values():
            before = stream.queued
            stream.frames(out)
            self.queued -= before - stream.queued
            if stream.end_sent and stream.over:
                self._forget(stream)
        return b"".join(out)

    def nudge(self) -> None:
        """Send a ping whose answer nobody waits for."""
        self.control.append(encode_header(PING, SYN, 0, 0))

    def wake(self, now: float) -> None:
        """Ping a silent peer; raise :class:`RemoteProtocolError` if it stays silent."""
        ping = self._keepalive.wake(now)
        if ping:
            self.control.append(ping)

    def next_wake(self) -> float:
        """When :meth:`wake` has something to do."""
        return self._keepalive.wake_at

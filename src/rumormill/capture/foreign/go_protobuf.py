"""The protobuf traces of go-libp2p-pubsub: delimited events, or batches of them.

A file of its PB tracer holds one ``TraceEvent`` after the other, each behind its length; what its
remote tracer sends holds ``TraceEventBatch``. The two are told apart frame by frame: field 1 is a
number in an event and a message in a batch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from rumormill.capture.foreign.errors import BadEventError, MalformedError
from rumormill.capture.foreign.findings import Findings
from rumormill.capture.foreign.json_lines import describe
from rumormill.capture.foreign.names import LONGEST_NAME, Cache, peer_name
from rumormill.capture.foreign.protobuf import LONGEST_FRAME, frame_size, read_frames, read_time
from rumormill.capture.foreign.rows import LATEST, Row
from rumormill.capture.foreign.source import ByteSource
from rumormill.capture.foreign.translate import Packet, Translator
from rumormill.core.errors import RemoteProtocolError
from rumormill.core.protobuf import VARINT, fields, read_field, read_message

Message = dict[int, Any]
"""The fields of a protobuf message by number: numbers and bytes."""

ENVELOPE = 4
"""Fields of an event: type, peerID, timestamp, and what only its type has, which is field 4 for
type 0, and so on."""

LONGEST_KEPT = 512
"""Bytes of a packet's description that is looked up instead of being read again."""

BATCH = b"\x0a"
"""How a batch begins: field 1 is length-delimited."""

NOTHING = Packet()


class GoProtobufReader:
    """Reads one file."""

    def __init__(self, source: ByteSource, findings: Findings) -> None:
        self._source = source
        self._findings = findings
        self._translator = Translator()
        self._peers = Cache(peer_name)
        self._ids = Cache(_message_id)
        self._texts = Cache(_text)
        self._packets = Cache(self._read_packet)
        self._handlers: tuple[Callable[[int, str, Message], None], ...] = (
            self._publish, self._reject, self._duplicate, self._deliver, self._add_peer,
            self._remove_peer, self._receive, self._send, self._drop, self._join, self._leave,
            self._graft, self._prune,
        )  # fmt: skip
        self._begin = 0
        """Where the buffer that is being read begins in the file."""
        self._offset = 0
        """Where the event that is being read begins in the buffer."""

    def read(self) -> Iterator[list[Row]]:
        """The rows of each block of the file."""
        held: list[bytes] = []
        size = wanted = 0
        pieces = iter(self._source)
        for piece in pieces:
            # A long event is put together when all of it is there, not with each of its pieces.
            held.append(piece)
            size += len(piece)
            if size < wanted:
                continue
            buffer = b"".join(held)
            self._offset = 0
            try:
                done = self._read_buffer(buffer)
            except (MalformedError, RemoteProtocolError) as error:
                # Nothing behind the damage can be trusted, but how much it is can be counted.
                size = len(buffer) + sum(map(len, pieces)) - self._offset
                self._findings.problem(_what_broke(error), self._begin + self._offset, size)
                yield self._translator.take()
                return
            self._begin += done
            rest = buffer[done:]
            held, size, wanted = [rest], len(rest), frame_size(rest)
            yield self._translator.take()
        if self._source.damage or size:
            what = self._source.damage or "the last event is cut short"
            self._findings.problem(what, self._begin, size)

    def _read_buffer(self, buffer: bytes) -> int:
        """Read the whole frames; returns where the first that is not whole begins."""
        frames, done = read_frames(buffer)
        for start, end in frames:
            if start == end:
                # Zeros, as a crash may leave them; no event is empty.
                self._offset = start - 1
                raise MalformedError("an event of 0 bytes")
            if buffer.startswith(BATCH, start, end):
                self._read_batch(buffer, start, end)
            else:
                self._read_event(buffer, start, end)
        return done

    def _read_batch(self, buffer: bytes, offset: int, end: int) -> None:
        while offset < end:
            self._offset = offset
            number, _, start, offset = read_field(buffer, offset, end)
            if number == 1:
                self._read_event(buffer, start, offset)
            else:
                self._findings.unknown_fields += 1

    def _read_event(self, buffer: bytes, offset: int, end: int) -> None:
        self._offset = offset
        event: Message = read_message(buffer, offset, end, read_time)
        try:
            self._handle(event)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            self._findings.bad_event(_describe(error), self._begin + offset, end - offset)
        else:
            self._findings.events += 1

    def _handle(self, event: Message) -> None:
        kind, time = event[1], event[3]
        if kind >= len(self._handlers):
            self._findings.leave_out(f"type {kind}")
            return
        if time > LATEST:
            raise BadEventError("a time out of range")
        body: bytes = event[kind + ENVELOPE]
        self._handlers[kind](time, self._peers[event[2]], read_message(body, 0, len(body)))
        if len(event) > ENVELOPE:
            self._findings.unknown_fields += len(event) - ENVELOPE

    def _unknown(self, found: Message, known: int) -> None:
        if len(found) > known:
            self._findings.unknown_fields += len(found) - known

    # ---- messages

    def _publish(self, time: int, node: str, body: Message) -> None:
        self._translator.published(time, node, self._texts[body.get(2)], self._ids[body[1]])
        self._unknown(body, 2)

    def _reject(self, time: int, node: str, body: Message) -> None:
        self._translator.rejected(
            time,
            node,
            self._texts[body.get(4)],
            self._ids[body[1]],
            self._peers[body.get(2)],
            self._texts[body.get(3)],
        )
        self._unknown(body, 4)

    def _duplicate(self, time: int, node: str, body: Message) -> None:
        self._translator.duplicate(
            time, node, self._texts[body.get(3)], self._ids[body[1]], self._peers[body.get(2)]
        )
        self._unknown(body, 3)

    def _deliver(self, time: int, node: str, body: Message) -> None:
        self._translator.delivered(
            time, node, self._texts[body.get(2)], self._ids[body[1]], self._peers[body.get(3)]
        )
        self._unknown(body, 3)

    # ---- topics and peers

    def _add_peer(self, time: int, node: str, body: Message) -> None:
        self._translator.peer_joined(time, node, self._peers[body[1]], self._texts[body.get(2)])
        self._unknown(body, 2)

    def _remove_peer(self, time: int, node: str, body: Message) -> None:
        self._translator.peer_left(time, node, self._peers[body[1]])
        self._unknown(body, 1)

    def _join(self, time: int, node: str, body: Message) -> None:
        self._translator.subscribed(time, node, self._texts[body[1]])
        self._unknown(body, 1)

    def _leave(self, time: int, node: str, body: Message) -> None:
        # Not field 1, as in JOIN.
        self._translator.unsubscribed(time, node, self._texts[body[2]])
        self._unknown(body, 1)

    def _graft(self, time: int, node: str, body: Message) -> None:
        self._translator.grafted(time, node, self._texts[body[2]], self._peers[body[1]])
        self._unknown(body, 2)

    def _prune(self, time: int, node: str, body: Message) -> None:
        self._translator.pruned(time, node, self._texts[body[2]], self._peers[body[1]])
        self._unknown(body, 2)

    # ---- packets

    def _receive(self, time: int, node: str, body: Message) -> None:
        self._translator.received(time, node, self._peers[body[1]], self._packet(body))

    def _send(self, time: int, node: str, body: Message) -> None:
        self._translator.sent(time, node, self._peers[body[1]], self._packet(body))

    def _drop(self, time: int, node: str, body: Message) -> None:
        self._translator.dropped(time, node, self._peers[body[1]], self._packet(body))

    def _packet(self, body: Message) -> Packet:
        """What is in a packet; the same message goes to many peers, and is read once."""
        if len(body) > 2:
            self._findings.unknown_fields += len(body) - 2
        meta = body.get(2)
        if not meta:
            return NOTHING
        packet: Packet
        packet = self._packets[meta] if len(meta) <= LONGEST_KEPT else self._read_packet(meta)
        if packet.unknown:
            self._findings.unknown_fields += packet.unknown
        return packet

    def _read_packet(self, meta: bytes) -> Packet:
        messages = unknown = 0
        subscriptions: list[tuple[bool, str | None]] = []
        control = [0, 0, 0, 0, 0]
        wanted: list[bytes] = []
        for number, value in _fields(meta):
            if number == 1:
                messages += 1
            elif number == 2:
                subscription: Message = dict(_fields(_bytes(value)))
                subscriptions.append((subscription.get(1) == 1, self._texts[subscription[2]]))
            elif number == 3:
                unknown += self._read_control(_bytes(value), control, wanted)
            else:
                unknown += 1
        return Packet((len(subscriptions), messages, *control), subscriptions, wanted, unknown)

    def _read_control(self, raw: bytes, counts: list[int], wanted: list[bytes]) -> int:
        """Count IHAVE, IWANT, GRAFT, PRUNE and IDONTWANT; returns how many fields are none."""
        unknown = 0
        for number, value in _fields(raw):
            if number > len(counts):
                unknown += 1
                continue
            counts[number - 1] += 1
            if number == 2:
                wanted += [self._ids[each] for at, each in _fields(_bytes(value)) if at == 1]
        return unknown


def _fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """All fields of a message in their order: number and value. A frame bounds how many."""
    for number, kind, first, last in fields(message, 0, len(message), LONGEST_FRAME):
        yield number, first if kind == VARINT else message[first:last]


def _bytes(value: int | bytes) -> bytes:
    if isinstance(value, int):
        raise BadEventError("a number where a message should be")
    return value


def _message_id(raw: bytes) -> bytes:
    if len(raw) > LONGEST_NAME:
        raise BadEventError(f"a message id of {len(raw)} bytes")
    return raw


def _text(raw: bytes) -> str:
    if len(raw) > LONGEST_NAME:
        raise BadEventError(f"a name of {len(raw)} bytes")
    return raw.decode("utf-8", "replace")


def _what_broke(error: MalformedError | RemoteProtocolError) -> str:
    """The reader speaks of a peer that sent it; here it is a file that was damaged."""
    return error.detail if isinstance(error, RemoteProtocolError) else str(error)


def _describe(error: Exception) -> str:
    if isinstance(error, KeyError):
        return f"an event that lacks field {error.args[0]}"
    return describe(error)

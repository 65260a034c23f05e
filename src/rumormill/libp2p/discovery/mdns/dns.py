"""DNS messages (RFC 1035), as far as mDNS among libp2p nodes needs them (RFC 6762).

A name is a tuple of labels, in small letters: ``(b"_p2p", b"_udp", b"local")``. Names may end in a
pointer to an earlier one; ours do not, for the few bytes are not worth it.
"""

from __future__ import annotations

import struct
from typing import NamedTuple, TypeAlias

from rumormill.core.errors import RemoteProtocolError

Name: TypeAlias = tuple[bytes, ...]

A, PTR, TXT, AAAA, SRV = 1, 12, 16, 28, 33
"""Types of records."""

INTERNET = 1
FLUSH = 0x8000
"""In the class of a record: forget what you knew of this name. In the class of a question: an
answer to me alone will do."""

RESPONSE = 0x8000
AUTHORITATIVE = 0x0400
NOT_A_QUERY = 0x7800
"""The bits of the kind of query; 0 is the usual one, and mDNS knows no other."""

LARGEST_MESSAGE = 9000
"""Bytes, as RFC 6762 has it."""
LONGEST_NAME = 255
LONGEST_LABEL = 63
LONGEST_STRING = 255
MOST_ENTRIES = 256
"""Questions and records of one message: some devices send a few dozen."""

POINTER = 0xC0

_HEADER = struct.Struct("!6H")
_QUESTION = struct.Struct("!2H")
_RECORD = struct.Struct("!2HIH")
_SERVICE = struct.Struct("!3H")


class Question(NamedTuple):
    """What somebody wants to know."""

    name: Name
    type: int


class Record(NamedTuple):
    """What somebody says of a name."""

    name: Name
    type: int
    ttl: int
    """Seconds for which it holds; 0 takes it back."""
    data: bytes
    """As it came; of PTR see :attr:`target`, of TXT :attr:`strings`."""
    target: Name = ()
    """The name that a PTR record leads to."""
    strings: tuple[bytes, ...] = ()
    """Of a TXT record."""


class Message(NamedTuple):
    """One message."""

    is_response: bool
    questions: tuple[Question, ...]
    records: tuple[Record, ...]
    """Of all sections: js puts everything among the answers, go and rust most of it behind."""


# ---- reading


def decode_message(raw: bytes) -> Message:
    """Read a message; :class:`RemoteProtocolError` with the reason ``bad_dns`` if it is none.

    >>> message = decode_message(encode_query((b"_p2p", b"_udp", b"local")))
    >>> message.is_response, message.questions
    (False, (Question(name=(b'_p2p', b'_udp', b'local'), type=12),))
    """
    if len(raw) > LARGEST_MESSAGE:
        raise _bad(f"{len(raw)} bytes")
    if len(raw) < _HEADER.size:
        raise _bad("cut short")
    _, flags, asked, *counts = _HEADER.unpack_from(raw)
    if flags & NOT_A_QUERY:
        raise _bad("not a query, nor the answer to one")
    told = sum(counts)
    if asked + told > MOST_ENTRIES:
        raise _bad(f"{asked + told} questions and records")
    at = _HEADER.size
    questions: list[Question] = []
    for _ in range(asked):
        question, at = _decode_question(raw, at)
        questions.append(question)
    records: list[Record] = []
    for _ in range(told):
        record, at = _decode_record(raw, at)
        if record is not None:
            records.append(record)
    if at != len(raw):
        raise _bad("something follows its end")
    return Message(bool(flags & RESPONSE), tuple(questions), tuple(records))


def _decode_question(raw: bytes, at: int) -> tuple[Question, int]:
    name, at = _decode_name(raw, at)
    end = at + _QUESTION.size
    if end > len(raw):
        raise _bad("cut short in a question")
    return Question(name, _QUESTION.unpack_from(raw, at)[0]), end


def _decode_record(raw: bytes, at: int) -> tuple[Record | None, int]:
    """The record, if it is of the Internet, and where the next one begins."""
    name, at = _decode_name(raw, at)
    start = at + _RECORD.size
    if start > len(raw):
        raise _bad("cut short in a record")
    kind, of_class, ttl, size = _RECORD.unpack_from(raw, at)
    end = start + size
    if end > len(raw):
        raise _bad("cut short in a record")
    if of_class & ~FLUSH != INTERNET:
        return None, end  # EDNS puts other things there
    data = raw[start:end]
    if kind == PTR:
        target, after = _decode_name(raw, start)
        if after != end:
            raise _bad("a name longer or shorter than its record")
        return Record(name, kind, ttl, data, target), end
    if kind == TXT:
        return Record(name, kind, ttl, data, strings=_decode_strings(data)), end
    return Record(name, kind, ttl, data), end


def _decode_name(raw: bytes, at: int) -> tuple[Name, int]:
    """The name, and where what follows it begins.

    Each pointer leads to before the piece that it ends, so there is no way around in a circle; and
    the length of a name bounds how many pieces it has.
    """
    labels: list[bytes] = []
    after = 0
    piece, size = at, 0
    while True:
        if at >= len(raw):
            raise _bad("cut short in a name")
        length = raw[at]
        if length >= POINTER:
            if at + 1 >= len(raw):
                raise _bad("cut short in a name")
            after = after or at + 2
            at = (length & ~POINTER) << 8 | raw[at + 1]
            if at >= piece:
                raise _bad("a pointer that does not lead back")
            piece = at
            size += 1  # pointers that lead to pointers are not for free either
        elif length > LONGEST_LABEL:
            raise _bad("a label of a kind that there is not")
        else:
            at += 1
            if not length:
                return tuple(labels), after or at
            labels.append(raw[at : at + length].lower())
            at += length
            size += length + 1
        if size > LONGEST_NAME:
            raise _bad("a name that is too long")


def _decode_strings(data: bytes) -> tuple[bytes, ...]:
    strings: list[bytes] = []
    at = 0
    while at < len(data):
        end = at + 1 + data[at]
        if end > len(data):
            raise _bad("a text longer than its record")
        strings.append(data[at + 1 : end])
        at = end
    return tuple(strings)


def _bad(detail: str) -> RemoteProtocolError:
    return RemoteProtocolError("bad_dns", detail)


# ---- writing


def encode_query(name: Name, type: int = PTR) -> bytes:
    """A message with one question."""
    question = encode_name(name) + _QUESTION.pack(type, INTERNET)
    return _HEADER.pack(0, 0, 1, 0, 0, 0) + question


def encode_response(answers: list[bytes], additional: list[bytes] | None = None) -> bytes:
    """A message that tells something; each record is of :func:`encode_record`."""
    more = additional or []
    header = _HEADER.pack(0, RESPONSE | AUTHORITATIVE, 0, len(answers), 0, len(more))
    return header + b"".join(answers) + b"".join(more)


def encode_record(name: Name, type: int, ttl: int, data: bytes, *, ours: bool = True) -> bytes:
    """One record; ``ours``: the name is nobody else's, and what was said of it before is void."""
    of_class = INTERNET | FLUSH if ours else INTERNET
    return encode_name(name) + _RECORD.pack(type, of_class, ttl, len(data)) + data


def encode_name(name: Name) -> bytes:
    """A name without pointers.

    >>> encode_name((b"p2p", b"local"))
    b'\\x03p2p\\x05local\\x00'
    """
    return b"".join([bytes((len(label),)) + label for label in name]) + b"\x00"


def encode_strings(strings: list[bytes]) -> bytes:
    """The data of a TXT record; each string has no more than :data:`LONGEST_STRING` bytes."""
    return b"".join([bytes((len(each),)) + each for each in strings]) or b"\x00"


def encode_service(port: int, host: Name) -> bytes:
    """The data of an SRV record."""
    return _SERVICE.pack(0, 0, port) + encode_name(host)

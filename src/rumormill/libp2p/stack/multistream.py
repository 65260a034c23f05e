"""multistream-select 1.0: two sides agree on a protocol by name.

A token on the wire is ``length || text || newline``, the length a varint that counts the newline.
The dialer sends the greeting and its first proposal in one write, and the listener its greeting
and its answer, so that an agreement on the first proposal costs one round trip.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from rumormill.core.errors import LocalProtocolError, RemoteProtocolError
from rumormill.core.protobuf import encode_varint

GREETING = "/multistream/1.0.0"
NOT_AVAILABLE = "na"

LONGEST_TOKEN = 1024
"""Bytes of one token, newline included. Real protocol names have less than a hundred."""
MOST_PROPOSALS = 64
"""Tokens that a listener answers before it gives up on the dialer."""


def encode_token(text: str) -> bytes:
    r"""One token as it goes onto the wire.

    >>> encode_token("na")
    b'\x03na\n'
    """
    line = text.encode("utf-8") + b"\n"
    if len(line) > LONGEST_TOKEN or "\n" in text:
        raise LocalProtocolError(f"{text[:60]!r} cannot be the name of a protocol")
    return encode_varint(len(line)) + line


class TokenReader:
    r"""Cuts tokens out of bytes that come in any pieces; holds no more than one token.

    >>> reader = TokenReader()
    >>> reader.feed(b"\x03n"), reader.next(), reader.feed(b"a\nrest"), reader.next(), reader.rest()
    (None, None, None, 'na', b'rest')
    """

    __slots__ = ("_data", "_offset")

    def __init__(self) -> None:
        self._data = b""
        self._offset = 0

    def feed(self, data: bytes) -> None:
        """Take more bytes. Call :meth:`next` until it returns None before feeding again."""
        # What is carried over is part of one token: 1 KiB at most, so this copy stays small.
        self._data = self._data[self._offset :] + data if self._data else data
        self._offset = 0

    def next(self) -> str | None:
        """The next token without its newline; None if it has not arrived in full."""
        data, offset = self._data, self._offset
        if offset >= len(data):
            return None
        length = data[offset]
        offset += 1
        if length >= 0x80:
            if offset >= len(data):
                return None
            if data[offset] >= 0x80:
                raise RemoteProtocolError("token_too_long", "a length of more than two bytes")
            length = length & 0x7F | data[offset] << 7
            offset += 1
        if length > LONGEST_TOKEN:
            raise RemoteProtocolError(
                "token_too_long", f"a token of {length} bytes, {LONGEST_TOKEN} allowed"
            )
        end = offset + length
        if end > len(data):
            return None
        if length == 0 or data[end - 1] != 0x0A:
            raise RemoteProtocolError("bad_token", "a token without newline")
        self._offset = end
        return _text(data[offset : end - 1])

    def rest(self) -> bytes:
        """Everything behind the last token."""
        return self._data[self._offset :] if self._offset else self._data


def _text(raw: bytes) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        raise RemoteProtocolError("bad_token", "a token that is not UTF-8") from None


class Negotiation:
    r"""One side of one agreement; make it with :meth:`dialer` or :meth:`listener`.

    >>> dialer = Negotiation.dialer(["/chess", "/go"])
    >>> listener = Negotiation.listener(["/go"])
    >>> listener.receive(dialer.data_to_send()), dialer.receive(listener.data_to_send())
    (None, None)
    >>> listener.receive(dialer.data_to_send() + b"move"), dialer.receive(listener.data_to_send())
    (b'move', b'')
    >>> dialer.protocol, listener.protocol
    ('/go', '/go')
    """

    __slots__ = ("_answered", "_greeted", "_out", "_proposals", "_reader", "_supported", "protocol")

    def __init__(self, proposals: Sequence[str] | None, supported: Collection[str]) -> None:
        self.protocol: str | None = None
        """What was agreed on, once it was."""
        self._proposals = proposals
        self._supported = supported
        self._reader = TokenReader()
        self._greeted = False
        self._answered = 0
        self._out = [encode_token(GREETING)]
        if proposals is not None:
            if not proposals:
                raise LocalProtocolError("a dialer has to propose at least one protocol")
            self._out.append(encode_token(proposals[0]))

    @classmethod
    def dialer(cls, proposals: Sequence[str]) -> Negotiation:
        """The side that proposes, best first."""
        return cls(proposals, ())

    @classmethod
    def listener(cls, supported: Collection[str]) -> Negotiation:
        """The side that accepts one of ``supported`` or says no."""
        return cls(None, supported)

    def receive(self, data: bytes) -> bytes | None:
        """Take bytes; return what lies behind the agreement once there is one, else None.

        Raises :class:`RemoteProtocolError` if there will be none. No more bytes may be given after
        either.
        """
        reader = self._reader
        reader.feed(data)
        while self.protocol is None:
            token = reader.next()
            if token is None:
                return None
            if not self._greeted:
                self._greet(token)
            elif self._proposals is None:
                self._on_proposal(token)
            else:
                self._on_answer(token, self._proposals)
        return reader.rest()

    def data_to_send(self) -> bytes:
        """Everything to write now."""
        out = b"".join(self._out)
        self._out.clear()
        return out

    def _greet(self, token: str) -> None:
        if token != GREETING:
            raise RemoteProtocolError("bad_greeting", f"{token[:60]!r} is not {GREETING}")
        self._greeted = True

    def _on_proposal(self, token: str) -> None:
        self._answered += 1
        if token in self._supported:
            self.protocol = token
            self._out.append(encode_token(token))
        elif self._answered >= MOST_PROPOSALS:
            raise RemoteProtocolError("too_many_proposals", f"{self._answered} without agreement")
        else:
            # Also the answer to "ls": nobody needs the list, and identify gives it.
            self._out.append(encode_token(NOT_AVAILABLE))

    def _on_answer(self, token: str, proposals: Sequence[str]) -> None:
        proposed = proposals[self._answered]
        if token == proposed:
            self.protocol = token
            return
        if token != NOT_AVAILABLE:
            raise RemoteProtocolError(
                "unexpected_answer", f"{token[:60]!r} to the proposal {proposed!r}"
            )
        self._answered += 1
        if self._answered == len(proposals):
            raise RemoteProtocolError("no_common_protocol", f"none of {', '.join(proposals)[:200]}")
        self._out.append(encode_token(proposals[self._answered]))

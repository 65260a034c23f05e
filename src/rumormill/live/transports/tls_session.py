"""One TLS session between two queues of bytes: no socket.

What came from the other end goes in, and what is for the machine comes out; what is for the other
end gathers until somebody takes it (:meth:`Session.sealed`).
"""

from __future__ import annotations

import contextlib
import ssl
from collections.abc import Callable
from time import monotonic

from rumormill.core.transport import TransportOpened
from rumormill.live.transports.client_hello import UNKNOWN, Offer, read_client_hello
from rumormill.live.transports.tls_words import ANSWERS_UNREAD, TOO_LONG, Failure, failure_of

ContextChoice = Callable[[Offer], ssl.SSLContext]
"""Which context serves a client, by what it offers; of some clients nothing is known."""

LARGEST_RECORD = 1 << 14
"""Bytes of the machine in one record, at most."""

PIECE = 4 * LARGEST_RECORD
"""Bytes that are encrypted or decrypted at once: OpenSSL's queues never give their memory back, so
they must not grow with what is written."""

MOST_HANDSHAKE_BYTES = 1 << 17
"""Bytes of the other end before the handshake must be done: several chains of certificates."""


class HandshakeError(Exception):
    """A handshake has failed."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure)
        self.failure = failure


class Session:
    """One session, from the first byte of its handshake on."""

    __slots__ = (
        "_came", "_choose", "_hello", "_incoming", "_outgoing", "_read", "_ssl", "_write",
        "address", "blocked", "closing", "dial", "due_at", "established", "failure", "number",
        "owner", "service", "spent", "waited", "waits",
    )  # fmt: skip

    _ssl: ssl.SSLObject | None
    _read: Callable[[int], bytes]
    _write: Callable[[bytes | memoryview], int]

    def __init__(self, opened: TransportOpened, choose: ContextChoice) -> None:
        self.number, self.address, self.dial, self.service, _ = opened
        self._choose = choose
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._ssl = None
        self._hello = bytearray()
        self._came = 0
        self.owner = ""
        """Who has to answer for the handshake, if the other end has dialed."""
        self.spent = 0.0
        """Seconds that the handshake has taken of our time."""
        self.waited = False
        """Whether its handshake has waited for the debts of its owner, or need not."""
        self.due_at = 0.0
        """Since when it is the other end that its handshake waits for."""
        self.established = False
        """Whether the machine knows of it."""
        self.blocked = False
        """Whether the socket takes no more, because the other end does not read."""
        self.closing = False
        """Whether nothing more is read or written."""
        self.failure: Failure | None = None
        """Why it is over, when the other end has closed it or does not speak TLS."""
        self.waits = False
        """Whether it stands among those whose bytes are to be sent."""

    # ---- the handshake

    def shake(self, data: bytes) -> bool:
        """Go on with the handshake; whether it is done. Who has dialed begins without bytes.

        Raises :class:`HandshakeError`; what :meth:`sealed` has then tells the other end why.
        """
        self._came += len(data)
        began = monotonic()
        try:
            return self._shake(data)
        except ssl.SSLWantReadError:
            if self._came > MOST_HANDSHAKE_BYTES:
                raise HandshakeError(Failure(TOO_LONG, f"{self._came} bytes")) from None
            return False
        except ssl.SSLError as error:
            raise HandshakeError(failure_of(error)) from None
        finally:
            self.spent += monotonic() - began

    def keep(self, data: bytes) -> None:
        """Look at the first bytes later, with those that follow."""
        self._came += len(data)
        self._hello += data

    def _shake(self, data: bytes) -> bool:
        if self._ssl is None:
            self._hello += data
            offer = UNKNOWN if self.dial is not None else read_client_hello(self._hello)
            if offer is None:
                return False
            self._ssl = self._start(self._choose(offer))
            data, self._hello = bytes(self._hello), bytearray()
        self._incoming.write(data)
        self._ssl.do_handshake()
        return True

    def _start(self, context: ssl.SSLContext) -> ssl.SSLObject:
        context.options |= ssl.OP_NO_RENEGOTIATION
        found = context.wrap_bio(self._incoming, self._outgoing, server_side=self.dial is None)
        self._read, self._write = found.read, found.write
        return found

    def certificate(self) -> bytes:
        """The other end's, in DER; empty if it has none and need not have one."""
        assert self._ssl is not None
        return self._ssl.getpeercert(binary_form=True) or b""

    # ---- bytes

    def open(self, data: bytes) -> bytes:
        """Decrypt what came; :attr:`failure` is set if nothing more will follow."""
        if len(data) <= PIECE:
            self._incoming.write(data)
            return self.opened()
        view = memoryview(data)
        found = []
        for start in range(0, len(data), PIECE):
            self._incoming.write(view[start : start + PIECE])
            found.append(self.opened())
            if self.failure is not None:
                break
        return b"".join(found)

    def opened(self) -> bytes:
        """Decrypt what came together with the end of the handshake."""
        incoming, read = self._incoming, self._read
        answers = self._outgoing.pending
        found: list[bytes] = []
        # A look at what is left is cheap, to be told that nothing is left is an exception.
        while incoming.pending:
            try:
                piece = read(LARGEST_RECORD)
            except ssl.SSLWantReadError:
                break
            except ssl.SSLError as error:
                self.failure = failure_of(error)
                break
            if not piece:  # the other end has closed
                self.failure = Failure("closed")
                break
            found.append(piece)
        if self.blocked and self._outgoing.pending > answers:
            # Nobody reads what OpenSSL answers by itself: it would pile up.
            self.failure = self.failure or Failure(ANSWERS_UNREAD)
        return found[0] if len(found) == 1 else b"".join(found)

    def seal(self, data: bytes | memoryview) -> None:
        """Encrypt: one record, if it is no longer than one."""
        written = self._write(data)
        while written < len(data):
            data = memoryview(data)[written:]
            written = self._write(data)

    @property
    def pending(self) -> int:
        """Bytes that are to be sent."""
        return self._outgoing.pending

    def sealed(self) -> bytes:
        """Take what is to be sent."""
        return self._outgoing.read()

    def say_goodbye(self) -> None:
        """Tell the other end that this is the end, and no accident."""
        assert self._ssl is not None
        with contextlib.suppress(OSError):  # it has not said so itself yet, and need not
            self._ssl.unwrap()

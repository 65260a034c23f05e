"""Noise as libp2p uses it: the XX handshake with the identity in its payload, then the transport.

:class:`NoiseHandshake` frames the three messages of the pattern and proves the identities of both
sides; :class:`NoiseTransport` encrypts and decrypts what comes after. Every message on the wire is
``length (two bytes, big endian) || message``.
"""

from __future__ import annotations

import random

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

from rumormill.core.errors import RemoteProtocolError
from rumormill.core.protobuf import LENGTH_DELIMITED, bytes_field, fields
from rumormill.libp2p.stack.keys import PrivateKey, PublicKey
from rumormill.libp2p.stack.noise.pattern import KEY_SIZE, TAG_SIZE, XXHandshake, nonce_bytes
from rumormill.libp2p.stack.peer_id import from_text

NOISE = "/noise"

SIGNATURE_PREFIX = b"noise-libp2p-static-key:"

LARGEST_PLAINTEXT = 65535 - TAG_SIZE
"""Bytes that fit into one transport message."""
SHORTEST_FRAME = 2 + TAG_SIZE
"""Bytes of a transport message without payload, its length included."""
LARGEST_HANDSHAKE_MESSAGE = 8 * 1024
"""Room for an RSA key of 8192 bits with its signature, and for extensions."""
LARGEST_NONCE = (1 << 64) - 1
"""Reserved by the Noise specification: a cipher that came this far is used up."""


class NoiseHandshake:
    """Who is at the other end, proven, and the keys for what follows.

    Feed it with :meth:`receive` and write what :meth:`data_to_send` gives; once ``transport`` is
    set, ``public_key`` is the peer's. We send no extensions, and read past those of others.
    """

    __slots__ = (
        "_answered", "_expected", "_identity", "_initiator", "_out", "_pending", "_static", "_xx",
        "public_key", "transport",
    )  # fmt: skip

    def __init__(
        self,
        identity: PrivateKey,
        *,
        initiator: bool,
        entropy: random.Random,
        expected_peer: str | None = None,
    ) -> None:
        self.public_key: PublicKey | None = None
        self.transport: NoiseTransport | None = None
        self._identity = identity
        self._initiator = initiator
        self._expected = None if expected_peer is None else from_text(expected_peer)
        # A static key per connection: it proves nothing by itself, the signature over it does.
        self._static = X25519PrivateKey.from_private_bytes(entropy.randbytes(KEY_SIZE))
        ephemeral = X25519PrivateKey.from_private_bytes(entropy.randbytes(KEY_SIZE))
        self._xx = XXHandshake(self._static, ephemeral)
        self._answered = False
        self._pending = bytearray()
        self._out = b""
        if initiator:
            self._send(self._xx.write_first())

    def receive(self, data: bytes) -> bytes | None:
        """Take bytes; return what lies behind the handshake once it is done, else None.

        Raises :class:`RemoteProtocolError` if the peer cannot be trusted.
        """
        pending = self._pending
        if pending:
            # Put aside until it is whole, so that each byte is looked at once, however it came.
            pending += data
            if len(pending) < 2:
                return None
            length = pending[0] << 8 | pending[1]
            if len(pending) < 2 + length and length <= LARGEST_HANDSHAKE_MESSAGE:
                return None
            data = bytes(pending)
        while self.transport is None:
            if len(data) < 2:
                break
            length = data[0] << 8 | data[1]
            if length > LARGEST_HANDSHAKE_MESSAGE:
                raise RemoteProtocolError(
                    "handshake_too_large", f"{length} bytes, {LARGEST_HANDSHAKE_MESSAGE} allowed"
                )
            if len(data) < 2 + length:
                break
            message, data = data[2 : 2 + length], data[2 + length :]
            self._on_message(message)
        else:
            self._pending = bytearray()
            return data
        self._pending = bytearray(data)
        return None

    def data_to_send(self) -> bytes:
        """Everything to write now."""
        out, self._out = self._out, b""
        return out

    def _send(self, message: bytes) -> None:
        self._out += len(message).to_bytes(2, "big") + message

    def _on_message(self, message: bytes) -> None:
        xx = self._xx
        if self._initiator:
            self._check_payload(xx.read_second(message))
            self._send(xx.write_third(self._payload()))
            ours, theirs = xx.symmetric.split()
        elif not self._answered:
            xx.read_first(message)
            self._answered = True
            self._send(xx.write_second(self._payload()))
            return
        else:
            self._check_payload(xx.read_third(message))
            theirs, ours = xx.symmetric.split()
        self.transport = NoiseTransport(ours, theirs)

    def _payload(self) -> bytes:
        static = self._static.public_key().public_bytes_raw()
        signature = self._identity.sign(SIGNATURE_PREFIX + static)
        key = self._identity.public_key.to_protobuf()
        return bytes_field(1, key) + bytes_field(2, signature)

    def _check_payload(self, payload: bytes) -> None:
        """Is the static key of this handshake signed by an identity, and by the right one?"""
        key = signature = b""
        for number, kind, start, end in fields(payload, 0, len(payload)):
            if kind == LENGTH_DELIMITED and number == 1:
                key = payload[start:end]
            elif kind == LENGTH_DELIMITED and number == 2:
                signature = payload[start:end]
        public_key = PublicKey.from_protobuf(key)
        if not public_key.verify(signature, SIGNATURE_PREFIX + self._xx.their_static):
            raise RemoteProtocolError(
                "bad_signature", "the noise key is not signed by the identity"
            )
        if public_key.peer_id == self._identity.peer_id:
            raise RemoteProtocolError("own_identity", "the peer has our own identity")
        if self._expected is not None and public_key.peer_id != self._expected:
            raise RemoteProtocolError("wrong_peer", f"it is {public_key.peer}")
        self.public_key = public_key


class NoiseTransport:
    """Encrypts and decrypts once the handshake is done; one cipher object per direction, kept.

    >>> ours, theirs = NoiseTransport(bytes(32), bytes(32)), NoiseTransport(bytes(32), bytes(32))
    >>> sealed = ours.encrypt(b"hello")
    >>> theirs.decrypt(sealed[:9]), theirs.decrypt(sealed[9:])
    (b'', b'hello')
    """

    __slots__ = (
        "_decrypt", "_encrypt", "_pending", "_receive_nonce", "_send_nonce", "empty_frames",
    )  # fmt: skip

    def __init__(self, send_key: bytes, receive_key: bytes) -> None:
        self.empty_frames = 0
        """Frames without payload that came in since someone last set this to 0."""
        self._encrypt = ChaCha20Poly1305(send_key).encrypt
        self._decrypt = ChaCha20Poly1305(receive_key).decrypt
        self._send_nonce = 0
        self._receive_nonce = 0
        self._pending = bytearray()

    def encrypt(self, plaintext: bytes) -> bytes:
        """``plaintext`` in as few frames as it takes."""
        size = len(plaintext)
        if not size:
            return b""
        nonce = self._send_nonce
        if nonce >= LARGEST_NONCE - size:
            raise RemoteProtocolError("nonce_exhausted", "the key for sending is used up")
        if size <= LARGEST_PLAINTEXT:
            self._send_nonce = nonce + 1
            return (size + TAG_SIZE).to_bytes(2, "big") + self._encrypt(
                nonce_bytes(nonce), plaintext, None
            )
        view = memoryview(plaintext)
        parts: list[bytes] = []
        for start in range(0, size, LARGEST_PLAINTEXT):
            sealed = self._encrypt(
                nonce_bytes(nonce), view[start : start + LARGEST_PLAINTEXT], None
            )
            parts += (len(sealed).to_bytes(2, "big"), sealed)
            nonce += 1
        self._send_nonce = nonce
        return b"".join(parts)

    @property
    def received(self) -> int:
        """How many frames were opened."""
        return self._receive_nonce

    def decrypt(self, data: bytes) -> bytes:
        """Take bytes; return the plaintext of all frames that are whole now.

        Raises :class:`RemoteProtocolError` for a frame that was altered or is shorter than its tag.
        """
        # Every frame has more than one byte, so this covers all that this call can bring.
        size, nonce = len(data), self._receive_nonce
        if nonce >= LARGEST_NONCE - size:
            raise RemoteProtocolError("nonce_exhausted", "the key for receiving is used up")
        frames: list[bytes] = []
        start = 0
        try:
            if size > SHORTEST_FRAME and not self._pending and size - 2 == data[0] << 8 | data[1]:
                # One whole frame, as most input is: the shorter way.
                plaintext = self._decrypt(nonce_bytes(nonce), memoryview(data)[2:], None)
                self._receive_nonce = nonce + 1
                return plaintext
            if self._pending:
                start = self._finish_pending(data, frames)
            self._open_frames(data, start, frames)
        except InvalidTag:
            raise RemoteProtocolError("decryption_failed", "a frame was altered or cut") from None
        self.empty_frames += frames.count(b"")
        return frames[0] if len(frames) == 1 else b"".join(frames)

    def _open_frames(self, data: bytes, start: int, frames: list[bytes]) -> None:
        decrypt, nonce = self._decrypt, self._receive_nonce
        view, end = memoryview(data), len(data)
        while start + 2 <= end:
            stop = start + 2 + (data[start] << 8 | data[start + 1])
            if stop > end:
                break
            frames.append(decrypt(nonce_bytes(nonce), view[start + 2 : stop], None))
            nonce += 1
            start = stop
        self._receive_nonce = nonce
        if start < end:
            self._pending += view[start:]

    def _finish_pending(self, data: bytes, frames: list[bytes]) -> int:
        """Complete the frame that was cut, if ``data`` can; return how much of it that took.

        Bytes are appended and looked at once per frame, so a peer that sends one byte at a time
        costs no more than what it sends.
        """
        pending, start = self._pending, 0
        if len(pending) == 1 and data:
            pending.append(data[0])
            start = 1
        if len(pending) < 2:
            return start
        missing = 2 + (pending[0] << 8 | pending[1]) - len(pending)
        pending += data[start : start + missing]
        if start + missing > len(data):
            return len(data)
        self._pending = bytearray()
        with memoryview(pending) as view:
            frames.append(self._decrypt(nonce_bytes(self._receive_nonce), view[2:], None))
        self._receive_nonce += 1
        return start + missing

"""From a bare connection to a secure one with a muxer: the first round trips of libp2p.

Security is agreed on (``/noise`` and nothing else: no plaintext), proven, and the muxer agreed on
inside of it. Nothing waits for a round trip that it does not need: the dialer's last handshake
message and its proposal of a muxer leave together.
"""

from __future__ import annotations

import random

from rumormill.libp2p.stack.keys import PrivateKey, PublicKey
from rumormill.libp2p.stack.multistream import Negotiation
from rumormill.libp2p.stack.noise.handshake import NOISE, NoiseHandshake, NoiseTransport
from rumormill.libp2p.stack.yamux.session import YAMUX


class Upgrade:
    """The way of one connection from its first byte to its first stream."""

    __slots__ = (
        "_dialer", "_entropy", "_expected_peer", "_identity", "_muxer", "_noise", "_security",
        "transport",
    )  # fmt: skip

    def __init__(
        self,
        identity: PrivateKey,
        *,
        dialer: bool,
        entropy: random.Random,
        expected_peer: str | None = None,
    ) -> None:
        self.transport: NoiseTransport | None = None
        self._identity = identity
        self._dialer = dialer
        self._entropy = entropy
        self._expected_peer = expected_peer
        self._security = self._negotiation(NOISE)
        self._noise: NoiseHandshake | None = None
        self._muxer: Negotiation | None = None

    @property
    def public_key(self) -> PublicKey | None:
        """The peer's key, once it has proven to have it."""
        return None if self._noise is None else self._noise.public_key

    @property
    def progress(self) -> int:
        """Stages that are done: 0 before security is agreed on, 1 before it is proven, then 2."""
        return (self._noise is not None) + (self.transport is not None)

    def receive(self, data: bytes) -> bytes | None:
        """Take bytes; return the plaintext behind the upgrade once it is done, else None.

        Raises :class:`~rumormill.core.errors.RemoteProtocolError` if it cannot be done.
        """
        if self._noise is None:
            rest = self._security.receive(data)
            if rest is None:
                return None
            self._noise = self._handshake()
            data = rest
        if self.transport is None:
            rest = self._noise.receive(data)
            if rest is None:
                return None
            self.transport = self._noise.transport
            self._muxer = self._negotiation(YAMUX)
            data = rest
        if self.transport is None or self._muxer is None:  # for the type checker: both are set
            return None
        return self._muxer.receive(self.transport.decrypt(data))

    def data_to_send(self) -> bytes:
        """Everything to write now: each stage speaks after the one before it."""
        out = self._security.data_to_send()
        if self._noise is not None:
            out += self._noise.data_to_send()
        if self.transport is not None and self._muxer is not None:
            out += self.transport.encrypt(self._muxer.data_to_send())
        return out

    def _negotiation(self, protocol: str) -> Negotiation:
        make = Negotiation.dialer if self._dialer else Negotiation.listener
        return make((protocol,))

    def _handshake(self) -> NoiseHandshake:
        return NoiseHandshake(
            self._identity,
            initiator=self._dialer,
            entropy=self._entropy,
            expected_peer=self._expected_peer,
        )

"""Messages between neighbours as Interests, and the empty Data that answer them."""

from __future__ import annotations

from hashlib import sha256
from random import Random

from rumormill.core.errors import RemoteProtocolError
from rumormill.ndn.faces.face import Face
from rumormill.ndn.routing.messages import (
    ROUTING,
    RoutingMessage,
    decode_message,
    encode_message,
)
from rumormill.ndn.security.signers import DigestSigner
from rumormill.ndn.wire.data import Data, encode_data
from rumormill.ndn.wire.interest import NONCE_SIZE, Interest, encode_interest, with_nonce
from rumormill.ndn.wire.signature import SignatureType

LIFETIME = 1000
"""Milliseconds of an Interest; how long its answer is waited for is up to the sender."""

NAME_SIZE = len(ROUTING) + 34
"""Bytes of the name of a message, with the digest of its parameters."""


class Mail:
    """Packs messages and opens them."""

    __slots__ = ("_random", "_signer")

    def __init__(self, random: Random) -> None:
        self._random = random
        self._signer = DigestSigner()

    def send(self, face: Face, message: RoutingMessage) -> Interest:
        """Send a message; its answer has the name of the Interest that is returned."""
        interest = encode_interest(
            ROUTING,
            nonce=self._random.randbytes(NONCE_SIZE),
            lifetime=LIFETIME,
            parameters=encode_message(message),
            signer=self._signer,
        )
        face.send_interest(interest)
        return interest

    def send_again(self, face: Face, interest: Interest) -> None:
        """Send the same message once more."""
        face.send_interest(with_nonce(interest, self._random.randbytes(NONCE_SIZE)))

    @staticmethod
    def is_message(interest: Interest) -> bool:
        """Whether it is for us, by its name: a later version would be called otherwise."""
        return (
            interest.name.startswith(ROUTING)
            and len(interest.name) == NAME_SIZE
            and interest.parameters is not None
        )

    @staticmethod
    def read(interest: Interest) -> RoutingMessage:
        """The message of an Interest that is one by its name."""
        signature = interest.signature
        if (
            signature is None
            or signature.type != SignatureType.DIGEST
            or signature.value != sha256(signature.covered).digest()
        ):
            raise RemoteProtocolError("bad_signature", "a routing message needs a digest")
        assert interest.parameters is not None
        return decode_message(interest.parameters)

    def answer_to(self, interest: Interest) -> Data:
        """The empty Data that says that a message was taken."""
        return encode_data(interest.name, None, self._signer)

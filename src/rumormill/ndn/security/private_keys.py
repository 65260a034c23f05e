"""Keys of our own: made, written as JSON and read again, and what signs with them.

    {"type": "ndn-ed25519", "name": "/alice/KEY/5d2a", "secret": "9d61...", "public_key": "ndn-..."}

``secret`` is in hex: the seed of Ed25519, the number of ECDSA (P-256), or the shared secret itself.
``public_key`` is what others are given; a shared secret has none.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from random import Random
from typing import Any, Final

from cryptography.hazmat.primitives.asymmetric import ec

from rumormill.core.errors import LocalProtocolError
from rumormill.ndn.security.key_names import key_name
from rumormill.ndn.security.keys import EcdsaKey, Ed25519Key, HmacKey, PublicKey
from rumormill.ndn.security.signers import SEED_SIZE, EcdsaSigner, Ed25519Signer, HmacSigner
from rumormill.ndn.wire.name import Name, name_from_uri, name_to_uri
from rumormill.ndn.wire.signature import Signer

KINDS: Final = ("ed25519", "ecdsa", "hmac")
TYPES: Final = tuple(f"ndn-{kind}" for kind in KINDS)
"""What ``"type"`` says in a key file."""
LARGEST_SECRET: Final = 1024
ID_BYTES: Final = 8

_ORDER: Final = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
"""The number of points of P-256."""


class PrivateKey:
    """A key that signs, with its name."""

    __slots__ = ("_secret", "kind", "name", "public_key", "signer")

    def __init__(self, kind: str, name: Name, secret: bytes) -> None:
        self.kind = kind
        self.name = name
        self._secret = secret
        self.signer, self.public_key = _parts(kind, name, secret)

    signer: Signer
    """What signs with it."""
    public_key: PublicKey
    """What verifies its signatures; of a shared secret the same secret."""

    @classmethod
    def generate(cls, random: Random, identity: Name, kind: str = "ed25519") -> PrivateKey:
        """A new key of ``identity``. Outside of tests ``random`` is a ``random.SystemRandom``."""
        secret = random.randbytes(SEED_SIZE)
        if kind == "ecdsa":
            secret = random.randrange(1, _ORDER).to_bytes(SEED_SIZE, "big")
        _, public = _parts(kind, key_name(identity, "0"), secret)
        # Of a shared secret nothing may be shown that a guess could be compared with cheaply.
        digest = public.digest or hmac.digest(secret, b"key id", "sha256")
        return cls(kind, key_name(identity, digest[:ID_BYTES].hex()), secret)

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> PrivateKey:
        """The key of a key file; :class:`LocalProtocolError` says what is wrong with it."""
        given = content.get("type")
        if given not in TYPES:
            raise LocalProtocolError(f'its "type" is {given!r}, not one of {", ".join(TYPES)}')
        name = content.get("name")
        if not isinstance(name, str):
            raise LocalProtocolError('"name" is missing')
        try:
            secret = bytes.fromhex(content["secret"])
        except (KeyError, TypeError, ValueError):
            raise LocalProtocolError('"secret" is missing or not hex') from None
        key = cls(TYPES_TO_KINDS[given], name_from_uri(name), secret)
        stated = content.get("public_key", key.public_text)
        if stated != key.public_text:
            raise LocalProtocolError('"public_key" is not the one of its secret')
        return key

    def to_json(self) -> dict[str, str]:
        """What a key file holds."""
        content = {"type": self.type, "name": self.uri, "secret": self._secret.hex()}
        return content if self.public_text is None else {**content, "public_key": self.public_text}

    @property
    def type(self) -> str:
        """The kind, as files and texts have it."""
        return f"ndn-{self.kind}"

    @property
    def uri(self) -> str:
        """The name, to be read."""
        return name_to_uri(self.name)

    @property
    def public_text(self) -> str | None:
        """The public part in one line; None for a shared secret."""
        return self.public_key.text if self.public_key.spki else None

    def __repr__(self) -> str:
        return f"PrivateKey({self.kind}, {self.uri})"  # never the secret: this ends up in logs


TYPES_TO_KINDS: Final = dict(zip(TYPES, KINDS, strict=True))


def _parts(kind: str, name: Name, secret: bytes) -> tuple[Signer, PublicKey]:
    if kind == "ed25519":
        signer = Ed25519Signer(secret, name)
        return signer, Ed25519Key(name, signer.public_key)
    if kind == "ecdsa":
        private = _p256(secret)
        return EcdsaSigner(private, name), EcdsaKey(name, private.public_key())
    if kind == "hmac":
        if len(secret) > LARGEST_SECRET:
            raise LocalProtocolError(f"a shared secret has {LARGEST_SECRET} bytes at most")
        return HmacSigner(secret, name), HmacKey(name, secret)
    raise LocalProtocolError(f"{kind!r} is no kind of key; there are {', '.join(KINDS)}")


def _p256(secret: bytes) -> ec.EllipticCurvePrivateKey:
    number = int.from_bytes(secret, "big")
    if len(secret) != SEED_SIZE or not 0 < number < _ORDER:
        problem = f"an ECDSA key has a secret of {SEED_SIZE} bytes: a number below P-256's order"
        raise LocalProtocolError(problem)
    return ec.derive_private_key(number, ec.SECP256R1())

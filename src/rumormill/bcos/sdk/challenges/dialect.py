"""What a dialect of challenges is, and what more than one of them needs.

Two of them have JSON around a number: ``{"randValue": "<hex>", "topic": ...}`` asks, and
``{"signature": "<base64>"}`` answers.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from typing import Final, Protocol

from rumormill.bcos.sdk.topic_keys import SIGNATURE_SIZE, TopicPrivateKey, TopicPublicKey
from rumormill.bcos.wire.json_text import read_object, text_of, write_json
from rumormill.bcos.wire.verification import is_need_verify, name_of_verify_channel
from rumormill.core.errors import LocalProtocolError, RemoteProtocolError

NONCE_SIZES: Final = range(16, 33)
"""Bytes of a nonce that are enough, and that every dialect carries."""

LONGEST_NUMBER: Final = 64
"""Bytes of what is signed. It has a limit because whoever asks chooses it: nobody shall get a
signature of a transaction in this way, and none is as short as that."""

MOST_JSON: Final = 2048
"""Bytes of a challenge or a proof in JSON."""

_NUMBER: Final = re.compile(r"[0-9a-fA-F]{1,64}", re.ASCII)


class Dialect(Protocol):
    """One way to ask for a proof, to give it and to verify it.

    Payloads are what comes behind the topic in packets 0x30 and 0x31.
    """

    @property
    def name(self) -> str:
        """What it is called in settings and trace events."""
        ...

    def challenge(self, nonce: bytes, topic: str) -> bytes:
        """A publisher's challenge; ``topic`` is the VerifyChannel that it goes to, or its name.

        The nonce has 16 to 32 bytes that nobody can guess.
        """
        ...

    def proves(self, challenge: bytes, proof: bytes, public_keys: Sequence[TopicPublicKey]) -> bool:
        """Whether the proof shows one of the private keys; ``challenge`` is the one we sent."""
        ...

    def prove(self, challenge: bytes, private_key: TopicPrivateKey) -> bytes:
        """A subscriber's proof; :class:`RemoteProtocolError` if the challenge is none."""
        ...

    def recognises(self, challenge: bytes) -> bool:
        """Whether it is a challenge of this dialect."""
        ...


# ---- publishers


def number_of_nonce(nonce: bytes) -> str:
    """The nonce as all dialects send it."""
    if len(nonce) not in NONCE_SIZES:
        raise LocalProtocolError(f"a nonce has 16 to 32 bytes, this one {len(nonce)}")
    return nonce.hex()


def name_asked_for(topic: str) -> str:
    """The private topic's name, of itself or of a VerifyChannel."""
    name = topic if is_need_verify(topic) else name_of_verify_channel(topic)
    if name is None:
        raise LocalProtocolError(f"{topic[:60]!r} is no name of a private topic")
    return name


def without_v(signature: bytes) -> bytes:
    """r and s, of a signature that has v (0 or 1) behind them.

    Whether v is the right one does not matter: there is no key to be found out. SDKs skip it, too.
    """
    if len(signature) != SIGNATURE_SIZE + 1 or signature[-1] > 1:
        raise RemoteProtocolError("bad_proof", f"{len(signature)} bytes are not r, s and v")
    return signature[:-1]


# ---- JSON


def write_question(number: str, topic: str) -> bytes:
    """A challenge in JSON."""
    return write_json({"randValue": number, "topic": topic})


def read_question(data: bytes) -> bytes:
    """What is to be signed, of a challenge in JSON: the hex digits as they stand there."""
    number = text_of(read_object(data, MOST_JSON), "randValue")
    if not _NUMBER.fullmatch(number):
        raise RemoteProtocolError("bad_challenge", "randValue is not 1 to 64 hex digits")
    return number.encode()


def write_answer(signature: bytes) -> bytes:
    """A proof in JSON."""
    return write_json({"signature": base64.b64encode(signature).decode()})


def read_answer(data: bytes) -> bytes:
    """The signature of a proof in JSON."""
    text = text_of(read_object(data, MOST_JSON), "signature")
    try:
        return base64.b64decode(text.encode("ascii"), validate=True)
    except ValueError:
        raise RemoteProtocolError("bad_proof", "the signature is not in base64") from None

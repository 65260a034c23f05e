"""All dialects, by name and by how they look, and what a machine needs of them with the keys."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Final, NamedTuple

from rumormill.bcos.sdk.challenges.dialect import Dialect
from rumormill.bcos.sdk.challenges.keccak256 import Keccak256Dialect
from rumormill.bcos.sdk.challenges.sha1 import Sha1Dialect
from rumormill.bcos.sdk.challenges.sha256 import Sha256Dialect
from rumormill.bcos.sdk.topic_keys import TopicPrivateKey, TopicPublicKey
from rumormill.core.errors import RemoteProtocolError

KECCAK256: Final[Dialect] = Keccak256Dialect()
SHA256: Final[Dialect] = Sha256Dialect()
SHA1: Final[Dialect] = Sha1Dialect()

DIALECTS: Final[Mapping[str, Dialect]] = MappingProxyType(
    {dialect.name: dialect for dialect in (SHA1, SHA256, KECCAK256)}
)
"""By name. The last one would take the others' challenges, too, if they were short."""


def detect(challenge: bytes) -> Dialect:
    """The dialect of a challenge that a subscriber has got.

    >>> detect(b'{"randValue":"14131f50ef730219d48e1f9c441db871c","topic":"hello"}').name
    'sha256'
    >>> detect(b"92be6ce4dbd311eaae5a983b8fda4e0e").name
    'keccak256'
    """
    for dialect in DIALECTS.values():
        if dialect.recognises(challenge):
            return dialect
    raise RemoteProtocolError("bad_challenge", f"{len(challenge)} bytes of no dialect that we know")


class Question(NamedTuple):
    """A challenge that was sent, and who may answer it."""

    dialect: Dialect
    payload: bytes
    public_keys: Sequence[TopicPublicKey]

    def check(self, proof: bytes) -> bool:
        """Whether the answer is by one of the keys."""
        return self.dialect.proves(self.payload, proof, self.public_keys)


def challenger(
    dialect: Dialect, public_keys: Sequence[TopicPublicKey]
) -> Callable[[bytes, str], Question]:
    """For a publisher: makes a question of a nonce and a private topic's name or VerifyChannel."""

    def ask(nonce: bytes, topic: str) -> Question:
        return Question(dialect, dialect.challenge(nonce, topic), public_keys)

    return ask


def prover(private_key: TopicPrivateKey) -> Callable[[bytes], bytes]:
    """For a subscriber: answers a challenge of any dialect."""
    return partial(_prove, private_key)


def _prove(private_key: TopicPrivateKey, challenge: bytes) -> bytes:
    return detect(challenge).prove(challenge, private_key)

"""Who wrote a message: signing our own, and checking what others claim.

Two policies, chosen per topic. ``StrictSign``: author, sequence number and signature must be
there and right. ``StrictNoSign``: none of them may be there; the id is then a function of the data.
There is nothing in between: a message that may or may not be signed proves nothing. A network may
let unsigned messages name an author (``unsigned_authors``), since go writes one unless it is told
not to; that name proves nothing either.
"""

from __future__ import annotations

from typing import Literal, Protocol, TypeAlias

from rumormill.libp2p.stack.keys import PublicKey, sender_public_key
from rumormill.libp2p.wire.message import WireMessage, build_message

SigningPolicy: TypeAlias = Literal["StrictSign", "StrictNoSign"]


class Author(Protocol):
    """Who we publish as. A :class:`~rumormill.libp2p.stack.keys.PrivateKey` is one.

    A simulation gives one that does not sign, so that ten thousand nodes cost no elliptic curves.
    """

    @property
    def peer_id(self) -> bytes:
        """The author's id as it stands in ``from``."""
        ...

    def sign(self, payload: bytes) -> bytes:
        """The signature of ``payload``."""
        ...


def signed_message(
    author: Author, data: bytes, topics: tuple[str, ...], sequence: int
) -> WireMessage:
    """A message by ``author``. Its key is left out: an Ed25519 peer id contains it."""
    return build_message(
        data=data,
        topics=topics,
        sender_id=author.peer_id,
        sequence=sequence.to_bytes(8, "big"),
        sign=author.sign,
    )


def violation(
    message: WireMessage, policy: SigningPolicy, unsigned_authors: bool = False
) -> str | None:
    """What in the message's shape the policy forbids, as a reason for counters; None if nothing.

    This looks at presence only: it costs nothing, and comes before any cryptography.
    """
    if policy == "StrictSign":
        if message.signature is None:
            return "missing_signature"
        if not message.sender_id:
            return "missing_author"
        if message.sequence is None:
            return "missing_sequence"
        # js floodsub leaves leading zero bytes out.
        return None if 1 <= len(message.sequence) <= 8 else "bad_sequence"
    if message.signature is not None:
        return "unexpected_signature"
    if not unsigned_authors:
        if message.sender_id is not None:
            return "unexpected_author"
        if message.sequence is not None:
            return "unexpected_sequence"
    return "unexpected_key" if message.key is not None else None


def verify(message: WireMessage) -> bool:
    """Whether the message was signed by the author it names. Never raises.

    A key that is sent along must be the author's own: its hash must be the author's id.
    """
    if not message.sender_id or message.signature is None:
        return False
    public_key: PublicKey | None = sender_public_key(message.sender_id, message.key)
    return public_key is not None and public_key.verify(message.signature, message.signed_payload())

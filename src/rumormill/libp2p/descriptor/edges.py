"""Trust edges: one peer's signed word on another, for one topic and until a time.

The later word of an issuer on a subject replaces the earlier one: each has a sequence number, and
the higher counts. An edge without an end is a revocation. Of two with one number (an issuer that
says two things) the revocation counts, then the one that ends first: all nodes choose the same.

The signature covers the descriptor's digest, which is not sent along: an edge of one topic is
worth nothing on another.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from rumormill.core.errors import LocalProtocolError, RemoteProtocolError
from rumormill.core.protobuf import LENGTH_DELIMITED, bytes_field, fields, varint_field
from rumormill.libp2p.stack.keys import sender_public_key
from rumormill.libp2p.stack.peer_id import LONGEST_PEER_ID, check_peer_id
from rumormill.libp2p.wire.signing import Author

DOMAIN: Final = b"libp2p-topic-trust:"

LARGEST_NUMBER: Final = (1 << 63) - 1
LONGEST_SIGNATURE: Final = 128
LARGEST_EDGE: Final = 2 * (LONGEST_PEER_ID + 2) + 2 * 11 + LONGEST_SIGNATURE + 3
"""Bytes."""

BAD: Final = "bad_trust_edge"
REVOKED: Final = 0


class TrustEdge(NamedTuple):
    """What ``issuer`` says of ``subject``."""

    issuer: bytes
    subject: bytes
    sequence: int
    """Grows with each word of the issuer on the subject."""
    until: int
    """Seconds since the epoch; :data:`REVOKED` takes trust back."""
    signature: bytes = b""

    @property
    def revokes(self) -> bool:
        """Whether trust is taken back."""
        return self.until == REVOKED

    @property
    def weight(self) -> tuple[int, bool, int, bytes]:
        """Of two edges between the same two, the one with the greater weight counts."""
        return self.sequence, self.revokes, -self.until, self.signature

    def encode(self) -> bytes:
        """The one encoding of the edge."""
        return self._unsigned() + bytes_field(5, self.signature)

    def _unsigned(self) -> bytes:
        until = varint_field(4, self.until) if self.until else b""
        return b"".join(
            (
                bytes_field(1, self.issuer),
                bytes_field(2, self.subject),
                varint_field(3, self.sequence),
                until,
            )
        )

    def signed_payload(self, digest: bytes) -> bytes:
        """What the signature covers; ``digest`` is that of the topic's descriptor."""
        return DOMAIN + digest + self._unsigned()

    def verify(self, digest: bytes) -> bool:
        """Whether the issuer signed it for this topic. Never raises.

        The issuer's id must hold its key, as those of Ed25519 and Secp256k1 keys do.
        """
        key = sender_public_key(self.issuer)
        return key is not None and key.verify(self.signature, self.signed_payload(digest))


def sign_edge(
    author: Author, digest: bytes, subject: bytes, *, sequence: int, until: int
) -> TrustEdge:
    """An edge by ``author``; :class:`LocalProtocolError` for one that says nothing.

    >>> from rumormill.libp2p.stack.keys import PrivateKey
    >>> ann, bob = PrivateKey.from_seed(b"a" * 32), PrivateKey.from_seed(b"b" * 32)
    >>> edge = sign_edge(ann, bytes(32), bob.peer_id, sequence=1, until=2_000_000_000)
    >>> edge.verify(bytes(32)), edge.verify(b"\\1" * 32), decode_edge(edge.encode()) == edge
    (True, False, True)
    """
    if subject == author.peer_id:
        raise LocalProtocolError("nobody can trust itself, or take that back")
    if not 0 < sequence <= LARGEST_NUMBER or not 0 <= until <= LARGEST_NUMBER:
        raise LocalProtocolError(f"a number of the edge is out of range: {sequence}, {until}")
    edge = TrustEdge(author.peer_id, subject, sequence, until)
    return edge._replace(signature=author.sign(edge.signed_payload(digest)))


def decode_edge(raw: bytes) -> TrustEdge:
    """Read an edge, without a look at its signature; :class:`RemoteProtocolError` if it is none."""
    if len(raw) > LARGEST_EDGE:
        raise RemoteProtocolError(BAD, f"{len(raw)} bytes, {LARGEST_EDGE} allowed")
    found: dict[int, int | bytes] = {}
    try:
        for number, kind, start, end in fields(raw, 0, len(raw), most=5):
            wanted = number in (1, 2, 5)
            if wanted != (kind == LENGTH_DELIMITED) or number > 5:
                raise RemoteProtocolError(BAD, f"field {number} is not known")
            found[number] = raw[start:end] if wanted else start
        issuer, subject, signature = (check_bytes(found.get(number)) for number in (1, 2, 5))
        check_peer_id(issuer)
        check_peer_id(subject)
    except RemoteProtocolError as error:
        raise RemoteProtocolError(BAD, error.detail or error.reason) from None
    sequence, until = (int(found.get(number, 0)) for number in (3, 4))
    edge = TrustEdge(issuer, subject, sequence, until, signature)
    if not 0 < sequence <= LARGEST_NUMBER or until > LARGEST_NUMBER or issuer == subject:
        raise RemoteProtocolError(BAD, "it says nothing that can be")
    if len(signature) > LONGEST_SIGNATURE or edge.encode() != raw:
        raise RemoteProtocolError(BAD, "not in the one encoding that an edge has")
    return edge


def check_bytes(value: int | bytes | None) -> bytes:
    """A field that must be there."""
    if not isinstance(value, bytes):
        raise RemoteProtocolError(BAD, "a field is missing")
    return value

"""Signed peer records as rendezvous has them.

The specification wants those of RFC 0003, which identify and peer exchange carry too. rust has
another form: the same inside, under the name that an earlier draft gave it; and one record of the
other form among many spoils an answer for it. (js and go have no rendezvous of their own, and py
registers without a signature, as the first draft had it: such a registration is refused.) So we
register in rust's form unless told otherwise, and read both.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, TypeAlias

from rumormill.core.errors import RemoteProtocolError
from rumormill.libp2p.stack.envelope import decode_envelope, seal, verify
from rumormill.libp2p.stack.keys import PrivateKey
from rumormill.libp2p.stack.multiaddr import Multiaddr
from rumormill.libp2p.stack.peer_id import to_text
from rumormill.libp2p.stack.peer_record import (
    DOMAIN,
    PAYLOAD_TYPE,
    PeerRecord,
    decode_peer_record,
    encode_peer_record,
)

RecordForm: TypeAlias = Literal["rust", "standard"]

FORMS: dict[RecordForm, tuple[bytes, str]] = {
    "rust": (b"/libp2p/routing-state-record", "libp2p-routing-state"),
    "standard": (PAYLOAD_TYPE, DOMAIN),
}
"""Of each form, what the payload is called and for what it is signed."""

_DOMAINS = dict(FORMS.values())


def sign_record(
    key: PrivateKey, sequence: int, addresses: Iterable[Multiaddr], form: RecordForm
) -> bytes:
    """A record of our own, in its envelope."""
    payload_type, domain = FORMS[form]
    raw = tuple(address.with_peer(key.peer).to_bytes() for address in addresses)
    return seal(
        key, domain, payload_type, encode_peer_record(PeerRecord(key.peer_id, sequence, raw))
    )


def open_record(raw: bytes) -> PeerRecord:
    """The record in an envelope of either form, if its peer has signed it.

    :class:`RemoteProtocolError`: ``bad_envelope``, ``bad_peer_record``, ``record_of_other_peer``,
    ``forged_record``.
    """
    envelope = decode_envelope(raw)
    domain = _DOMAINS.get(envelope.payload_type)
    if domain is None:
        raise RemoteProtocolError("bad_peer_record", f"type {envelope.payload_type[:32].hex()}")
    record = decode_peer_record(envelope.payload)
    if record.peer_id != envelope.signer:
        raise RemoteProtocolError("record_of_other_peer", f"not of {to_text(record.peer_id)}")
    if not verify(envelope, domain):
        raise RemoteProtocolError("forged_record", "the signature is not by the peer")
    return record

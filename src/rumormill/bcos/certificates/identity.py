"""Who a certificate says somebody is.

A node is known by its public key: the point on secp256k1 as 128 hex digits, without the byte that
says that it is not compressed. It is taken from a certificate of a leaf alone, and only from one
that says so: nodes of other make close a connection whose certificate lacks basicConstraints.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from cryptography.x509.oid import NameOID

from rumormill.core.errors import RemoteProtocolError


class Identity(NamedTuple):
    """What a certificate tells of its owner."""

    node_id: str
    """128 hex digits in lower case; empty if its key is none of a node (RSA)."""
    name: str
    """The subject's common name."""
    agency: str
    """The issuer's common name."""
    issuer: str
    """The whole name of the issuer."""

    @property
    def called(self) -> str:
        """What its owner is called in trace events: the node id, or else the name."""
        return self.node_id or self.name


Identify = Callable[[bytes], Identity]
"""Reads what a transport gives as credentials; raises :class:`RemoteProtocolError`."""


def identity_of(credentials: bytes) -> Identity:
    """Who a certificate (DER) is of; the transport has verified who issued it."""
    certificate = _certificate(credentials)
    try:
        return Identity(
            node_id=node_id_of(certificate),
            name=_common_name(certificate.subject),
            agency=_common_name(certificate.issuer),
            issuer=certificate.issuer.rfc4514_string(),
        )
    except Exception:  # for what it cannot read, the library raises whatever comes to its mind
        raise RemoteProtocolError("bad_certificate", "its names cannot be read") from None


def node_identity_of(credentials: bytes) -> Identity:
    """The same, for one who has to be a node."""
    certificate = _certificate(credentials)
    leaf = is_leaf(certificate)
    if leaf is None:
        problem = "the certificate has no basicConstraints"
        raise RemoteProtocolError("no_basic_constraints", problem)
    if not leaf:
        raise RemoteProtocolError("certificate_of_a_ca", "a node's certificate must be a leaf")
    identity = identity_of(credentials)
    if not identity.node_id:
        raise RemoteProtocolError("no_node_key", "the certificate's key is not on secp256k1")
    return identity


def is_leaf(certificate: x509.Certificate) -> bool | None:
    """Whether a certificate says that it is no CA's; None if it says nothing of it."""
    try:
        constraints = certificate.extensions.get_extension_for_class(x509.BasicConstraints)
    except Exception:  # not there, there twice, or unreadable
        return None
    return not constraints.value.ca


def node_id_of(certificate: x509.Certificate) -> str:
    """The id of the node whose key is certified; empty if the key is of another kind."""
    try:
        key = certificate.public_key()
    except Exception:  # a curve or an algorithm that is not known
        return ""
    return id_of_key(key)


def id_of_key(key: object) -> str:
    """The id that a public key makes; empty if it is not on secp256k1."""
    if not isinstance(key, ec.EllipticCurvePublicKey) or not isinstance(key.curve, ec.SECP256K1):
        return ""
    return key.public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)[1:].hex()


def _certificate(credentials: bytes) -> x509.Certificate:
    if not credentials:
        raise RemoteProtocolError("no_certificate")
    try:
        return x509.load_der_x509_certificate(credentials)
    except Exception:  # not only ValueError: a version that does not exist has its own
        raise RemoteProtocolError("bad_certificate", "it cannot be read") from None


def _common_name(name: x509.Name) -> str:
    found = name.get_attributes_for_oid(NameOID.COMMON_NAME)
    return str(found[0].value) if found else ""

"""Makes certificates: a CA, an agency below it, and the nodes and SDKs that the agency vouches for.

They have the shape that other tools of this network give them: names of a common name, an
organization and what one is; leaves that say that they are leaves; SHA-256; PKCS #8. Beyond that
they name the key of their issuer, so that two CAs of the same name are told apart.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final, Literal, NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)
from cryptography.x509.oid import NameOID

Profile = Literal["ec", "rsa"]
"""secp256k1 for nodes and SDKs, or RSA for those SDKs whose TLS no longer has that curve."""
Unit = Literal["chain", "agency", "node", "sdk"]
"""What somebody is, as it stands in the name."""
Key = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey

RSA_BITS: Final = 2048
LIFETIME: Final = timedelta(days=36_500)
"""Nobody renews the certificates of a chain, and all of its nodes would stop on the same day:
who shall be out is put on the black list."""
CLOCKS: Final = timedelta(days=1)
"""So far may the clock of another machine be behind."""


class Authority(NamedTuple):
    """Somebody who vouches for others."""

    certificate: x509.Certificate
    key: Key


def new_key(profile: Profile) -> Key:
    """A key that nobody else has."""
    if profile == "rsa":
        return rsa.generate_private_key(public_exponent=65537, key_size=RSA_BITS)
    return ec.generate_private_key(ec.SECP256K1())


def certify(
    name: str, unit: Unit, key: Key, issuer: Authority | None, now: datetime | None = None
) -> x509.Certificate:
    """A certificate for the owner of ``key``; without an issuer it vouches for itself."""
    public, now = key.public_key(), now or datetime.now(UTC)
    own_name = _distinguished(name, unit)
    authority = unit in ("chain", "agency")
    key_of_issuer = public if issuer is None else issuer.key.public_key()
    builder = (
        x509.CertificateBuilder(
            issuer_name=own_name if issuer is None else issuer.certificate.subject,
            subject_name=own_name,
            public_key=public,
            serial_number=x509.random_serial_number(),
            not_valid_before=now - CLOCKS,
            not_valid_after=now + LIFETIME,
        )
        .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=authority)
        .add_extension(_usage(authority), critical=authority)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(key_of_issuer), critical=False
        )
    )
    return builder.sign(key if issuer is None else issuer.key, SHA256())


def certificate_pem(*certificates: x509.Certificate) -> bytes:
    """Certificates, one behind the other."""
    return b"".join(each.public_bytes(Encoding.PEM) for each in certificates)


def key_pem(key: Key) -> bytes:
    """A private key (PKCS #8), not encrypted: a node has to start by itself."""
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def public_key_pem(key: Key) -> bytes:
    """The public part of a key (SubjectPublicKeyInfo)."""
    return key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def _distinguished(name: str, unit: Unit) -> x509.Name:
    return x509.Name(
        [
            x509.NameAttribute(NameOID.COMMON_NAME, name),
            x509.NameAttribute(NameOID.ORGANIZATION_NAME, "fisco-bcos"),
            x509.NameAttribute(NameOID.ORGANIZATIONAL_UNIT_NAME, unit),
        ]
    )


def _usage(authority: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not authority,
        content_commitment=not authority,
        key_encipherment=not authority,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=authority,
        crl_sign=authority,
        encipher_only=False,
        decipher_only=False,
    )

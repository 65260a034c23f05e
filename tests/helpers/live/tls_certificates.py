"""Certificates for tests of TLS: authorities made on the spot, and contexts of what they issue."""

from __future__ import annotations

import datetime
import ssl
import tempfile
from functools import cache
from pathlib import Path
from typing import NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

Key = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey

DAY = datetime.timedelta(days=1)


def new_key(kind: str) -> Key:
    """A key of the kind ``"ec"``, on secp256k1, or ``"rsa"``."""
    if kind == "ec":
        return ec.generate_private_key(ec.SECP256K1())
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


class Issued(NamedTuple):
    """A certificate and its key."""

    certificate: x509.Certificate
    key: Key

    @property
    def der(self) -> bytes:
        return self.certificate.public_bytes(Encoding.DER)


class Authority:
    """Issues certificates."""

    def __init__(self, kind: str = "ec", name: str = "chain") -> None:
        self.kind = kind
        self._issuer = issue(name, new_key(kind), None, valid=(-DAY, 10 * DAY))

    @property
    def pem(self) -> str:
        return self._issuer.certificate.public_bytes(Encoding.PEM).decode()

    def issue(
        self, name: str, valid: tuple[datetime.timedelta, datetime.timedelta] = (-DAY, DAY)
    ) -> Issued:
        """A leaf; ``valid``: from when to when, as seen from now."""
        return issue(name, new_key(self.kind), self._issuer, valid)

    def context(self, issued: Issued | None, *, server: bool) -> ssl.SSLContext:
        """TLS 1.2 as ``issued``, for those who come from this authority."""
        protocol = ssl.PROTOCOL_TLS_SERVER if server else ssl.PROTOCOL_TLS_CLIENT
        context = ssl.SSLContext(protocol)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_REQUIRED
        context.maximum_version = ssl.TLSVersion.TLSv1_2
        context.load_verify_locations(cadata=self.pem)
        if self.kind == "ec":
            context.set_ecdh_curve("secp256k1")
        if issued is not None:
            load(context, issued)
        return context


def load(context: ssl.SSLContext, issued: Issued) -> None:
    """Let a context present a certificate; only files can be loaded."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "leaf.pem"
        path.write_bytes(pem_of(issued))
        context.load_cert_chain(path)


def pem_of(issued: Issued) -> bytes:
    """A key and its certificate, for a file."""
    key = issued.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return key + issued.certificate.public_bytes(Encoding.PEM)


def issue(
    name: str,
    key: Key,
    issuer: Issued | None,
    valid: tuple[datetime.timedelta, datetime.timedelta],
) -> Issued:
    """Certify a key; without an issuer it certifies itself, and may certify others."""
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject if issuer is None else issuer.certificate.subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now + valid[0])
        .not_valid_after(now + valid[1])
        .add_extension(x509.BasicConstraints(ca=issuer is None, path_length=None), critical=True)
    )
    signer = key if issuer is None else issuer.key
    return Issued(builder.sign(signer, hashes.SHA256()), key)


def authority(kind: str = "ec", number: int = 0) -> Authority:
    """The same one for all tests of a process: keys take their time."""
    return _authority(kind, number)


def leaf(kind: str = "ec", name: str = "node") -> Issued:
    """One that the first :func:`authority` of a kind has issued."""
    return _leaf(kind, name)


@cache
def _authority(kind: str, number: int) -> Authority:
    return Authority(kind, f"chain {number}")


@cache
def _leaf(kind: str, name: str) -> Issued:
    return authority(kind).issue(name)

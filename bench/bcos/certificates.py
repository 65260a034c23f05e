"""Certificates for a run: one authority, and a folder for each node and SDK."""

from __future__ import annotations

import datetime
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

DAYS = 2


def make(folder: Path, nodes: int, sdks: int) -> None:
    """Write ``nodes/N/`` and ``sdks/N/``, each with a certificate, its key, and the authority's."""
    key, authority = _signed("chain", None, None)
    for kind, count in (("node", nodes), ("sdk", sdks)):
        for number in range(count):
            own_key, certificate = _signed(f"{kind}{number}", key, authority)
            place = folder / f"{kind}s" / str(number)
            place.mkdir(parents=True)
            chain = certificate.public_bytes(_PEM) + authority.public_bytes(_PEM)
            (place / f"{kind}.crt").write_bytes(chain)
            (place / f"{kind}.key").write_bytes(
                own_key.private_bytes(
                    _PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
                )
            )
            (place / "ca.crt").write_bytes(authority.public_bytes(_PEM))


_PEM = serialization.Encoding.PEM


def _signed(
    name: str, key: ec.EllipticCurvePrivateKey | None, authority: x509.Certificate | None
) -> tuple[ec.EllipticCurvePrivateKey, x509.Certificate]:
    own = ec.generate_private_key(ec.SECP256K1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject if authority is None else authority.subject)
        .public_key(own.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=DAYS))
        .add_extension(x509.BasicConstraints(ca=authority is None, path_length=None), critical=True)
        .sign(own if key is None else key, hashes.SHA256())
    )
    return own, certificate

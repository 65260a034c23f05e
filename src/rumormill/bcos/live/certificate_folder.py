"""The certificates of a node or an SDK, from a folder; all is checked before any connection.

A folder of a node holds ``ca.crt``, ``node.crt`` and ``node.key``, one of an SDK ``sdk.crt`` and
``sdk.key``: as ``rumormill keygen`` makes them, or the ``conf`` and ``sdk`` folders of other tools.
``channel_cert`` within it has the same files for the RSA profile, which is for SDKs alone.

What other tools make differs in three points that are fine: the CA may vouch for a leaf itself, an
old CA says nothing of what it may do, and leaves of the RSA profile may say nothing of it either.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from rumormill.bcos.certificates.identity import identity_of, is_leaf
from rumormill.bcos.live.certificate_set import CertificateFolder, CertificateSet, Role
from rumormill.bcos.live.chain_check import check_chain, check_dates
from rumormill.bcos.live.chain_folder import CHANNEL
from rumormill.bcos.live.chain_maker import Profile
from rumormill.bcos.live.pem_files import (
    NO_GM,
    check_key_fits,
    kind_of,
    problem,
    public_der,
    read_certificates,
    read_private_key,
)
from rumormill.bcos.live.tls_contexts import check_handshake
from rumormill.core.errors import RemoteProtocolError

SMALLEST_RSA: Final = 2048
"""Bits of an RSA key: TLS libraries refuse smaller ones."""
ROLES: Final[tuple[Role, ...]] = ("node", "sdk")
GM_FILES: Final = ("gmca.crt", "gmnode.crt", "gmsdk.crt", "gm/gmsdk.crt", "sm_ca.crt", "sm_ssl.crt")


def role_of(folder: Path) -> Role:
    """Whose folder it is, by the names of its files; :class:`ConfigError` if nobody's."""
    if not folder.is_dir():
        kind = "is no folder" if folder.exists() else "is missing"
        raise problem(f"the folder {folder} {kind}")
    roles: list[Role] = [role for role in ROLES if (folder / f"{role}.crt").exists()]
    if len(roles) > 1:
        raise problem(f"{folder} holds both node.crt and sdk.crt; each must have its own folder")
    if roles:
        return roles[0]
    gm = next((name for name in GM_FILES if (folder / name).exists()), None)
    if gm is not None:
        raise problem(f"{folder / gm}: {NO_GM}")
    hint = "; give one of its folders nodes/N and sdks/N" if (folder / "nodes").is_dir() else ""
    raise problem(f"{folder} holds neither node.crt nor sdk.crt{hint}")


def is_sdk_folder(folder: object) -> bool:
    """Whether it is an SDK's, by the names of its files; never an error."""
    if not isinstance(folder, str | Path):
        return False
    place = Path(folder)
    return (place / "sdk.crt").exists() and not (place / "node.crt").exists()


def load_certificates(folder: Path, now: datetime | None = None) -> CertificateFolder:
    """Load a folder; :class:`ConfigError` says what is wrong, and names the file."""
    now = now or datetime.now(UTC)
    role = role_of(folder)
    own = _load_set(folder, role, now)
    if role == "node" and own.profile == "rsa":
        found = folder / "node.crt"
        raise problem(f"{found}: a node's key must be on secp256k1; RSA goes into {CHANNEL}")
    channel = None
    if (folder / CHANNEL).exists():
        channel = _load_set(folder / CHANNEL, role, now)
        if channel.profile != "rsa":
            found = folder / CHANNEL / f"{role}.crt"
            raise problem(f"{found}: must be of the RSA profile; on secp256k1 is the one above it")
    return CertificateFolder(role, own, channel)


def _load_set(folder: Path, role: Role, now: datetime) -> CertificateSet:
    ca, path, key_path = folder / "ca.crt", folder / f"{role}.crt", folder / f"{role}.key"
    trusted, (leaf, *others) = read_certificates(ca), read_certificates(path)
    profile = _profile(leaf, path)
    check_key_fits(leaf, read_private_key(key_path), path, key_path)
    if profile == "ec":
        _check_leaf(leaf, path)
    check_dates(leaf, path, now)
    check_chain(leaf, others, trusted, path, ca, now)
    try:
        identity = identity_of(public_der(leaf))
    except RemoteProtocolError as error:
        raise problem(f"{path}: {error.detail}") from None
    roots = b"".join(public_der(each) for each in trusted)
    found = CertificateSet(profile, identity, ca, path, key_path, roots)
    check_handshake(found)
    return found


def _profile(leaf: x509.Certificate, path: Path) -> Profile:
    try:
        key = leaf.public_key()
    except (ValueError, UnsupportedAlgorithm) as error:
        raise problem(f"{path}: its key cannot be read: {error}") from None
    if isinstance(key, ec.EllipticCurvePublicKey) and isinstance(key.curve, ec.SECP256K1):
        return "ec"
    if isinstance(key, rsa.RSAPublicKey) and key.key_size >= SMALLEST_RSA:
        return "rsa"
    if isinstance(key, rsa.RSAPublicKey):
        raise problem(f"{path}: its RSA key has {key.key_size} bits, {SMALLEST_RSA} are needed")
    raise problem(f"{path}: its key must be on secp256k1, or RSA for SDKs; it is {kind_of(key)}")


def _check_leaf(leaf: x509.Certificate, path: Path) -> None:
    said = is_leaf(leaf)
    if said is None:
        text = "its first certificate has no basicConstraints, and nodes refuse such a one"
        raise problem(f"{path}: {text}; issue it with basicConstraints=CA:FALSE")
    if not said:
        raise problem(f"{path}: its first certificate is one of a CA; the leaf must come first")

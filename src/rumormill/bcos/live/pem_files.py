"""Certificates and keys in PEM files: read as files of ours, and wrong ones told in a sentence."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    load_pem_private_key,
    load_pem_public_key,
)

from rumormill.bcos.live.chain_maker import Key
from rumormill.core.errors import ConfigError
from rumormill.live.files.private import LARGEST_FILE, read_private

SETTING: Final = "certificates"
"""The setting that errors are about, unless the caller names another."""
NO_GM: Final = (
    "the GM/SM TLS profile is not supported: TLS here has neither its cipher suites nor its two "
    "certificates; use certificates on secp256k1, or RSA ones for SDKs"
)

_SM2_CURVE: Final = bytes.fromhex("06082a811ccf5501822d")
"""The object identifier of the curve, in DER."""


def problem(text: str, setting: str = SETTING) -> ConfigError:
    """What is wrong, as an error about the setting."""
    return ConfigError(setting, text)


def read_pem(path: Path, *, secret: bool, setting: str = SETTING) -> bytes:
    """The bytes of a file of ours that must be there."""
    try:
        raw = read_private(path, setting, secret=secret)
    except FileNotFoundError:
        raise problem(f"{path} is missing", setting) from None
    if len(raw) > LARGEST_FILE:
        raise problem(f"{path} has more than {LARGEST_FILE} bytes", setting)
    return raw


def read_certificates(path: Path) -> list[x509.Certificate]:
    """The certificates of a file, one at least."""
    raw = read_pem(path, secret=False)
    try:
        found = x509.load_pem_x509_certificates(raw)
        for each in found:  # all that is read later
            each.subject, each.issuer, each.extensions  # noqa: B018
    except Exception:  # for what it cannot read, the library raises whatever comes to its mind
        raise problem(f"{path} holds no certificate in PEM that can be read") from None
    for certificate in found:
        if _SM2_CURVE in public_der(certificate):
            raise problem(f"{path}: {NO_GM}")
    return found


def read_private_key(path: Path, setting: str = SETTING) -> Key:
    """The private key of a file that nobody else can read; on any curve, or RSA."""
    raw = read_pem(path, secret=True, setting=setting)
    try:
        key = load_pem_private_key(raw, None)
    except TypeError:
        text = f"{path} is encrypted; decrypt it: openssl pkcs8 -in {path} -topk8 -nocrypt"
        raise problem(text, setting) from None
    except UnsupportedAlgorithm as error:
        text = NO_GM if "1.2.156.10197.1.301" in str(error) else f"its kind is not known: {error}"
        raise problem(f"{path}: {text}", setting) from None
    except ValueError:
        text = f"{path} holds no private key in PEM that can be read"
        raise problem(text, setting) from None
    if not isinstance(key, ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey):
        raise problem(f"{path}: {kind_of(key)}", setting)
    return key


def read_public_key(path: Path, setting: str) -> ec.EllipticCurvePublicKey:
    """A public key on secp256k1, as a publisher of a private topic has it of each subscriber."""
    raw = read_pem(path, secret=False, setting=setting)
    try:
        key = load_pem_public_key(raw)
    except (ValueError, UnsupportedAlgorithm):
        raise problem(f"{path} holds no public key in PEM that can be read", setting) from None
    if not isinstance(key, ec.EllipticCurvePublicKey) or not isinstance(key.curve, ec.SECP256K1):
        raise problem(f"{path}: must be a key on secp256k1, not {kind_of(key)}", setting)
    return key


def read_topic_key(path: Path, setting: str) -> ec.EllipticCurvePrivateKey:
    """The private key on secp256k1 of a subscriber to a private topic."""
    key = read_private_key(path, setting)
    if not isinstance(key, ec.EllipticCurvePrivateKey) or not isinstance(key.curve, ec.SECP256K1):
        raise problem(f"{path}: must be a key on secp256k1, not {kind_of(key)}", setting)
    return key


def check_key_fits(
    certificate: x509.Certificate, key: Key, certificate_path: Path, key_path: Path
) -> None:
    """Raise :class:`ConfigError` unless it is the key of the certificate."""
    form = Encoding.DER, PublicFormat.SubjectPublicKeyInfo
    if certificate.public_key().public_bytes(*form) != key.public_key().public_bytes(*form):
        raise problem(f"{key_path} is not the key of {certificate_path}")


def kind_of(key: object) -> str:
    """What kind of key it is, in words."""
    if isinstance(key, ec.EllipticCurvePrivateKey | ec.EllipticCurvePublicKey):
        return f"one on {key.curve.name}"
    if isinstance(key, rsa.RSAPrivateKey | rsa.RSAPublicKey):
        return f"an RSA key of {key.key_size} bits"
    return f"a key of another kind ({type(key).__name__})"


def public_der(certificate: x509.Certificate) -> bytes:
    """A certificate as it travels."""
    return certificate.public_bytes(Encoding.DER)

"""Chains of certificates: ours, those of the openssl command, and wrong ones."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.x509.oid import NameOID

from rumormill.bcos.live.chain_maker import Authority, Key, certificate_pem, key_pem, new_key

LEAF = x509.BasicConstraints(ca=False, path_length=None)
CA = x509.BasicConstraints(ca=True, path_length=None)

EXTENSIONS = """
[v3_req]
basicConstraints = CA:FALSE
keyUsage = nonRepudiation, digitalSignature, keyEncipherment
[v4_req]
basicConstraints = CA:TRUE
[req]
distinguished_name = name
[name]
"""


def openssl(*arguments: str | Path, folder: Path | None = None) -> str:
    """Run the openssl command; what it prints."""
    done = subprocess.run(
        ["openssl", *map(str, arguments)], cwd=folder, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def verify(leaf: Path, ca: Path) -> str:
    """What openssl says of the first certificate of a file; the others vouch for it."""
    return openssl("verify", "-x509_strict", "-CAfile", ca, "-untrusted", leaf, leaf)


def openssl_chain(folder: Path) -> Path:
    """A chain as the scripts of other tools make it: ``conf`` of a node, ``sdk`` of the EC profile
    and ``rsa_sdk``; the CAs are of version 1, and RSA leaves have no extensions.
    """
    folder.mkdir()
    (folder / "cert.cnf").write_text(EXTENSIONS)
    for name, unit in (("ca", "chain"), ("agency", "agency")):
        _openssl_key(folder / f"{name}.key")
        _openssl_request(folder, name, f"/CN={name}/O=fisco-bcos/OU={unit}")
    openssl("x509", "-req", "-days", "36500", "-in", "ca.csr", "-signkey", "ca.key",
            "-out", "ca.crt", folder=folder)  # fmt: skip
    _openssl_sign(folder, "agency", "ca", "v4_req")
    for place, unit in (("conf", "node"), ("sdk", "sdk")):
        (folder / place).mkdir()
        _openssl_key(folder / f"{place}/{unit}.key")
        _openssl_request(folder, f"{place}/{unit}", f"/CN={unit}0/O=fisco-bcos/OU={unit}")
        _openssl_sign(folder, f"{place}/{unit}", "agency", "v3_req")
        parts = [folder / f"{place}/{unit}.crt", folder / "agency.crt", folder / "ca.crt"]
        parts[0].write_bytes(b"".join(part.read_bytes() for part in parts))
        (folder / place / "ca.crt").write_bytes((folder / "ca.crt").read_bytes())
    _openssl_rsa(folder)
    return folder


def _openssl_rsa(folder: Path) -> None:
    openssl("req", "-new", "-newkey", "rsa:2048", "-nodes", "-keyout", "rsa.key", "-config",
            "cert.cnf", "-subj", "/CN=agency/O=fisco-bcos/OU=chain", "-out", "rsa.csr",
            folder=folder)  # fmt: skip
    openssl("x509", "-req", "-days", "36500", "-in", "rsa.csr", "-signkey", "rsa.key",
            "-out", "rsa.crt", folder=folder)  # fmt: skip
    for place, unit in (("conf/channel_cert", "node"), ("rsa_sdk", "sdk")):
        (folder / place).mkdir()
        leaf = f"{place}/{unit}"
        openssl("req", "-new", "-newkey", "rsa:2048", "-nodes", "-keyout", f"{leaf}.key",
                "-config", "cert.cnf", "-subj", "/CN=FISCO-BCOS/O=fisco-bcos/OU=agency",
                "-out", f"{leaf}.csr", folder=folder)  # fmt: skip
        _openssl_sign(folder, leaf, "rsa", None)
        (folder / place / "ca.crt").write_bytes((folder / "rsa.crt").read_bytes())
        (folder / f"{leaf}.key").chmod(0o600)


def _openssl_key(path: Path) -> None:
    curve = ("-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:secp256k1")
    openssl("genpkey", *curve, "-out", path)
    path.chmod(0o600)


def _openssl_request(folder: Path, name: str, subject: str) -> None:
    openssl("req", "-new", "-sha256", "-subj", subject, "-key", f"{name}.key",
            "-config", "cert.cnf", "-out", f"{name}.csr", folder=folder)  # fmt: skip


def _openssl_sign(folder: Path, name: str, issuer: str, extensions: str | None) -> None:
    section = () if extensions is None else ("-extensions", extensions, "-extfile", "cert.cnf")
    openssl("x509", "-req", "-days", "36500", "-sha256", "-in", f"{name}.csr",
            "-CA", f"{issuer}.crt", "-CAkey", f"{issuer}.key", "-CAcreateserial",
            *section, "-out", f"{name}.crt", folder=folder)  # fmt: skip
    (folder / f"{name}.csr").unlink()


# ---- certificates with one thing wrong


def certificate(
    name: str,
    key: Any,
    issuer: Authority | None,
    constraints: x509.BasicConstraints | None,
    begin: timedelta = timedelta(days=-1),
    end: timedelta = timedelta(days=365),
) -> x509.Certificate:
    """Any certificate, right or wrong; it begins and ends so long from now."""
    now = datetime.now(UTC)
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    builder = x509.CertificateBuilder(
        issuer.certificate.subject if issuer else subject,
        subject,
        key.public_key(),
        x509.random_serial_number(),
        now + begin,
        now + end,
    )
    if constraints is not None:
        builder = builder.add_extension(constraints, critical=False)
    return builder.sign(issuer.key if issuer else key, SHA256())


def authority(name: str, issuer: Authority | None = None, **wrong: Any) -> Authority:
    """A CA or an agency."""
    key = new_key("ec")
    return Authority(certificate(name, key, issuer, wrong.pop("constraints", CA), **wrong), key)


@cache
def good_authorities() -> tuple[Authority, Authority]:
    """A CA and its agency that have no faults."""
    ca = authority("ca")
    return ca, authority("agency", ca)


@cache
def rsa_key(bits: int = 2048) -> rsa.RSAPrivateKey:
    """One for all tests: they are slow to make."""
    return rsa.generate_private_key(public_exponent=65537, key_size=bits)


P256 = ec.SECP256R1()


def write_folder(
    folder: Path,
    chain: tuple[x509.Certificate, ...],
    ca: x509.Certificate,
    key: Key,
    unit: str = "node",
) -> Path:
    """The folder of a node or an SDK."""
    folder.mkdir(parents=True)
    (folder / "ca.crt").write_bytes(certificate_pem(ca))
    (folder / f"{unit}.crt").write_bytes(certificate_pem(*chain))
    write_key(folder / f"{unit}.key", key_pem(key))
    return folder


def write_key(path: Path, content: bytes) -> None:
    """A file for its owner alone."""
    path.touch(mode=0o600)
    path.write_bytes(content)


def node_folder(folder: Path, change: Callable[[Path], None] | None = None, **leaf: Any) -> Path:
    """The folder of a node with a good chain, whose leaf is as told."""
    ca, agency = good_authorities()
    key = leaf.pop("key", None) or new_key("ec")
    own = certificate("node0", key, agency, leaf.pop("constraints", LEAF), **leaf)
    write_folder(folder, (own, agency.certificate, ca.certificate), ca.certificate, key)
    if change is not None:
        change(folder)
    return folder

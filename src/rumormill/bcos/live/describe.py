"""What certificates and keys in files say, for ``rumormill id``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rumormill.bcos.certificates.identity import id_of_key, identity_of
from rumormill.bcos.live.certificate_folder import ROLES, load_certificates
from rumormill.bcos.live.pem_files import (
    public_der,
    read_certificates,
    read_pem,
    read_private_key,
    read_public_key,
)
from rumormill.core.errors import RemoteProtocolError
from rumormill.live.family import Description

KEY_FILE = "key_file"


def describe_path(text: str) -> Description | None:
    """A certificate, the folder of a node or an SDK, or a key; None if it is none of these.

    A folder is loaded as a node would, so that whatever is wrong with it is told.
    """
    path = Path(text)
    try:
        if not path.exists():
            return None
    except OSError:  # what is too long for a path is none
        return None
    if path.suffix == ".crt" and path.is_file():
        return Description("certificate", {**_certificate(path), "file": text})
    if any((path / f"{role}.crt").exists() for role in ROLES):
        folder = load_certificates(path)
        profiles = [each.profile for each in (folder.own, folder.channel) if each is not None]
        fields = {"role": folder.role, "profiles": ", ".join(profiles), "folder": text}
        return Description("certificates", {**_certificate(folder.own.certificate), **fields})
    if path.suffix in (".key", ".pem") and path.is_file() and _is_pem(path):
        return Description("key", {**_key(path), "file": text})
    return None


def _certificate(path: Path) -> Mapping[str, Any]:
    leaf = read_certificates(path)[0]
    try:
        who = identity_of(public_der(leaf))
    except RemoteProtocolError as error:
        return {"id": None, "problem": str(error)}
    return {
        "id": who.node_id or None,
        "name": who.name,
        "agency": who.agency,
        "issuer": who.issuer,
        "valid_from": f"{leaf.not_valid_before_utc:%Y-%m-%dT%H:%M:%SZ}",
        "valid_until": f"{leaf.not_valid_after_utc:%Y-%m-%dT%H:%M:%SZ}",
    }


def _key(path: Path) -> Mapping[str, Any]:
    if b"PUBLIC KEY" in read_pem(path, secret=False, setting=KEY_FILE):
        return {"id": id_of_key(read_public_key(path, KEY_FILE)), "type": "secp256k1 (public)"}
    key = read_private_key(path, KEY_FILE)
    node_id = id_of_key(key.public_key())
    return {"id": node_id or None, "type": "secp256k1" if node_id else "rsa"}


def _is_pem(path: Path) -> bool:
    return b"-----BEGIN" in read_pem(path, secret=False, setting=KEY_FILE)

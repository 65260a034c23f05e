"""A chain in a folder, as ``rumormill keygen`` makes it and adds to it.

    ca.crt  ca.key  agency.crt  agency.key     who vouches; keep the keys to yourself
    channel/...                                the same for the RSA profile
    nodes/0/  ca.crt  node.crt  node.key       what a node takes as its certificates
    nodes/0/channel_cert/...                   the same for SDKs that speak RSA
    sdks/0/   ca.crt  sdk.crt  sdk.key
    sdks/0/channel_cert/...                    what an SDK of the RSA profile takes
    topic_keys/0/  private.pem  public.pem     for a private topic

What is there stays: a second call with larger numbers adds what is missing, and a call that was
killed is completed by the next one. ``ca.key`` may be kept elsewhere once there is an agency.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Literal, NamedTuple

from cryptography import x509

from rumormill.bcos.certificates.identity import id_of_key, node_id_of
from rumormill.bcos.live.chain_maker import (
    Authority,
    Key,
    Profile,
    Unit,
    certificate_pem,
    certify,
    key_pem,
    new_key,
    public_key_pem,
)
from rumormill.bcos.live.pem_files import (
    check_key_fits,
    read_certificates,
    read_private_key,
)
from rumormill.core.errors import ConfigError
from rumormill.live.family import FolderKey
from rumormill.live.files.private import write_new
from rumormill.system.files import create_file
from rumormill.system.private_files import check_folder_of, make_own_folder

CHANNEL: Final = "channel_cert"
"""The folder, within that of a node or an SDK, of its RSA profile."""
PARTS: Final = frozenset(
    ("ca.crt", "ca.key", "agency.crt", "agency.key", "channel", "nodes", "sdks", "topic_keys")
)
NUMBER: Final = re.compile("0|[1-9][0-9]{0,8}")
MOST: Final = 10_000
"""Nodes, SDKs or keys of topics in a folder."""

Member = Literal["node", "sdk"]


def extend_chain(folder: Path, nodes: int, sdks: int, topic_keys: int) -> list[FolderKey]:
    """See to it that there are at least so many; returns all that there are."""
    for key, count in (("nodes", nodes), ("sdks", sdks), ("topic_keys", topic_keys)):
        if count > MOST:
            raise ConfigError(key, f"at most {MOST}, not {count}")
    _check_chain(folder)
    make_own_folder(folder)
    made: list[FolderKey] = []
    members: tuple[tuple[Member, Path, int], ...] = (
        ("node", folder / "nodes", nodes),
        ("sdk", folder / "sdks", sdks),
    )
    if any(_numbers(place, count) for _, place, count in members):
        agencies: dict[Profile, _Issuers] = {
            "ec": _issuers(folder, "ec"),
            "rsa": _issuers(folder / "channel", "rsa"),
        }
        for unit, place, count in members:
            made += [_member(place / str(n), unit, n, agencies) for n in _numbers(place, count)]
    topics = folder / "topic_keys"
    return made + [_topic_key(topics / str(n)) for n in _numbers(topics, topic_keys)]


def _check_chain(folder: Path) -> None:
    """Files of a chain are not strewn among others, and a folder of a node is no chain."""
    if not folder.exists():
        return
    if not folder.is_dir():
        raise ConfigError("out", f"{folder} is a file; a chain takes a folder")
    found = {entry.name for entry in folder.iterdir() if not entry.name.startswith(".")}
    foreign = sorted(found - PARTS)
    if foreign and not {"agency.crt", "agency.key"} <= found:
        problem = f"{folder} holds {foreign[0]} and no chain; give a new folder, or one of a chain"
        raise ConfigError("out", problem)


def _numbers(place: Path, count: int) -> list[int]:
    """The numbers of all entries: those that are there, and those that shall be."""
    there = {int(each.name) for each in place.glob("*") if NUMBER.fullmatch(each.name)}
    return sorted(there.union(range(count)))


# ---- who vouches


class _Issuers(NamedTuple):
    root: x509.Certificate
    agency: Authority


def _issuers(folder: Path, profile: Profile) -> _Issuers:
    make_own_folder(folder)
    ca, agency = folder / "ca", folder / "agency"
    if _there(agency, ".crt") and _there(agency, ".key") and _there(ca, ".crt"):
        # The CA's own key is not needed any more, and may lie in a safe.
        return _Issuers(
            read_certificates(_file(ca, ".crt"))[0], _authority(agency, "agency", profile, None)
        )
    root = _authority(ca, "chain", profile, None)
    return _Issuers(root.certificate, _authority(agency, "agency", profile, root))


def _authority(stem: Path, unit: Unit, profile: Profile, issuer: Authority | None) -> Authority:
    key, _ = _key(stem, profile)
    path = _file(stem, ".crt")
    if not path.exists():
        # Names of their own: a node that trusts both CAs must not take one for the other.
        name = unit if profile == "ec" else f"{profile}_{unit}"
        write_public(path, certificate_pem(certify(name, unit, key, issuer)))
    certificate = read_certificates(path)[0]
    check_key_fits(certificate, key, path, _file(stem, ".key"))
    return Authority(certificate, key)


# ---- for whom


def _member(
    folder: Path, unit: Member, number: int, agencies: Mapping[Profile, _Issuers]
) -> FolderKey:
    new = _leaf(folder, unit, number, "ec", agencies["ec"])
    _leaf(folder / CHANNEL, unit, number, "rsa", agencies["rsa"])
    leaf = read_certificates(folder / f"{unit}.crt")[0]
    return FolderKey(node_id_of(leaf), unit, folder, new)


def _leaf(folder: Path, unit: Member, number: int, profile: Profile, issuers: _Issuers) -> bool:
    """Complete the files of one, and say whether its key is new."""
    make_own_folder(folder)
    key, new = _key(folder / unit, profile)
    path = folder / f"{unit}.crt"
    if not path.exists():
        leaf = certify(f"{unit}{number}", unit, key, issuers.agency)
        chain = (leaf, issuers.agency.certificate, issuers.root)
        write_public(path, certificate_pem(*chain))
    if not (folder / "ca.crt").exists():
        write_public(folder / "ca.crt", certificate_pem(issuers.root))
    return new


def _topic_key(folder: Path) -> FolderKey:
    make_own_folder(folder)
    private, public = folder / "private.pem", folder / "public.pem"
    key, new = _load_or_create(private, "ec", public)
    if not public.exists():
        write_public(public, public_key_pem(key))
    return FolderKey(id_of_key(key.public_key()), "topic_key", folder, new)


# ---- files


def _key(stem: Path, profile: Profile) -> tuple[Key, bool]:
    return _load_or_create(_file(stem, ".key"), profile, _file(stem, ".crt"))


def _load_or_create(path: Path, profile: Profile, public: Path) -> tuple[Key, bool]:
    """A key, and whether it is new; a key that got lost is never replaced by another."""
    if path.exists():
        return read_private_key(path), False
    if public.exists():
        problem = f"{path} is missing, the key of {public}; bring it back, or remove {public}"
        raise ConfigError("out", problem)
    key = new_key(profile)
    write_new(path, "out", key_pem(key))
    return key, True


def write_public(path: Path, content: bytes) -> None:
    """Write a file that everyone may read, in a folder that is ours; it must not be there yet."""
    check_folder_of(path)
    create_file(path, content)


def _file(stem: Path, suffix: str) -> Path:
    return stem.with_name(stem.name + suffix)


def _there(stem: Path, suffix: str) -> bool:
    return _file(stem, suffix).exists()

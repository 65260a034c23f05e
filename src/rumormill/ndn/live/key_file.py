"""The key of a publisher in a file, and the keys of others that a subscriber trusts.

``rumormill keygen --network ndn --out alice.json`` makes two files: the key, readable by its owner
alone, and beside it ``alice.pub`` with its public part, one line that is given to subscribers. They
name it, or hold the line itself, in the setting ``trust``:

    /weather=alice.pub     what is published below /weather must be signed by this key
    /weather/open=open     below this anything goes, as where there is no rule at all
    alice.pub              the key is known: what it has signed is accepted, as digests are

A file may also be a certificate of NDN, as ``ndnsec`` writes it, or a key file as above; of a
shared secret the key file is the only one.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from rumormill.core.errors import ConfigError, LocalProtocolError
from rumormill.live.files.private import LARGEST_FILE, read_json, read_private, write_new
from rumormill.ndn.security.certificates import key_from_certificate
from rumormill.ndn.security.keys import PublicKey, public_key_from_text
from rumormill.ndn.security.private_keys import KINDS, TYPES, PrivateKey
from rumormill.ndn.security.trust import Trust
from rumormill.ndn.wire.name import Name, name_from_uri
from rumormill.ndn.wire.signature import Signer
from rumormill.system.files import DRAFT_SUFFIX, replace_file

KEY_TYPES: Final = TYPES
"""What ``"type"`` says in key files."""

IDENTITY: Final = "/rumormill"
"""Whose keys are, if nothing else is said."""

OPEN: Final = "open"
"""What a rule says instead of a key where there are no rules again."""

_KEY_TEXT: Final = re.compile(r"ndn-[a-z0-9]+ /")
_RULE: Final = re.compile(r"(?P<prefix>(?:ndn:)?/.*?)=(?P<key>ndn-[a-z0-9]+ /.*)", re.DOTALL)


# ---- keys of our own


def create_key(
    path: str | Path, identity: str = IDENTITY, kind: str = "ed25519"
) -> Mapping[str, Any]:
    """Write a new key to ``path``, which must not exist yet (:class:`FileExistsError`).

    Its public part goes beside it (:func:`public_path`). Returns what everyone may know of it.
    """
    path = Path(path)
    if kind not in KINDS:
        raise ConfigError("kind", f"{kind!r} is no kind of key; there are {', '.join(KINDS)}")
    try:
        key = PrivateKey.generate(random.SystemRandom(), name_from_uri(identity), kind)
    except LocalProtocolError as error:
        raise ConfigError("identity", str(error)) from None
    beside = public_path(path)
    if key.public_text is not None and beside.exists() and not _is_draft(path):
        problem = f"{beside} exists; the public part would go there: give another name"
        raise ConfigError("key_file", problem)
    write_new(path, "key_file", json.dumps(key.to_json(), indent=2).encode() + b"\n")
    if key.public_text is not None:
        _write_public(beside, key.public_text)
    return _public_part(key)


def describe_key(path: str | Path) -> Mapping[str, Any]:
    """What everyone may know of the key in ``path``."""
    return _public_part(load_key(path))


def load_signer(path: str | Path) -> Signer:
    """What signs with the key in ``path``."""
    return load_key(path).signer


def load_key(path: str | Path) -> PrivateKey:
    """The key in ``path``; :class:`ConfigError` if there is none, or others can read it."""
    try:
        raw = read_private(path, "key_file")
    except FileNotFoundError:
        problem = f"{path} does not exist; rumormill keygen --network ndn --out {path} makes it"
        raise ConfigError("key_file", problem) from None
    try:
        return PrivateKey.from_json(read_json(raw))
    except (ValueError, LocalProtocolError) as error:
        raise ConfigError("key_file", f"{path} holds no key for ndn: {error}") from None


def public_path(path: Path) -> Path:
    """Where the public part of the key in ``path`` goes.

    >>> str(public_path(Path("keys/alice.json"))), str(public_path(Path("alice.pub")))
    ('keys/alice.pub', 'alice.pub.pub')
    """
    if _is_draft(path):  # of ".alice.json.0a1b.new", which is to become alice.json
        path = path.with_name(path.name[1:].rsplit(".", 2)[0])
    return path.with_name(path.name + ".pub") if path.suffix == ".pub" else path.with_suffix(".pub")


def _is_draft(path: Path) -> bool:
    """Whether a file is written under another name first, to replace the one that is there."""
    return path.name.startswith(".") and path.name.endswith(DRAFT_SUFFIX)


def _write_public(path: Path, text: str) -> None:
    try:
        replace_file(path, text.encode() + b"\n")
    except OSError as error:
        raise ConfigError("key_file", f"cannot write {path}: {error.strerror}") from None


def _public_part(key: PrivateKey) -> dict[str, Any]:
    return {"id": key.uri, "type": key.kind, "public_key": key.public_text}


# ---- keys of others


def load_trust(rules: Iterable[str], own: Iterable[PublicKey] = ()) -> Trust:
    """The trust that the setting ``trust`` describes; ``own`` keys are known, too.

    Raises :class:`ConfigError`, which names the rule or the file that is wrong.
    """
    by_prefix: dict[Name, list[PublicKey] | None] = {}
    known = list(own)
    for rule in rules:
        prefix, given = split_rule(rule)
        if prefix is None:
            known.append(load_public_key(given))
        elif given == OPEN:
            by_prefix.setdefault(prefix, None)
        else:
            by_prefix[prefix] = [*(by_prefix.get(prefix) or ()), load_public_key(given)]
    try:
        return Trust(by_prefix, known)
    except LocalProtocolError as error:
        raise ConfigError("trust", str(error)) from None


def split_rule(rule: str) -> tuple[Name | None, str]:
    """The topic prefix of a rule, None if it has none, and the file or the text of its key.

    A prefix may contain ``=``, so that the last one counts: a file's name cannot.

    >>> split_rule("/8=weather=alice.pub")[1], split_rule("alice.pub")
    ('alice.pub', (None, 'alice.pub'))
    """
    if _KEY_TEXT.match(rule):
        return None, rule
    found = _RULE.fullmatch(rule)
    prefix, key = (found["prefix"], found["key"]) if found else _at_last(rule)
    if prefix is None:
        return None, key
    try:
        return name_from_uri(prefix), key
    except LocalProtocolError as error:
        raise ConfigError("trust", f"{rule}: {prefix} is no topic prefix: {error}") from None


def _at_last(rule: str) -> tuple[str | None, str]:
    prefix, mark, key = rule.rpartition("=")
    if not mark:
        return None, rule
    if not key:
        raise ConfigError("trust", f"{rule}: no file follows the =")
    return prefix, key


def load_public_key(given: str | Path) -> PublicKey:
    """The key of a text, or of a file: a text, a certificate of NDN, or a key file of ours."""
    if isinstance(given, str) and _KEY_TEXT.match(given):
        try:
            return public_key_from_text(given)
        except LocalProtocolError as error:
            raise ConfigError("trust", f"{given}: {error}") from None
    raw = _read_public(given)
    try:
        return _key_in(raw, given)
    except (ValueError, LocalProtocolError) as error:
        raise ConfigError("trust", f"{given} holds no key: {error}") from None


def _read_public(path: str | Path) -> bytes:
    try:
        raw = read_private(path, "trust", secret=False)
    except FileNotFoundError:
        raise ConfigError("trust", f"{path} does not exist") from None
    if len(raw) > LARGEST_FILE:
        raise ConfigError("trust", f"{path} holds no key: more than {LARGEST_FILE} bytes")
    return raw


def _key_in(raw: bytes, path: str | Path) -> PublicKey:
    if raw.lstrip()[:1] == b"{":
        try:
            return load_key(path).public_key  # again, as the secret that it is
        except ConfigError as error:
            raise ConfigError("trust", error.problem) from None
    if raw[:4] == b"ndn-":
        return public_key_from_text(raw.decode("utf-8", "replace"))
    if b"PUBLIC KEY-----" in raw:
        problem = "PEM has no name for it; write one line: ndn-KIND /NAME/KEY/ID BASE64"
        raise LocalProtocolError(problem)
    return key_from_certificate(raw)

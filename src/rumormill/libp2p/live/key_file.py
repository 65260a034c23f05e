"""Our own key in a file, so that a node is the same peer after a restart.

A small JSON object, readable by its owner alone:

    {"type": "ed25519", "private_key": "CAESQ...", "peer_id": "12D3KooW..."}

``private_key`` is the libp2p protobuf in base64, as other libp2p programs store it.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import json
import random
from pathlib import Path

from rumormill.core.errors import ConfigError, LocalProtocolError
from rumormill.libp2p.stack.keys import PrivateKey
from rumormill.live.files.private import read_json, read_private, write_new


def load_or_create_key(path: str | Path) -> PrivateKey:
    """The key in ``path``; a new one, written there, if there is no such file."""
    with contextlib.suppress(FileNotFoundError):
        return load_key(path)
    try:
        return create_key(path)
    except FileExistsError:
        return load_key(path)  # another process was faster


def load_key(path: str | Path) -> PrivateKey:
    """The key in ``path``; :class:`ConfigError` if others can read it or it holds no key."""
    raw = read_private(path, "key_file")
    try:
        return _decode(raw)
    except (ValueError, LocalProtocolError) as error:
        raise ConfigError("key_file", f"{path} holds no key: {error}") from None


def create_key(path: str | Path, key: PrivateKey | None = None) -> PrivateKey:
    """Write a new key to ``path``, which must not exist yet (:class:`FileExistsError`)."""
    key = key or new_key()
    write_new(path, "key_file", _encode(key))
    return key


def new_key() -> PrivateKey:
    """A key that nobody else has."""
    return PrivateKey.generate(random.SystemRandom())


def _encode(key: PrivateKey) -> bytes:
    content = {
        "type": "ed25519",
        "private_key": base64.b64encode(key.to_protobuf()).decode("ascii"),
        "peer_id": key.peer,
    }
    return json.dumps(content, indent=2).encode() + b"\n"


def _decode(raw: bytes) -> PrivateKey:
    content = read_json(raw)
    if content.get("type") != "ed25519":
        raise ValueError('no JSON object with "type": "ed25519"')
    try:
        protobuf = base64.b64decode(content["private_key"], validate=True)
    except (KeyError, TypeError, binascii.Error):
        raise ValueError('"private_key" is missing or not base64') from None
    key = PrivateKey.from_protobuf(protobuf)
    if content.get("peer_id", key.peer) != key.peer:
        raise ValueError(f'"peer_id" is not the one of its key, which is {key.peer}')
    return key

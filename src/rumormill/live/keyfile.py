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
import os
import random
import secrets
import stat
from pathlib import Path

from rumormill.core.errors import ConfigError, LocalProtocolError
from rumormill.libp2p.stack.keys import PrivateKey

LARGEST_FILE = 64 * 1024
PRIVATE = 0o600
OTHERS = 0o077


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
    try:
        with open(path, "rb") as file:
            _check_private(path, os.fstat(file.fileno()))
            raw = file.read(LARGEST_FILE + 1)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise ConfigError("key_file", f"cannot read {path}: {error.strerror}") from None
    try:
        return _decode(raw)
    except (ValueError, LocalProtocolError) as error:
        raise ConfigError("key_file", f"{path} holds no key: {error}") from None


def create_key(path: str | Path, key: PrivateKey | None = None) -> PrivateKey:
    """Write a new key to ``path``, which must not exist yet (:class:`FileExistsError`).

    The file appears whole or not at all: it is written beside and then linked to its name.
    """
    key = key or new_key()
    try:
        _write_whole(Path(path), _encode(key))
    except FileExistsError:
        raise
    except OSError as error:
        raise ConfigError("key_file", f"cannot write {path}: {error.strerror}") from None
    return key


def new_key() -> PrivateKey:
    """A key that nobody else has."""
    return PrivateKey.generate(random.SystemRandom())


def _write_whole(path: Path, raw: bytes) -> None:
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    _write(draft, raw)
    try:
        os.link(draft, path)
    except FileExistsError:
        raise
    except OSError:
        _write(path, raw)  # a file system without links
    finally:
        draft.unlink()


def _write(path: Path, raw: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE)
    with open(descriptor, "wb") as file:
        file.write(raw)
        file.flush()
        os.fsync(file.fileno())


def _check_private(path: str | Path, status: os.stat_result) -> None:
    if os.name == "posix" and status.st_mode & OTHERS:
        mode = stat.S_IMODE(status.st_mode)
        raise ConfigError(
            "key_file",
            f"{path} can be read or changed by others (mode {mode:04o}); chmod 600 makes it yours",
        )


def _encode(key: PrivateKey) -> bytes:
    content = {
        "type": "ed25519",
        "private_key": base64.b64encode(key.to_protobuf()).decode("ascii"),
        "peer_id": key.peer,
    }
    return json.dumps(content, indent=2).encode() + b"\n"


def _decode(raw: bytes) -> PrivateKey:
    if len(raw) > LARGEST_FILE:
        raise ValueError(f"more than {LARGEST_FILE} bytes")
    try:
        content = json.loads(raw)
    except ValueError:
        raise ValueError("not JSON") from None
    if not isinstance(content, dict) or content.get("type") != "ed25519":
        raise ValueError('no JSON object with "type": "ed25519"')
    try:
        protobuf = base64.b64decode(content["private_key"], validate=True)
    except (KeyError, TypeError, binascii.Error):
        raise ValueError('"private_key" is missing or not base64') from None
    key = PrivateKey.from_protobuf(protobuf)
    if content.get("peer_id", key.peer) != key.peer:
        raise ValueError(f'"peer_id" is not the one of its key, which is {key.peer}')
    return key

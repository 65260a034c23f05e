"""The key of a bep50 publisher in a file, so that its topics outlive the program.

A small JSON object, readable by its owner alone:

    {"type": "bep50", "seed": "9d61...", "public_key": "d75a..."}

Who has published with libtorrent brings its secret key of 64 bytes as ``expanded_key`` in place of
``seed``; all numbers are in hex.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

from rumormill.bep50.wire.keys import ItemKey
from rumormill.core.errors import ConfigError, LocalProtocolError
from rumormill.live.files.private import read_json, read_private, write_new

TYPE = "bep50"


def load_item_key(path: str | Path) -> ItemKey:
    """The key in ``path``; :class:`ConfigError` if there is none, or others can read it."""
    try:
        raw = read_private(path, "key_file")
    except FileNotFoundError:
        problem = f"{path} does not exist; rumormill keygen --network bep50 --out {path} makes it"
        raise ConfigError("key_file", problem) from None
    try:
        return item_key_in(read_json(raw))
    except (ValueError, LocalProtocolError) as error:
        raise ConfigError("key_file", f"{path} holds no key for bep50: {error}") from None


def create_item_key(path: str | Path, key: ItemKey | None = None) -> ItemKey:
    """Write a new key to ``path``, which must not exist yet (:class:`FileExistsError`)."""
    key = key or ItemKey.generate(random.SystemRandom())
    if key.seed is None:
        raise LocalProtocolError("only a key whose seed is known can be written to a file")
    content = {"type": TYPE, "seed": key.seed.hex(), "public_key": key.public_key.hex()}
    write_new(path, "key_file", json.dumps(content, indent=2).encode() + b"\n")
    return key


def item_key_in(content: dict[str, Any]) -> ItemKey:
    """The key in the JSON object of a file; :class:`ValueError` says what is wrong with it."""
    if content.get("type") != TYPE:
        raise ValueError(f'its "type" is {content.get("type")!r}, not "{TYPE}"')
    if "expanded_key" in content:
        key = ItemKey.from_expanded(_bytes(content, "expanded_key", 64))
    else:
        key = ItemKey.from_seed(_bytes(content, "seed", 32))
    public_key = key.public_key.hex()
    if content.get("public_key", public_key) != public_key:
        raise ValueError(f'"public_key" is not the one of its key, which is {public_key}')
    return key


def _bytes(content: dict[str, Any], name: str, size: int) -> bytes:
    try:
        raw = bytes.fromhex(content[name])
    except (KeyError, TypeError, ValueError):
        raise ValueError(f'"{name}" is missing or not hex') from None
    if len(raw) != size:
        raise ValueError(f'"{name}" has {len(raw)} bytes, not {size}')
    return raw

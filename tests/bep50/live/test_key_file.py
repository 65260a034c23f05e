from __future__ import annotations

import hashlib
import json
import stat
from pathlib import Path
from typing import Any

import pytest

from rumormill.bep50.live.key_file import create_item_key, load_item_key
from rumormill.bep50.wire.items import genuine
from rumormill.core.errors import ConfigError
from rumormill.libp2p.live.key_file import create_key, load_key


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "key.json"


def write(path: Path, content: dict[str, Any]) -> None:
    path.touch(mode=0o600)
    path.write_text(json.dumps(content))


def test_a_key_is_found_again_and_is_its_owners_alone(path: Path) -> None:
    key = create_item_key(path)
    assert load_item_key(path).public_key == key.public_key
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with pytest.raises(FileExistsError):
        create_item_key(path)


def test_the_secret_of_libtorrent_can_be_brought_along(path: Path) -> None:
    key = create_item_key(path)
    assert key.seed is not None
    expanded = bytearray(hashlib.sha512(key.seed).digest())
    expanded[0] &= 248
    expanded[31] = expanded[31] & 63 | 64
    path.unlink()
    write(path, {"type": "bep50", "expanded_key": expanded.hex()})
    brought = load_item_key(path)
    assert brought.public_key == key.public_key
    assert genuine(brought.item(b"salt", 1, b"1:x"))


def test_a_missing_file_is_told_with_the_command_that_makes_it(path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        load_item_key(path)
    assert str(caught.value) == (
        f"key_file: {path} does not exist; rumormill keygen --network bep50 --out {path} makes it"
    )


def test_a_key_that_others_can_read_is_refused(path: Path) -> None:
    create_item_key(path)
    path.chmod(0o644)
    with pytest.raises(ConfigError, match="can be read or changed by others"):
        load_item_key(path)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"type": "rsa"}, "its \"type\" is 'rsa'"),
        ({"seed": "zz"}, '"seed" is missing or not hex'),
        ({"seed": None}, '"seed" is missing or not hex'),
        ({"seed": "00"}, '"seed" has 1 bytes, not 32'),
        ({"public_key": "00" * 32}, '"public_key" is not the one of its key'),
        ({"expanded_key": "00"}, '"expanded_key" has 1 bytes, not 64'),
    ],
)
def test_a_file_without_a_key_is_named(path: Path, change: dict[str, Any], problem: str) -> None:
    create_item_key(path)
    content = json.loads(path.read_text())
    write(path, {**content, **change})
    with pytest.raises(ConfigError) as caught:
        load_item_key(path)
    assert str(caught.value).startswith(f"key_file: {path} holds no key for bep50: ")
    assert problem in str(caught.value)


@pytest.mark.parametrize("raw", [b"", b"\xff\xfe", b"[1]", b"[" * 60_000, b"x" * 100_000])
def test_any_other_file_is_no_key(path: Path, raw: bytes) -> None:
    path.touch(mode=0o600)
    path.write_bytes(raw)
    for load in (load_item_key, load_key):
        with pytest.raises(ConfigError, match="holds no key"):
            load(path)


def test_a_key_of_one_family_is_none_of_the_other(tmp_path: Path) -> None:
    create_item_key(tmp_path / "item.key")
    create_key(tmp_path / "node.key")
    with pytest.raises(ConfigError, match='its "type" is \'ed25519\', not "bep50"'):
        load_item_key(tmp_path / "node.key")
    with pytest.raises(ConfigError, match="holds no key"):
        load_key(tmp_path / "item.key")

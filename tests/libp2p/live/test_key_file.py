from __future__ import annotations

import json
import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from rumormill.core.errors import ConfigError
from rumormill.libp2p.live.key_file import create_key, load_key, load_or_create_key


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "node.key"


def test_a_key_is_made_once_and_found_again(path: Path) -> None:
    key = load_or_create_key(path)
    assert load_or_create_key(path).peer == key.peer == load_key(path).peer


def test_only_the_owner_may_read_it_whatever_the_umask(path: Path) -> None:
    before = os.umask(0)
    try:
        create_key(path)
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_the_file_says_what_it_is(path: Path) -> None:
    key = create_key(path)
    content = json.loads(path.read_text())
    assert content["type"] == "ed25519"
    assert content["peer_id"] == key.peer


def test_nothing_is_left_beside_it(path: Path) -> None:
    create_key(path)
    with pytest.raises(FileExistsError):
        create_key(path)
    assert [each.name for each in path.parent.iterdir()] == ["node.key"]


def test_an_existing_key_is_never_overwritten(path: Path) -> None:
    key = create_key(path)
    with pytest.raises(FileExistsError):
        create_key(path)
    assert load_key(path).peer == key.peer


def test_many_that_start_at_once_agree_on_one_key(path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        peers = {key.peer for key in pool.map(load_or_create_key, [path] * 32)}
    assert len(peers) == 1


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o620])
def test_a_key_that_others_can_touch_is_refused_in_one_sentence(path: Path, mode: int) -> None:
    create_key(path)
    path.chmod(mode)
    with pytest.raises(ConfigError) as caught:
        load_or_create_key(path)
    assert str(caught.value) == (
        f"key_file: {path} can be read or changed by others (mode {mode:04o}); "
        f"chmod 600 {path} makes it yours"
    )


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"type": "rsa"}, 'no JSON object with "type": "ed25519"'),
        ({"private_key": "???"}, '"private_key" is missing or not base64'),
        ({"private_key": None}, '"private_key" is missing or not base64'),
        ({"private_key": "AAAA"}, "not a private key"),
        ({"peer_id": "12D3KooW"}, '"peer_id" is not the one of its key'),
    ],
)
def test_a_file_without_a_key_is_named(path: Path, change: dict[str, str], problem: str) -> None:
    create_key(path)
    content = json.loads(path.read_text())
    path.write_text(json.dumps({**content, **change}))
    with pytest.raises(ConfigError) as caught:
        load_key(path)
    assert str(caught.value).startswith(f"key_file: {path} holds no key: ")
    assert problem in str(caught.value)


@pytest.mark.parametrize("raw", [b"", b"\xff\xfe", b"[1]", b"{" * 2000, b"x" * 100_000])
def test_any_other_file_is_no_key(path: Path, raw: bytes) -> None:
    path.touch(mode=0o600)
    path.write_bytes(raw)
    with pytest.raises(ConfigError, match="holds no key"):
        load_key(path)


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    path = tmp_path / "absent" / "node.key"
    with pytest.raises(ConfigError) as caught:
        load_or_create_key(path)
    assert str(caught.value) == f"key_file: cannot write {path}: No such file or directory"


def test_a_folder_is_no_key(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=f"key_file: {tmp_path} is a folder; give a regular file"):
        load_key(tmp_path)

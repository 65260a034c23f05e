"""Files that others have prepared for a node: it says so in a sentence and ends, or never waits."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.helpers.cli.command import StartCommand as Start

STRANGER = 65_534


def make_key(start: Start, path: Path, network: str = "gossipsub") -> None:
    assert start("keygen", "--network", network, "--out", str(path)).end() == 0


def refused(start: Start, *arguments: str) -> str:
    """The sentence with which a node ends at once, in words that a command line deserves."""
    node = start("node", *arguments)
    assert node.end() == 2  # a node that waits for the file would never come to this
    return node.sentence


@pytest.mark.parametrize("network", ["gossipsub", "bep50"])
def test_a11_a_key_that_is_a_named_pipe_is_refused_at_once(
    start: Start, tmp_path: Path, network: str
) -> None:
    pipe = tmp_path / "key"
    os.mkfifo(pipe, 0o600)
    sentence = refused(start, "--network", network, "--key-file", str(pipe))
    assert sentence == f"rumormill: key_file: {pipe} is a named pipe; give a regular file."


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
@pytest.mark.parametrize("network", ["gossipsub", "bep50"])
def test_a11_another_users_key_is_refused_to_root(
    start: Start, tmp_path: Path, network: str
) -> None:
    key = tmp_path / "key"
    make_key(start, key, network)
    os.chown(key, STRANGER, STRANGER)
    sentence = refused(start, "--network", network, "--key-file", str(key))
    assert f"key_file: {key} belongs to " in sentence and f"chown root {key}" in sentence


@pytest.mark.parametrize("network", ["gossipsub", "bep50"])
def test_a11_a_key_in_a_folder_that_everybody_can_write_to_is_refused(
    start: Start, tmp_path: Path, network: str
) -> None:
    folder = tmp_path / "open"
    folder.mkdir()
    make_key(start, folder / "key", network)
    folder.chmod(0o777)
    sentence = refused(start, "--network", network, "--key-file", str(folder / "key"))
    assert f"{folder / 'key'} is in a folder where others can put another file" in sentence
    assert f"chmod go-w {folder}" in sentence


def test_a11_no_key_is_made_in_a_folder_that_everybody_can_write_to(
    start: Start, tmp_path: Path
) -> None:
    folder = tmp_path / "open"
    folder.mkdir()
    folder.chmod(0o777)
    assert "chmod go-w" in refused(start, "--key-file", str(folder / "key"))
    command = start("keygen", "--out", str(folder / "key"))
    assert command.end() == 2 and "chmod go-w" in command.sentence
    assert os.listdir(folder) == []


def test_a11_a_token_that_others_can_read_is_refused(start: Start, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("a-long-random-token\n")
    token.chmod(0o644)
    sentence = refused(start, "--http", "127.0.0.1:0", "--http-token-file", str(token))
    assert sentence == (
        f"rumormill: http_token_file: {token} can be read or changed by others (mode 0644); "
        f"chmod 600 {token} makes it yours."
    )


def test_a11_a_token_that_is_a_named_pipe_is_refused_at_once(start: Start, tmp_path: Path) -> None:
    pipe = tmp_path / "token"
    os.mkfifo(pipe, 0o600)
    sentence = refused(start, "--http", "127.0.0.1:0", "--http-token-file", str(pipe))
    assert f"{pipe} is a named pipe" in sentence


def test_a_state_that_is_a_named_pipe_is_refused_at_once(start: Start, tmp_path: Path) -> None:
    pipe = tmp_path / "state"
    os.mkfifo(pipe, 0o600)
    sentence = refused(start, "--network", "bep50", "--set", f"state_file={pipe}")
    assert f"state_file: {pipe} is a named pipe" in sentence


def test_a_state_that_others_can_change_is_refused(start: Start, tmp_path: Path) -> None:
    state = tmp_path / "state"
    state.write_bytes(b"")
    state.chmod(0o666)
    sentence = refused(start, "--network", "bep50", "--set", f"state_file={state}")
    assert f"state_file: {state} can be changed by others (mode 0666)" in sentence


def test_a10_a_lock_that_is_a_link_is_refused_and_its_target_untouched(
    start: Start, tmp_path: Path
) -> None:
    target = tmp_path / "precious"
    target.write_text("precious")
    spool = tmp_path / "spool"
    spool.mkdir()
    (spool / "lock").symlink_to(target)
    node = start("node", "--spool", str(spool))
    assert node.end() == 1
    assert f"{spool / 'lock'} is a link, which is not followed" in node.sentence
    assert target.read_text() == "precious"


def test_a10_a_lock_that_is_a_named_pipe_is_refused_at_once(start: Start, tmp_path: Path) -> None:
    spool = tmp_path / "spool"
    spool.mkdir()
    os.mkfifo(spool / "lock")
    node = start("node", "--spool", str(spool))
    assert node.end() == 1
    assert f"{spool / 'lock'} is a named pipe" in node.sentence


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a10_a_lock_of_another_user_is_refused_and_untouched(start: Start, tmp_path: Path) -> None:
    spool = tmp_path / "spool"
    spool.mkdir()
    (spool / "lock").write_text("1\n")
    os.chown(spool / "lock", STRANGER, STRANGER)
    node = start("node", "--spool", str(spool))
    assert node.end() == 1
    assert f"{spool / 'lock'} belongs to " in node.sentence
    assert (spool / "lock").read_text() == "1\n"


def test_a_spool_in_a_folder_that_everybody_can_write_to_is_refused(
    start: Start, tmp_path: Path
) -> None:
    spool = tmp_path / "spool"
    spool.mkdir()
    spool.chmod(0o777)
    node = start("node", "--spool", str(spool))
    assert node.end() == 1
    assert f"chmod go-w {spool}" in node.sentence
    assert os.listdir(spool) == []

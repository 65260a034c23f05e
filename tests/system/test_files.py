"""Files that are whole or not there at all."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rumormill.system.files import create_file, draft_of, replace_file

Write = Callable[..., None]

both = pytest.mark.parametrize("write", [replace_file, create_file])
synced = pytest.mark.parametrize("durable", [True, False])


@both
@synced
def test_what_is_written_is_there_and_nothing_beside_it(
    tmp_path: Path, write: Write, durable: bool
) -> None:
    write(tmp_path / "file", b"content", durable=durable)
    assert (tmp_path / "file").read_bytes() == b"content"
    assert os.listdir(tmp_path) == ["file"]


@both
def test_a_file_has_the_mode_it_was_given_from_its_first_moment(
    tmp_path: Path, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    modes = []
    real = os.fsync

    def fsync(descriptor: int) -> None:
        modes.append(stat.S_IMODE(os.fstat(descriptor).st_mode))
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    write(tmp_path / "file", b"secret", mode=0o600)
    assert modes[0] == stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o600


def test_a_file_that_is_there_is_replaced_and_not_created_again(tmp_path: Path) -> None:
    file = tmp_path / "file"
    replace_file(file, b"old")
    with pytest.raises(FileExistsError) as caught:
        create_file(file, b"new")
    assert caught.value.filename == str(file)
    assert file.read_bytes() == b"old"
    replace_file(file, b"new")
    assert file.read_bytes() == b"new"
    assert os.listdir(tmp_path) == ["file"]


@both
@pytest.mark.parametrize("call", ["fsync", "open"])
def test_a_full_disk_leaves_what_was_there_and_no_draft(
    tmp_path: Path, write: Write, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    file = tmp_path / "file"
    old = b"old" if write is replace_file else None
    if old:
        file.write_bytes(old)

    def fail(*_: Any) -> int:
        raise OSError(errno.ENOSPC, "No space left on device", "somewhere")

    with monkeypatch.context() as patch:
        patch.setattr(os, call, fail)
        with pytest.raises(OSError) as caught:
            write(file, b"new")
    assert (caught.value.errno, caught.value.filename) == (errno.ENOSPC, str(file))
    assert os.listdir(tmp_path) == (["file"] if old else [])
    assert not old or file.read_bytes() == old


@both
def test_an_error_names_the_file_and_not_the_draft(tmp_path: Path, write: Write) -> None:
    file = tmp_path / "nowhere" / "file"
    with pytest.raises(FileNotFoundError) as caught:
        write(file, b"content")
    assert caught.value.filename == str(file)


def test_a_file_is_created_where_the_file_system_has_no_links(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_links(*_: Any) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", no_links)
    create_file(tmp_path / "file", b"content")
    assert (tmp_path / "file").read_bytes() == b"content"
    with pytest.raises(FileExistsError):
        create_file(tmp_path / "file", b"other")
    assert os.listdir(tmp_path) == ["file"]


def test_what_is_durable_is_synced_before_it_has_its_name_and_its_name_after(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[str] = []
    fsync, replace = os.fsync, os.replace

    def counted_fsync(descriptor: int) -> None:
        folder = stat.S_ISDIR(os.fstat(descriptor).st_mode)
        steps.append("sync folder" if folder else "sync file")
        fsync(descriptor)

    def counted_replace(old: Path, new: Path) -> None:
        steps.append("replace")
        replace(old, new)

    monkeypatch.setattr(os, "fsync", counted_fsync)
    monkeypatch.setattr(os, "replace", counted_replace)
    replace_file(tmp_path / "file", b"content", durable=True)
    assert steps == ["sync file", "replace", "sync folder"]
    replace_file(tmp_path / "file", b"content", durable=False)
    assert steps[3:] == ["replace"]


def test_a_draft_takes_the_place_of_its_file_only_when_all_of_it_was_written(
    tmp_path: Path,
) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"old")
    with pytest.raises(KeyboardInterrupt), draft_of(file) as draft:
        draft.write_bytes(b"half")
        raise KeyboardInterrupt
    assert file.read_bytes() == b"old"
    with draft_of(file) as draft:
        draft.write_bytes(b"new")
        assert file.read_bytes() == b"old"
    assert file.read_bytes() == b"new"
    assert os.listdir(tmp_path) == ["file"]


def test_two_writers_of_one_file_do_not_meet_in_a_draft(tmp_path: Path) -> None:
    file = tmp_path / "file"
    with draft_of(file) as one, draft_of(file) as other:
        assert one != other
        one.write_bytes(b"one")
        other.write_bytes(b"other")
    assert file.read_bytes() == b"one"


def test_what_a_killed_process_left_is_removed_by_the_next_that_writes_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "file"

    def killed(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    for _ in range(3):
        with monkeypatch.context() as patch:
            patch.setattr(os, "replace", killed)
            patch.setattr(Path, "unlink", lambda *_, **__: None)
            with contextlib.suppress(KeyboardInterrupt, FileExistsError):
                replace_file(file, b"never", alone=True)
        assert len(os.listdir(tmp_path)) == 1
    replace_file(file, b"content", alone=True)
    assert os.listdir(tmp_path) == ["file"]
    assert file.read_bytes() == b"content"

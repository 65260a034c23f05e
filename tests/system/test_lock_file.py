"""One process at a time holds a lock, and nothing but a lock is ever written to."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rumormill.system.lock_file import LockFile, LockHeldError
from rumormill.system.private_files import UnsafeFileError


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "lock"


def test_a_lock_says_who_holds_it_and_keeps_others_out(path: Path) -> None:
    lock = LockFile(path)
    assert path.read_text() == f"{os.getpid()}\n"
    with pytest.raises(LockHeldError) as caught:
        LockFile(path)
    assert caught.value.pid == os.getpid()
    lock.release()
    LockFile(path).release()


@pytest.mark.parametrize("left", [b"", b"123456\n", b"\0\0\0\0"])
def test_what_an_earlier_process_left_is_taken_over(path: Path, left: bytes) -> None:
    path.write_bytes(left)
    lock = LockFile(path)
    assert path.read_text() == f"{os.getpid()}\n"
    lock.release()


def test_a_link_is_refused_and_its_target_untouched(path: Path) -> None:
    target = path.with_name("precious")
    target.write_bytes(b"12345")  # it even looks like a lock
    path.symlink_to(target)
    with pytest.raises(UnsafeFileError, match=f"{path} is a link, which is not followed"):
        LockFile(path)
    assert target.read_bytes() == b"12345"


def test_a_second_name_of_a_file_is_refused_and_the_file_untouched(path: Path) -> None:
    target = path.with_name("precious")
    target.write_bytes(b"12345")
    os.link(target, path)
    with pytest.raises(UnsafeFileError, match=f"{path} is not the lock that belongs there"):
        LockFile(path)
    assert target.read_bytes() == b"12345"


@pytest.mark.parametrize("content", [b"precious", b"-1", b"1" * 100, "١٢".encode()])
def test_a_file_that_holds_something_else_is_refused_and_stays(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(UnsafeFileError, match="is not the lock that belongs there; move it away"):
        LockFile(path)
    assert path.read_bytes() == content


def test_a_named_pipe_is_refused_and_not_waited_for(path: Path) -> None:
    os.mkfifo(path)
    with pytest.raises(UnsafeFileError, match="is a named pipe"):
        LockFile(path)


def test_a_lock_knows_whether_it_is_still_there(path: Path) -> None:
    lock = LockFile(path)
    assert lock.is_at(path)
    path.unlink()
    assert not lock.is_at(path)
    path.write_bytes(b"")
    assert not lock.is_at(path)
    lock.release()

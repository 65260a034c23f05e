"""Our files are opened as they are ours, or refused in a sentence; nothing is ever waited for."""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from rumormill.system.private_files import (
    UnsafeFileError,
    create_private,
    make_own_folder,
    open_private,
    read_private,
    read_regular,
    replace_private,
)

STRANGER = 65_534
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of our own; its name is part of every sentence."""
    (tmp_path / "own").mkdir(mode=0o700)
    return tmp_path / "own"


@pytest.fixture
def file(folder: Path) -> Path:
    """A secret."""
    create_private(folder / "file", b"secret")
    return folder / "file"


def refusal(path: Path, *, secret: bool = True) -> str:
    with pytest.raises(UnsafeFileError) as caught:
        read_private(path, 100, secret=secret)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_what_was_written_is_read_and_only_the_owner_can(file: Path) -> None:
    assert read_private(file, 100) == b"secret"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    replace_private(file, b"other")
    assert read_private(file, 100) == b"other"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_no_more_is_read_than_asked_for_and_one_byte(file: Path) -> None:
    assert read_private(file, 3) == read_regular(file, 3) == b"secr"


def test_a_file_that_is_there_is_not_created_again(file: Path) -> None:
    with pytest.raises(FileExistsError):
        create_private(file, b"other")
    assert read_private(file, 100) == b"secret"


def test_a_file_that_is_not_there_is_named(folder: Path) -> None:
    for read in (read_private, read_regular):
        with pytest.raises(FileNotFoundError) as caught:
            read(folder / "x", 9)
        assert caught.value.filename == str(folder / "x")
    with pytest.raises(FileNotFoundError) as caught:
        create_private(folder / "absent" / "x", b"")
    assert caught.value.filename == str(folder / "absent" / "x")


# ---- what is no file


def test_a_link_is_not_followed(file: Path) -> None:
    link = file.with_name("link")
    link.symlink_to(file)
    expected = f"{link} is a link, which is not followed; give the file itself"
    assert refusal(link) == expected
    with pytest.raises(UnsafeFileError, match="is a link"):
        read_regular(link, 100)


def test_a_link_to_nowhere_makes_no_file(folder: Path) -> None:
    link = folder / "link"
    link.symlink_to(folder / "target")
    with pytest.raises(UnsafeFileError, match="is a link"):
        open_private(link, os.O_RDWR | os.O_CREAT)
    with pytest.raises(FileExistsError):
        create_private(link, b"secret")
    replace_private(link, b"secret")  # the link goes, what it named is left alone
    assert not link.is_symlink() and not (folder / "target").exists()


def test_a_link_that_comes_between_the_look_and_the_opening_is_not_followed(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = file.with_name("link")
    link.symlink_to(file)
    real = os.stat
    monkeypatch.setattr(
        os, "stat", lambda *names, **options: real(*names, **{**options, "follow_symlinks": True})
    )
    assert refusal(link).startswith(f"{link} is a link")


def named_pipe(path: Path) -> None:
    os.mkfifo(path, 0o600)


def bound_socket(path: Path) -> None:
    here = os.getcwd()
    os.chdir(path.parent)  # its name must be short
    try:
        with socket.socket(socket.AF_UNIX) as end:
            end.bind(path.name)
    finally:
        os.chdir(here)


@pytest.mark.parametrize(
    ("make", "kind"),
    [(named_pipe, "a named pipe"), (bound_socket, "a socket"), (Path.mkdir, "a folder")],
)
@pytest.mark.parametrize("flags", [os.O_RDONLY, os.O_RDWR, os.O_RDWR | os.O_CREAT, os.O_WRONLY])
def test_what_is_no_regular_file_is_refused_and_not_waited_for(
    folder: Path, make: Callable[[Path], None], kind: str, flags: int
) -> None:
    path = folder / "thing"
    make(path)
    with pytest.raises(UnsafeFileError) as caught:
        open_private(path, flags)
    assert str(caught.value) == f"{path} is {kind}; give a regular file"
    with pytest.raises(UnsafeFileError, match=kind):
        read_regular(path, 100)


def test_a_named_pipe_that_comes_between_the_look_and_the_opening_is_not_waited_for(
    folder: Path, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipe = folder / "pipe"
    os.mkfifo(pipe, 0o600)
    status = file.lstat()
    monkeypatch.setattr(os, "stat", lambda *names, **options: status)
    assert refusal(pipe) == f"{pipe} is a named pipe; give a regular file"


def test_a_device_is_refused(folder: Path) -> None:
    with pytest.raises(UnsafeFileError, match="/dev/zero is a device; give a regular file"):
        read_regular("/dev/zero", 100)


# ---- whose it is


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o620, 0o602, 0o610])
def test_a_secret_that_others_can_touch_is_refused(file: Path, mode: int) -> None:
    file.chmod(mode)
    assert refusal(file) == (
        f"{file} can be read or changed by others (mode {mode:04o}); "
        f"chmod 600 {file} makes it yours"
    )
    file.chmod(0o600)  # as it says
    assert read_private(file, 100) == b"secret"


def test_what_is_no_secret_may_be_read_but_not_changed_by_others(file: Path) -> None:
    file.chmod(0o644)
    assert read_private(file, 100, secret=False) == b"secret"
    for mode in (0o664, 0o646):
        file.chmod(mode)
        assert refusal(file, secret=False) == (
            f"{file} can be changed by others (mode {mode:04o}); chmod go-w {file} makes it yours"
        )


@as_root
@pytest.mark.parametrize("secret", [True, False])
def test_another_users_file_is_refused_also_to_root(file: Path, secret: bool) -> None:
    os.chown(file, STRANGER, STRANGER)
    sentence = refusal(file, secret=secret)
    assert sentence.startswith(f"{file} belongs to ")
    assert sentence.endswith(
        f", not to root; chown root {file} makes it yours, if you trust what is in it"
    )


@pytest.mark.parametrize(
    ("mode", "taken"), [(0o600, True), (0o440, True), (0o640, True), (0o644, False), (0o660, False)]
)
def test_root_may_hand_a_secret_to_our_group_alone(
    folder: Path, file: Path, mode: int, taken: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give a file away")
    file.chmod(mode)
    os.chown(folder, STRANGER, STRANGER)
    monkeypatch.setattr(os, "geteuid", lambda: STRANGER)  # what it would be to that user
    if taken:
        assert read_private(file, 100) == b"secret"
    else:
        assert f"(mode {mode:04o})" in refusal(file)


# ---- its folder


@pytest.mark.parametrize("mode", [0o777, 0o757, 0o733])
def test_a_folder_that_others_can_write_to_is_refused(file: Path, mode: int) -> None:
    file.parent.chmod(mode)
    expected = (
        f"is in a folder where others can put another file in its place (mode {mode:04o}); "
        f"chmod go-w {file.parent} makes it yours"
    )
    assert refusal(file) == f"{file} {expected}"
    for write in (create_private, replace_private):
        new = file.with_name("new")
        with pytest.raises(UnsafeFileError) as caught:
            write(new, b"secret")
        assert str(caught.value) == f"{new} {expected}"
        assert not new.exists()
    file.parent.chmod(mode & ~0o022)  # as it says
    assert read_private(file, 100) == b"secret"


def test_a_sticky_folder_will_do_as_only_the_owner_can_replace_the_file(file: Path) -> None:
    file.parent.chmod(0o1777)
    assert read_private(file, 100) == b"secret"


@as_root
def test_a_foreign_file_in_a_sticky_folder_is_refused(file: Path) -> None:
    file.parent.chmod(0o1777)
    os.chown(file, STRANGER, STRANGER)
    assert " belongs to " in refusal(file)


@as_root
def test_a_folder_of_another_user_is_refused(file: Path) -> None:
    os.chown(file.parent, STRANGER, STRANGER)
    sentence = refusal(file)
    assert sentence.startswith(f"{file} is in a folder of ")
    assert sentence.endswith(f"move it into a folder of root's, or chown root {file.parent}")


def test_a_folder_of_a_group_is_refused_unless_it_is_our_own(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import grp
    import pwd

    file.parent.chmod(0o775)
    name = pwd.getpwuid(os.geteuid()).pw_name
    for members, group, taken in (
        ([], name, True),
        ([name], name, True),
        ([], "staff", False),
        (["somebody"], name, False),
    ):
        found = grp.struct_group((group, "x", 1, members))
        monkeypatch.setattr(grp, "getgrgid", lambda number, found=found: found)
        if taken:
            assert read_private(file, 100) == b"secret"
        else:
            assert "others can put another file in its place (mode 0775)" in refusal(file)


def test_links_among_the_folders_above_are_followed(file: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(file.parent)
    assert read_private(tmp_path / "link" / "file", 100) == b"secret"


def test_a_link_to_a_folder_that_others_can_write_to_is_refused(file: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(file.parent)
    file.parent.chmod(0o777)
    assert "others can put another file" in refusal(tmp_path / "link" / "file")


def test_a_folder_that_we_make_is_never_refused_later(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        make_own_folder(tmp_path / "a" / "b")
        make_own_folder(tmp_path / "a" / "b")
    finally:
        os.umask(before)
    create_private(tmp_path / "a" / "b" / "file", b"secret")
    create_private(tmp_path / "a" / "file", b"secret")


def test_nothing_stays_open(file: Path) -> None:
    before = len(os.listdir("/dev/fd"))
    file.parent.chmod(0o777)
    refusal(file)
    file.parent.chmod(0o700)
    file.chmod(0o644)
    refusal(file)
    assert len(os.listdir("/dev/fd")) == before

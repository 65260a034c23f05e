"""The one opener of files that are ours: keys, tokens, what a node remembers, locks.

What others have prepared under the name of such a file is refused in a sentence, never followed,
never waited for and never written to:

- **The last name is no link**, and what it names is a regular file: a named pipe would make us
  wait for a writer, a device may do anything when it is opened.
- **It belongs to us**, or to root, who could do anything anyway. To root it must belong itself:
  what another user wrote is not root's to trust.
- **Nobody else can change it**; a *secret* (a key, a token) nobody else can read. As PostgreSQL has
  it, root may hand us a secret through our group (``root``, mode 0640).
- **Its folder is ours or root's, and nobody else can write to it**: whoever can, puts another file
  in its place. A sticky folder, as ``/tmp`` is, will do: there a file is moved or removed by its
  owner alone, and a foreign one that was there first is refused for its owner. So will a folder
  whose group is the user's own (``umask 002``, as some systems have it).

Folders further up are not asked, and links among them are followed: whoever can rename those can
take our file away, but the folder in which he lets us look must still be one that is ours, and the
file in it, too. The folder is opened first and the file within what was opened, so what was checked
is what is used.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from rumormill.core.errors import RumormillError
from rumormill.system.files import EVERYBODY_READS, create_file, replace_file

OWNER_ONLY: Final = 0o600
"""The mode of a file that we make."""

OWN_FOLDER: Final = 0o755
"""The mode of a folder that we make, whatever the umask: it must never be refused later."""

PIECE: Final = 64 * 1024
"""Bytes that are read at once."""

ROOT: Final = 0
OTHERS_WRITE: Final = stat.S_IWGRP | stat.S_IWOTH
OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO

# Windows has none of these, nor owners and modes; there only what the system itself checks counts.
_POSIX: Final = os.name == "posix"
_SAFELY: Final = (
    getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_NOCTTY", 0)
    | getattr(os, "O_CLOEXEC", 0)
)
_FOLDER: Final = (
    getattr(os, "O_PATH", os.O_RDONLY)  # a folder need not be readable to have our file in it
    | getattr(os, "O_DIRECTORY", 0)
    | getattr(os, "O_CLOEXEC", 0)
)


class UnsafeFileError(RumormillError, OSError):
    """A file that is not used as it is: one sentence, which names it and what to do.

    To who has no use for the sentence it is one more error of the system: not permitted.
    """

    def __init__(self, sentence: str) -> None:
        OSError.__init__(self, errno.EPERM, sentence)

    def __str__(self) -> str:
        return str(self.strerror)


def read_private(path: str | Path, most: int, *, secret: bool = True) -> bytes:
    """What one of our files holds: ``most`` bytes and one more at most, so that more is noticed.

    Raises :class:`UnsafeFileError`, :class:`FileNotFoundError` and other :class:`OSError`.
    """
    return _read(open_private(path, os.O_RDONLY, secret=secret), most)


def read_regular(path: str | Path, most: int) -> bytes:
    """The same for a file that may be anybody's, such as a spool that another user writes.

    It must be a regular file, so that nothing is waited for, and no link.
    """
    return _read(open_regular(path, os.O_RDONLY), most)


def _read(descriptor: int, most: int) -> bytes:
    """In pieces: what may be read at most is not put aside for a file that is small."""
    parts: list[bytes] = []
    left = most + 1
    with open(descriptor, "rb", buffering=0) as file:
        while left > 0 and (part := file.read(min(left, PIECE))):
            parts.append(part)
            left -= len(part)
    return b"".join(parts)


def open_private(
    path: str | Path, flags: int, *, secret: bool = False, mode: int = OWNER_ONLY
) -> int:
    """A descriptor of one of our files; with ``os.O_CREAT`` among the flags, it may be new."""
    path = Path(path)
    with _own_folder(path) as folder:
        descriptor = _open_regular(path, flags, mode, folder)
        try:
            _check_owner_and_mode(path, os.fstat(descriptor), secret)
        except BaseException:
            os.close(descriptor)
            raise
    return descriptor


def open_regular(path: str | Path, flags: int, mode: int = EVERYBODY_READS) -> int:
    """A descriptor of a regular file, whoever owns it; a link is not followed."""
    return _open_regular(Path(path), flags, mode, None)


def create_private(path: str | Path, content: bytes) -> None:
    """Write one of our files, which must not be there yet (:class:`FileExistsError`)."""
    check_folder_of(path)
    create_file(Path(path), content, mode=OWNER_ONLY)


def replace_private(path: str | Path, content: bytes) -> None:
    """Write one of our files in place of the one that is there, if any, whole at any time."""
    check_folder_of(path)
    replace_file(Path(path), content, mode=OWNER_ONLY)


def check_folder_of(path: str | Path) -> None:
    """Raise :class:`UnsafeFileError` if others could put something in the place of ``path``."""
    with _own_folder(Path(path)):
        pass


def make_own_folder(folder: Path) -> None:
    """Make a folder, and those above it, that nobody but us can write to; it may be there."""
    if folder.is_dir():
        return
    if folder.parent != folder:
        make_own_folder(folder.parent)
    folder.mkdir(mode=OWN_FOLDER, exist_ok=True)


# ---- the file


def _open_regular(path: Path, flags: int, mode: int, folder: int | None) -> int:
    """Open a regular file in ``folder``, or at its path."""
    name = path if folder is None else path.name
    try:
        # Looked at before it is opened: to open a device can do something.
        _check_kind(path, os.stat(name, dir_fd=folder, follow_symlinks=False))
    except FileNotFoundError:
        if not flags & os.O_CREAT:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path)) from None
    try:
        descriptor = os.open(name, flags | _SAFELY, mode, dir_fd=folder)
    except OSError as error:
        if error.errno == errno.ELOOP:  # a link, made since we looked
            raise _link(path) from None
        raise OSError(error.errno, error.strerror, str(path)) from error
    try:
        _check_kind(path, os.fstat(descriptor))
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _check_kind(path: Path, status: os.stat_result) -> None:
    if stat.S_ISREG(status.st_mode):
        return
    if stat.S_ISLNK(status.st_mode):
        raise _link(path)
    kinds = {stat.S_IFDIR: "a folder", stat.S_IFIFO: "a named pipe", stat.S_IFSOCK: "a socket"}
    kind = kinds.get(stat.S_IFMT(status.st_mode), "a device")
    raise UnsafeFileError(f"{path} is {kind}; give a regular file")


def _link(path: Path) -> UnsafeFileError:
    return UnsafeFileError(f"{path} is a link, which is not followed; give the file itself")


def _check_owner_and_mode(path: Path, status: os.stat_result, secret: bool) -> None:
    if not _POSIX:
        return
    owner, mode, we = status.st_uid, stat.S_IMODE(status.st_mode), os.geteuid()
    if owner not in (we, ROOT):
        raise UnsafeFileError(
            f"{path} belongs to {_user(owner)}, not to {_user(we)}; "
            f"chown {_user(we)} {path} makes it yours, if you trust what is in it"
        )
    if secret:
        given_by_root = owner == ROOT and we != ROOT
        if mode & (OTHERS & ~stat.S_IRGRP if given_by_root else OTHERS):
            raise UnsafeFileError(
                f"{path} can be read or changed by others (mode {mode:04o}); "
                f"chmod 600 {path} makes it yours"
            )
    elif mode & OTHERS_WRITE:
        raise UnsafeFileError(
            f"{path} can be changed by others (mode {mode:04o}); chmod go-w {path} makes it yours"
        )


# ---- its folder


@contextmanager
def _own_folder(path: Path) -> Iterator[int | None]:
    """The folder that ``path`` is in, opened and found to be ours."""
    if not _POSIX:
        yield None
        return
    try:
        folder = os.open(path.parent, _FOLDER)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error
    try:
        _check_folder(path, os.fstat(folder))
        yield folder
    finally:
        os.close(folder)


def _check_folder(path: Path, status: os.stat_result) -> None:
    folder, owner, we = path.parent.absolute(), status.st_uid, os.geteuid()
    if owner not in (we, ROOT):
        raise UnsafeFileError(
            f"{path} is in a folder of {_user(owner)}'s, who can put another file in its place; "
            f"move it into a folder of {_user(we)}'s, or chown {_user(we)} {folder}"
        )
    mode = stat.S_IMODE(status.st_mode)
    if mode & stat.S_ISVTX or not mode & OTHERS_WRITE:
        return
    if not mode & stat.S_IWOTH and _is_own_group(status.st_gid):
        return
    raise UnsafeFileError(
        f"{path} is in a folder where others can put another file in its place "
        f"(mode {mode:04o}); chmod go-w {folder} makes it yours"
    )


def _is_own_group(group: int) -> bool:
    """Whether a group is that of one user, ourselves: it has the user's name and no other member.

    So it is where each user has a group of the same name, whose members may be trusted to write to
    all of the user's new files (``umask 002``).
    """
    import grp
    import pwd

    try:
        found, name = grp.getgrgid(group), pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return False
    return found.gr_name == name and set(found.gr_mem) <= {name}


def _user(number: int) -> str:
    """A user's name, or the number of one who has none."""
    import pwd

    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)

"""Files that are whole or not there at all, and that nobody but their owner may read."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

from rumormill.core.errors import ConfigError
from rumormill.system.files import create_file, replace_file

LARGEST_FILE = 64 * 1024
"""Bytes of a key file: more is none."""

PRIVATE = 0o600
OTHERS = 0o077


def read_private(path: str | Path, key: str, largest: int = LARGEST_FILE) -> bytes:
    """What the file holds, one byte more than ``largest`` at most.

    Raises :class:`FileNotFoundError`; and :class:`ConfigError` about ``key`` if the file cannot be
    read, or can be read by others.
    """
    try:
        with open(path, "rb") as file:
            _check_private(path, key, os.fstat(file.fileno()))
            return file.read(largest + 1)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise ConfigError(key, f"cannot read {path}: {error.strerror}") from None


def read_json(raw: bytes) -> dict[str, Any]:
    """The JSON object of a key file; :class:`ValueError` says what it is instead."""
    if len(raw) > LARGEST_FILE:
        raise ValueError(f"more than {LARGEST_FILE} bytes")
    try:
        content = json.loads(raw)
    except (ValueError, RecursionError):
        raise ValueError("not JSON") from None
    if not isinstance(content, dict):
        raise ValueError("no JSON object")
    return content


def write_new(path: str | Path, key: str, raw: bytes) -> None:
    """Write a file that must not exist yet (:class:`FileExistsError`).

    It appears whole or not at all.
    """
    try:
        create_file(Path(path), raw, mode=PRIVATE)
    except FileExistsError:
        raise
    except OSError as error:
        raise ConfigError(key, f"cannot write {path}: {error.strerror}") from None


def replace_whole(path: Path, raw: bytes) -> None:
    """Write a file in place of the one that is there, if any: at any time there is one whole."""
    replace_file(path, raw, mode=PRIVATE)


def _check_private(path: str | Path, key: str, status: os.stat_result) -> None:
    if os.name == "posix" and status.st_mode & OTHERS:
        mode = stat.S_IMODE(status.st_mode)
        raise ConfigError(
            key,
            f"{path} can be read or changed by others (mode {mode:04o}); chmod 600 makes it yours",
        )

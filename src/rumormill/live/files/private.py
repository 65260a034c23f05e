"""Files of a node, with errors that name the setting: see :mod:`rumormill.system.private_files`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rumormill.core.errors import ConfigError
from rumormill.system import private_files
from rumormill.system.private_files import UnsafeFileError, replace_private

LARGEST_FILE = 64 * 1024
"""Bytes of a key file: more is none."""


def read_private(
    path: str | Path, key: str, largest: int = LARGEST_FILE, *, secret: bool = True
) -> bytes:
    """What the file holds, one byte more than ``largest`` at most.

    Raises :class:`FileNotFoundError`; and :class:`ConfigError` about ``key`` if the file cannot be
    read, is not ours alone, or, being ``secret``, can be read by others.
    """
    with _sentences(path, key, "read", FileNotFoundError):
        return private_files.read_private(path, largest, secret=secret)


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
    with _sentences(path, key, "write", FileExistsError):
        private_files.create_private(path, raw)


def replace_whole(path: Path, raw: bytes) -> None:
    """Write a file in place of the one that is there, if any: at any time there is one whole.

    Raises :class:`OSError`, and :class:`UnsafeFileError` if others could put another in its place.
    """
    replace_private(path, raw)


@contextmanager
def _sentences(path: str | Path, key: str, verb: str, passed: type[OSError]) -> Iterator[None]:
    """Errors as :class:`ConfigError` about ``key``, but for the one that callers expect."""
    try:
        yield
    except passed:
        raise
    except UnsafeFileError as error:
        raise ConfigError(key, str(error)) from None
    except OSError as error:
        raise ConfigError(key, f"cannot {verb} {path}: {error.strerror}") from None

"""What was imported into a spool: beside it, in ``imports.json``.

An import is written down before its first row and again when it is done. So the same file is not
imported twice by mistake, and an import that was cut off is noticed.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rumormill.capture.foreign.errors import TraceImportError
from rumormill.system.files import replace_file
from rumormill.system.private_files import UnsafeFileError, read_regular

FILE = "imports.json"
LARGEST = 64 * 1024 * 1024
"""Bytes: the names and digests of hundreds of thousands of files."""


class Ledger:
    """The imports of one spool."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / FILE
        self._imports: list[dict[str, Any]] = self._read()

    def _read(self) -> list[dict[str, Any]]:
        try:
            found: list[dict[str, Any]] = json.loads(read_regular(self._file, LARGEST))["imports"]
            for each in found:
                (each["done"], [file["sha256"] for file in each["files"]])
        except FileNotFoundError:
            return []
        except UnsafeFileError as error:
            raise TraceImportError(str(error)) from None
        except (ValueError, TypeError, KeyError, RecursionError):
            raise TraceImportError(f"{self._file}: this is no list of imports") from None
        return found

    def __bool__(self) -> bool:
        return bool(self._imports)

    def check_whole(self) -> None:
        """Raise :class:`TraceImportError` if an import was begun and not ended."""
        if not all(each["done"] for each in self._imports):
            raise TraceImportError(
                f"{self._file.parent}: an import into this spool was cut off, and part of it is"
                " there; delete the folder and import all again"
            )

    def digests(self) -> set[str]:
        """Of all files that were imported."""
        return {file["sha256"] for each in self._imports for file in each["files"]}

    def begin(self, files: Sequence[tuple[Path, str]]) -> None:
        """An import of these files begins: their names and digests."""
        found = [{"file": path.name, "sha256": digest} for path, digest in files]
        self._imports.append({"done": False, "files": found})
        self._write()

    def end(self, rows: int) -> None:
        """The import that was begun last is done."""
        self._imports[-1].update(done=True, rows=rows)
        self._write()

    def _write(self) -> None:
        content = json.dumps({"format": 1, "imports": self._imports}, indent=1)
        replace_file(self._file, content.encode(), alone=True)

"""Which kind of trace a file is, told from what is in it, and when it begins."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, Protocol

from rumormill.capture.foreign import go_json, hermes_json
from rumormill.capture.foreign.errors import TraceImportError
from rumormill.capture.foreign.findings import Findings
from rumormill.capture.foreign.go_json import GoJsonReader
from rumormill.capture.foreign.go_protobuf import GoProtobufReader
from rumormill.capture.foreign.hermes_json import HermesJsonReader
from rumormill.capture.foreign.hermes_parquet import HermesParquetReader
from rumormill.capture.foreign.rows import Row
from rumormill.capture.foreign.source import GZIP_MAGIC, PARQUET_MAGIC, ByteSource

HEAD = 1 << 14
"""Bytes that are looked at, and more only if they hold no whole event."""

_FIRST_KEY = re.compile(rb'\s*\{\s*"([^"\\]{1,40})"\s*:')


class Reader(Protocol):
    """Reads one file."""

    def __init__(self, source: ByteSource, findings: Findings) -> None: ...

    def read(self) -> Iterator[list[Row]]:
        """Rows, a block at a time, in the order of the file."""
        ...


READERS: dict[str, type[Reader]] = {
    "go-json": GoJsonReader,
    "go-protobuf": GoProtobufReader,
    "hermes-json": HermesJsonReader,
    "hermes-parquet": HermesParquetReader,
}
"""The formats that there are."""


class TraceFile(NamedTuple):
    """A file that can be imported."""

    path: Path
    format: str
    digest: str
    """SHA-256 of the file as it is."""
    first: Row | None
    """One of the first rows, and of those the earliest; None if there is none."""

    def reader(self, findings: Findings) -> tuple[ByteSource, Reader]:
        """A reader of the whole file, and what it reads from."""
        source = ByteSource(self.path)
        return source, READERS[self.format](source, findings)


def examine(path: Path) -> TraceFile:
    """Find out what a file is; raises :class:`TraceImportError` if it is no trace."""
    if path.exists() and not path.is_file() and not path.is_dir():
        raise TraceImportError(f"{path}: not a file; a trace is looked at more than once")
    form = _format_of(path)
    findings = Findings(str(path))
    first: Row | None = None
    for rows in READERS[form](ByteSource(path, HEAD), findings).read():
        if rows:
            first = min(rows, key=lambda row: row[0])
        if rows or findings.events or findings.problems:
            break
    if findings.problems and not findings.events:
        # A short file of JSON lines may be one that was cut short; of bytes nobody can say.
        if form == "go-protobuf":
            raise _unknown(path)
        if findings.bad_events:
            raise TraceImportError(findings.problems[0].sentence())
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return TraceFile(path, form, digest, first)


def _format_of(path: Path) -> str:
    with path.open("rb") as file:
        packed = file.read(2) == GZIP_MAGIC
    source = ByteSource(path, HEAD)
    head = next(iter(source), b"")
    if head.startswith(PARQUET_MAGIC):
        if packed:
            raise TraceImportError(f"{path}: a Parquet file within gzip; unpack it first")
        return "hermes-parquet"
    key = _FIRST_KEY.match(head)
    if key is None:
        if not head and source.damage:
            raise TraceImportError(f"{path}: {source.damage}; nothing of it can be read")
        return "go-protobuf"
    name = key[1].decode("utf-8", "replace")
    if name in hermes_json.KEYS:
        return "hermes-json"
    if name in go_json.KEYS:
        return "go-json"
    raise _unknown(path)


def _unknown(path: Path) -> TraceImportError:
    return TraceImportError(
        f"{path}: not a trace of go-libp2p-pubsub (JSON lines, protobuf) or of Hermes"
        " (JSON lines, Parquet)"
    )

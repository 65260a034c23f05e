"""The folder of tables: its layout, its version, and who may write to it.

    TABLES/
      tables.json                     the version of the layout
      bronze/{messages,trace}/batch_id=N/*.parquet        as captured
      silver/NAME/until_minute=YYYYMMDDhhmm/*.parquet     refined, a range of minutes each
      gold/NAME/until_minute=YYYYMMDDhhmm/*.parquet       by minute
      gold/NAME/*.parquet                                 over all minutes
      _checkpoints/ _state/ _staging/ _journal.json _lock the runner's own

Any reader of Parquet reads a table by ``TABLES/bronze/trace/**/*.parquet``, at any time: a file
under a table is whole, and no row is in two files.
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rumormill.core.errors import RumormillError
from rumormill.pipeline.publication import Publication, recover
from rumormill.system.files import replace_file
from rumormill.system.lock_file import LockFile, LockHeldError
from rumormill.system.private_files import UnsafeFileError, make_own_folder, open_private

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FORMAT: Final = 1
"""Of the tables' layout and columns; a folder that a newer rumormill wrote is refused."""

FORMAT_KEY: Final = "rumormill.tables"
"""Under this name every file carries the format, in the metadata of its first column."""

BRONZE: Final = "bronze"
SILVER: Final = "silver"
GOLD: Final = "gold"

BATCH: Final = "batch_id="
RANGE: Final = "until_minute="

COMPACTED: Final = "_compacted"
"""In a folder that holds the rows of all batches or ranges up to the number in its name."""

PATIENCE: Final = 30.0
"""Seconds that the Java process of a killed run is given to end."""


class TablesError(RumormillError):
    """The tables cannot be used; the sentence names the folder and says why."""


class Lake:
    """The tables in one folder.

    Reading needs no more than the folder. Writing happens inside :meth:`writing`, which keeps
    every other writer out and first finishes what a killed one had begun.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.publishing = threading.RLock()
        """Held while a table's folder is changed: a stream and a compaction share a process."""
        if set(str(self.folder.absolute())) & set("*?[]{}\\"):
            raise TablesError(f"{self.folder}: its name has characters that are a pattern to Spark")
        check_format(self.folder)

    def bronze(self, kind: str) -> Path:
        """The folder of a bronze table."""
        return self.folder / BRONZE / kind

    def checkpoint(self, kind: str) -> Path:
        """Where Spark keeps how far a kind of records has been read."""
        return self.folder / "_checkpoints" / kind

    def publication(self) -> Publication:
        """New content for the tables, to be moved in as a whole."""
        return Publication(self.folder)

    def batches(self, kind: str) -> dict[int, Path]:
        """The batches of a bronze table by their numbers, ascending."""
        return self.numbered(f"{BRONZE}/{kind}", BATCH)

    def ranges(self, table: str) -> dict[int, Path]:
        """The ranges of a table such as ``silver/deliveries``, by the minute that each ends at."""
        return self.numbered(table, RANGE)

    def numbered(self, table: str, prefix: str) -> dict[int, Path]:
        """The folders of a table by the number behind a prefix, ascending."""
        return dict(sorted(_numbered(self.folder / table, prefix)))

    def check_checkpoint(self, kind: str) -> None:
        """Refuse a checkpoint that is older than the table: its batches would come twice."""
        written = max(self.batches(kind), default=-1)
        planned = max(_numbers(self.checkpoint(kind) / "offsets"), default=-1)
        if written > planned:
            raise TablesError(
                f"{self.bronze(kind)} has batches up to {written}, its checkpoint "
                f"{self.checkpoint(kind)} only up to {planned}: restore the checkpoint, or remove "
                "the tables' folder to read everything again"
            )

    def refuse_compacted(self, kind: str, batch: int) -> None:
        """A batch that is part of a compacted folder cannot be written again."""
        for number, folder in self.batches(kind).items():
            if number >= batch and (folder / COMPACTED).exists():
                raise TablesError(
                    f"{folder} holds all batches up to {number}, batch {batch} cannot be written "
                    f"again: the checkpoint {self.checkpoint(kind)} is older than the table"
                )

    def committed(self, kind: str) -> int:
        """The newest batch that Spark will not run again; -1 if there is none."""
        return max(_numbers(self.checkpoint(kind) / "commits"), default=-1)

    @contextlib.contextmanager
    def writing(self, spark: SparkSession | None = None) -> Iterator[None]:
        """Be the only writer; :class:`TablesError` names the process that is already at it."""
        make_own_folder(self.folder)
        with _locked(self.folder), _locked_in_java(self.folder, spark):
            if not (self.folder / "tables.json").exists():
                about = {"format": FORMAT, "created": int(time.time())}
                replace_file(self.folder / "tables.json", json.dumps(about).encode(), alone=True)
            recover(self.folder)
            yield


def check_format(folder: Path) -> None:
    """Refuse tables that a newer rumormill wrote, and folders that are none of ours."""
    path = folder / "tables.json"
    try:
        found = json.loads(path.read_text(encoding="utf-8"))["format"]
    except FileNotFoundError:
        if folder.is_dir() and any(folder.iterdir()) and not (folder / "_lock").exists():
            raise TablesError(
                f"{folder}: not empty, and no tables of rumormill's (there is no tables.json)"
            ) from None
        return
    except NotADirectoryError:
        raise TablesError(f"{folder}: not a folder") from None
    except (ValueError, KeyError, TypeError) as error:
        raise TablesError(f"{path}: does not say the tables' format ({error})") from error
    if not isinstance(found, int) or found > FORMAT:
        raise TablesError(
            f"{folder}: these tables have format {found}, this rumormill knows {FORMAT}: "
            "a newer one is needed"
        )


def _numbers(folder: Path) -> Iterator[int]:
    """The numbers among the names in a folder of Spark's."""
    if folder.is_dir():
        for entry in folder.iterdir():
            if entry.name.isdigit():
                yield int(entry.name)


def _numbered(folder: Path, prefix: str) -> Iterator[tuple[int, Path]]:
    try:
        entries = list(folder.iterdir())
    except FileNotFoundError:
        return
    for entry in entries:
        number = entry.name.removeprefix(prefix)
        if number != entry.name and number.isdigit():
            yield int(number), entry


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    try:
        lock = LockFile(folder / "_lock")
    except LockHeldError as error:
        raise TablesError(
            f"{folder}: another process writes these tables (pid {error.pid or '?'})"
        ) from None
    except UnsafeFileError as error:
        raise TablesError(str(error)) from None
    try:
        yield
    finally:
        lock.release()


@contextlib.contextmanager
def _locked_in_java(folder: Path, spark: SparkSession | None) -> Iterator[None]:
    """Wait for the Java process of a killed run, which outlives its Python by a moment.

    The system takes our lock away with the Python process; Spark's Java, which notices only then,
    may still be writing to the checkpoint.
    """
    if spark is None:
        yield
        return
    gateway = spark.sparkContext._gateway
    assert gateway is not None
    path = folder / "_lock.java"
    try:
        os.close(open_private(path, os.O_RDWR | os.O_CREAT))  # Java would follow a link
    except UnsafeFileError as error:
        raise TablesError(str(error)) from None
    file = gateway.jvm.java.io.RandomAccessFile(str(path), "rw")
    try:
        deadline = time.monotonic() + PATIENCE
        while file.getChannel().tryLock() is None:
            if time.monotonic() > deadline:
                raise TablesError(f"{folder}: Java of an earlier run is still writing these tables")
            time.sleep(0.1)
        yield
    finally:
        with contextlib.suppress(Exception):  # Java may be gone, and its lock with it
            file.close()

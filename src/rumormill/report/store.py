"""The tables of one place, opened without Spark: their Iceberg metadata, read by pyiceberg.

A place is what ``--tables`` names: a folder or a URI laid out as Iceberg's hadoop catalog does it
(``gold/topics/metadata/version-hint.text``), S3 with its SQLite file, or a catalog by name. Each
table is read as it stood when the place was opened, whatever is committed meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import pyarrow as pa
from pyarrow.fs import FileSelector, FileType
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.conversions import from_bytes
from pyiceberg.exceptions import NoSuchNamespaceError, NoSuchTableError, ValidationError
from pyiceberg.expressions import AlwaysTrue, BooleanExpression
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.table import StaticTable, Table
from pyiceberg.types import TimestamptzType

from rumormill.core.errors import RumormillError
from rumormill.system.tables_location import Kind, Location, parse_tables
from rumormill.system.times import time_of

LAYERS: Final = ("gold", "silver")
TITLE: Final = "rumormill.title"
ATTEMPTS: Final = 3
EVERYTHING: Final = AlwaysTrue()

Opened = dict[str, Table]
"""By namespace and name, as ``gold.topics``."""


class TablesError(RumormillError):
    """The tables cannot be used; the sentence names the place and says why."""


class Store:
    """The tables at one place."""

    def __init__(self, place: str, tables: Mapping[str, Table], settled: bool = True) -> None:
        self.place = place
        self._tables = tables
        self.settled = settled
        """False if something was committed each time that we looked: tables may not agree."""

    def names(self, layer: str = "gold") -> list[str]:
        """Which tables there are."""
        return sorted(name.partition(".")[2] for name in self._tables if name.startswith(layer))

    def __contains__(self, path: str) -> bool:
        return path in self._tables

    def columns(self, path: str) -> list[str]:
        """The names of a table's columns."""
        return [field.name for field in self._tables[path].schema().fields]

    def title(self, path: str) -> str | None:
        """What its maker calls the table in a report."""
        return self._tables[path].properties.get(TITLE)

    @property
    def snapshots(self) -> dict[str, int | None]:
        """Which state of each table is read."""
        current = {name: table.current_snapshot() for name, table in self._tables.items()}
        return {name: it.snapshot_id if it else None for name, it in sorted(current.items())}

    def read(
        self,
        path: str,
        columns: Iterable[str] = ("*",),
        where: BooleanExpression = EVERYTHING,
    ) -> pa.Table:
        """The rows that fulfil ``where``, with these columns only."""
        with self._told(path):
            return self._tables[path].scan(where, tuple(columns)).to_arrow()

    def batches(
        self,
        path: str,
        columns: Iterable[str] = ("*",),
        where: BooleanExpression = EVERYTHING,
    ) -> Iterator[pa.RecordBatch]:
        """As :meth:`read`, piece by piece: for tables that need not fit into memory."""
        with self._told(path):
            yield from self._tables[path].scan(where, tuple(columns)).to_arrow_batch_reader()

    def count(self, path: str) -> int:
        """How many rows there are, from the metadata alone."""
        with self._told(path):
            return sum(task.file.record_count for task in self._tables[path].scan().plan_files())

    def period(self, path: str) -> tuple[datetime, datetime] | None:
        """The first and the last ``minute`` of a table, from the metadata alone."""
        if path not in self or "minute" not in self.columns(path):
            return None
        field: Any = self._tables[path].schema().find_field("minute")
        found: list[Any] = []
        with self._told(path):
            for task in self._tables[path].scan().plan_files():
                for bounds in (task.file.lower_bounds, task.file.upper_bounds):
                    if bounds and field.field_id in bounds:
                        found.append(from_bytes(field.field_type, bounds[field.field_id]))
        if not found:
            return None
        return time_of(min(found)), time_of(max(found))

    def literal(self, path: str, minute: datetime) -> str:
        """A time as a condition on this table's minutes has it."""
        zoned = isinstance(self._tables[path].schema().find_type("minute"), TimestamptzType)
        return (minute if zoned else minute.replace(tzinfo=None)).isoformat()

    @contextmanager
    def _told(self, path: str) -> Iterator[None]:
        try:
            yield
        except FileNotFoundError as error:
            raise TablesError(
                f"{self.place}: a file of {path} is gone ({error}); tables stay where they were"
                " made, and what is older than the upkeep keeps is deleted"
            ) from error
        except (pa.ArrowException, ValueError, OSError, EOFError) as error:
            raise _unreadable(self.place, path, error) from error


def _unreadable(place: str, path: str, error: Exception) -> TablesError:
    reason = str(error).splitlines()[0] if str(error) else type(error).__name__
    return TablesError(f"{place}: {path} cannot be read ({reason})")


def open_store(place: str) -> Store:
    """All tables of gold and silver at this place; :class:`TablesError` says why there are none."""
    opener = _opener(parse_tables(place))
    tables = opener()
    settled = False
    for _ in range(ATTEMPTS):
        # A run commits table after table: looked at twice, they are of one state.
        again = opener()
        settled = _states(again) == _states(tables)
        tables = again
        if settled:
            break
    if not any(name.startswith("gold.") for name in tables):
        raise TablesError(
            f"{place} holds no gold tables: 'rumormill pipeline run --spool SPOOL --tables {place}'"
            " makes them"
        )
    return Store(place, tables, settled)


def _states(tables: Opened) -> dict[str, str]:
    return {name: table.metadata_location for name, table in tables.items()}


def _opener(location: Location) -> Callable[[], Opened]:
    """Whatever opens the tables of this kind of place."""
    properties = location.reader_properties()
    if location.kind in (Kind.CATALOG, Kind.S3):
        if location.state is not None and not location.state.exists():
            raise TablesError(
                f"{location.text}: which tables are there stands in {location.state}, on the"
                " machine that made them; here is no such file"
            )
        try:
            catalog = load_catalog(location.catalog, **properties)
        except (ValueError, OSError) as error:
            raise TablesError(f"{location.text}: pyiceberg cannot open it ({error})") from error
        return lambda: _of_catalog(catalog, location)
    if location.folder is not None:
        if not location.folder.is_dir():
            raise TablesError(f"{location.text}: there is no such folder")
        return lambda: _of_folders(location, properties, _local_folders)
    return lambda: _of_folders(location, properties, _remote_folders)


def _of_catalog(catalog: Catalog, location: Location) -> Opened:
    found: Opened = {}
    for layer in LAYERS:
        try:
            for identifier in catalog.list_tables(location.namespace(layer)):
                found[f"{layer}.{identifier[-1]}"] = catalog.load_table(identifier)
        except (NoSuchNamespaceError, NoSuchTableError):
            continue
    return found


Folders = Callable[[str, dict[str, str]], list[str]]
"""The names of the folders in a folder."""


def _of_folders(location: Location, properties: dict[str, str], folders: Folders) -> Opened:
    found: Opened = {}
    for layer in LAYERS:
        for name in folders(location.table_folder(layer, "").rstrip("/"), properties):
            place = location.table_folder(layer, name)
            try:
                found[f"{layer}.{name}"] = StaticTable.from_metadata(place, properties)
            except FileNotFoundError:
                continue  # a table that is just being made, or no table at all
            except (ValueError, OSError, KeyError, ValidationError) as error:
                raise _unreadable(location.text, f"{layer}.{name}", error) from error
    return found


def _local_folders(folder: str, _: dict[str, str]) -> list[str]:
    place = Path(folder)
    return sorted(each.name for each in place.iterdir()) if place.is_dir() else []


def _remote_folders(folder: str, properties: dict[str, str]) -> list[str]:
    address = urlsplit(folder)
    files: Any = PyArrowFileIO(properties).fs_by_scheme(address.scheme, address.netloc)
    path = address.path if address.scheme == "hdfs" else f"{address.netloc}{address.path}"
    try:
        entries = files.get_file_info(FileSelector(path, allow_not_found=True))
    except OSError as error:
        raise TablesError(f"{folder} cannot be listed ({error})") from error
    return sorted(entry.base_name for entry in entries if entry.type is FileType.Directory)

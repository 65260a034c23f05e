"""Where tables are, from what the user wrote behind ``--tables``.

===========================  =====================================================================
``tables``, ``file:/data``   a folder of this machine, or one that all machines see
``hdfs:``, ``s3a:``, ...     a folder of any file system that Spark knows
``s3://bucket/path``         an S3 store by Iceberg's own client; which tables there are stands in
                             an SQLite file on the driver's machine, as S3 has no atomic rename
``catalog:NAME``             a catalog that the user's Spark has: tables are ``NAME.gold.topics``
``catalog:NAME.NAMESPACE``   the same, beside others: ``NAME.NAMESPACE_gold.topics``
===========================  =====================================================================

Neither Spark nor pyiceberg is needed here: both the pipeline and the report ask this module.
"""

from __future__ import annotations

import os
import re
import zlib
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from rumormill.core.errors import ConfigError

OPTION: Final = "--tables"

OWN_CATALOG: Final = "lake"
"""What our catalog is called in Spark, and in the SQLite file."""

READER_ENVIRONMENT: Final = {
    "s3.endpoint": ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"),
    "s3.region": ("AWS_REGION", "AWS_DEFAULT_REGION"),
}
"""Properties of pyiceberg's S3 client, and who sets them."""

_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):(.*)", re.DOTALL)
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_PLAIN_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class Kind(StrEnum):
    """Who knows which tables there are."""

    FOLDER = "folder"
    """A folder of this machine: Iceberg's hadoop catalog, and files that one can look at."""
    HADOOP = "hadoop"
    """A folder of another file system; the same catalog."""
    S3 = "s3"
    """An SQLite file (Iceberg's JDBC catalog), the tables themselves on S3."""
    CATALOG = "catalog"
    """A catalog of the user's own."""


@dataclass(frozen=True)
class Location:
    """Where tables are; made by :func:`parse_tables`."""

    text: str
    """As the user wrote it."""
    kind: Kind
    warehouse: str = ""
    """A URI without a slash at its end; empty for a catalog of the user's own."""
    catalog: str = OWN_CATALOG
    prefix: str = ""
    """Before the names of our namespaces: ``NAMESPACE_``, or nothing."""
    state: Path | None = None
    """The SQLite file, if there is one."""

    def namespace(self, layer: str) -> str:
        """The namespace of a layer, as ``gold``.

        >>> Location("catalog:glue.team", Kind.CATALOG, catalog="glue", prefix="team_").namespace(
        ...     "gold"
        ... )
        'team_gold'
        """
        return f"{self.prefix}{layer}"

    def table(self, layer: str, name: str) -> str:
        """The full name of a table in SQL.

        >>> Location("tables", Kind.FOLDER, "file:/tables").table("gold", "topics")
        'lake.gold.topics'
        """
        return ".".join(quoted(each) for each in (self.catalog, self.namespace(layer), name))

    def table_folder(self, layer: str, name: str) -> str:
        """The folder that holds a table, for ``StaticTable.from_metadata`` of pyiceberg.

        A path for a folder of this machine, a URI otherwise; not known of a user's own catalog.
        """
        if self.kind is Kind.CATALOG:
            raise ConfigError(OPTION, f"{self.text}: the catalog knows where its tables are")
        return f"{self.folder or self.warehouse}/{self.namespace(layer)}/{name}"

    @property
    def folder(self) -> Path | None:
        """The folder of this machine that holds the tables, if that is where they are."""
        if self.kind is not Kind.FOLDER:
            return None
        return Path(self.warehouse.removeprefix("file:"))

    def reader_properties(self) -> dict[str, str]:
        """What ``pyiceberg.catalog.load_catalog(location.catalog, ...)`` has to be told.

        Of a user's own catalog pyiceberg knows by its own configuration; a folder needs no catalog
        there: :meth:`table_folder`. The client of S3 is told what Java's learns by itself from the
        environment that all of Amazon's tools share.
        """
        properties = {}
        if self.state is not None:
            properties = {"type": "sql", "uri": f"sqlite:///{self.state}"}
            properties["init_catalog_tables"] = "false"  # it only reads
        for name, variables in READER_ENVIRONMENT.items():
            value = next((os.environ[each] for each in variables if os.environ.get(each)), None)
            if value is not None and urlsplit(self.warehouse).scheme in ("s3", "s3a"):
                properties[name] = value
        return properties


def parse_tables(text: str) -> Location:
    """What ``--tables TEXT`` means; raises :class:`ConfigError` with one sentence.

    A folder of tables as rumormill wrote them before Iceberg is refused.
    """
    scheme = _SCHEME.fullmatch(text)
    if not text.strip():
        raise ConfigError(OPTION, "needs a folder, a URI such as s3://bucket/path, or catalog:NAME")
    if scheme is None:
        return _folder(text, Path(text).expanduser().absolute())
    name, rest = scheme[1].lower(), scheme[2]
    if name == "catalog":
        return _catalog(text, rest)
    if name == "file":
        path = unquote(urlsplit(text).path)
        if not path.startswith("/") or urlsplit(text).netloc not in ("", "localhost"):
            raise ConfigError(OPTION, f"{text}: a file: URI has an absolute path, as file:/data")
        return _folder(text, Path(path))
    parts = urlsplit(text)
    if name in ("s3", "s3a", "s3n", "gs", "abfs", "abfss") and not parts.netloc:
        raise ConfigError(OPTION, f"{text}: names no bucket, as {name}://bucket/path does")
    if not rest.startswith("/"):
        raise ConfigError(
            OPTION,
            f"{text}: not a URI, as {name}://host/path, nor catalog:NAME (a folder of such a name "
            f"is ./{text})",
        )
    if parts.query or parts.fragment:
        raise ConfigError(OPTION, f"{text}: the URI of a folder has neither ? nor #")
    warehouse = text.rstrip("/")
    if name == "s3":
        return Location(text, Kind.S3, warehouse, state=_state_file(warehouse))
    return Location(text, Kind.HADOOP, warehouse)


def quoted(name: str) -> str:
    """A name as SQL wants it.

    >>> quoted("gold"), quoted("my-catalog")
    ('gold', '`my-catalog`')
    """
    return name if _PLAIN_NAME.fullmatch(name) else f"`{name}`"


def _folder(text: str, path: Path) -> Location:
    path = Path(os.path.normpath(path))
    if path.exists() and not path.is_dir():
        raise ConfigError(OPTION, f"{text}: is a file, not a folder")
    if (path / "tables.json").exists() or next(path.glob("bronze/*/batch_id=*"), None):
        raise ConfigError(
            OPTION,
            f"{text}: holds tables of an older rumormill, which were not Iceberg tables; make them"
            " anew with: rumormill pipeline run --spool SPOOL --tables NEWFOLDER --once",
        )
    # Not as_uri(): Hadoop's paths take names as they are, and would keep %20 for a space.
    return Location(text, Kind.FOLDER, f"file:{path}".rstrip("/"))


def _catalog(text: str, rest: str) -> Location:
    names = rest.split(".")
    if len(names) > 2 or not all(_NAME.fullmatch(each) for each in names):
        raise ConfigError(
            OPTION, f"{text}: a catalog of your Spark is catalog:NAME or catalog:NAME.NAMESPACE"
        )
    prefix = f"{names[1]}_" if len(names) == 2 else ""
    return Location(text, Kind.CATALOG, catalog=names[0], prefix=prefix)


def _state_file(warehouse: str) -> Path:
    """The file that knows the tables of an S3 location: the same one for the same location."""
    home = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
    place = warehouse.partition("://")[2]
    readable = re.sub(r"[^A-Za-z0-9.]+", "-", place).strip("-.")[:100]
    # Two places may read the same; the number tells them apart.
    return home / "rumormill" / "catalogs" / f"{readable}-{zlib.crc32(place.encode()):08x}.db"

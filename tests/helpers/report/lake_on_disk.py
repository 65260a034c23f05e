"""Tables as Iceberg's hadoop catalog lays them out, written by pyiceberg from plain rows."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog

Rows = list[dict[str, Any]]

TYPES = {
    "string": pa.string(), "boolean": pa.bool_(), "int": pa.int32(), "bigint": pa.int64(),
    "double": pa.float64(), "binary": pa.binary(), "timestamp": pa.timestamp("us", tz="UTC"),
    "tree": pa.list_(pa.struct([("node", pa.string()), ("peer", pa.string()), ("hop", pa.int32()),
                                ("latency_ms", pa.float64())])),
}  # fmt: skip

KEYS = "minute timestamp, network string"

COLUMNS = {
    "silver.publications": f"{KEYS}, topic string, message_id binary, publisher string,"
    " time timestamp, size bigint, promise string",
    "silver.deliveries": f"{KEYS}, topic string, message_id binary, publisher string,"
    " published_at timestamp, size bigint, promise string, node string, peer string,"
    " time timestamp, latency_ms double, stale_ms double, link_us bigint, hop int, first boolean,"
    " expected boolean, recovered boolean, duplicates bigint, superseded_at timestamp",
    "latencies": f"{KEYS}, topic string, promise string, hop int, bin int, published bigint,"
    " expected bigint, delivered bigint, missing bigint, unexpected bigint, skipped bigint,"
    " duplicates bigint, payload bigint, recoveries bigint, negative bigint, unpublished bigint,"
    " strayed bigint",
    "topics": f"{KEYS}, topic string, promise string, published bigint, expected bigint,"
    " delivered bigint, missing bigint, unexpected bigint, skipped bigint, ratio double,"
    " latency_p50 double, latency_p90 double, latency_p99 double, latency_max double,"
    " duplicates bigint, duplicates_per_delivery double, hops_mean double, hops_max int,"
    " bytes_per_delivery double, recoveries bigint",
    "links": f"{KEYS}, node string, peer string, first bigint, came bigint, expected bigint,"
    " missing bigint, skipped bigint, copies bigint, latency_us bigint, sent_packets bigint,"
    " sent_bytes bigint, received_packets bigint, received_bytes bigint, messages bigint,"
    " ihave bigint, iwant bigint, idontwant bigint, graft bigint, prune bigint, exchanged bigint,"
    " dropped bigint, published bigint, delivered bigint, duplicates bigint, rejected bigint,"
    " ignored bigint, spared bigint",
    "peers": f"{KEYS}, node string, published bigint, expected bigint, missing bigint,"
    " skipped bigint, delivered bigint, duplicates bigint, first_sent bigint, repeat_sent bigint,"
    " rejected_by_others bigint, rejected_here bigint, ignored_here bigint, dropped_here bigint,"
    " latency_mean double, contribution double",
    "publishers": f"{KEYS}, topic string, publisher string, published bigint, expected bigint,"
    " missing bigint",
    "mesh_minutes": f"{KEYS}, topic string, nodes bigint, degree_mean double, degree_min bigint,"
    " degree_max bigint, components bigint, largest bigint, grafts bigint, prunes bigint",
    "events": f"{KEYS}, event string, count bigint",
    "causes": f"{KEYS}, topic string, event string, reason string, count bigint",
    "scores": f"{KEYS}, node string, peer string, told bigint, score double, lowest double,"
    " highest double, level string, behaviour double",
    "lifetimes": f"{KEYS}, topic string, kind string, bin int, ended bigint",
    "slowest": f"{KEYS}, topic string, message_id binary, publisher string,"
    " published_at timestamp, slowest_ms double, reached bigint, expected bigint, tree tree",
    "values": "network string, topic string, node string, value_at timestamp, had_at timestamp,"
    " newest_at timestamp, behind boolean",
    "clocks": "network string, node string, offset_ms double, uncertainty_ms double, links int,"
    " estimated boolean, applied boolean",
    "alerts": f"{KEYS}, topic string, kind string, node string, detail string",
    "problems": "network string, topic string, kind string, count bigint, detail string",
    "nodes": "network string, node string, agent string, promise string, runs int,"
    " first_at timestamp, last_at timestamp, present boolean",
    "large_messages": f"{KEYS}, topic string, large bigint",
}
TITLES = {"large_messages": "Large messages"}


def arrow_schema(table: str) -> Any:
    """The columns of a table, as Arrow has them."""
    pairs = [each.split() for each in COLUMNS[table].split(", ")]
    return pa.schema([(name, TYPES[kind]) for name, kind in pairs])


def write_lake(folder: Path, tables: Mapping[str, Rows]) -> Path:
    """Write the tables; one that is not given is not there, one without rows has no snapshot."""
    catalog = SqlCatalog("lake", uri="sqlite://", warehouse=f"file://{folder.absolute()}")
    for name, rows in tables.items():
        write_table(catalog, folder, name, pa.Table.from_pylist(rows, schema=arrow_schema(name)))
    catalog.engine.dispose()
    return folder


def write_table(catalog: SqlCatalog, folder: Path, name: str, rows: Any) -> None:
    """One table, of any schema."""
    layer, _, short = name.rpartition(".")
    layer = layer or "gold"
    catalog.create_namespace_if_not_exists(layer)
    place = folder.absolute() / layer / short
    if place.exists():
        shutil.rmtree(place)
    properties = {"rumormill.title": TITLES[short]} if short in TITLES else {}
    table = catalog.create_table(
        f"{layer}.{short}", rows.schema, location=f"file://{place}", properties=properties
    )
    if rows.num_rows:
        table.append(rows)
    written = Path(table.metadata_location.removeprefix("file://"))
    shutil.copy(written, place / "metadata" / "v1.metadata.json")
    (place / "metadata" / "version-hint.text").write_text("1")

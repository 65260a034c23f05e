"""What keeps tables small and quick: old rows go, small files are joined, old snapshots expire.

    upkeep(spark, location, [*BRONZE, *SILVER, *gold], Policy(), tell)

Each step is a commit of Iceberg's own, and none depends on another having been finished: whoever is
killed in between has lost nothing, and the next upkeep does what is left.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from rumormill.core.errors import ConfigError
from rumormill.pipeline.lake.location import Location
from rumormill.pipeline.lake.offsets import mark
from rumormill.pipeline.lake.procedures import call
from rumormill.pipeline.lake.schema import BATCHES, MESSAGES, TRACE, Layout, Table
from rumormill.pipeline.lake.trimmed import will_trim

Tell = Callable[[str, dict[str, object]], None]
"""Takes the name of what happened and what there is to say about it."""


@dataclass(frozen=True)
class Policy:
    """How long things are kept, and when joining files is worth it."""

    bronze_days: float | None = 30.0
    """Rows of bronze that are older than the newest by this go; None keeps all. Others stay."""
    small_files: int = 20
    """In one partition: more than so many are joined."""
    file_bytes: int = 128 << 20
    """Size of the files that are made; a small one has less than three quarters of it."""
    snapshots: int = 20
    """That are kept however old they are."""
    snapshot_hours: float = 1.0
    """How long all snapshots are kept, so that who reads one can finish."""
    manifests: int = 50
    """Lists of files: more than so many are joined."""
    every_hours: float = 1.0
    """How often a stream looks after its tables at most: what is younger is not removed anyway."""
    orphan_days: float = 3.0
    """Files that no snapshot knows (a killed writer left them) go when they are as old as this."""

    def __post_init__(self) -> None:
        if self.bronze_days is not None and self.bronze_days <= 0:
            raise ConfigError("--keep-days", "must be above 0")
        if self.orphan_days < 1:
            # Files of a commit that is under way are orphans, too.
            raise ConfigError("orphan_days", "must be at least 1")


def upkeep(
    spark: SparkSession,
    location: Location,
    tables: Iterable[Table],
    policy: Policy,
    tell: Tell,
    *,
    orphans: bool = True,
) -> None:
    """Do for each table what is due; tables that are not there are passed over.

    ``orphans``: look for files that nobody knows, which lists the whole folder. The runner leaves
    that to the command.
    """
    for table in tables:
        name = location.table(table.layer, table.name)
        if not spark.catalog.tableExists(name):
            continue
        began = time.monotonic()
        done = upkeep_of(spark, location, table, policy, orphans=orphans)
        if done:
            tell("upkeep", {"table": table.path, "seconds": time.monotonic() - began, **done})


def upkeep_of(
    spark: SparkSession, location: Location, table: Table, policy: Policy, *, orphans: bool = True
) -> dict[str, object]:
    """The same for one table that is there; what was done, in numbers. Empty: nothing was due."""
    name = location.table(table.layer, table.name)
    done: dict[str, object] = {}
    if table.layout is Layout.STREAM and policy.bronze_days is not None:
        done["rows_removed"] = expire_rows(spark, name, table, policy.bronze_days)
    done["files_joined"] = join_files(spark, location, table, policy)
    done["manifests_joined"] = join_manifests(spark, location, table, policy)
    if table.layout is Layout.STREAM:
        # Before any snapshot goes. By half, since others may commit before they go.
        mark(spark, name, max(1, policy.snapshots // 2))
    done["snapshots_removed"] = expire_snapshots(spark, location, table, policy)
    if orphans:
        done["orphans_removed"] = remove_orphans(spark, location, table, policy)
    return {key: value for key, value in done.items() if value}


def upkeep_due(
    spark: SparkSession,
    location: Location,
    tables: Iterable[Table],
    policy: Policy = Policy(),  # noqa: B008 (it cannot change)
) -> bool:
    """Whether enough has happened since the last time; asks only for the number of snapshots."""
    for table in tables:
        name = location.table(table.layer, table.name)
        if spark.catalog.tableExists(name) and _snapshots(spark, name) >= 2 * policy.snapshots:
            return True
    return False


def expire_rows(spark: SparkSession, name: str, table: Table, days: float) -> int:
    """Remove rows older than this, in whole hours: only metadata changes. How many went.

    The age is that beside the newest row: a trace of last year that was brought in today stays. But
    a row of the future, by a wrong clock, makes no other older.
    """
    column = "`timestamp`" if table.name == MESSAGES.name else "time"
    newest = spark.table(name).agg(F.unix_micros(F.max(column))).collect()[0][0]
    if newest is None:
        return 0
    now = min(datetime.now(UTC), datetime.fromtimestamp(newest / 1e6, UTC))
    border = (now - timedelta(days=days)).replace(minute=0, second=0, microsecond=0)
    condition = f"{column} < timestamp '{border:%Y-%m-%d %H:%M:%S}+00:00'"
    old = spark.table(name).where(condition).count()
    if old:
        will_trim(spark, name, border)
        spark.sql(f"delete from {name} where {condition}")
    return old


def join_files(spark: SparkSession, location: Location, table: Table, policy: Policy) -> int:
    """Make few large files of many small ones, where a partition has many. How many were joined."""
    name = location.table(table.layer, table.name)
    small = policy.file_bytes * 3 // 4
    files = spark.table(f"{name}.files").where(F.col("content") == 0)
    keys = [F.col("partition")] if "partition" in files.columns else []
    crowded = (
        files.where(F.col("file_size_in_bytes") < small)
        .groupBy(*keys).count().where(F.col("count") > policy.small_files)
    )  # fmt: skip
    if not crowded.limit(1).count():
        return 0
    options = {
        "target-file-size-bytes": policy.file_bytes,
        "min-input-files": policy.small_files + 1,
    }
    pairs = ", ".join(f"'{key}', '{value}'" for key, value in options.items())
    (answer,) = call(spark, location, table, "rewrite_data_files", f"options => map({pairs})")
    return int(answer["rewritten_data_files_count"])


def join_manifests(spark: SparkSession, location: Location, table: Table, policy: Policy) -> int:
    """Make few lists of files of many. How many were joined."""
    name = location.table(table.layer, table.name)
    if spark.table(f"{name}.manifests").count() <= policy.manifests:
        return 0
    (answer,) = call(spark, location, table, "rewrite_manifests", "use_caching => false")
    return int(answer["rewritten_manifests_count"])


def expire_snapshots(spark: SparkSession, location: Location, table: Table, policy: Policy) -> int:
    """Forget all but the newest snapshots, and remove the files that only those knew. How many."""
    name = location.table(table.layer, table.name)
    before = _snapshots(spark, name)
    if before <= policy.snapshots:
        return 0
    border = datetime.now(UTC) - timedelta(hours=policy.snapshot_hours)
    if table.path == TRACE.path:
        refined = _refined_at(spark, location)
        if refined is None:
            return 0
        border = min(border, refined)
    keep = f"retain_last => {policy.snapshots}"
    call(spark, location, table, "expire_snapshots", _older_than(border), keep)
    return before - _snapshots(spark, name)


def _refined_at(spark: SparkSession, location: Location) -> datetime | None:
    """When the commit was made up to which bronze is refined: what came since is still wanted."""
    ledger = location.table(BATCHES.layer, BATCHES.name)
    if not spark.catalog.tableExists(ledger):
        return None
    commits = spark.table(f"{location.table(TRACE.layer, TRACE.name)}.snapshots")
    last = spark.table(ledger).agg(F.max_by("snapshot", "batch").alias("snapshot_id"))
    found = commits.join(last, "snapshot_id").select(F.unix_micros("committed_at")).collect()
    return datetime.fromtimestamp(found[0][0] / 1e6, UTC) if found else None


def remove_orphans(spark: SparkSession, location: Location, table: Table, policy: Policy) -> int:
    """Remove files in the table's folder that no snapshot knows. How many."""
    age = _older_than(datetime.now(UTC) - timedelta(days=policy.orphan_days))
    return len(call(spark, location, table, "remove_orphan_files", age))


def _snapshots(spark: SparkSession, name: str) -> int:
    return int(spark.table(f"{name}.snapshots").count())


def _older_than(border: datetime) -> str:
    return f"older_than => timestamp '{border:%Y-%m-%d %H:%M:%S.%f}+00:00'"

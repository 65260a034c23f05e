"""A short run by the second: counted from silver here, as gold has nothing finer than minutes."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import chain
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.expressions import BooleanExpression

from rumormill.report.bins import TO_A_DOUBLING, percentile
from rumormill.report.store import Store

SHORT: Final = timedelta(minutes=10)
MOST_ROWS: Final = 10_000_000
"""Of deliveries; more than that take longer than a second's worth of plot is good for."""

KEYS: Final = ("network", "topic", "promise", "second", "bin")
SUMS: Final = ("published", "expected", "missing", "skipped")

Key = tuple[str, str, str]


@dataclass(frozen=True)
class Moment:
    """What became of the messages of one minute, or of one second."""

    time: datetime
    published: int
    expected: int
    missing: int
    skipped: int
    p50: float | None
    p99: float | None

    @property
    def ratio(self) -> float | None:
        """The share of the expected deliveries that happened."""
        return (self.expected - self.missing) / self.expected if self.expected else None


Seconds = dict[Key, list[Moment]]
"""By network, topic and promise, in order."""


def read_seconds(
    store: Store,
    period: tuple[datetime, datetime] | None,
    chosen: Callable[[str], BooleanExpression],
) -> Seconds:
    """Nothing if the run is long, or silver is not there or too large."""
    here = "silver.publications" in store and "silver.deliveries" in store
    if period is None or not here or period[1] - period[0] >= SHORT:
        return {}
    if store.count("silver.deliveries") > MOST_ROWS:
        return {}
    sums: defaultdict[tuple[Key, datetime], Counter[str]] = defaultdict(Counter)
    bins: defaultdict[tuple[Key, datetime], Counter[int]] = defaultdict(Counter)
    published = _added_up(_published(store, chosen("silver.publications")))
    delivered = _added_up(_delivered(store, chosen("silver.deliveries")))
    for row in chain(published, delivered):
        at = (row["network"], row["topic"], row["promise"] or "every"), row["second"]
        sums[at].update({name: row[name] for name in SUMS})
        if row["bin"] is not None:
            bins[at][row["bin"]] += row["expected"]
    found: defaultdict[Key, list[Moment]] = defaultdict(list)
    for at in sorted(sums):
        key, second = at
        counts = {name: sums[at][name] for name in SUMS}
        half, most = percentile(bins[at], 0.5), percentile(bins[at], 0.99)
        found[key].append(Moment(second, **counts, p50=half, p99=most))
    return found


def _added_up(parts: Iterable[pa.Table]) -> list[dict[str, Any]]:
    """The sums of all parts: each is small when the next one is read."""
    whole: pa.Table | None = None
    for part in parts:
        sums = part.group_by(KEYS).aggregate([(name, "sum") for name in SUMS])
        sums = sums.rename_columns([name.removesuffix("_sum") for name in sums.column_names])
        whole = sums if whole is None else pa.concat_tables([whole, sums])
    return [] if whole is None else whole.to_pylist()


def _published(store: Store, where: BooleanExpression) -> Iterator[pa.Table]:
    for batch in store.batches("silver.publications", ("network", "topic", "promise", "time"),
                               where):  # fmt: skip
        ones = pa.array([1] * batch.num_rows, pa.int64())
        yield _keyed(batch, batch["time"], published=ones)


def _delivered(store: Store, where: BooleanExpression) -> Iterator[pa.Table]:
    columns = ("network", "topic", "promise", "published_at", "expected", "first",
               "superseded_at", "latency_ms", "stale_ms")  # fmt: skip
    for batch in store.batches("silver.deliveries", columns, where):
        rows = pa.Table.from_batches([batch])
        rows = rows.filter(pc.and_(pc.is_valid(rows["published_at"]), rows["expected"]))
        lacking = pc.invert(rows["first"])
        newer = pc.is_valid(rows["superseded_at"])
        yield _keyed(
            rows,
            rows["published_at"],
            bin=_bins(pc.coalesce(rows["stale_ms"], rows["latency_ms"])),
            expected=_ones(rows["expected"]),
            missing=_ones(pc.and_(lacking, pc.invert(newer))),
            skipped=_ones(pc.and_(lacking, newer)),
        )


def _keyed(rows: Any, times: Any, **columns: Any) -> pa.Table:
    """Counts beside their keys; nothing of what is not counted here."""
    keys = {name: rows[name] for name in ("network", "topic", "promise")}
    nothing = pa.array([0] * rows.num_rows, pa.int64())
    return pa.table({
        **keys, "second": pc.floor_temporal(times, unit="second"),
        "bin": pa.nulls(rows.num_rows, pa.int32()), **dict.fromkeys(SUMS, nothing), **columns,
    })  # fmt: skip


def _ones(true: Any) -> Any:
    return pc.cast(true, pa.int64())


def _bins(latency_ms: Any) -> Any:
    """The bins that :mod:`rumormill.report.bins` reads."""
    whole = pc.round(pc.multiply(latency_ms, 1000.0))
    size = pc.floor(pc.multiply(pc.log2(pc.add(pc.abs(whole), 1.0)), float(TO_A_DOUBLING)))
    return pc.cast(pc.multiply(pc.sign(whole), size), pa.int32())

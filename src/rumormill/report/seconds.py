"""A short run by the second: counted from silver here, as gold has nothing finer than minutes."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.expressions import BooleanExpression

from rumormill.report.bins import TO_A_DOUBLING
from rumormill.report.store import Store

SHORT: Final = timedelta(minutes=10)
MOST_ROWS: Final = 10_000_000
"""Of deliveries; more than that take longer than a second's worth of plot is good for."""

KEYS: Final = ("network", "topic", "promise", "second")
SUMS: Final = ("published", "expected", "missing", "skipped")

Key = tuple[str, str, str]


@dataclass
class Second:
    """What became of the messages of one second."""

    published: int = 0
    expected: int = 0
    missing: int = 0
    skipped: int = 0
    bins: Counter[int] = field(default_factory=Counter)
    """How many of the expected had which latency."""


Seconds = dict[Key, dict[datetime, Second]]
"""By network, topic and promise."""


def read_seconds(
    store: Store,
    period: tuple[datetime, datetime] | None,
    chosen: Callable[[str], BooleanExpression],
) -> Seconds | None:
    """None if the run is long, or silver is not there or too large."""
    here = "silver.publications" in store and "silver.deliveries" in store
    if period is None or not here or period[1] - period[0] >= SHORT:
        return None
    if store.count("silver.deliveries") > MOST_ROWS:
        return None
    found: Seconds = defaultdict(lambda: defaultdict(Second))
    for row in _added_up(_published(store, chosen("silver.publications")), KEYS):
        _second(found, row).published += row["published"]
    for row in _added_up(_delivered(store, chosen("silver.deliveries")), (*KEYS, "bin")):
        second = _second(found, row)
        for name in SUMS[1:]:
            setattr(second, name, getattr(second, name) + row[name])
        if row["bin"] is not None:
            second.bins[row["bin"]] += row["expected"]
    return {key: dict(sorted(seconds.items())) for key, seconds in sorted(found.items())}


def _second(found: Seconds, row: dict[str, Any]) -> Second:
    return found[row["network"], row["topic"], row["promise"] or "every"][row["second"]]


def _added_up(parts: Iterable[pa.Table], keys: tuple[str, ...]) -> list[dict[str, Any]]:
    """The sums of all parts: each is small when the next one is read."""
    whole: pa.Table | None = None
    for part in parts:
        names = [name for name in part.column_names if name not in keys]
        sums = part.group_by(list(keys)).aggregate([(name, "sum") for name in names])
        sums = sums.rename_columns([name.removesuffix("_sum") for name in sums.column_names])
        whole = sums if whole is None else pa.concat_tables([whole, sums])
    return [] if whole is None else whole.to_pylist()


def _published(store: Store, where: BooleanExpression) -> Iterator[pa.Table]:
    for batch in store.batches("silver.publications", ("network", "topic", "promise", "time"),
                               where):  # fmt: skip
        yield _keyed(batch, batch["time"], published=pa.array([1] * batch.num_rows))


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
    keys = {name: rows[name] for name in ("network", "topic", "promise")}
    return pa.table({**keys, "second": pc.floor_temporal(times, unit="second"), **columns})


def _ones(true: Any) -> Any:
    return pc.cast(true, pa.int64())


def _bins(latency_ms: Any) -> Any:
    """The bins that :mod:`rumormill.report.bins` reads."""
    whole = pc.round(pc.multiply(latency_ms, 1000.0))
    size = pc.floor(pc.multiply(pc.log2(pc.add(pc.abs(whole), 1.0)), float(TO_A_DOUBLING)))
    return pc.cast(pc.multiply(pc.sign(whole), size), pa.int32())

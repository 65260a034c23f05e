"""A gold table is one function: from the tables of some minutes to rows of its own.

The tables of this house are declared like a user's own, which ``rumormill pipeline run --gold
MODULE`` takes in::

    from pyspark.sql import DataFrame, functions as F
    from rumormill.pipeline.gold import Tables, gold_table

    @gold_table(
        columns="minute timestamp, network string, topic string, large bigint",
        sums=("large",),
        title="Large messages",
    )
    def large_messages(tables: Tables) -> DataFrame:
        large = tables["publications"].where("size > 100000")
        return large.groupBy("minute", "network", "topic").agg(F.count("*").alias("large"))

A table with a ``minute`` is made anew for the minutes that something happened in, and for no
others: ``tables[name]`` has the rows of those minutes only. With ``sums``, rows whose ``minute`` is
null hold the sums over all time; they are kept by adding what is new and taking off what was there,
in the same commit, so they cost the same after a month. A table without a ``minute`` is made whole
each time, and reads what is small: sums (``tables.totals(name)``) and whole tables.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Protocol

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from rumormill.core.errors import ConfigError
from rumormill.pipeline.lake.declared import columns_of
from rumormill.pipeline.lake.schema import Layout, Table


class Tables(Protocol):
    """What a function may read. Names are those of silver and gold, as ``deliveries``."""

    margin_us: int
    """How long after its publication a copy of a message still counts."""

    def __getitem__(self, name: str) -> DataFrame:
        """The rows of the minutes that are made anew; all rows of a table without minutes.

        Of stretches of time (``subscriptions``, ``mesh``): those that overlap one of the minutes.
        """

    def totals(self, name: str) -> DataFrame:
        """The rows of a table with sums that are about all time (``minute`` is null)."""

    def recent(self, name: str, minutes: int) -> DataFrame:
        """Of each network, the rows of the last so many minutes that the table has any of it in.

        A network that has been quiet for longer than that, while others went on, is left out.
        """

    @property
    def minutes(self) -> Sequence[datetime]:
        """The minutes that are made anew, in order."""

    @property
    def span(self) -> tuple[datetime, datetime]:
        """The first and the last of them."""


Maker = Callable[[Tables], DataFrame]


@dataclass(frozen=True)
class GoldTable:
    """A gold table, and how it is made."""

    table: Table
    make: Maker
    sums: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    """Gold tables that are read on the way, so they have to be there."""
    title: str | None = None
    """In the report; only tables of users need one."""
    promise: str | None = None
    """It is about networks that promise this, and stays empty where there are none."""

    @property
    def name(self) -> str:
        """As the function is called."""
        return self.table.name

    @property
    def by_minute(self) -> bool:
        """Whether it has minutes."""
        return self.table.layout is not Layout.WHOLE

    @property
    def keys(self) -> tuple[str, ...]:
        """What a row is about, other than the minute."""
        names = columns_of(self.table.columns)
        return tuple(name for name in names if name not in (*self.sums, "minute"))


class Registry:
    """Gold tables by name, in an order in which they can be made."""

    def __init__(self) -> None:
        self._declared: dict[str, GoldTable] = {}

    def add(self, table: GoldTable) -> None:
        """Refuses a second one of the same name."""
        if table.name in self._declared:
            raise ConfigError("gold", f"there are two tables {table.name!r}")
        self._declared[table.name] = table

    @property
    def tables(self) -> dict[str, GoldTable]:
        """Each after those that it reads."""
        found: dict[str, GoldTable] = {}
        for name in self._declared:
            self._take(name, found, ())
        return found

    def _take(self, name: str, found: dict[str, GoldTable], asking: tuple[str, ...]) -> None:
        if name in found:
            return
        if name not in self._declared:
            raise ConfigError("gold", f"{asking[-1]} reads {name!r}, and there is no such table")
        if name in asking:
            circle = " after ".join((*asking[asking.index(name) :], name))
            raise ConfigError("gold", f"tables wait for each other: {circle}")
        for before in self._declared[name].after:
            self._take(before, found, (*asking, name))
        found[name] = self._declared[name]


HOUSE: Final = Registry()
"""The gold tables of this house, and those of modules that were imported for theirs."""


def gold_table(
    *,
    columns: str,
    sums: tuple[str, ...] = (),
    after: tuple[str, ...] = (),
    layout: Layout | None = None,
    title: str | None = None,
    promise: str | None = None,
) -> Callable[[Maker], Maker]:
    """Declare the decorated function a gold table of its name.

    ``columns`` as SQL has them, with ``minute timestamp`` first if it has minutes; what the
    function returns is put in that order and cast to these types. ``sums``: which of them can be
    added up over minutes. ``after``: gold tables that it reads. ``layout``: ``Layout.HOUR`` unless
    said otherwise; ``Layout.MINUTE`` for tables with thousands of rows a minute. ``promise``: of
    tables about networks that promise just that (``newest``): without one, it is not made.
    """
    types = columns_of(columns)
    with_minute = next(iter(types)) == "minute"
    chosen = layout or (Layout.HOUR if with_minute else Layout.WHOLE)
    properties = {"rumormill.title": title} if title else {}

    def declare(make: Maker) -> Maker:
        name = make.__name__
        if sums and not with_minute:
            raise ConfigError("gold", f"{name}: sums need a column minute, the first one")
        if unknown := [each for each in sums if each not in types]:
            raise ConfigError("gold", f"{name}: there is no column {unknown[0]!r} to sum up")

        @functools.wraps(make)
        def made(tables: Tables) -> DataFrame:
            found = make(tables)
            if lacking := [each for each in types if each not in found.columns]:
                raise ConfigError("gold", f"{name}: the column {lacking[0]!r} is not made")
            return found.select(*[F.col(f"`{key}`").cast(kind) for key, kind in types.items()])

        table = Table(name, "gold", columns, chosen, properties)
        HOUSE.add(GoldTable(table, made, sums, after, title, promise))
        return made

    return declare

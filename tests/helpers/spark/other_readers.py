"""The tables as programs other than Spark read them."""

from __future__ import annotations

from typing import Any

import duckdb


def ask_duckdb(query: str) -> list[tuple[Any, ...]]:
    """The rows that DuckDB answers with."""
    with duckdb.connect() as database:
        return database.execute(query).fetchall()

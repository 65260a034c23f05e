"""``report``: what the tables say."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Tables = Annotated[
    str,
    typer.Option(
        "--tables",
        metavar="PLACE",
        help="The tables, as 'pipeline run' makes them: a folder, a URI, or catalog:NAME.",
    ),
]
Page = Annotated[
    Path | None,
    typer.Option("--html", metavar="FILE", help="Write a page with plots, for any browser."),
]
CsvFolder = Annotated[
    Path | None,
    typer.Option("--csv", metavar="DIR", help="Write each gold table as a CSV file."),
]
OtherTables = Annotated[
    str | None,
    typer.Option("--compare", metavar="PLACE", help="The tables of another run, beside it."),
]
OnlyTopics = Annotated[
    list[str] | None,
    typer.Option("--topic", help="Only this topic; may be given again."),
]
OnlyNetworks = Annotated[
    list[str] | None,
    typer.Option("--network", help="Only this network; may be given again."),
]
Minutes = Annotated[
    int,
    typer.Option("--minutes", min=1, help="How many of the last minutes to show by time."),
]
JsonObject = Annotated[bool, typer.Option("--json", help="Print one JSON object with all figures.")]


def report(
    tables: Tables,
    html: Page = None,
    csv: CsvFolder = None,
    compare: OtherTables = None,
    topic: OnlyTopics = None,
    network: OnlyNetworks = None,
    minutes: Minutes = 1440,
    json: JsonObject = False,
) -> int:
    """Show what a network did: did everything arrive, how fast, and what is wrong.

    Example: rumormill report --tables tables --html report.html
    """
    from rumormill.cli.report import Ask, run_report

    ask = Ask(tables, json, html, csv, compare, topic or (), network or (), minutes)
    return run_report(ask)

"""What Spark makes of what the nodes kept: ``rumormill pipeline run`` and ``rumormill report``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rumormill.cli.demo.ledger import Figures, Row
from rumormill.cli.demo.process import Command, DemoError, Event
from rumormill.cli.demo.progress import Reporter
from rumormill.core.errors import RumormillError

LAYERS = ("bronze", "silver", "gold")


def missing_for_spark() -> str | None:
    """Why there is no Spark here, in a sentence; None if there is."""
    try:
        from rumormill.pipeline.extra import require_spark

        require_spark()
        from rumormill.pipeline.java import java_home
        from rumormill.pipeline.lake.jars import local_jars, needed
        from rumormill.system.packages import require
        from rumormill.system.tables_location import Kind, Location

        require(("pyiceberg", "jinja2"), "rumormill[spark]", "the report", key="tables")
        java_home()
        # Fetched now, if they were never before. The folder itself is made later, by the demo.
        local_jars(needed(Location("tables", Kind.FOLDER)))
    except RumormillError as error:
        return str(error)
    return None


async def make_tables(spools: Sequence[Path], tables: Path, reporter: Reporter) -> Event:
    """Let Spark read the spools and make tables; what ``report --json`` says of them."""
    reporter.stage("Spark makes tables of what they kept: bronze, silver, gold", len(LAYERS))

    def heard(event: Event) -> None:
        if event["event"] == "stage":
            reporter.move(LAYERS.index(event["stage"].partition(".")[0]))

    words = [word for spool in spools for word in ("--spool", str(spool))]
    words = ["pipeline", "run", *words, "--tables", str(tables), "--once", "--json"]
    await Command("rumormill pipeline run", words, heard).run()
    found: list[Event] = []
    words = ["report", "--tables", str(tables), "--json"]
    await Command("rumormill report", words, found.append).run()
    reporter.done()
    return found[0]


def figures_of(report: Mapping[str, Any], topic: str, ids: Sequence[str]) -> Figures:
    """The same figures as a ledger has, as the report tells them."""
    names = ("published", "expected", "missing")
    peers = [report["peers"].get(id, {}) for id in ids]
    rows = [
        Row(node, **{name: peer.get(name, 0) for name in names}) for node, peer in enumerate(peers)
    ]
    whole = report["topics"][topic]
    latency = whole["latency_ms"]
    figures = Figures(tuple(rows), whole["unexpected"], latency["p50"], latency["p99"])
    if (figures.expected, figures.missing) != (whole["expected"], whole["missing"]):
        raise DemoError("the report's figures of the topic are not the sum of those of its nodes")
    return figures


def differing(told: Figures, kept: Figures, killed: int) -> list[int]:
    """Nodes of which Spark counted otherwise than they told us.

    The end of a node that was killed is not known to the millisecond to both: Spark's word counts.
    """
    return [
        one.node
        for one, other in zip(told.rows, kept.rows, strict=True)
        if one.node != killed and one._replace(newest=None) != other
    ]

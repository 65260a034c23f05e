"""What looks like trouble. Each alert says what was seen and what is usual; see docs/alerts.md."""

from __future__ import annotations

from functools import reduce

from pyspark.sql import DataFrame

from rumormill.pipeline.gold.alerts.censorship import (
    censorship_by_peers,
    censorship_of_publishers,
)
from rumormill.pipeline.gold.alerts.eclipse import eclipse
from rumormill.pipeline.gold.alerts.misbehaviour import misbehaviour
from rumormill.pipeline.gold.alerts.parameters import AlertParameters
from rumormill.pipeline.gold.alerts.partition import partition
from rumormill.pipeline.gold.alerts.spam import spam_of_copies, spam_of_refused
from rumormill.pipeline.gold.alerts.sybils import sybils
from rumormill.pipeline.gold.registry import Tables, gold_table


@gold_table(
    columns="minute timestamp, network string, topic string, kind string, node string,"
    " detail string",
    after=("links", "publishers", "mesh_minutes", "scores"),
)
def alerts(tables: Tables) -> DataFrame:
    """``minute``, ``topic`` and ``node`` are null where an alert is about all of them."""
    return alerts_with(tables, AlertParameters())


def alerts_with(tables: Tables, parameters: AlertParameters) -> DataFrame:
    """The same with thresholds of one's own."""
    links, all_links = tables["links"], tables.totals("links")
    reasons = tables["reasons"]
    kinds = [
        partition(tables["mesh_minutes"], parameters),
        eclipse(links, tables["mesh"], parameters),
        censorship_of_publishers(tables.totals("publishers"), all_links, parameters),
        censorship_by_peers(all_links, parameters),
        spam_of_refused(links, reasons, parameters),
        spam_of_copies(links, parameters),
        misbehaviour(reasons, parameters),
        sybils(tables["scores"], parameters),
    ]
    return reduce(DataFrame.unionByName, kinds)

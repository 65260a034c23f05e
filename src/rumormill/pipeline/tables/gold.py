"""From silver to gold: what one wants to know about topics, peers and the mesh."""

from __future__ import annotations

from pyspark.sql import DataFrame

from rumormill.pipeline.tables.alert_rows import AlertParameters
from rumormill.pipeline.tables.alerts import alerts
from rumormill.pipeline.tables.columns import in_order
from rumormill.pipeline.tables.mesh_health import mesh_minutes
from rumormill.pipeline.tables.peers import links, peers
from rumormill.pipeline.tables.problems import problems
from rumormill.pipeline.tables.publications import expected_of_nodes
from rumormill.pipeline.tables.schema import GOLD
from rumormill.pipeline.tables.silver import Keep, Silver, as_it_is
from rumormill.pipeline.tables.sums import (
    latencies_in,
    links_in,
    nodes_in,
    publishers_in,
    sums,
    sums_in,
)
from rumormill.pipeline.tables.topics import (
    Measured,
    hops,
    latency_cdf,
    topic_minutes,
    topics,
)
from rumormill.pipeline.tables.traffic import events
from rumormill.pipeline.tables.workers import ParquetFiles


def gold(
    silver: Silver,
    *,
    files: ParquetFiles | None = None,
    parameters: AlertParameters = AlertParameters(),  # noqa: B008
    keep: Keep = as_it_is,
) -> dict[str, DataFrame]:
    """All gold tables, by name; columns in :data:`rumormill.pipeline.tables.schema.GOLD`.

    ``silver`` holds the tables of all minutes that the gold tables are to be about; nothing else
    is needed. ``files``: those that the deliveries are read from, if they are; see ``workers.py``.
    ``keep`` as in :func:`rumormill.pipeline.tables.silver.silver`.
    """
    publications, traffic = silver.publications, silver.traffic
    made: dict[str, DataFrame] = {}

    def add(name: str, table: DataFrame) -> DataFrame:
        made[name] = keep(name, table)
        return made[name]

    add("events", in_order(events(silver.counters), GOLD["events"]))
    add("skew", in_order(silver.skew, GOLD["skew"]))
    seen = keep("_deliveries", sums(silver.deliveries, files))
    added = keep("_sums", sums_in(seen))
    measured = Measured(publications, traffic, added, latencies_in(seen))
    add("topics", topics(measured))
    add("topic_minutes", topic_minutes(measured))
    add("hops", hops(measured))
    add("latency_cdf", latency_cdf(measured.latencies))
    sent = add("links", links(links_in(seen), traffic))
    wanted = expected_of_nodes(publications, silver.subscriptions, silver.deliveries)
    add("peers", peers(sent, traffic, wanted, nodes_in(seen)))
    graphs = add("mesh_minutes", mesh_minutes(silver.mesh, silver.subscriptions, silver.counters))
    found = alerts(
        publications, publishers_in(seen), silver.mesh, traffic, sent, graphs, parameters
    )
    add("alerts", found)
    add("problems", problems(measured.sums, silver.skew, silver.counters))
    return made

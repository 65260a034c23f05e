"""The gold topics of a real go network, by Spark and by DuckDB from the same events.

The query says everything anew, in its own way: what the two have in common is the definitions.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from rumormill.capture.foreign import import_traces
from rumormill.capture.open import open_log
from rumormill.pipeline.tables import GOLD, gold, silver
from tests.helpers.capture.foreign_traces import SHARED, VECTORS
from tests.helpers.spark.trace_lines import held

QUERY = """
with recursive
ends as (  -- a node that others saw leave ended with its own last event
    select node, max(time) as last from trace
    where node in (select peer from trace where event = 'peer_left') group by node
),
told as (
    select s.topic, s.node, s.time as since,
        (select min(u.time) from trace u where u.event = 'unsubscribed' and u.node = s.node
         and u.topic = s.topic and u.time >= s.time) as until
    from trace s where s.event = 'subscribed'
),
member as (  -- expected from when a peer knows of it until its end, or a second before a silent one
    select t.topic, t.node,
        coalesce(
            (select min(k.time) from trace k where k.event = 'peer_subscribed' and k.peer = t.node
             and k.topic = t.topic and k.time >= t.since
             and k.time < coalesce(t.until, ends.last, timestamptz '2999-01-01')),
            t.since) as since,
        coalesce(t.until, ends.last - interval 1 second, timestamptz '2999-01-01') as until
    from told t left join ends on ends.node = t.node
),
message as (
    select topic, message_id, node as publisher, time,
        (select count(*) from member m where m.topic = t.topic and m.node <> t.node
         and m.since <= t.time and t.time < m.until) as expected
    from trace t where event = 'published'
),
first as (
    select t.topic, t.message_id, t.node, t.peer, m.publisher,
        epoch_us(t.time) - epoch_us(m.time) as latency, t.time,
        exists (select 1 from member s where s.node = t.node and s.topic = t.topic
                and s.since <= m.time and m.time < s.until) as expected
    from trace t join message m using (topic, message_id)
    where t.event = 'delivered' and t.node <> m.publisher
),
chain as (
    select topic, message_id, node, 1 as hop from first where peer = publisher
    union all
    select f.topic, f.message_id, f.node, c.hop + 1
    from first f join chain c on c.message_id = f.message_id and c.topic = f.topic
        and c.node = f.peer
    where f.peer <> f.publisher
),
ranked as (
    select topic, latency, row_number() over (partition by topic order by latency) - 1 as place,
        count(*) over (partition by topic) as n
    from first where expected
),
latencies as (
    select topic,
        max(latency) filter (place = ceil(0.5 * n) - 1) / 1000 as p50,
        max(latency) filter (place = ceil(0.9 * n) - 1) / 1000 as p90,
        max(latency) filter (place = ceil(0.99 * n) - 1) / 1000 as p99,
        max(latency) / 1000 as top
    from ranked group by topic
),
copies as (
    select t.topic, count(*) as duplicates from trace t join message m using (topic, message_id)
    where t.event = 'duplicate' and t.node <> m.publisher group by t.topic
),
asked as (
    select f.topic, count(*) as recoveries from first f where exists (
        select 1 from trace a where a.event = 'asked' and a.message_id = f.message_id
        and a.node = f.node and a.peer = f.peer and a.time <= f.time)
    group by f.topic
),
sums as (
    select topic, count(*) as delivered, count(*) filter (not expected) as unexpected
    from first group by topic
)
select 'gossipsub' as network, topic,
    (select count(*) from message m where m.topic = sums.topic) as published,
    (select sum(expected) from message m where m.topic = sums.topic)::bigint as expected,
    delivered, unexpected,
    (delivered - unexpected) / (select sum(expected) from message m where m.topic = sums.topic)
        as ratio,
    p50, p90, p99, top, duplicates, duplicates / delivered,
    (select avg(hop) from chain c where c.topic = sums.topic),
    (select max(hop) from chain c where c.topic = sums.topic),
    null, coalesce(recoveries, 0)
from sums join latencies using (topic) join copies using (topic) left join asked using (topic)
order by topic
"""


def events_of(folder: Path, spool: Path) -> pa.Table:
    import_traces(sorted(folder.glob("node*.json.gz")), spool)
    log = open_log(spool, "trace")
    bounds = log.bounds()
    batches = [batch for _, batch in log.read(bounds.earliest, bounds.latest)]
    return pa.Table.from_batches(batches)


@pytest.mark.parametrize(
    "folder",
    [
        VECTORS,
        pytest.param(
            SHARED,
            marks=[
                pytest.mark.slow,
                pytest.mark.skipif(not SHARED.is_dir(), reason="the whole network is not here"),
            ],
        ),
    ],
    ids=["a part", "the whole network"],
)
@pytest.mark.timeout(600)
def test_duckdb_finds_the_same_topics(spark: SparkSession, tmp_path: Path, folder: Path) -> None:
    trace = events_of(folder, tmp_path / "spool")
    with duckdb.connect() as database:
        database.register("trace", trace)
        second = database.execute(QUERY).fetchall()
    made = silver(spark.createDataFrame(trace), keep=held)
    topics = gold(made)["topics"].orderBy("topic").collect()
    assert [row.topic for row in topics] == [row[1] for row in second]
    for ours, theirs in zip(topics, second, strict=True):
        found: dict[str, Any] = ours.asDict()
        assert found == pytest.approx(dict(zip(GOLD["topics"].names, theirs, strict=True)))

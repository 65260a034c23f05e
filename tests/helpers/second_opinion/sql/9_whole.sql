-- docs/tables.md: values, nodes, problems. The table clocks is there already.

create table "values" as
with newest as (
    select network, topic, max(time) as newest_at from publications
    where promise = 'newest'
    group by network, topic
),
own as (
    select network, topic, publisher as node, time as published_at, time from publications
    where promise = 'newest'
    union all
    select network, topic, node, published_at, time from deliveries
    where promise = 'newest' and published_at is not null and first
),
had as (
    select
        network, topic, node, max(published_at) as value_at,
        arg_min(time, (-epoch_us(published_at), time)) as had_at
    from own
    group by network, topic, node
),
there as (
    select distinct network, topic, node, true as subscribed from subscriptions where until is null
)
select
    network, topic, node, value_at, had_at, newest_at,
    case when subscribed then value_at is distinct from newest_at end as behind
from had
full join there using (network, topic, node)
join newest using (network, topic);

create table nodes as
with named as (
    select network, node from runs
    union
    select network, node from sightings
),
ran as (
    select
        network, node, count(*)::int as runs, min(since) as first_at, max(last_at) as last_at,
        arg_max(agent, since) filter (agent is not null) as agent,
        not arg_max(ended, since) as present
    from runs
    group by network, node
),
seen as (
    select
        network, node, max("at") as "at",
        arg_max(present, ("at", present)) filter ("at" is not null) as present,
        arg_max(agent, (agent_at, agent)) filter (agent is not null) as agent
    from sightings
    group by network, node
)
select
    n.network, n.node, coalesce(r.agent, s.agent) as agent, p.promise,
    coalesce(r.runs, 0) as runs, r.first_at, coalesce(r.last_at, s."at") as last_at,
    coalesce(r.present, s.present, false) as present
from named n
join promises p using (network)
left join ran r using (network, node)
left join seen s using (network, node);

create table problems as
with counted as (
    select network, topic, 'negative_latency' as kind, sum(negative) as count
    from latencies where minute is null group by network, topic
    union all
    select network, topic, 'publication_unknown', sum(unpublished)
    from latencies where minute is null group by network, topic
    union all
    select network, topic, 'hop_unknown', sum(strayed)
    from latencies where minute is null group by network, topic
    union all
    select network, null, 'clock_unknown', count(*) filter (not estimated)
    from clocks group by network
    union all
    select network, null, 'captured_lost', sum(uncaptured)
    from counters group by network
)
select network, topic, kind, count::bigint as count
from counted
where count > 0;

-- docs/tables.md: subscriptions, mesh.

create table subscription_stretches as
with topics as (
    select distinct network, topic, node from trace
    where event in ('subscribed', 'unsubscribed') and topic is not null
),
words as (
    select network, topic, node, time, event = 'subscribed' as begins
    from trace
    where event in ('subscribed', 'unsubscribed') and topic is not null
    union all
    select t.network, t.topic, t.node, c.time, false
    from trace c
    join topics t using (network, node)
    where c.event = 'node_crashed'
),
in_runs as (
    select
        w.*,
        (select max(r.since) from runs r
         where r.network = w.network and r.node = w.node and r.since <= w.time) as run
    from words w
),
told as (
    select
        *,
        begins
        and coalesce(lag(begins) over word, false)
        and run = lag(run) over word as again
    from in_runs
    window word as (partition by network, topic, node order by time, begins)
),
stretches as (
    select
        network, topic, node, begins, run, time as since,
        lead(time) over (partition by network, topic, node order by time, begins) as told_until
    from told
    where not again
)
select
    s.network, s.topic, s.node, s.since, s.told_until,
    r.ended and (s.told_until is null or r.last_at < s.told_until) as silent,
    case when silent then r.last_at else s.told_until end as until
from stretches s
join runs r on r.network = s.network and r.node = s.node and r.since = s.run
where s.begins;

create table subscriptions as
with knowledge as (  -- since when each witness knows of a stretch
    select
        s.network, s.topic, s.node, s.since, w.node as witness, min(w.time) as known_at,
        coalesce(bool_or(w.fields ->> 'direct' = 'true'), false) as direct
    from subscription_stretches s
    join trace w
        on w.event = 'peer_subscribed' and w.network = s.network and w.topic = s.topic
        and w.peer = s.node and w.node <> s.node
        and w.time >= s.since and (s.until is null or w.time < s.until)
    group by s.network, s.topic, s.node, s.since, w.node
),
known as (
    select
        network, topic, node, since, min(known_at) as known_at,
        map_from_entries(
            list(struct_pack(k := witness, v := known_at) order by witness) filter (direct)
        ) as known_to
    from knowledge
    group by network, topic, node, since
)
select
    network, topic, node, since, s.until,
    coalesce(k.known_at, since) as expected_since,
    case when s.silent then s.until - grace() else s.until end as expected_until,
    k.known_at, k.known_to, s.told_until
from subscription_stretches s
left join known k using (network, topic, node, since);

create table mesh as
with links as (
    select distinct network, topic, node, peer from trace
    where event = 'grafted' and topic is not null and peer is not null
),
words as (
    select
        network, topic, node, peer, time, event = 'grafted' as begins,
        case when event = 'grafted' then 4 else 1 end as place,
        case when event = 'pruned' then reason end as reason,
        case when event = 'grafted' then fields ->> 'by' end as "by"
    from trace
    where event in ('grafted', 'pruned') and topic is not null and peer is not null
    union all
    select l.*, t.time, false, 2, 'peer left', null
    from trace t join links l using (network, node, peer)
    where t.event = 'peer_left'
    union all
    select l.*, t.time, false, 3, 'subscription ended', null
    from trace t join links l using (network, node, topic)
    where t.event = 'unsubscribed'
    union all
    select l.*, t.time, false, 3, 'subscription ended', null
    from trace t join links l using (network, node)
    where t.event = 'node_crashed'
),
in_runs as (
    select
        w.*,
        (select max(r.since) from runs r
         where r.network = w.network and r.node = w.node and r.since <= w.time) as run
    from words w
),
told as (
    select
        *,
        begins
        and coalesce(lag(begins) over word, false)
        and run = lag(run) over word as again
    from in_runs
    window word as (
        partition by network, topic, node, peer
        order by time, place, reason nulls first, "by" nulls first
    )
),
stretches as (
    select
        network, topic, node, peer, begins, run, "by", time as since,
        lead(time) over word as told_until,
        lead(reason) over word as told_reason
    from told
    where not again
    window word as (
        partition by network, topic, node, peer
        order by time, place, reason nulls first, "by" nulls first
    )
),
judged as (
    select
        s.*, r.last_at,
        r.ended and (s.told_until is null or r.last_at < s.told_until) as silent
    from stretches s
    join runs r on r.network = s.network and r.node = s.node and r.since = s.run
    where s.begins
)
select
    network, topic, node, peer, since,
    case when silent then last_at else told_until end as until,
    "by",
    case when silent then 'subscription ended' else told_reason end as reason,
    told_until
from judged;

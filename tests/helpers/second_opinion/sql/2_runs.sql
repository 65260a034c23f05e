-- docs/tables.md: runs, sightings, and the promise of each network.

create table openings as
select
    network, node, time, min(fields ->> 'agent') as agent,
    case
        when bool_or(fields ->> 'every_message' = 'false') then 'newest'
        when bool_or(fields ->> 'all_subscribers' = 'false') then 'one'
        else 'every'
    end as promise
from trace
where event = 'network_opened'
group by network, node, time;

create table promises as
select
    network,
    case
        when bool_or(promise = 'newest') then 'newest'
        when bool_or(promise = 'one') then 'one'
        else 'every'
    end as promise
from (select distinct network from trace) left join openings using (network)
group by network;

create table run_bounds as
with starts as (
    select network, node, time as since from openings
    union
    select network, node, min(time) from trace group by network, node
),
bounds as (
    select *, lead(since) over (partition by network, node order by since) as next
    from starts
)
select b.network, b.node, b.since, max(t.time) as last_at, b.next is not null as followed
from bounds b
join trace t
    on t.network = b.network and t.node = b.node and t.time >= b.since
    and (b.next is null or t.time < b.next)
group by b.network, b.node, b.since, b.next;

create table sightings as
with words as (
    select
        network, node as witness, peer as node,
        arg_max(event = 'peer_joined', (time, event = 'peer_joined'))
            filter (event in ('peer_joined', 'peer_left')) as present,
        max(time) filter (event in ('peer_joined', 'peer_left')) as "at",
        max((time, fields ->> 'agent'))
            filter (event = 'peer_identified' and fields ->> 'agent' is not null) as identified
    from trace
    where event in ('peer_joined', 'peer_left', 'peer_identified') and peer is not null
    group by network, node, peer
)
select network, witness, node, present, "at", identified[2] as agent, identified[1] as agent_at
from words;

create table runs as
with last_words as (
    select
        s.network, s.node, s.present, s."at",
        (select max(last_at) from run_bounds w where w.network = s.network and w.node = s.witness)
            as witness_until
    from sightings s
    where s.present is not null
)
select
    r.network, r.node, r.since, r.last_at, o.time is not null as opened, o.agent, o.promise,
    r.followed
    or (
        exists (
            from last_words w where w.network = r.network and w.node = r.node
            and not w.present and w."at" >= r.last_at - grace()
        )
        and not exists (
            from last_words w where w.network = r.network and w.node = r.node
            and w.present and w.witness_until > r.last_at + grace()
        )
    ) as ended
from run_bounds r
left join openings o on o.network = r.network and o.node = r.node and o.time = r.since;

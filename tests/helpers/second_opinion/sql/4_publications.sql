-- docs/tables.md: publications; which copy belongs to which; hops and ways.

create table publications as
with told as (
    select
        *,
        lag(time) over (
            partition by network, topic, message_id order by time, node
        ) as before
    from trace
    where event = 'published' and topic is not null and message_id is not null
)
select
    date_trunc('minute', t.time) as minute, t.network, t.topic, t.message_id,
    t.node as publisher, t.time, t.size,
    case when t.fields ->> 'mode' = 'unicast' then 'one' else p.promise end as promise
from told t
join promises p using (network)
where t.before is null or t.time - t.before > margin();

create table copies as  -- each with its publication, if it has one
with numbered as (
    select
        row_number() over () as number, network, topic, message_id, node, peer, time, size, sender,
        event = 'delivered' as accepted,
        case when event = 'delivered' then 1 else coalesce(count, 1) end as count
    from trace
    where event in ('delivered', 'duplicate') and topic is not null and message_id is not null
),
near as (
    select
        c.number, p.publisher, p.time as published_at,
        row_number() over (
            partition by c.number order by abs(epoch_us(c.time) - epoch_us(p.time)), p.time
        ) as place
    from numbered c
    join publications p
        on p.network = c.network and p.topic = c.topic and p.message_id = c.message_id
        and p.time between c.time - margin() and c.time + margin()
)
select c.*, n.publisher, n.published_at
from numbered c
left join near n on n.number = c.number and n.place = 1;

create table arrivals as  -- what came of a publication to a node
with ordered as (
    select
        *,
        row_number() over (
            partition by network, topic, message_id, published_at, node
            order by not accepted, time, peer nulls first
        ) as place
    from copies
    where published_at is not null and node <> publisher
)
select
    network, topic, message_id, publisher, published_at, node,
    bool_or(accepted) as first,
    max(time) filter (place = 1) as time,
    max(peer) filter (place = 1 and accepted) as peer,
    max(size) as size,
    (sum(count) - bool_or(accepted)::int)::bigint as duplicates
from ordered
group by network, topic, message_id, publisher, published_at, node;

create table hops as
with recursive chain as (
    select network, topic, message_id, published_at, node, 1 as hop
    from arrivals
    where first and peer = publisher
    union all
    select a.network, a.topic, a.message_id, a.published_at, a.node, c.hop + 1
    from arrivals a
    join chain c
        on c.network = a.network and c.topic = a.topic and c.message_id = a.message_id
        and c.published_at = a.published_at and c.node = a.peer
    where a.first and a.peer <> a.publisher
)
from chain;

create table samples as  -- of the ways between nodes
select
    a.network, a.topic, a.message_id, a.published_at, a.node, a.peer,
    epoch_us(a.time) - epoch_us(
        case when a.peer = a.publisher then a.published_at else p.time end
    ) as link_us
from arrivals a
left join arrivals p
    on p.network = a.network and p.topic = a.topic and p.message_id = a.message_id
    and p.published_at = a.published_at and p.node = a.peer and p.first
where a.first;

create table ways as
select
    date_trunc('minute', published_at) as minute, network, node, peer,
    min(link_us) as least_us
from samples
where link_us is not null
group by all;

-- docs/tables.md: deliveries. The table offsets (minute, network, node, offset_us) has what is to be
-- taken off the times of nodes in publications of that minute.

create table members as
select distinct
    p.network, p.topic, p.message_id, p.publisher, p.time as published_at, s.node
from publications p
join subscriptions s on s.network = p.network and s.topic = p.topic and s.node <> p.publisher
left join offsets a on a.minute = p.minute and a.network = p.network and a.node = p.publisher
left join offsets b on b.minute = p.minute and b.network = p.network and b.node = s.node
where
    case
        when s.known_to[p.publisher] is not null then p.time >= s.known_to[p.publisher]
        else epoch_us(p.time) - coalesce(a.offset_us, 0)
            >= epoch_us(s.expected_since) - coalesce(b.offset_us, 0)
    end
    and (
        s.expected_until is null
        or epoch_us(p.time) - coalesce(a.offset_us, 0)
            < epoch_us(s.expected_until) - coalesce(b.offset_us, 0)
    );

create table chosen as  -- of messages to one: the member that counts, if any got it
select a.network, a.topic, a.message_id, a.published_at, arg_min(a.node, (a.time, a.node)) as node
from arrivals a
semi join members m
    on m.network = a.network and m.topic = a.topic and m.message_id = a.message_id
    and m.published_at = a.published_at and m.node = a.node
where a.first
group by all;

create table expectations as
select m.network, m.topic, m.message_id, m.published_at, m.node
from members m
join publications p
    on p.network = m.network and p.topic = m.topic and p.message_id = m.message_id
    and p.time = m.published_at
where p.promise <> 'one'
union all
select distinct m.network, m.topic, m.message_id, m.published_at, c.node
from members m
join publications p
    on p.network = m.network and p.topic = m.topic and p.message_id = m.message_id
    and p.time = m.published_at
left join chosen c
    on c.network = m.network and c.topic = m.topic and c.message_id = m.message_id
    and c.published_at = m.published_at
where p.promise = 'one';

create table rows_of_publications as
select
    coalesce(a.network, e.network) as network, coalesce(a.topic, e.topic) as topic,
    coalesce(a.message_id, e.message_id) as message_id,
    coalesce(a.published_at, e.published_at) as published_at,
    coalesce(a.node, e.node) as node,
    a.time, a.peer, a.size, coalesce(a.first, false) as first,
    coalesce(a.duplicates, 0) as duplicates,
    e.network is not null as expected
from arrivals a
full join expectations e
    on e.network = a.network and e.topic = a.topic and e.message_id = a.message_id
    and e.published_at = a.published_at and e.node = a.node;

create table newer as  -- when a node first had a newer value in time
select r.network, r.topic, r.message_id, r.published_at, r.node, min(a.time) as "at"
from rows_of_publications r
join arrivals a
    on a.first and a.network = r.network and a.topic = r.topic and a.node = r.node
    and a.published_at > r.published_at and a.time <= r.published_at + margin()
group by all;

create table strangers as  -- copies without publication
with ordered as (
    select
        *, date_trunc('minute', time) as minute,
        row_number() over (
            partition by network, topic, message_id, node, date_trunc('minute', time)
            order by not accepted, time, peer nulls first
        ) as place
    from copies
    where published_at is null and peer is not null and peer <> node
        and (sender is null or sender <> node)
)
select
    minute, network, topic, message_id, node, min(sender) as publisher,
    bool_or(accepted) as first,
    max(time) filter (place = 1) as time,
    max(peer) filter (place = 1 and accepted) as peer,
    max(size) as size,
    (sum(count) - bool_or(accepted)::int)::bigint as duplicates
from ordered
group by minute, network, topic, message_id, node;

create table deliveries as
with whole as (
    select
        p.minute, p.network, p.topic, p.message_id, p.publisher, p.time as published_at,
        coalesce(p.size, r.size) as size, p.promise, r.node, r.peer, r.time,
        (epoch_us(r.time) - coalesce(b.offset_us, 0))
            - (epoch_us(p.time) - coalesce(a.offset_us, 0)) as latency_us,
        case when p.promise = 'newest' then
            (epoch_us(least(case when r.first then r.time end, n."at")) - coalesce(b.offset_us, 0)) - (epoch_us(p.time) - coalesce(a.offset_us, 0))
        end as stale_us,
        s.link_us, h.hop, r.first, r.expected, r.duplicates,
        case when p.promise = 'newest' and r.expected and not r.first then n."at" end as superseded_at
    from rows_of_publications r
    join publications p
        on p.network = r.network and p.topic = r.topic and p.message_id = r.message_id
        and p.time = r.published_at
    left join newer n
        on n.network = r.network and n.topic = r.topic and n.message_id = r.message_id
        and n.published_at = r.published_at and n.node = r.node
    left join samples s
        on s.network = r.network and s.topic = r.topic and s.message_id = r.message_id
        and s.published_at = r.published_at and s.node = r.node
    left join hops h
        on h.network = r.network and h.topic = r.topic and h.message_id = r.message_id
        and h.published_at = r.published_at and h.node = r.node
    left join offsets a on a.minute = p.minute and a.network = p.network and a.node = p.publisher
    left join offsets b on b.minute = p.minute and b.network = p.network and b.node = r.node
),
every_row as (
    from whole
    union all by name
    select s.*, q.promise, false as expected
    from strangers s
    join promises q using (network)
)
select
    minute, network, topic, message_id, publisher, published_at, size, promise, node, peer, time,
    case when first then latency_us / 1000.0 end::double as latency_ms,
    (stale_us / 1000.0)::double as stale_ms,
    link_us, hop, first, expected,
    first and exists (
        from trace t
        where t.event = 'asked' and t.network = d.network and t.node = d.node
            and t.message_id = d.message_id and t.peer = d.peer
            and t.time between d.time - margin() and d.time
    ) as recovered,
    duplicates, superseded_at
from every_row d;

-- docs/tables.md: mesh_minutes, lifetimes.

create table covered as  -- the part of each minute that the trace of a network covers
select minute, network, min(first_at) as begins, max(last_at) as ends
from counters
group by minute, network
having max(last_at) > min(first_at);

create macro overlap_us(since, until, begins, ends) as
    greatest(
        0,
        epoch_us(least(coalesce(until, ends), ends)) - epoch_us(greatest(since, begins))
    );

create table meshed as  -- topics with a link in a minute, be it for an instant
select distinct c.minute, c.network, m.topic
from covered c
join mesh m
    on m.network = c.network and m.since < c.minute + interval 1 minute
    and (m.until is null or m.until >= c.minute);

create table graph_nodes as  -- usual: there for half of what is covered; whole: for all of it
with there as (
    select
        c.minute, c.network, s.topic, s.node,
        epoch_us(c.ends) - epoch_us(c.begins) as covered,
        sum(overlap_us(s.since, s.until, c.begins, c.ends)) as present
    from covered c
    join subscriptions s on s.network = c.network
    semi join meshed m on m.minute = c.minute and m.network = c.network and m.topic = s.topic
    group by c.minute, c.network, s.topic, s.node, c.begins, c.ends
)
select 'usual' as kind, minute, network, topic, node from there where 2 * present >= covered
union all
select 'whole', minute, network, topic, node from there
where present >= covered and 2 * covered >= 60_000_000;

create table graph_links as  -- to whoever is not among the nodes: to nobody, who is one for all
with there as (
    select
        c.minute, c.network, l.topic, l.node, l.peer,
        epoch_us(c.ends) - epoch_us(c.begins) as covered,
        sum(overlap_us(l.since, l.until, c.begins, c.ends)) as present
    from covered c
    join mesh l
        on l.network = c.network and l.since <= c.ends
        and (l.until is null or l.until >= c.begins)
    group by c.minute, c.network, l.topic, l.node, l.peer, c.begins, c.ends
)
select n.kind, t.minute, t.network, t.topic, t.node, t.peer, coalesce(o.node, '') as other
from there t
join graph_nodes n
    on n.minute = t.minute and n.network = t.network and n.topic = t.topic and n.node = t.node
left join graph_nodes o
    on o.kind = n.kind and o.minute = t.minute and o.network = t.network
    and o.topic = t.topic and o.node = t.peer
where n.kind = 'whole' or 2 * t.present >= t.covered;

create table reached as  -- every node from every node, along links of either side
with recursive sides as (
    select kind, minute, network, topic, node, other from graph_links
    union
    select kind, minute, network, topic, other, node from graph_links
),
ways_on as (
    select kind, minute, network, topic, node, node as other from graph_nodes
    union
    select w.kind, w.minute, w.network, w.topic, w.node, s.other
    from ways_on w
    join sides s
        on s.kind = w.kind and s.minute = w.minute and s.network = w.network
        and s.topic = w.topic and s.node = w.other
)
from ways_on;

create table mesh_minutes as
with parts as (
    select kind, minute, network, topic, node, min(other) as part from reached
    group by kind, minute, network, topic, node
),
sizes as (
    select kind, minute, network, topic, part, count(*) as size from parts
    group by kind, minute, network, topic, part
),
shape as (
    select
        minute, network, topic,
        count(*) filter (kind = 'usual') as components,
        max(size) filter (kind = 'usual') as largest,
        coalesce(sum(size) filter (kind = 'whole') - max(size) filter (kind = 'whole'), 0)::bigint
            as cut_off
    from sizes
    group by minute, network, topic
),
degrees as (
    select n.minute, n.network, n.topic, n.node, count(l.peer) as degree
    from graph_nodes n
    left join graph_links l
        on l.kind = n.kind and l.minute = n.minute and l.network = n.network
        and l.topic = n.topic and l.node = n.node
    where n.kind = 'usual'
    group by all
)
select
    d.minute, d.network, d.topic, count(*) as nodes, avg(d.degree) as degree_mean,
    min(d.degree) as degree_min, max(d.degree) as degree_max,
    any_value(s.components) as components, any_value(s.largest) as largest,
    any_value(s.cut_off) as cut_off,
    (select count(*) from mesh m where m.network = d.network and m.topic = d.topic
     and date_trunc('minute', m.since) = d.minute) as grafts,
    (select count(*) from mesh m where m.network = d.network and m.topic = d.topic
     and date_trunc('minute', m.until) = d.minute) as prunes
from degrees d
join shape s on s.minute = d.minute and s.network = d.network and s.topic = d.topic
group by d.minute, d.network, d.topic;

create table lifetimes as
with ended as (
    select 'mesh' as kind, network, topic, since, until from mesh where until is not null
    union all
    select 'subscription', network, topic, since, until from subscriptions
    where until is not null
),
binned as (
    select
        date_trunc('minute', until) as minute, network, topic, kind,
        greatest(
            0, floor(log2((epoch_us(until) - epoch_us(since)) / 1e6 * 4 + 1))
        )::int as bin
    from ended
)
select minute, network, topic, kind, bin, count(*) as ended
from binned
group by grouping sets ((minute, network, topic, kind, bin), (network, topic, kind, bin));

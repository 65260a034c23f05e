-- docs/tables.md: links, peers, events, causes, scores. Rows without a minute are about all time.

create table links as
with arrived as (
    select
        minute, network, node, peer, first::int as first, (first and expected)::int as came,
        expected::int as expected,
        (expected and not first and superseded_at is null)::int as missing,
        (expected and not first and superseded_at is not null)::int as skipped,
        case when first and expected then round(latency_ms * 1000)::bigint end as latency_us
    from deliveries
),
counted as (
    select
        minute, network, node, peer,
        case when event in ('delivered', 'duplicate') and peer <> node then count end as copies,
        case when event = 'packet_sent' then count end as sent_packets,
        case when event = 'packet_sent' then bytes end as sent_bytes,
        case when event = 'packet_received' then count end as received_packets,
        case when event = 'packet_received' then bytes end as received_bytes,
        messages, ihave, iwant, idontwant, graft, prune, exchanged,
        lost - uncaptured as dropped, uncaptured,
        case when event = 'published' then count end as published,
        case when event = 'delivered' then count end as delivered,
        case when event = 'duplicate' then count end as duplicates,
        case when event = 'rejected' then count end as rejected,
        case when event = 'ignored' then count end as ignored,
        case when event = 'spared' then count end as spared
    from counters
),
both_kinds as (
    from arrived
    union all by name
    from counted
)
select
    minute, network, node, peer,
    coalesce(sum(columns(* exclude (minute, network, node, peer))), 0)::bigint
from both_kinds
group by grouping sets ((minute, network, node, peer), (network, node, peer));

create table peers as
with figures as (
    select
        minute, network, node, published, expected, missing, skipped, first as delivered,
        case when peer <> node then duplicates end as duplicates,
        rejected as rejected_here, ignored as ignored_here, dropped as dropped_here,
        latency_us, came
    from links
    union all by name
    select
        minute, network, peer as node, first as first_sent, duplicates as repeat_sent,
        rejected as rejected_by_others
    from links
    where peer is not null and peer <> node
),
sums as (
    select
        minute, network, node,
        coalesce(sum(columns(* exclude (minute, network, node))), 0)::bigint
    from figures
    where node is not null
    group by minute, network, node
)
select
    minute, network, node, published, expected, missing, skipped, delivered,
    duplicates, first_sent, repeat_sent,
    rejected_by_others, rejected_here, ignored_here, dropped_here,
    latency_us / nullif(came, 0) / 1000 as latency_mean,
    first_sent / nullif(sum(first_sent) over (partition by minute, network), 0) as contribution
from sums;

create table events as
select minute, network, event, sum(count)::bigint as count
from counters
group by grouping sets ((minute, network, event), (network, event));

create table causes as
select minute, network, topic, event, reason, sum(count)::bigint as count
from reasons
group by grouping sets (
    (minute, network, topic, event, reason), (network, topic, event, reason)
);

create table scores as
with told as (
    select
        minute, network, node, peer, count(*) as told, min(score) as lowest,
        max(score) as highest
    from scored
    group by minute, network, node, peer
),
last as (
    from scored
    qualify row_number() over (
        partition by minute, network, node, peer order by time desc, score desc
    ) = 1
)
select t.*, l.* exclude (minute, network, node, peer, time)
from told t
join last l using (minute, network, node, peer);

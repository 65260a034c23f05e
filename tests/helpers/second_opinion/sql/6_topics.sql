-- docs/tables.md: latencies, topics, publishers, slowest. Rows without a minute are about all time.

create macro bin_of(us) as (sign(us) * floor(log2(abs(us) + 1) * 64))::int;
create macro begin_of_bin(bin) as (pow(2, bin / 64.0) - 1) / 1000;  -- of bins from 0 on, in ms
create macro middle_of(bin) as
    sign(bin + 0.5) * (begin_of_bin(abs(bin)) + begin_of_bin(abs(bin) + 1)) / 2;
create macro upper_end_of(bin) as
    case when bin >= 0 then begin_of_bin(bin + 1) else -begin_of_bin(-bin) end;
create macro place_of(n, share) as greatest(1, ceil(share * (1 - 1e-15) * n));  -- counted from 1

create table latencies as
with counted as (
    select
        minute, network, topic, promise, hop,
        case when expected and published_at is not null then
            bin_of(round(coalesce(stale_ms, latency_ms) * 1000)::bigint)
        end as bin,
        0 as published,
        expected::int as expected,
        first::int as delivered,
        (expected and not first and superseded_at is null)::int as missing,
        (first and not expected)::int as unexpected,
        (expected and not first and superseded_at is not null)::int as skipped,
        duplicates,
        coalesce(size, 0) * (duplicates + first::int) as payload,
        (first and recovered)::int as recoveries,
        (first and coalesce(latency_ms < 0, false))::int as negative,
        (first and published_at is null)::int as unpublished,
        (first and published_at is not null and hop is null)::int as strayed
    from deliveries
    union all by name
    select minute, network, topic, promise, 1 as published from publications
)
select
    minute, network, topic, promise, hop, bin,
    coalesce(sum(published), 0)::bigint as published,
    coalesce(sum(expected), 0)::bigint as expected,
    coalesce(sum(delivered), 0)::bigint as delivered,
    coalesce(sum(missing), 0)::bigint as missing,
    coalesce(sum(unexpected), 0)::bigint as unexpected,
    coalesce(sum(skipped), 0)::bigint as skipped,
    coalesce(sum(duplicates), 0)::bigint as duplicates,
    coalesce(sum(payload), 0)::bigint as payload,
    coalesce(sum(recoveries), 0)::bigint as recoveries,
    coalesce(sum(negative), 0)::bigint as negative,
    coalesce(sum(unpublished), 0)::bigint as unpublished,
    coalesce(sum(strayed), 0)::bigint as strayed
from counted
group by grouping sets (
    (minute, network, topic, promise, hop, bin), (network, topic, promise, hop, bin)
);

create table topics as
with ranked as (  -- how many values are in a bin and the ones below
    select
        minute, network, topic, promise, bin,
        sum(sum(expected)) over (
            partition by minute, network, topic, promise order by bin
        ) as up_to,
        sum(sum(expected)) over (partition by minute, network, topic, promise) as n
    from latencies
    where bin is not null
    group by minute, network, topic, promise, bin
),
percentiles as (
    select
        minute, network, topic, promise,
        middle_of(min(bin) filter (up_to >= place_of(n, 0.5))) as latency_p50,
        middle_of(min(bin) filter (up_to >= place_of(n, 0.9))) as latency_p90,
        middle_of(min(bin) filter (up_to >= place_of(n, 0.99))) as latency_p99,
        upper_end_of(max(bin)) as latency_max
    from ranked
    group by minute, network, topic, promise
),
sent as (
    select minute, network, sum(bytes) as bytes from counters where event = 'packet_sent'
    group by grouping sets ((minute, network), (network))
),
paid as (select minute, network, sum(payload) as payload from latencies group by minute, network),
overhead as (
    select
        p.minute, p.network, greatest(1, coalesce(s.bytes, 0) / nullif(p.payload, 0)) as factor
    from paid p
    left join sent s on s.network = p.network and s.minute is not distinct from p.minute
),
sums as (
    select
        minute, network, topic, promise, sum(published)::bigint as published,
        sum(expected)::bigint as expected, sum(delivered)::bigint as delivered,
        sum(missing)::bigint as missing, sum(unexpected)::bigint as unexpected,
        sum(skipped)::bigint as skipped, sum(duplicates)::bigint as duplicates,
        sum(hop * delivered) / nullif(sum(delivered) filter (hop is not null), 0) as hops_mean,
        max(hop) filter (delivered > 0) as hops_max,
        sum(payload) as payload, sum(recoveries)::bigint as recoveries
    from latencies
    group by minute, network, topic, promise
)
select
    s.minute, s.network, s.topic, s.promise, s.published, s.expected, s.delivered, s.missing,
    s.unexpected, s.skipped,
    (s.expected - s.missing) / nullif(s.expected, 0) as ratio,
    latency_p50, latency_p90, latency_p99, latency_max,
    s.duplicates, s.duplicates / nullif(s.delivered, 0) as duplicates_per_delivery,
    s.hops_mean, s.hops_max,
    nullif(s.payload, 0) / nullif(s.delivered, 0) * o.factor as bytes_per_delivery,
    s.recoveries
from sums s
left join percentiles p
    on p.minute is not distinct from s.minute and p.network = s.network and p.topic = s.topic
    and p.promise = s.promise
left join overhead o on o.minute is not distinct from s.minute and o.network = s.network;

create table publishers as
with counted as (
    select minute, network, topic, publisher, 1 as published, 0 as expected, 0 as missing
    from publications
    union all
    select
        minute, network, topic, publisher, 0, expected::int,
        (expected and not first and superseded_at is null)::int
    from deliveries
    where published_at is not null
)
select
    minute, network, topic, publisher, sum(published)::bigint as published,
    sum(expected)::bigint as expected, sum(missing)::bigint as missing
from counted
group by grouping sets ((minute, network, topic, publisher), (network, topic, publisher));

create table slowest as
with messages as (
    select
        minute, network, topic, message_id, publisher, published_at,
        max(latency_ms) filter (expected) as slowest_ms,
        count(*) filter (first) as reached,
        count(*) filter (expected) as expected,
        list(
            struct_pack(node := node, peer := peer, hop := hop, latency_ms := latency_ms)
            order by latency_ms, hop nulls first, node
        ) filter (first) as copies
    from deliveries
    where published_at is not null
    group by minute, network, topic, message_id, publisher, published_at
)
select
    * exclude (copies),
    case when len(copies) > 200 then copies[:199] || copies[-1:] else copies end as tree
from messages
where slowest_ms is not null
qualify row_number() over (
    partition by minute, network, topic order by slowest_ms desc, message_id
) = 1;

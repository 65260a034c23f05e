-- docs/alerts.md: alerts. Its thresholds are written out; its words are those of the table.

create macro of_others(node, peer) as peer is not null and peer <> node;
create macro percent(share, digits) as printf('%.' || digits || 'f', round(100 * share, digits));

create macro is_conduct(event, reason) as event = 'rejected' and reason in (
    'graft_in_backoff', 'broken_promise', 'extensions_twice', 'extensions_too_late',
    'partial_malformed'
);

create table partitions as
select
    minute, network, topic, 'partition' as kind, null::text as node,
    printf(
        '%d of %d nodes are cut off from the largest part of the mesh, for the whole minute',
        cut_off, nodes
    ) as detail
from mesh_minutes
where cut_off >= 2;

create table handed_on as  -- copies from peers, without those that may come from their publisher
with own as (
    select minute, network, node as peer, sum(published) as own from links
    where minute is not null
    group by minute, network, node
)
select
    l.minute, l.network, l.node, l.peer, l.delivered,
    greatest(l.copies - coalesce(o.own, 0), 0) as relayed
from links l
left join own o on o.minute = l.minute and o.network = l.network and o.peer = l.peer
where l.minute is not null and of_others(l.node, l.peer);

create table hearing as
select
    minute, network, node, sum(delivered) as delivered, sum(relayed) as relayed,
    count(*) as links,
    list_sum(list_sort(list(relayed), 'desc')[:2]) / nullif(sum(relayed), 0) as share,
    sum(delivered) >= 50 and sum(relayed) >= 50 as enough
from handed_on
group by minute, network, node;

create table eclipses as
with around as (
    select
        minute, network, count(*) as nodes, median(share) filter (enough) as usual,
        median(links) as usual_links, count(*) filter (enough and share >= 0.95) as suspects
    from hearing
    where delivered > 0
    group by minute, network
),
alike as (
    select minute, network, sum(own) ** 2 / nullif(sum(own ** 2), 0) as publishers
    from (
        select minute, network, node, sum(published) as own from links
        where minute is not null
        group by minute, network, node
    )
    group by minute, network
),
known as (
    select
        h.*, a.usual,
        greatest(h.links, (
            select count(distinct m.peer) from mesh m
            where m.network = h.network and m.node = h.node
                and m.since < h.minute + interval 1 minute
                and (m.until is null or m.until >= h.minute)
        )) as peers
    from hearing h
    join around a using (minute, network)
    join alike p using (minute, network)
    where h.enough and h.share >= 0.95 and a.usual <= 0.75 and a.usual_links >= 5
        and a.nodes >= 20 and a.suspects <= greatest(1, 0.02 * a.nodes) and p.publishers >= 5
)
select
    minute, network, null::text as topic, 'eclipse' as kind, node,
    printf(
        '%s %% of the %d copies that were handed on to it came from at most 2 of its %d peers;'
        || ' of the node in the middle, %s %%',
        percent(share, 0), relayed::bigint, peers, percent(usual, 0)
    ) as detail
from known
where peers >= 5;

create table censored as
with rated as (
    select
        network, topic, publisher as node, expected, expected - missing as came,
        sum(expected) over topics - expected as rest,
        sum(expected - missing) over topics - (expected - missing) as rest_came
    from publishers
    where minute is null
    window topics as (partition by network, topic)
),
compared as (
    select
        *, came / expected as ratio, rest_came / rest as usual,
        (came + rest_came) / (expected + rest) as pooled
    from rated
    where expected >= 100 and rest > 0
),
overloaded as (
    select network, node from links
    where minute is null
    group by network, node
    having sum(dropped) > 0.5 * sum(published)
)
select
    null::timestamp as minute, network, topic, 'censorship' as kind, node,
    printf(
        '%s %% of its messages'' deliveries took place; of the other publishers'', %s %%',
        percent(ratio, 1), percent(usual, 1)
    ) as detail
from compared
anti join overloaded using (network, node)
where usual > ratio and usual - ratio >= 0.2
    and usual - ratio >= 5 * sqrt(pooled * (1 - pooled) * (1 / expected + 1 / rest));

create table censoring as
with got as (
    select
        network, node, sum(first) as got, count(*) filter (copies > 0) as friends,
        sum(dropped) as dropped
    from links
    where minute is null and of_others(node, peer)
    group by network, node
),
gave as (
    select network, peer as node, sum(copies) as copies, sum(idontwant) as unwanted
    from links
    where minute is null and of_others(node, peer)
    group by network, peer
),
rated as (
    select
        network, node,
        (coalesce(copies, 0) + coalesce(unwanted, 0) + dropped) / got as rate
    from got
    left join gave using (network, node)
    where got >= 100 and friends >= 3
)
select
    null::timestamp as minute, network, null::text as topic, 'censorship' as kind, node,
    printf(
        'hands on %.2f copies of each message that it gets; the node in the middle, %.2f',
        round(rate, 2), round(usual, 2)
    ) as detail
from (select *, median(rate) over (partition by network) as usual from rated)
where rate < 0.1 * usual;

create table refusals as
with conduct as (
    select minute, network, peer, sum(count) as conduct from reasons
    where of_others(node, peer) and is_conduct(event, reason)
    group by minute, network, peer
),
counted as (
    select minute, network, peer, sum(rejected) as rejected, sum(copies) as copies
    from links
    where minute is not null and of_others(node, peer)
    group by minute, network, peer
),
sent as (
    select
        minute, network, peer as node, rejected - coalesce(conduct, 0) as refused,
        rejected - coalesce(conduct, 0) + copies as sent
    from counted
    left join conduct using (minute, network, peer)
),
rated as (
    select
        *, refused / nullif(sent, 0) as share,
        coalesce(
            (sum(refused) over minutes - refused) / nullif(sum(sent) over minutes - sent, 0), 0
        ) as usual
    from sent
    window minutes as (partition by minute, network)
)
select
    minute, network, null::text as topic, 'spam' as kind, node,
    printf(
        '%s %% of the %d messages that it sent were rejected; of the others'', %s %%',
        percent(share, 0), sent::bigint, percent(usual, 1)
    ) as detail
from rated
where refused >= 50 and share >= 0.5 and share >= 5 * usual;

create table repetitions as
with counted as (
    select
        minute, network, node, peer, copies,
        sum(delivered + published) over (partition by minute, network, node) as had
    from links
    where minute is not null
)
select
    minute, network, null::text as topic, 'spam' as kind, peer as node,
    printf(
        'sent %d copies to %s, which had %d messages in that minute',
        copies, node, had::bigint
    ) as detail
from counted
where of_others(counted.node, peer) and copies >= 100 and copies > 2 * had;

create table misbehaviours as
with named as (
    select
        minute, network, peer, reason, count(distinct node) as witnesses,
        coalesce(sum(count) filter (event = 'protocol_error'), 0)::bigint as errors,
        coalesce(sum(count) filter (event = 'rejected'), 0)::bigint as broken,
        coalesce(sum(count) filter (event = 'ignored'), 0)::bigint as ignored
    from reasons
    where of_others(node, peer) and (
        event = 'protocol_error'
        or is_conduct(event, reason)
        or event = 'ignored' and reason in (
            'too_many_ihave', 'iwant_too_often', 'too_many_dont_want', 'too_many_topics', 'replay',
            'gate_control_only', 'gate_closed'
        )
    )
    group by minute, network, peer, reason
)
select
    minute, network, null::text as topic, 'misbehaviour' as kind, peer as node,
    printf(
        '%s; told by %d of its peers',
        string_agg(
            printf('%s %d times', reason, errors + broken + ignored), ', '
            order by errors + broken + ignored desc, reason
        ),
        max(witnesses)
    ) as detail
from named
where errors >= 3 or broken >= 20 or ignored >= 500
group by minute, network, peer;

create table crowds as
with suspects as (
    select *, 'bring too few of the messages that they should' as why from scores
    where coalesce(mesh_deliveries, 0) + coalesce(mesh_failures, 0) < 0
    union all
    select *, 'share addresses' as why from scores
    where colocation < 0
)
select
    minute, network, null::text as topic, 'sybils' as kind, null::text as node,
    printf(
        '%d peers have scores below 0, down to %.1f, as they %s: %s; told by %d of the nodes',
        count(distinct peer), round(min(score), 1), why,
        array_to_string(list_sort(list(distinct peer))[:3], ', '), count(distinct node)
    ) as detail
from suspects
where score < 0
group by minute, network, why
having count(distinct peer) >= 3;

create table alerts as
from partitions
union all by name from eclipses
union all by name from censored
union all by name from censoring
union all by name from refusals
union all by name from repetitions
union all by name from misbehaviours
union all by name from crowds;

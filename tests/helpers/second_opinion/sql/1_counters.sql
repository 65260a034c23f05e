-- docs/tables.md: counters.
create macro grace() as interval 1 second;
create macro margin() as interval 120 seconds;

create table counters as
select
    date_trunc('minute', time) as minute, network, node, peer, event,
    sum(coalesce(count, 1))::bigint as count,
    sum(size)::bigint as bytes,
    coalesce(sum(coalesce(count, 1)) filter (event = 'dropped'), 0)::bigint as lost,
    coalesce(
        sum(coalesce(count, 1)) filter (
            event = 'dropped' and starts_with(fields ->> 'what', 'captured_')
        ), 0
    )::bigint as uncaptured,
    coalesce(sum(try_cast(fields ->> 'messages' as bigint)) filter (event = 'packet_sent'), 0)::bigint as messages,
    coalesce(sum(try_cast(fields ->> 'ihave' as bigint)) filter (event = 'packet_sent'), 0)::bigint as ihave,
    coalesce(sum(try_cast(fields ->> 'iwant' as bigint)) filter (event = 'packet_sent'), 0)::bigint as iwant,
    coalesce(sum(try_cast(fields ->> 'idontwant' as bigint)) filter (event = 'packet_sent'), 0)::bigint as idontwant,
    coalesce(sum(try_cast(fields ->> 'graft' as bigint)) filter (event = 'packet_sent'), 0)::bigint as graft,
    coalesce(sum(try_cast(fields ->> 'prune' as bigint)) filter (event = 'packet_sent'), 0)::bigint as prune,
    min(time) as first_at,
    max(time) as last_at
from trace
group by all;

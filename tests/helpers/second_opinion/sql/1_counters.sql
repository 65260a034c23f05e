-- docs/tables.md: counters, reasons, scored.
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
    coalesce(sum(try_cast(fields ->> 'peers' as bigint)) filter (event = 'exchange_sent'), 0)::bigint as exchanged,
    min(time) as first_at,
    max(time) as last_at
from trace
group by all;

create table reasons as
select
    date_trunc('minute', time) as minute, network, node, peer, topic, event, reason,
    sum(coalesce(count, 1))::bigint as count
from trace
where reason is not null and event not in ('delivered', 'duplicate', 'asked')
group by all;

create table scored as
select
    date_trunc('minute', time) as minute, network, node, peer, time,
    try_cast(fields ->> 'score' as double) as score,
    fields ->> 'level' as level,
    try_cast(fields ->> 'time_in_mesh' as double) as time_in_mesh,
    try_cast(fields ->> 'first_deliveries' as double) as first_deliveries,
    try_cast(fields ->> 'mesh_deliveries' as double) as mesh_deliveries,
    try_cast(fields ->> 'mesh_failures' as double) as mesh_failures,
    try_cast(fields ->> 'invalid_messages' as double) as invalid_messages,
    try_cast(fields ->> 'application' as double) as application,
    try_cast(fields ->> 'colocation' as double) as colocation,
    try_cast(fields ->> 'behaviour' as double) as behaviour,
    try_cast(fields ->> 'slow' as double) as slow
from trace
where event = 'scored' and peer is not null and try_cast(fields ->> 'score' as double) is not null;

"""How many connections there may be: the table alone, and a host that is flooded."""

from __future__ import annotations

from typing import Any, cast

import pytest

from rumormill.core import trace
from rumormill.core.errors import ConfigError, LocalProtocolError
from rumormill.core.machine import PeerLeft
from rumormill.core.transport import (
    BytesReceived,
    CloseTransport,
    Dial,
    TransportOpened,
    WriteBytes,
)
from rumormill.libp2p.host.host import Host
from rumormill.libp2p.host.parameters import HostParameters
from rumormill.libp2p.host.table import ConnectionTable, Link, group_of, networks_of
from rumormill.libp2p.host.target import Target
from rumormill.libp2p.stack.connection import Connection
from rumormill.libp2p.stack.multiaddr import Multiaddr
from tests.helpers.libp2p.host_net import FakePubsub, HostNet, key

BOB = key("bob").peer


def link(number: int, host: str = "192.0.2.1", outbound: bool = False) -> Link:
    address = Multiaddr("ip6" if ":" in host else "ip4", host, 4001)
    target = Target(str(address), None) if outbound else None
    return Link(number, address, cast(Connection, None), target)


def established(
    connections: ConnectionTable, number: int, host: str = "192.0.2.1", outbound: bool = False
) -> Link:
    """A connection that stands, of a peer of its own."""
    one = link(number, host, outbound)
    connections.add(one)
    connections.establish(one, f"peer {number}", 0.0)
    return one


def group(host: str) -> str:
    return group_of(networks_of(Multiaddr("ip6" if ":" in host else "ip4", host, 4001)))


def at_the_door(connections: ConnectionTable, host: str) -> str | None:
    """Which limit one more handshake would break."""
    crowd = connections.crowd_at_the_door(group(host))
    return None if crowd is None else crowd.reason


def inside(connections: ConnectionTable, host: str) -> str | None:
    """Which limit one more connection of a stranger would break."""
    crowd = connections.crowd_inside(group(host))
    return None if crowd is None else crowd.reason


def table(**parameters: Any) -> ConnectionTable:
    return ConnectionTable(HostParameters(**parameters))


def test_the_total_holds_for_all_connections() -> None:
    connections = table(max_connections=2, max_connections_per_peer=1)
    stranger = established(connections, 1, "192.0.2.1")
    established(connections, 2, "192.0.2.2", outbound=True)
    crowd = connections.crowd_for_dial()
    assert crowd == connections.crowd_inside("192.0.2.3")
    assert crowd == ("too_many_connections", [stranger], 2)


def test_a_part_of_the_total_is_kept_for_what_we_dial() -> None:
    connections = table(max_connections=8, dialed_share=0.25)
    for number in range(6):
        assert inside(connections, f"192.0.2.{number}") is None
        established(connections, number, f"192.0.2.{number}")
    assert inside(connections, "192.0.2.9") == "too_many_connections"
    for number in (6, 7):
        assert connections.crowd_for_dial() is None
        connections.add(link(number, outbound=True))
    assert connections.crowd_for_dial() is not None


def test_what_we_dial_takes_room_from_others_before_it_stands() -> None:
    connections = table(max_connections=2, dialed_share=0)
    connections.add(link(1, outbound=True))
    assert inside(connections, "192.0.2.9") is None
    connections.add(link(2, outbound=True))
    assert inside(connections, "192.0.2.9") == "too_many_connections"


def test_a_handshake_under_way_takes_no_room_of_those_that_stand() -> None:
    connections = table(max_connections=2)
    for number in range(10):
        connections.add(link(number, f"192.0.2.{number}"))
    assert inside(connections, "192.0.2.1") is None and connections.crowd_for_dial() is None


def test_the_limit_by_address_holds_for_what_others_open() -> None:
    connections = table(max_connections_per_address=2)
    for number in range(5):
        established(connections, number, outbound=True)
    of_address = []
    for number in (5, 6):
        assert inside(connections, "192.0.2.1") is None
        of_address.append(established(connections, number))
    established(connections, 7, "192.0.2.2")
    assert connections.crowd_inside("192.0.2.1") == ("too_many_from_address", of_address, 2)
    assert connections.crowd_for_dial() is None
    assert inside(connections, "192.0.2.2") is None


def test_the_limit_by_address_holds_for_handshakes_too() -> None:
    connections = table(max_connections_per_address=2)
    links = [link(number) for number in range(2)]
    for each in links:
        assert at_the_door(connections, "192.0.2.1") is None
        connections.add(each)
    assert connections.crowd_at_the_door("192.0.2.1") == ("too_many_from_address", links, 2)
    assert at_the_door(connections, "192.0.2.2") is None


def test_of_ipv6_the_network_counts() -> None:
    connections = table(max_connections_per_address=1)
    established(connections, 1, "2001:db8:0:1::1")
    assert inside(connections, "2001:db8:0:1::ffff") == "too_many_from_address"
    assert inside(connections, "2001:db8:0:2::1") is None


def test_ipv4_inside_of_ipv6_is_the_same_address() -> None:
    connections = table(max_connections_per_address=1)
    established(connections, 1, "192.0.2.1")
    assert inside(connections, "::ffff:192.0.2.1") == "too_many_from_address"


def test_loopback_counts_unless_told_not_to() -> None:
    for limit_loopback, expected in ((True, "too_many_from_address"), (False, None)):
        connections = table(max_connections_per_address=1, limit_loopback=limit_loopback)
        established(connections, 1, "127.0.0.1")
        connections.add(link(2, "127.0.0.1"))
        for host in ("127.0.0.1", "::1"):
            assert inside(connections, host) == at_the_door(connections, host) == expected


def test_unfinished_handshakes_are_limited_until_they_finish() -> None:
    connections = table(max_half_open=1)
    first = link(1)
    connections.add(first)
    assert connections.crowd_at_the_door("192.0.2.9") == ("too_many_half_open", [first], 1)
    connections.add(link(2, outbound=True))
    connections.establish(first, "bob", 0.0)
    assert at_the_door(connections, "192.0.2.9") is None


def test_connections_of_a_peer_are_limited_and_the_oldest_is_first() -> None:
    connections = table(max_connections_per_peer=2)
    links = [link(number) for number in range(2)]
    for each in links:
        assert connections.takes("bob")
        connections.add(each)
        connections.establish(each, "bob", 0.0)
    assert not connections.takes("bob")
    assert connections.of("bob") == links and connections.peers() == ("bob",)
    connections.remove(links[0])
    assert connections.of("bob") == [links[1]] and connections.takes("bob")
    connections.remove(links[1])
    assert not connections.connected("bob")


def test_an_empty_table_holds_nothing() -> None:
    connections = table()
    links = [link(number, f"192.0.2.{number}", outbound=number % 3 == 0) for number in range(60)]
    for each in links:
        connections.add(each)
        if each.id % 2:
            connections.establish(each, f"peer {each.id}", 0.0)
    for each in links:
        connections.remove(each)
    assert not (connections.links or connections._by_peer or connections._by_group)
    assert not (connections.handshakes or connections.inbound)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("max_connections", 0),
        ("max_connections_per_address", -1),
        ("max_half_open", "many"),
        ("dial_timeout", 0),
        ("redial_longest_delay", float("inf")),
        ("redial_jitter", 1.5),
        ("stall_timeout", float("nan")),
        ("send_high_water", 0),
        ("stream_attempts", 0),
        ("service_timeout", -1),
        ("no_such_key", 1),
    ],
)
def test_a_wrong_parameter_is_named(key: str, value: Any) -> None:
    with pytest.raises(ConfigError) as caught:
        HostParameters(**{key: value})
    assert caught.value.key == key


def test_parameters_that_contradict_each_other_are_named() -> None:
    with pytest.raises(ConfigError, match="redial_first_delay: must not be above"):
        HostParameters(redial_first_delay=61.0)
    with pytest.raises(ConfigError, match="max_connections_per_peer"):
        HostParameters(max_connections=1)


# ---- a host under the limits


def test_the_number_of_an_open_connection_cannot_be_used_again() -> None:
    host = HostNet().host("alice")
    host.handle(TransportOpened(1, "/ip4/192.0.2.1/tcp/1"), 0.0)
    with pytest.raises(LocalProtocolError, match="connection 1 already"):
        host.handle(TransportOpened(1, "/ip4/192.0.2.2/tcp/1"), 0.0)


def test_a_handshake_that_is_nonsense_fails_with_a_reason() -> None:
    net = HostNet()
    host = net.host("alice")
    net.feed(host, TransportOpened(1, "/ip4/192.0.2.1/tcp/1"))
    effects = net.feed(host, BytesReceived(1, b"GET / HTTP/1.1\r\n" * 10))
    [failed] = net.traces(host, trace.CONNECTION_FAILED)
    assert failed.fields["address"] == "/ip4/192.0.2.1/tcp/1" and failed.fields["reason"]
    assert any(isinstance(effect, CloseTransport) for effect in effects)
    assert net.feed(host, BytesReceived(1, b"more")) == [], "what comes late is ignored"


def test_a_dialed_connection_over_the_total_ends_the_dial_with_a_sentence() -> None:
    net = HostNet()
    host = net.host("alice", max_connections=1, max_connections_per_peer=1)
    bob, carol = net.host("bob"), net.host("carol")
    net.connect(host, bob)
    net.connect(host, carol)
    assert net.dials(host)[1].problem.endswith("too many connections")
    assert host.peers() == (BOB,)


def test_a_third_connection_of_a_peer_is_refused_and_the_dial_succeeds() -> None:
    net = HostNet()
    pubsub = FakePubsub()
    host, bob = net.host("alice", pubsub), net.host("bob")
    for name in ("a", "b", "c"):
        net.seat(bob).address = f"/dns4/{name}.example/tcp/1"
        net.feed(host, Dial(net.seat(bob).address))
        net.run()
    assert [each.peer for each in net.dials(host)] == [BOB] * 3
    assert len(net.transports(host)) == 2
    reasons = [event.fields["reason"] for event in net.traces(host, trace.CONNECTION_REFUSED)]
    reasons += [event.fields["reason"] for event in net.traces(bob, trace.CONNECTION_REFUSED)]
    assert "too_many_of_peer" in reasons
    assert not any(isinstance(each, PeerLeft) for each in pubsub.inputs)


def test_two_hosts_that_dial_each_other_at_once_end_up_as_one_peer_each() -> None:
    net = HostNet()
    alice_pubsub, bob_pubsub = FakePubsub(), FakePubsub()
    alice, bob = net.host("alice", alice_pubsub), net.host("bob", bob_pubsub)
    net.feed(alice, Dial(net.seat(bob).address))
    net.feed(bob, Dial(net.seat(alice).address))
    net.run()
    assert alice.peers() == (BOB,) and len(net.transports(alice)) == 2
    for pubsub in (alice_pubsub, bob_pubsub):
        assert sum(type(each).__name__ == "PeerJoined" for each in pubsub.inputs) == 1
        assert not any(isinstance(each, PeerLeft) for each in pubsub.inputs)


def test_nonsense_on_an_established_connection_costs_the_peer_its_connection() -> None:
    net = HostNet()
    host, bob = net.host("alice"), net.raw("bob")
    net.connect(host, bob)
    [transport] = net.transports(host)
    net.feed(host, BytesReceived(transport, bytes(100)))
    [fault] = net.traces(host, trace.PROTOCOL_ERROR)
    assert fault.peer == BOB and fault.fields["reason"] == "decryption_failed"
    [closed] = net.traces(host, trace.CONNECTION_CLOSED)
    assert closed.fields["reason"] == "decryption_failed" and host.peers() == ()


def test_a_dead_line_is_noticed_and_nobody_is_blamed() -> None:
    net = HostNet()
    host, bob = net.host("alice"), net.host("bob")
    net.connect(host, bob)
    net.seat(bob).deaf = True
    net.run(120.0)
    assert host.peers() == () and net.traces(host, trace.PROTOCOL_ERROR) == []
    [closed] = net.traces(host, trace.CONNECTION_CLOSED)
    assert closed.fields["reason"] == "keepalive_timeout"


def test_a_transport_that_comes_after_its_dial_was_given_up_is_closed() -> None:
    net = HostNet()
    host = net.host("alice", dial_timeout=5.0)
    net.feed(host, Dial("/ip4/192.0.2.1/tcp/1"))
    host.wake(5.0)
    assert host.handle(TransportOpened(1, "/ip4/192.0.2.1/tcp/1", 1), 6.0) == [
        CloseTransport(1, "not_wanted")
    ]


# ---- memory


def tables(host: Host) -> list[int]:
    """The size of every table of a host."""
    table, keeper, dialer = host._table, host._keeper, host._dialer
    return [
        len(table.links), len(table._by_peer), len(table._by_group), len(table.handshakes),
        len(table.inbound),
        len(keeper._timers), len(host._streams), len(host._streams._timers),
        len(host._services), len(host._services._timers),
        len(dialer), len(dialer._dials), len(dialer._timers),
        len(host._turn.effects), len(host._turn.dirty),
    ]  # fmt: skip


def test_a_thousand_peers_come_and_go_and_leave_nothing_behind() -> None:
    net = HostNet()
    host = net.host("alice")
    for batch in range(20):
        peers = [net.host(f"peer {batch} {number}", listen=False) for number in range(50)]
        for number, peer in enumerate(peers):
            dialing = (host, peer) if number % 2 else (peer, host)
            net.feed(dialing[0], Dial(net.seat(dialing[1]).address))
        net.run(0.5)
        assert len(host.peers()) == 50
        for transport in net.transports(host):
            net.cut(host, transport)
        net.run(0.5)
        del net.seats[1:]
    assert tables(host) == [0] * len(tables(host))
    heaps = (host._keeper._timers, host._streams._timers, host._services._timers)
    assert all(len(timers._heap) <= 40 for timers in heaps)
    # A timer that was cancelled wakes the host once more at most.
    due = host.next_wake()
    assert due is None or host.wake(due) == []
    assert host.next_wake() is None


def test_a_connection_that_is_lost_takes_its_unfinished_streams_along() -> None:
    net = HostNet()
    host, bob = net.host("alice", FakePubsub("/none/1")), net.raw("bob", "/ipfs/id/1.0.0")
    net.connect(host, bob)  # Bob never answers when he is asked who he is
    bob.connection.open_stream(("/ipfs/ping/1.0.0",), net.now)
    net.flush(bob)
    net.run(0.1)
    assert len(host._services) == 1
    net.cut(host, net.transports(host)[0])
    net.run(0.1)
    assert tables(host) == [0] * len(tables(host))
    net.run(100.0)


def test_every_write_of_a_turn_is_the_only_one_for_its_connection() -> None:
    net = HostNet()
    hosts = [net.host(f"node {number}") for number in range(6)]
    for number, one in enumerate(hosts):
        for two in hosts[number + 1 :]:
            net.feed(one, Dial(net.seat(two).address))
    net.run(5.0)
    for seat in net.seats:
        for turn in seat.turns:
            written = [effect.connection for effect in turn if isinstance(effect, WriteBytes)]
            assert len(written) == len(set(written))

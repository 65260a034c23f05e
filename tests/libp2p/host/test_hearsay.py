"""Dialing peers that others told of: one address after the other, so many peers at a time."""

from __future__ import annotations

from typing import Any

from rumormill.core import trace
from rumormill.core.machine import Connect
from rumormill.core.transport import OpenTransport
from rumormill.libp2p.host.hearsay import MOST_ADDRESSES, MOST_AT_ONCE, MOST_WAITING, Hearsay
from rumormill.libp2p.host.host import Host
from tests.helpers.libp2p.host_net import FakePubsub, HostNet, key

NOWHERE = "/ip4/10.9.9.9/tcp/1"


class Listener:
    """A host whose pubsub is told of others."""

    def __init__(self, **parameters: Any) -> None:
        self.net = HostNet()
        self.pubsub = FakePubsub()
        self.host: Host = self.net.host("alice", self.pubsub, **parameters)
        silent = self.net.seat(self.net.raw("silent"))
        silent.deaf = True
        self.silence = silent.address
        """Where no dial ever ends."""

    def told(self, *wanted: Connect, seconds: float = 1.0) -> None:
        self.pubsub.waiting += wanted
        self.net.flush(self.host)
        self.net.run(seconds)

    def crowd(self, count: int) -> list[Connect]:
        """Peers that never answer."""
        return [Connect(key(f"peer {each}").peer, (self.silence,)) for each in range(count)]

    def opened(self) -> list[str]:
        return [each.address.split("/p2p/")[0] for each in self.net.of(self.host, OpenTransport)]

    def failures(self) -> list[object]:
        events = self.net.traces(self.host, trace.CONNECTION_FAILED)
        return [each.fields["reason"] for each in events]


def test_addresses_of_a_peer_are_tried_in_turn_until_one_answers() -> None:
    scene = Listener()
    bob = scene.net.host("bob")
    there = scene.net.seat(bob).address
    scene.told(Connect(bob.peer, (NOWHERE, there, "/ip4/10.9.9.8/tcp/1")))
    assert scene.host.peers() == (bob.peer,)
    assert scene.opened() == [NOWHERE, there], "the last was not needed"
    assert scene.host._dialer.hearsay == len(scene.host._dialer) == 0


def test_an_address_where_somebody_else_answers_is_passed_over() -> None:
    scene = Listener()
    bob, carol = scene.net.host("bob"), scene.net.host("carol")
    carols = scene.net.seat(carol).address
    scene.told(Connect(bob.peer, (carols, scene.net.seat(bob).address)))
    assert scene.host.peers() == (bob.peer,)


def test_a_peer_that_came_by_itself_meanwhile_is_not_dialed() -> None:
    scene = Listener()
    bob = scene.net.host("bob")
    scene.told(*scene.crowd(MOST_AT_ONCE), Connect(bob.peer, (scene.net.seat(bob).address,)))
    scene.net.connect(bob, scene.host)
    assert scene.host.peers() == (bob.peer,)
    scene.net.run(60.0)
    assert scene.net.seat(bob).address not in scene.opened()


def test_only_so_many_are_dialed_at_once_and_all_in_the_end() -> None:
    scene = Listener()
    crowd = [
        Connect(key(f"peer {number}").peer, (NOWHERE, "/ip4/10.9.9.8/tcp/1"))
        for number in range(40)
    ]
    scene.told(*crowd, seconds=0.0)
    assert len(scene.opened()) == MOST_AT_ONCE and scene.host._dialer.hearsay == 40
    scene.net.run(5.0)
    assert len(scene.opened()) == 80 and scene.host._dialer.hearsay == 0
    assert scene.failures() == ["connection refused"] * 80


def test_past_the_bound_they_are_refused_and_that_is_traced() -> None:
    scene = Listener()
    crowd = scene.crowd(200)
    scene.told(*crowd, *crowd[:50])
    assert scene.host._dialer.hearsay == MOST_AT_ONCE + MOST_WAITING
    assert scene.failures() == ["too_many_dials"] * (200 - MOST_AT_ONCE - MOST_WAITING)


def test_whoever_names_peers_cannot_fill_the_room() -> None:
    scene = Listener(max_told_connections=3)
    others = [scene.net.host(f"peer {number}") for number in range(6)]
    for other in others:
        scene.told(Connect(other.peer, (scene.net.seat(other).address,)))
    assert len(scene.host.peers()) == 3
    refused = scene.net.traces(scene.host, trace.CONNECTION_REFUSED)
    assert [each.fields["reason"] for each in refused] == ["too_many_told_connections"] * 3
    scene.net.cut(scene.host, scene.net.transports(scene.host)[0])
    scene.net.run()
    scene.told(Connect(others[5].peer, (scene.net.seat(others[5]).address,)))
    assert others[5].peer in scene.host.peers(), "one has left, there is room again"


def test_a_shutdown_forgets_them() -> None:
    scene = Listener()
    scene.told(*scene.crowd(30))
    assert scene.host._dialer.hearsay == 30
    scene.host._dialer.stop()
    assert scene.host._dialer.hearsay == len(scene.host._dialer) == 0


def test_of_the_addresses_of_one_peer_only_some_are_kept() -> None:
    hearsay = Hearsay()
    assert hearsay.add("bob", (NOWHERE,) * 100) and hearsay.begin() == "bob"
    tried = 0
    while hearsay.next_address("bob") is not None:
        tried += 1
    assert tried == MOST_ADDRESSES and "bob" not in hearsay

"""No room for one more: who gives way to a newcomer, and who does not, however many come."""

from __future__ import annotations

import random
from typing import Any

import pytest

from rumormill.core import trace
from rumormill.core.transport import (
    BytesReceived,
    CloseTransport,
    Dial,
    TransportOpened,
    WriteBytes,
)
from rumormill.libp2p.host.eviction import CONNECTION_EVICTED
from rumormill.libp2p.host.host import Host
from rumormill.libp2p.stack.connection import Connection
from tests.helpers.libp2p.host_net import FakePubsub, HostNet, RawPeer, key


class Strangers:
    """Whoever opens a connection to one host, from any address, and takes it as far as is wanted.

    Without a net in between: a stranger's bytes are there at once, so hundreds are quickly made.
    Nobody answers pings: after half a minute of silence the host gives them up.
    """

    def __init__(self, **parameters: Any) -> None:
        self.net = HostNet()
        self.pubsub = FakePubsub()
        self.host: Host = self.net.host("alice", self.pubsub, **parameters)
        self._number = 1000
        self._entropy = random.Random(1)
        self._connections: dict[int, Connection] = {}
        self._peers: dict[int, str] = {}
        self.closed: dict[int, str] = {}
        """Why connections were closed by the host, by their numbers."""

    def knock(self, host: str = "") -> int:
        """Open a connection and say nothing; its number."""
        self._number += 1
        number = self._number
        place = host or f"10.{number >> 8 & 255}.{number & 255}.1"
        family = "ip6" if ":" in place else "ip4"
        self._feed(TransportOpened(number, f"/{family}/{place}/tcp/{number}"))
        return number

    def begin(self, host: str = "") -> int:
        """Open a connection and begin to shake hands: the dialer's second word never comes."""
        number = self._number + 1
        connection = self._connect(number, f"stranger {number}")
        self.knock(host)
        self._feed(BytesReceived(number, connection.data_to_send()))
        self._feed(BytesReceived(number, connection.data_to_send()))
        return number

    def enter(self, host: str = "", name: str = "", useful: int = 0) -> int:
        """Open a connection and shake hands."""
        number = self._number + 1
        name = name or f"stranger {number}"
        connection = self._connect(number, name)
        self._peers[number] = key(name).peer
        self.pubsub.useful[key(name).peer] = useful
        self.knock(host)
        while not connection.closed and (data := connection.data_to_send()):
            self._feed(BytesReceived(number, data))
        return number

    def _connect(self, number: int, name: str) -> Connection:
        connection = self._connections[number] = Connection(
            identity=key(name),
            dialer=True,
            now=self.net.now,
            entropy=self._entropy,
            protocols=tuple,
        )
        return connection

    def _feed(self, input: Any) -> None:
        for effect in self.net.feed(self.host, input):
            if isinstance(effect, CloseTransport):
                self.closed[effect.connection] = effect.reason
            elif isinstance(effect, WriteBytes) and effect.connection in self._connections:
                self._connections[effect.connection].receive(effect.data, self.net.now)

    def peer(self, number: int) -> str:
        """Whose connection it is."""
        return self._peers[number]

    def there(self, numbers: list[int]) -> list[int]:
        """Those of the connections that stand."""
        peers = self.host.peers()
        return [each for each in numbers if each not in self.closed and self.peer(each) in peers]

    def evicted(self) -> list[Any]:
        return self.net.traces(self.host, CONNECTION_EVICTED)


# ---- handshakes


def test_a_newcomer_gets_in_though_all_handshakes_are_held_by_silent_strangers() -> None:
    net = HostNet()
    host, newcomer = net.host("alice"), net.host("newcomer")
    for number in range(64):
        net.feed(host, TransportOpened(1000 + number, f"/ip4/192.0.2.{number}/tcp/1"))
    net.connect(newcomer, host)
    assert host.peers() == (newcomer.peer,)
    [evicted] = net.traces(host, CONNECTION_EVICTED)
    assert evicted.peer is None and evicted.fields == {
        "address": "/ip4/192.0.2.0/tcp/1",
        "reason": "too_many_half_open",
        "newcomer": net.seat(newcomer).address,
        "usefulness": -1,
    }
    [failed] = net.traces(host, trace.CONNECTION_FAILED)
    assert failed.fields["reason"] == "evicted"


def test_a_flood_of_silent_strangers_holds_no_more_than_its_limit() -> None:
    strangers = Strangers()
    for _ in range(1000):
        strangers.knock()
    table = strangers.host._table
    assert len(table.links) == len(table.handshakes) == 64
    assert len(strangers.closed) == len(strangers.evicted()) == 1000 - 64
    assert len(strangers.host._keeper._timers) <= 64


def test_who_has_been_silent_for_a_second_goes_before_who_speaks() -> None:
    strangers = Strangers(max_half_open=4)
    speaking = strangers.begin("192.0.2.1")
    silent = strangers.knock("198.51.100.1")
    strangers.net.run(0.5)
    late = [strangers.knock(f"203.0.{number}.1") for number in (1, 2)]
    strangers.net.run(0.6)
    strangers.knock("192.0.9.9")
    assert list(strangers.closed) == [silent]
    strangers.knock("192.0.8.8")
    assert list(strangers.closed) == [silent, speaking], "of those who may yet speak, the oldest"
    strangers.net.run(0.5)
    strangers.knock("192.0.7.7")
    assert list(strangers.closed) == [silent, speaking, late[0]]


@pytest.mark.parametrize("crowd", ["198.51.100.7", "198.51.100.{}", "2001:db8:1:{}::1"])
def test_one_network_cannot_push_out_the_handshakes_of_others(crowd: str) -> None:
    strangers = Strangers(max_half_open=8)
    others = [strangers.knock(f"192.0.{number}.1") for number in range(4)]
    for number in range(100):
        strangers.knock(crowd.format(number))
    assert not set(others) & set(strangers.closed)
    assert len(strangers.host._table.handshakes) == 8


def test_handshakes_of_an_address_make_room_for_others_of_that_address() -> None:
    strangers = Strangers(max_connections_per_address=2)
    first = strangers.knock("192.0.2.1")
    other = strangers.knock("192.0.2.2")
    strangers.knock("192.0.2.1")
    newcomer = strangers.enter("192.0.2.1")
    assert strangers.closed == {first: "evicted"} and strangers.there([newcomer]) == [newcomer]
    assert other in strangers.host._table.links
    assert [each.fields["reason"] for each in strangers.evicted()] == ["too_many_from_address"]


def test_a_handshake_that_is_never_done_costs_nobody_a_connection() -> None:
    strangers = Strangers(max_connections=8, dialed_share=0)
    inside = [strangers.enter() for _ in range(8)]
    for _ in range(200):
        strangers.begin()
    assert strangers.there(inside) == inside


# ---- connections that stand


def test_a_newcomer_gets_in_though_idle_identities_hold_all_slots() -> None:
    strangers = Strangers()
    useful = [strangers.enter(useful=3) for _ in range(10)]
    idle = [strangers.enter() for _ in range(254)]
    strangers.net.run(10.0)
    newcomer = strangers.enter()
    assert strangers.there([newcomer]) == [newcomer] and strangers.there(useful) == useful
    victim = strangers.evicted()[-1]
    assert victim.peer in {strangers.peer(number) for number in idle}
    assert victim.fields["reason"] == "too_many_connections"
    assert victim.fields["usefulness"] == 0
    closed = strangers.net.traces(strangers.host, trace.CONNECTION_CLOSED)[-1]
    assert closed.peer == victim.peer and closed.fields["reason"] == "evicted"


def test_on_one_address_too_a_newcomer_gets_in_and_the_useful_stay() -> None:
    for parameters in ({"limit_loopback": False}, {"limit_loopback": True}):
        strangers = Strangers(**parameters)
        useful = [strangers.enter("127.0.0.1", useful=3) for _ in range(4)]
        for _ in range(254):
            strangers.enter("127.0.0.1")
        newcomer = strangers.enter("127.0.0.1")
        assert strangers.there([newcomer, *useful]) == [newcomer, *useful]


@pytest.mark.parametrize("claimed", [0, 1, 3])
def test_strangers_who_come_again_and_again_push_out_nobody_of_use(claimed: int) -> None:
    """However much use they seem to be: who has been there longer stays."""
    strangers = Strangers(max_connections=32)
    strangers.net.run(1.0)
    useful = [strangers.enter(useful=rank) for rank in (3, 2, 1) for _ in range(3)]
    for _ in range(300):
        strangers.net.run(0.01)
        strangers.enter(useful=claimed)
    assert strangers.there(useful) == useful
    assert len(strangers.host.peers()) == 28 == len(strangers.host._table.links)


def test_protection_is_bounded_so_that_nobody_can_hold_all_slots_by_being_useful_once() -> None:
    strangers = Strangers(max_connections=32)
    strangers.net.run(1.0)
    attackers = [strangers.enter(useful=3) for _ in range(28)]
    newcomer = strangers.enter(useful=3)
    assert strangers.there([newcomer]) == [newcomer]
    assert len(strangers.there(attackers)) == 27
    for _ in range(150):
        strangers.enter(useful=3)
    assert strangers.there(attackers) == attackers[:14], "half of the room, the first to come"


def test_who_has_just_come_is_not_the_first_to_go() -> None:
    """Slots full of strangers that at least seem to be of use: the newcomer has time to do so."""
    survivals = 0
    for seed in range(8):
        strangers = Strangers(max_connections=64, dialed_share=0)
        strangers.host._keeper._evictions._random.seed(seed)
        for _ in range(64):
            strangers.enter(useful=1)
        strangers.net.run(20.0)
        newcomer = strangers.enter()
        strangers.enter(useful=1)
        survivals += bool(strangers.there([newcomer]))
        strangers.net.run(5.0)
        strangers.enter(useful=1)
        assert not strangers.there([newcomer]), "it had its time, and did nothing"
    assert survivals >= 6


def test_of_equally_useful_ones_the_largest_network_gives_way() -> None:
    strangers = Strangers(max_connections=20, dialed_share=0, protected_share=0)
    scattered = [strangers.enter(f"192.0.{number}.1") for number in range(10)]
    near = [strangers.enter(f"198.51.100.{number}") for number in range(6)]
    same = [strangers.enter("203.0.113.7") for _ in range(4)]
    for number in range(5):
        strangers.enter(f"10.0.{number}.1")
    assert strangers.there(scattered) == scattered
    assert len(strangers.there(near)) + len(strangers.there(same)) == 5
    assert len(strangers.there(near)) >= 2 and len(strangers.there(same)) >= 2


def test_an_address_with_all_its_connections_gives_one_of_its_own() -> None:
    strangers = Strangers(max_connections_per_address=4)
    useful = strangers.enter("192.0.2.1", useful=3)
    idle = [strangers.enter("192.0.2.1") for _ in range(3)]
    others = [strangers.enter("192.0.2.2") for _ in range(3)]
    newcomer = strangers.enter("192.0.2.1")
    assert strangers.there([newcomer, useful, *others]) == [newcomer, useful, *others]
    assert len(strangers.there(idle)) == 2
    assert strangers.evicted()[0].fields["reason"] == "too_many_from_address"


# ---- those we dial


def test_room_is_kept_for_those_we_dial_and_strangers_do_not_push_them_out() -> None:
    strangers = Strangers(max_connections=32)
    net, host = strangers.net, strangers.host
    for _ in range(40):
        strangers.enter(useful=3)
    assert len(host.peers()) == 28
    before = len(strangers.evicted())
    dialed = [net.raw(f"dialed {number}") for number in range(4)]
    for each in dialed:
        net.connect(host, each)
    assert {each.peer for each in dialed} <= set(host.peers())
    assert len(strangers.evicted()) == before, "there was room"
    net.run(20.0)
    for _ in range(100):
        strangers.enter(useful=3)
    assert {each.peer for each in dialed} <= set(host.peers())
    assert len(host.peers()) == 32


def test_beyond_the_room_that_is_kept_a_dial_takes_the_place_of_an_idle_stranger() -> None:
    strangers = Strangers(max_connections=4, dialed_share=0)
    idle = [strangers.enter() for _ in range(4)]
    friend = strangers.net.raw("friend")
    strangers.net.connect(strangers.host, friend)
    assert friend.peer in strangers.host.peers() and len(strangers.there(idle)) == 3
    assert strangers.net.dials(strangers.host)[0].peer == friend.peer


def test_a_peer_to_be_kept_stays_though_it_came_to_us() -> None:
    strangers = Strangers(max_connections=4, dialed_share=0, protected_share=0)
    friend = RawPeer("friend")
    address = f"/ip4/192.0.2.77/tcp/1/p2p/{friend.peer}"
    strangers.net.feed(strangers.host, Dial(address, keep=True))
    came = strangers.enter(name="friend")
    strangers.net.run(20.0)
    for _ in range(50):
        strangers.enter(useful=3)
    assert strangers.there([came]) == [came]


def test_strangers_are_refused_where_everybody_was_dialed() -> None:
    strangers = Strangers(max_connections=2, dialed_share=0)
    for name in ("bob", "carol"):
        strangers.net.connect(strangers.host, strangers.net.raw(name))
    newcomer = strangers.enter()
    assert strangers.closed == {newcomer: "too_many_connections"}
    [refused] = strangers.net.traces(strangers.host, trace.CONNECTION_REFUSED)
    assert refused.fields["reason"] == "too_many_connections"


# ---- memory


def test_a_thousand_who_come_and_are_evicted_leave_nothing_behind() -> None:
    strangers = Strangers(max_connections=16, max_half_open=8)
    for number in range(1000):
        strangers.net.run(0.001)
        strangers.enter() if number % 2 else strangers.knock()
    host = strangers.host
    assert len(host._table.links) <= 16 + 8 and len(host.peers()) <= 14
    assert len(host._table._by_group) <= 14 and len(host._streams) <= 14
    assert len(host._services) <= 14
    timers = (host._keeper._timers, host._streams._timers, host._services._timers)
    assert all(len(each) <= 64 for each in timers)
    assert all(len(each._heap) <= 1000 for each in timers), "and no more of what was cancelled"

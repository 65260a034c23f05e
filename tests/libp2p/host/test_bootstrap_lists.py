"""Bootstrap lists: several addresses of one peer, and addresses where nobody is."""

from __future__ import annotations

from rumormill.core.transport import Dial
from tests.helpers.libp2p.host_net import HostNet


def test_several_addresses_of_one_peer_of_which_one_leads_there() -> None:
    net = HostNet()
    us, other = net.host("us"), net.host("other")
    places = ["/ip4/10.9.9.9/tcp/1", net.seat(other).address, "/ip4/10.9.9.8/tcp/1"]
    for place in places:
        net.feed(us, Dial(f"{place}/p2p/{other.peer}", keep=True))
    net.run(5.0)
    assert us.peers() == (other.peer,)
    assert len(net.transports(us)) == 1
    net.run(200.0)
    assert len(net.transports(us)) == 1, "the other addresses are not dialed any more"


def test_when_the_peer_is_lost_all_its_addresses_are_tried_again() -> None:
    net = HostNet()
    us, other = net.host("us"), net.host("other")
    for place in ("/ip4/10.9.9.9/tcp/1", net.seat(other).address):
        net.feed(us, Dial(f"{place}/p2p/{other.peer}", keep=True))
    net.run(5.0)
    net.cut(us, net.transports(us)[0])
    net.run(0.05)
    assert us.peers() == ()
    net.run(5.0)
    assert us.peers() == (other.peer,)


def test_the_same_address_named_twice_is_dialed_once() -> None:
    net = HostNet()
    us, other = net.host("us"), net.host("other")
    for _ in range(2):
        net.feed(us, Dial(net.seat(other).address, keep=True))
    net.run(5.0)
    assert len(net.transports(us)) == 1

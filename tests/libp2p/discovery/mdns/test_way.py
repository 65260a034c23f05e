"""The way of mDNS in virtual time: it asks, answers, finds, forgets, and cannot be flooded."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pytest

from rumormill.core.machine import Connect
from rumormill.core.trace import DROPPED, IGNORED, TraceEvent
from rumormill.libp2p.discovery.discovery import Discovery
from rumormill.libp2p.discovery.effects import (
    DatagramReceived,
    LinkChanged,
    PeerUnreached,
    SendDatagram,
    TopicsChanged,
)
from rumormill.libp2p.discovery.events import DISCOVERY_FOUND, DISCOVERY_LOST
from rumormill.libp2p.discovery.mdns import dns, records
from rumormill.libp2p.discovery.mdns.nearness import announced
from rumormill.libp2p.discovery.mdns.way import MOST_LINKS, MOST_NEARBY, TELL_AGAIN, Mdns
from rumormill.libp2p.stack.multiaddr import Multiaddr
from tests.helpers.libp2p.discovery_bench import Hungry
from tests.helpers.libp2p.host_net import key

LINK, HOST, OTHER_HOST = "eth0/4", "192.168.1.7", "192.168.1.8"
US, OTHER = key("us").peer, key("other").peer


class Bench:
    """The discovery of one node by mDNS alone, its time, and all that it wanted done."""

    def __init__(self, listen: str = "/ip4/0.0.0.0/tcp/4001", name: str = "us") -> None:
        self.machine = Discovery(
            node=key(name).peer, ways=[Mdns()], census=Hungry(), random=random.Random(name)
        )
        self.now = 1000.0
        self.effects: list[Any] = []
        self.listen = [Multiaddr.parse(listen)] if listen else []
        self.feed(TopicsChanged())

    def up(self) -> list[Any]:
        """The one link comes up."""
        addresses = tuple(map(str, announced(self.listen, HOST)))
        return self.feed(LinkChanged("mdns", LINK, HOST, addresses))

    def feed(self, input: Any) -> list[Any]:
        effects = list(self.machine.handle(input, self.now))
        self.effects += effects
        return effects

    def run(self, seconds: float) -> list[Any]:
        """Let time pass; what came of it."""
        came: list[Any] = []
        end = self.now + seconds
        while (wake := self.machine.next_wake()) is not None and wake <= end:
            self.now = max(self.now, wake)
            came += self.machine.wake(self.now)
        self.now = end
        self.effects += came
        return came

    def hear(self, packet: bytes, host: str = OTHER_HOST) -> list[Any]:
        return self.feed(DatagramReceived("mdns", host, packet, LINK))


def up(listen: str = "/ip4/0.0.0.0/tcp/4001", name: str = "us") -> Bench:
    """A node that has asked, and answered without being asked, and is quiet for now."""
    bench = Bench(listen, name)
    bench.up()
    bench.run(1.5)
    return bench


def answer(
    name: str = "other", *addresses: str, ttl: int = 120, label: bytes = b"some-name"
) -> bytes:
    told = [Multiaddr.parse(each) for each in addresses or (f"/ip4/{OTHER_HOST}/tcp/4001",)]
    return records.node_answer(label, key(name).peer, told, ttl)


def of(effects: Sequence[Any], kind: type) -> list[Any]:
    return [each for each in effects if isinstance(each, kind)]


def events(effects: Sequence[Any], name: str) -> list[TraceEvent]:
    return [each for each in of(effects, TraceEvent) if each.event == name]


def asked(effects: Sequence[Any]) -> list[SendDatagram]:
    return [each for each in of(effects, SendDatagram) if each.data == records.QUERY]


# ---- asking


def test_it_asks_at_once_and_then_less_and_less_often() -> None:
    bench = Bench()
    bench.up()
    assert len(asked(bench.run(0.2))) == 1
    assert len(asked(bench.run(10.0))) in (3, 4)
    bench.run(300.0)
    assert len(asked(bench.run(600.0))) in (9, 10)


def test_a_link_that_is_gone_is_not_asked_any_more() -> None:
    bench = up()
    bench.feed(LinkChanged("mdns", LINK, None))
    assert bench.run(100.0) == [] and bench.machine.sizes()["mdns_links"] == 0
    assert bench.hear(answer()) == []


# ---- answering


def test_it_answers_with_its_address_on_the_link() -> None:
    bench = up()
    (said,) = of(bench.hear(records.QUERY), SendDatagram)
    (node,) = records.nodes_in(dns.decode_message(said.data))
    assert (node.peer, node.ttl) == (US, 120)
    assert [str(each) for each in node.addresses] == [f"/ip4/{HOST}/tcp/4001/p2p/{US}"]


def test_the_answer_has_what_go_rust_and_js_look_for() -> None:
    message = dns.decode_message(answer("other", "/ip4/10.0.0.1/tcp/1", "/ip6/fd00::1/tcp/2"))
    kinds = [record.type for record in message.records]
    assert kinds == [dns.PTR, dns.TXT, dns.SRV, dns.A, dns.AAAA]
    pointer, text = message.records[:2]
    assert pointer.target == text.name == (b"some-name", *records.SERVICE)
    assert len(text.strings) == 2, "go takes one TXT record"


def test_many_questions_get_one_answer_a_second() -> None:
    bench = up()
    bench.run(0.5)
    said = [each for _ in range(100) for each in of(bench.hear(records.QUERY), SendDatagram)]
    assert len(said) == 1
    assert len(of(bench.run(1.0), SendDatagram)) <= 2, "one answer, and perhaps a question"


def test_who_listens_nowhere_says_nothing() -> None:
    bench = up(listen="")
    assert bench.hear(records.QUERY) == []
    assert bench.hear(dns.encode_query(records.EVERY_SERVICE)) == []


def test_a_node_on_loopback_tells_other_nodes_of_its_machine() -> None:
    bench = up("/ip4/127.0.0.1/tcp/4001")
    (said,) = of(bench.hear(records.QUERY), SendDatagram)
    other = up(name="other")
    assert of(other.hear(said.data, host=OTHER_HOST), Connect) == []
    (found,) = of(other.hear(said.data, host=HOST), Connect)
    assert found.addresses == ("/ip4/127.0.0.1/tcp/4001",)


def test_tools_that_ask_for_all_services_are_told_of_ours() -> None:
    bench = up()
    (said,) = of(bench.hear(dns.encode_query(records.EVERY_SERVICE)), SendDatagram)
    (record,) = dns.decode_message(said.data).records
    assert record.target == records.SERVICE


def test_who_moves_says_so_unasked() -> None:
    bench = up()
    bench.run(1.0)
    moved = LinkChanged("mdns", LINK, HOST, ("/ip4/192.168.1.7/tcp/5000",))
    (said,) = of(bench.feed(moved), SendDatagram)
    assert b"/tcp/5000/" in said.data


# ---- finding


def test_a_peer_that_answers_is_found() -> None:
    bench = up()
    effects = bench.hear(answer())
    assert of(effects, Connect) == [Connect(OTHER, (f"/ip4/{OTHER_HOST}/tcp/4001",))]
    assert [each.peer for each in events(effects, DISCOVERY_FOUND)] == [OTHER]


def test_our_own_voice_is_not_a_peer() -> None:
    bench = up()
    (said,) = of(bench.hear(records.QUERY), SendDatagram)
    assert bench.hear(said.data, host=HOST) == []


def test_a_peer_that_is_heard_again_is_told_again_but_not_always() -> None:
    bench = up()
    bench.hear(answer())
    bench.feed(PeerUnreached(OTHER, "refused"))
    assert bench.hear(answer()) == []
    bench.now += TELL_AGAIN
    (event,) = of(bench.hear(answer()), TraceEvent)[:1]
    assert event.event == DISCOVERY_FOUND


def test_who_is_near_is_dialed_again_when_a_topic_lacks_peers() -> None:
    bench = up()
    bench.hear(answer(ttl=3600))
    bench.feed(PeerUnreached(OTHER, "refused"))
    assert of(bench.run(120.0), Connect) == [Connect(OTHER, (f"/ip4/{OTHER_HOST}/tcp/4001",))]


def test_a_peer_is_forgotten_when_its_time_is_over() -> None:
    bench = up()
    bench.hear(answer(ttl=120))
    bench.run(100.0)
    bench.hear(answer(ttl=120))
    assert not events(bench.run(100.0), DISCOVERY_LOST)
    assert [each.fields["reason"] for each in events(bench.run(30.0), DISCOVERY_LOST)] == [
        "expired"
    ]
    assert bench.machine.sizes()["mdns_nearby"] == 0


def test_a_peer_that_says_goodbye_is_forgotten_at_once() -> None:
    bench = up()
    bench.hear(answer())
    assert bench.hear(answer(ttl=0, label=b"somebody-else")) == []
    assert len(events(bench.hear(answer(ttl=0)), DISCOVERY_LOST)) == 1


def test_a_node_that_is_shut_down_says_goodbye() -> None:
    bench = up()
    (said,) = of(bench.feed(LinkChanged("mdns", LINK, HOST)), SendDatagram)
    (node,) = records.nodes_in(dns.decode_message(said.data))
    assert (node.peer, node.ttl) == (US, 0)
    assert of(bench.hear(records.QUERY), SendDatagram) == []


@pytest.mark.parametrize("style", ["go", "js", "rust"])
def test_answers_in_the_style_of_each_implementation_are_understood(style: str) -> None:
    """Which section holds the text, how the node is called, and one text or several."""
    instance = (b"Name",) if style == "rust" else (b"Name", *records.SERVICE)
    texts = [f"dnsaddr=/ip4/{OTHER_HOST}/tcp/{port}/p2p/{OTHER}".encode() for port in (1, 2)]
    quic = f"dnsaddr=/ip4/{OTHER_HOST}/udp/1/quic-v1/p2p/{OTHER}".encode()
    pointer = dns.encode_record(
        records.SERVICE, dns.PTR, 120, dns.encode_name(instance), ours=False
    )
    packets = [[*texts, quic]] if style == "go" else [[each] for each in [quic, *texts]]
    more = [dns.encode_record(instance, dns.TXT, 120, dns.encode_strings(each)) for each in packets]
    raw = (
        dns.encode_response([pointer, *more])
        if style == "js"
        else dns.encode_response([pointer], more)
    )
    bench = up()
    (found,) = of(bench.hear(raw), Connect)
    assert found == Connect(OTHER, tuple(f"/ip4/{OTHER_HOST}/tcp/{port}" for port in (1, 2)))


# ---- what others may not do


@pytest.mark.parametrize(
    "address", ["/ip4/8.8.8.8/tcp/4001", "/ip4/127.0.0.1/tcp/4001", "/dns4/example.org/tcp/1"]
)
def test_nobody_makes_us_dial_the_world_or_ourselves(address: str) -> None:
    bench = up()
    assert of(bench.hear(answer("other", address)), Connect) == []
    (event,) = events(bench.run(1.0), IGNORED)
    assert event.fields["reason"] == "mdns_no_address"


def test_a_public_address_counts_if_it_is_the_senders_own() -> None:
    bench = up()
    (found,) = of(bench.hear(answer("other", "/ip4/8.8.8.8/tcp/1"), host="8.8.8.8"), Connect)
    assert found.addresses == ("/ip4/8.8.8.8/tcp/1",)


def test_addresses_of_two_peers_under_one_name_are_those_of_the_first() -> None:
    texts = [f"dnsaddr=/ip4/10.0.0.{n}/tcp/1/p2p/{key(str(n)).peer}".encode() for n in (1, 2)]
    raw = dns.encode_response(
        [dns.encode_record(records.SERVICE, dns.PTR, 9, dns.encode_name((b"x",)))],
        [dns.encode_record((b"x",), dns.TXT, 9, dns.encode_strings(texts))],
    )
    bench = up()
    (found,) = of(bench.hear(raw), Connect)
    assert found == Connect(key("1").peer, ("/ip4/10.0.0.1/tcp/1",))


def test_a_flood_is_dropped_unread_and_counted() -> None:
    bench = up()
    bench.run(0.2)
    for number in range(1000):
        bench.hear(answer(str(number % 20)), host=OTHER_HOST)
    reports = events(bench.run(1.1), DROPPED)
    assert sum(int(each.fields["count"] or 0) for each in reports) == 950
    assert len(reports) == 1, "a flood of datagrams is not one of events"


def test_a_flood_of_many_senders_is_bounded_too() -> None:
    bench = up()
    for number in range(3000):
        bench.hear(answer(f"{number}"), host=f"10.0.{number >> 8}.{number & 255}")
        bench.now += 0.01
    sizes = bench.machine.sizes()
    assert sizes["mdns_nearby"] <= MOST_NEARBY
    assert sizes["mdns_senders"] <= 256 and sizes["mdns_dropped"] <= 260
    reasons = {each.fields["reason"] for each in events(bench.run(2.0), IGNORED)}
    assert reasons == {"mdns_too_many_peers"}


def test_links_are_bounded() -> None:
    bench = Bench()
    for number in range(MOST_LINKS + 5):
        bench.feed(LinkChanged("mdns", f"eth{number}/4", f"10.0.0.{number}"))
    assert bench.machine.sizes()["mdns_links"] == MOST_LINKS
    assert len(events(bench.effects, IGNORED)) == 5


def test_a_remembered_peer_cannot_stay_for_ever() -> None:
    bench = up()
    bench.hear(answer(ttl=2**32 - 1))
    assert len(events(bench.run(3601.0), DISCOVERY_LOST)) == 1


def test_what_is_no_dns_is_counted_and_what_is_not_for_us_is_not_read() -> None:
    bench = up()
    bench.run(0.2)
    bench.hear(b"_p2p" * 20)
    bench.hear(b"\xff" * 40)
    (event,) = events(bench.run(1.0), IGNORED)
    assert event.fields["reason"] == "bad_dns" and event.fields["count"] == 1


def test_equal_seeds_say_equal_things() -> None:
    one, two = up(), up()
    for bench in (one, two):
        bench.hear(records.QUERY)
        bench.run(100.0)
    assert one.effects == two.effects

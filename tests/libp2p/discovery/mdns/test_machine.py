"""The mDNS machine in virtual time: it asks, answers, finds, forgets, and cannot be flooded."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pytest

from rumormill.core.machine import Shutdown
from rumormill.core.trace import DROPPED, IGNORED, TraceEvent
from rumormill.core.transport import Listening
from rumormill.libp2p.discovery.mdns import dns, records
from rumormill.libp2p.discovery.mdns.effects import FoundNearby, Heard, LinkDown, LinkUp, Say
from rumormill.libp2p.discovery.mdns.machine import (
    MOST_LINKS,
    MOST_NEARBY,
    NEARBY_FOUND,
    NEARBY_LOST,
    TELL_AGAIN,
    Mdns,
)
from rumormill.libp2p.discovery.mdns.parameters import MdnsParameters
from rumormill.libp2p.stack.multiaddr import Multiaddr
from tests.helpers.libp2p.host_net import key

LINK, HOST, OTHER_HOST = "eth0/4", "192.168.1.7", "192.168.1.8"
US, OTHER = key("us").peer, key("other").peer


class Bench:
    """One machine, its time, and all that it wanted done."""

    def __init__(
        self, listen: Sequence[str] = ("/ip4/0.0.0.0/tcp/4001",), name: str = "us"
    ) -> None:
        self.machine = Mdns(
            peer=key(name).peer, chance=random.Random(name), parameters=MdnsParameters()
        )
        self.now = 1000.0
        self.effects: list[Any] = []
        if listen:
            self.feed(Listening(tuple(listen)))

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
        return self.feed(Heard(LINK, host, packet))


def up(bench: Bench) -> None:
    bench.feed(LinkUp(LINK, HOST))


def answer(
    name: str = "other", *addresses: str, ttl: int = 120, label: bytes = b"some-name"
) -> bytes:
    told = [Multiaddr.parse(each) for each in addresses or (f"/ip4/{OTHER_HOST}/tcp/4001",)]
    return records.node_answer(label, key(name).peer, told, ttl)


def of(effects: Sequence[Any], kind: type) -> list[Any]:
    return [each for each in effects if isinstance(each, kind)]


def events(effects: Sequence[Any], name: str) -> list[TraceEvent]:
    return [each for each in of(effects, TraceEvent) if each.event == name]


def asked(effects: Sequence[Any]) -> list[Say]:
    return [each for each in of(effects, Say) if each.packet == records.QUERY]


# ---- asking


def test_it_asks_at_once_and_then_less_and_less_often() -> None:
    bench = Bench()
    up(bench)
    assert len(asked(bench.run(0.2))) == 1
    assert len(asked(bench.run(10.0))) in (3, 4)
    bench.run(300.0)
    assert len(asked(bench.run(600.0))) in (9, 10)


def test_a_link_that_is_gone_is_not_asked_any_more() -> None:
    bench = Bench()
    up(bench)
    bench.feed(LinkDown(LINK))
    assert bench.run(100.0) == [] and bench.machine.sizes()["mdns_links"] == 0
    assert bench.hear(answer()) == []


# ---- answering


def test_it_answers_with_its_address_on_the_link() -> None:
    bench = Bench()
    up(bench)
    (said,) = of(bench.hear(records.QUERY), Say)
    (node,) = records.nodes_in(dns.decode_message(said.packet))
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
    bench = Bench()
    up(bench)
    bench.run(0.5)
    said = [each for _ in range(100) for each in of(bench.hear(records.QUERY), Say)]
    assert len(said) == 1
    assert len(of(bench.run(1.0), Say)) <= 2, "one answer, and perhaps a question"


def test_who_listens_nowhere_says_nothing() -> None:
    bench = Bench(listen=())
    up(bench)
    assert bench.hear(records.QUERY) == []
    assert bench.hear(dns.encode_query(records.EVERY_SERVICE)) == []


def test_a_node_on_loopback_tells_other_nodes_of_its_machine() -> None:
    bench = Bench(listen=["/ip4/127.0.0.1/tcp/4001"])
    up(bench)
    (said,) = of(bench.hear(records.QUERY), Say)
    other = Bench(name="other")
    up(other)
    assert of(other.hear(said.packet, host=OTHER_HOST), FoundNearby) == []
    (found,) = of(other.hear(said.packet, host=HOST), FoundNearby)
    assert found.addresses == (f"/ip4/127.0.0.1/tcp/4001/p2p/{US}",)


def test_tools_that_ask_for_all_services_are_told_of_ours() -> None:
    bench = Bench()
    up(bench)
    (said,) = of(bench.hear(dns.encode_query(records.EVERY_SERVICE)), Say)
    (record,) = dns.decode_message(said.packet).records
    assert record.target == records.SERVICE


def test_who_moves_says_so_unasked() -> None:
    bench = Bench()
    up(bench)
    (said,) = of(bench.feed(Listening(("/ip4/192.168.1.7/tcp/5000",))), Say)
    assert b"/tcp/5000/" in said.packet


# ---- finding


def test_a_peer_that_answers_is_found() -> None:
    bench = Bench()
    up(bench)
    effects = bench.hear(answer())
    assert of(effects, FoundNearby) == [
        FoundNearby(OTHER, (f"/ip4/{OTHER_HOST}/tcp/4001/p2p/{OTHER}",))
    ]
    assert [each.peer for each in events(effects, NEARBY_FOUND)] == [OTHER]


def test_our_own_voice_is_not_a_peer() -> None:
    bench = Bench()
    up(bench)
    (said,) = of(bench.hear(records.QUERY), Say)
    assert bench.hear(said.packet, host=HOST) == []


def test_a_peer_that_is_heard_again_is_told_again_but_not_always() -> None:
    bench = Bench()
    up(bench)
    bench.hear(answer())
    assert bench.hear(answer()) == []
    bench.run(TELL_AGAIN + 1)
    effects = bench.hear(answer())
    assert len(of(effects, FoundNearby)) == 1 and not events(effects, NEARBY_FOUND)


def test_a_peer_is_forgotten_when_its_time_is_over() -> None:
    bench = Bench()
    up(bench)
    bench.hear(answer(ttl=120))
    bench.run(100.0)
    bench.hear(answer(ttl=120))
    assert not events(bench.run(100.0), NEARBY_LOST)
    assert [each.fields["reason"] for each in events(bench.run(30.0), NEARBY_LOST)] == ["expired"]
    assert bench.machine.sizes()["nearby"] == 0


def test_a_peer_that_says_goodbye_is_forgotten_at_once() -> None:
    bench = Bench()
    up(bench)
    bench.hear(answer())
    assert bench.hear(answer(ttl=0, label=b"somebody-else")) == []
    assert len(events(bench.hear(answer(ttl=0)), NEARBY_LOST)) == 1


def test_a_node_that_is_shut_down_says_goodbye() -> None:
    bench = Bench()
    up(bench)
    (said,) = of(bench.feed(Shutdown()), Say)
    (node,) = records.nodes_in(dns.decode_message(said.packet))
    assert node.ttl == 0 and bench.machine.next_wake() is None


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
    bench = Bench()
    up(bench)
    (found,) = of(bench.hear(raw), FoundNearby)
    assert found == FoundNearby(
        OTHER, tuple(f"/ip4/{OTHER_HOST}/tcp/{port}/p2p/{OTHER}" for port in (1, 2))
    )


# ---- what others may not do


@pytest.mark.parametrize(
    "address", ["/ip4/8.8.8.8/tcp/4001", "/ip4/127.0.0.1/tcp/4001", "/dns4/example.org/tcp/1"]
)
def test_nobody_makes_us_dial_the_world_or_ourselves(address: str) -> None:
    bench = Bench()
    up(bench)
    assert of(bench.hear(answer("other", address)), FoundNearby) == []
    (event,) = events(bench.run(1.0), IGNORED)
    assert event.fields["reason"] == "mdns_no_address"


def test_a_public_address_counts_if_it_is_the_senders_own() -> None:
    bench = Bench()
    up(bench)
    (found,) = of(bench.hear(answer("other", "/ip4/8.8.8.8/tcp/1"), host="8.8.8.8"), FoundNearby)
    assert found.addresses == (f"/ip4/8.8.8.8/tcp/1/p2p/{OTHER}",)


def test_addresses_of_two_peers_under_one_name_are_those_of_the_first() -> None:
    texts = [f"dnsaddr=/ip4/10.0.0.{n}/tcp/1/p2p/{key(str(n)).peer}".encode() for n in (1, 2)]
    raw = dns.encode_response(
        [dns.encode_record(records.SERVICE, dns.PTR, 9, dns.encode_name((b"x",)))],
        [dns.encode_record((b"x",), dns.TXT, 9, dns.encode_strings(texts))],
    )
    bench = Bench()
    up(bench)
    (found,) = of(bench.hear(raw), FoundNearby)
    assert found == FoundNearby(key("1").peer, (f"/ip4/10.0.0.1/tcp/1/p2p/{key('1').peer}",))


def test_a_flood_is_dropped_unread_and_counted() -> None:
    bench = Bench()
    up(bench)
    bench.run(0.2)
    for number in range(1000):
        bench.hear(answer(str(number % 20)), host=OTHER_HOST)
    reports = events(bench.run(1.1), DROPPED)
    assert sum(int(each.fields["count"] or 0) for each in reports) == 950
    assert len(reports) == 1, "a flood of datagrams is not one of events"


def test_a_flood_of_many_senders_is_bounded_too() -> None:
    bench = Bench()
    up(bench)
    for number in range(3000):
        bench.hear(answer(f"{number}"), host=f"10.0.{number >> 8}.{number & 255}")
        bench.now += 0.01
    sizes = bench.machine.sizes()
    assert sizes["nearby"] <= MOST_NEARBY
    assert sizes["mdns_senders"] <= 256 and sizes["mdns_dropped"] <= 260
    reasons = {each.fields["reason"] for each in of(bench.run(2.0), TraceEvent)}
    assert reasons == {"mdns_too_many_peers"} or "mdns_too_often" in reasons


def test_links_are_bounded() -> None:
    bench = Bench()
    for number in range(MOST_LINKS + 5):
        bench.feed(LinkUp(f"eth{number}/4", f"10.0.0.{number}"))
    assert bench.machine.sizes()["mdns_links"] == MOST_LINKS
    assert len(events(bench.effects, IGNORED)) == 5


def test_a_remembered_peer_cannot_stay_for_ever() -> None:
    bench = Bench()
    up(bench)
    bench.hear(answer(ttl=2**32 - 1))
    assert len(events(bench.run(3601.0), NEARBY_LOST)) == 1


def test_what_is_no_dns_is_counted_and_what_is_not_for_us_is_not_read() -> None:
    bench = Bench()
    up(bench)
    bench.run(0.2)
    bench.hear(b"_p2p" * 20)
    bench.hear(b"\xff" * 40)
    (event,) = events(bench.run(1.0), IGNORED)
    assert event.fields["reason"] == "bad_dns" and event.fields["count"] == 1


def test_equal_seeds_say_equal_things() -> None:
    one, two = Bench(), Bench()
    for bench in (one, two):
        up(bench)
        bench.hear(records.QUERY)
        bench.run(100.0)
    assert one.effects == two.effects

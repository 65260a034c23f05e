"""Who may have a link, which of two stays, and when one is over."""

from __future__ import annotations

import pytest

from rumormill.bcos.node.links import FRESH, GRACE, LONG_GRACE
from rumormill.bcos.node.machine import NodeMachine
from rumormill.bcos.wire.p2p_packet import P2PPacket, encode_p2p
from rumormill.core import trace
from rumormill.core.machine import Shutdown
from rumormill.core.transport import (
    BytesReceived,
    CloseTransport,
    Dial,
    DialEnded,
    RestTransport,
    TransportClosed,
    TransportOpened,
    WriteBytes,
    WriteReady,
)
from tests.helpers.bcos.machine_network import credentials_of
from tests.helpers.bcos.nodes import Nodes, Stranger, address_of, id_of, new_machine


def events(effects: list[object], kind: str) -> list[trace.TraceEvent]:
    return [e for e in effects if isinstance(e, trace.TraceEvent) and e.event == kind]


class BlackList:
    """Refuses those whose letters it holds."""

    def __init__(self, letters: str) -> None:
        self.letters = letters

    def refuses(self, node_id: str) -> str:
        return "blacklisted" if node_id in map(id_of, self.letters) else ""


# ---- one link for each node


def test_two_that_dial_each_other_at_once_have_one_link() -> None:
    network = Nodes()
    network.start("ab")
    network.dial("a", "b")
    network.dial("b", "a")
    network.run(0.5)
    assert (network.linked("a"), network.linked("b")) == ("b", "a")
    network.run(GRACE + 1.0)
    assert (network.links("a"), network.links("b")) == (["b"], ["a"])
    for name in "ab":
        assert network.traced(name, trace.PEER_LEFT) == []
        (closed,) = network.traced(name, trace.CONNECTION_CLOSED)
        assert closed.fields["reason"] in ("duplicate", "closed")


def test_of_two_links_the_one_that_the_smaller_id_dialed_stays() -> None:
    network = Nodes()
    network.start("ab")
    network.dial("b", "a")
    network.run(0.5)
    network.dial("a", "b")
    network.run(GRACE + 1.0)
    (kept,) = network.node("a").peers._links._by_connection.values()
    assert kept.dialed


def test_when_the_other_end_closes_the_link_that_we_would_keep_the_other_stays() -> None:
    """As nodes of other make do, which drop whatever comes second."""
    machine = new_machine("a")
    machine.handle(TransportOpened(1, "b:1", None, "", credentials_of(2)), 0.0)
    machine.handle(Dial(address_of("b"), True), 0.0)
    machine.handle(TransportOpened(2, address_of("b"), 1, "", credentials_of(2)), 0.1)
    effects = machine.handle(TransportClosed(2, "closed"), 0.2)
    assert list(machine.peers.connected()) == [id_of("b")]
    assert events(effects, trace.PEER_LEFT) == []
    machine.wake(4.0)
    assert list(machine.peers.connected()) == [id_of("b")]
    assert machine.peers.push(id_of("b"), 1, b"hello")
    (written,) = machine.handle(WriteReady(1, True), 4.0)
    assert isinstance(written, WriteBytes)
    assert written.connection == 1


def test_of_two_links_that_the_other_node_has_opened_it_chooses_which_one_stays() -> None:
    """They may have come in another order than they were opened."""
    stranger = Stranger(connection=2)
    stranger.feed(TransportOpened(1, "z:2", None, "", credentials_of(26)))
    assert not any(isinstance(each, CloseTransport) for each in stranger.wait(2 * GRACE))
    stranger.feed(TransportClosed(2))
    assert list(stranger.machine.peers.connected()) == [id_of("z")]
    assert stranger.machine.sizes()["links"] == 1


def test_of_two_links_that_the_other_node_has_opened_and_does_not_close_one_goes_at_last() -> None:
    stranger = Stranger()
    stranger.feed(TransportOpened(2, "z:2", None, "", credentials_of(26)))
    assert CloseTransport(2, "duplicate") in stranger.wait(LONG_GRACE)
    assert list(stranger.machine.peers.connected()) == [id_of("z")]


def test_a_second_link_after_a_while_is_refused() -> None:
    stranger = Stranger()
    stranger.wait(FRESH + 1.0)
    effects = stranger.feed(TransportOpened(2, "z:2", None, "", credentials_of(26)))
    assert CloseTransport(2, "duplicate") in effects
    assert events(effects, trace.CONNECTION_REFUSED)[0].fields["reason"] == "duplicate"
    assert list(stranger.machine.peers.connected()) == [id_of("z")]


def test_a_third_link_is_refused_at_once() -> None:
    stranger = Stranger()
    stranger.feed(TransportOpened(2, "z:2", None, "", credentials_of(26)))
    effects = stranger.feed(TransportOpened(3, "z:3", None, "", credentials_of(26)))
    assert CloseTransport(3, "duplicate") in effects


def test_a_node_that_restarts_need_not_wait_until_its_old_link_is_dropped() -> None:
    network = Nodes()
    network.start("ab")
    network.dial("b", "a")
    network.run(1.0)
    network.remove("b", quietly=True)
    network.run(14.0)
    network.start("b")
    network.dial("b", "a")
    network.run(1.0)
    assert network.linked("a") == "b"
    assert [e.fields["reason"] for e in network.traced("a", trace.PEER_LEFT)] == ["stale"]


def test_a_node_that_dials_itself_leaves_its_address_alone() -> None:
    network = Nodes()
    network.start("a")
    network.dial("a", "a")
    network.run(600.0)
    (ended,) = network.of("a", DialEnded)
    assert ended.peer is None
    assert "itself" in ended.problem
    assert len(network.dials) == 1
    assert network.links("a") == []
    reasons = [e.fields["reason"] for e in network.traced("a", trace.CONNECTION_REFUSED)]
    assert reasons in (["self"], ["self", "self"])


# ---- who may not come


def test_who_is_on_the_black_list_is_refused_and_the_dial_says_why() -> None:
    network = Nodes()
    network.start("a", access=BlackList("b"))
    network.start("b")
    network.dial("a", "b")
    network.run(1.0)
    (ended,) = network.of("a", DialEnded)
    assert (ended.peer, "blacklisted" in ended.problem) == (None, True)
    assert network.linked("a") == ""


def test_who_comes_onto_the_list_later_has_to_go() -> None:
    lists = BlackList("")
    network = Nodes()
    network.start("a", access=lists)
    network.start("b")
    network.dial("b", "a")
    network.run(1.0)
    assert network.linked("a") == "b"
    lists.letters = "b"
    network.run(11.0)
    assert network.linked("a") == ""


def test_there_are_no_more_nodes_than_max_peers() -> None:
    network = Nodes()
    network.start("a", max_peers=2)
    network.start("bcd")
    for name in "bcd":
        network.dial(name, "a")
    network.run(1.0)
    assert network.linked("a") == "bc"
    assert network.traced("a", trace.CONNECTION_REFUSED)[0].fields["reason"] == "too_many_peers"


def test_who_shows_no_certificate_is_closed() -> None:
    machine = new_machine("a")
    effects = machine.handle(TransportOpened(1, "x:1"), 0.0)
    assert CloseTransport(1, "no_certificate") in effects
    assert events(effects, trace.CONNECTION_FAILED)[0].fields["reason"] == "no_certificate"
    assert machine.sizes()["links"] == 0


# ---- when a link is over


def test_a_link_without_a_byte_for_a_minute_is_dropped() -> None:
    network = Nodes()
    network.start("ab")
    network.dial("a", "b")
    network.run(1.0)
    network.silent |= {("b", "a"), ("a", "b")}
    network.run(58.0)
    assert network.linked("a") == "b"
    network.run(3.0)
    assert network.linked("a") == ""
    (left,) = network.traced("a", trace.PEER_LEFT)
    assert left.fields["reason"] == "idle"


def test_topic_seqs_keep_a_link_alive() -> None:
    network = Nodes()
    network.start("ab")
    network.dial("a", "b")
    network.run(600.0)
    assert network.traced("a", trace.PEER_LEFT) == []
    assert network.linked("a") == "b"


def test_who_reads_nothing_for_a_minute_is_dropped_though_it_talks() -> None:
    stranger = Stranger()
    stranger.feed(WriteReady(1, False))
    for _ in range(13):
        stranger.wait(5.0)
        stranger.tell_seq(0)
    assert CloseTransport(1, "too_slow") in stranger.effects


def test_what_waits_for_a_slow_node_is_bounded_and_the_rest_counted() -> None:
    stranger = Stranger(queue_bytes=10_000, compress=False)
    stranger.feed(WriteReady(1, False))
    peers = stranger.machine.peers
    sent = [peers.push(id_of("z"), 1, bytes(1000)) for _ in range(50)]
    assert 5 < sum(sent) < 15
    assert peers.sizes()["bytes_waiting"] <= 10_000
    effects = stranger.feed(WriteReady(1, False))
    assert len(events(effects, trace.DROPPED)) == 50 - sum(sent)


def test_a_link_that_is_lost_is_opened_again() -> None:
    network = Nodes()
    network.start("ab")
    network.dial("a", "b")
    network.run(100.0)
    network.sever("a", "b")
    assert network.linked("a") == ""
    network.run(2.0)
    assert network.linked("a") == "b"
    assert network.traced("a", trace.DIAL_SCHEDULED)


def test_shutdown_closes_everything_and_dials_nothing() -> None:
    network = Nodes()
    network.start("abc")
    network.dial("a", "b", "c")
    network.run(1.0)
    network.feed("a", Shutdown())
    dials = len(network.dials)
    network.run(60.0)
    assert network.links("a") == []
    assert len(network.dials) == dials
    assert network.node("a").next_wake() is None


# ---- large payloads


def test_a_large_payload_that_goes_to_several_nodes_is_the_same_for_each() -> None:
    network = Nodes()
    network.start("abcd")
    network.dial("a", "b", "c", "d")
    network.run(1.0)
    network.sent.clear()
    payload, other = bytes(range(256)) * 20, bytes(5000)
    peers = network.node("a").peers
    for each in (payload, payload, other, payload, b"small"):
        for name in "bcd":
            assert peers.push(id_of(name), 1, each)
    network.feed("a", WriteReady(0, True))
    packets = [sent.p2p for sent in network.sent]
    expected = [each for each in (payload, payload, other, payload, b"small") for _ in "bcd"]
    assert [packet.payload for packet in packets] == expected
    assert all(len(sent.raw) < 1000 for sent in network.sent)
    assert len({packet.seq for packet in packets}) == len(packets)


def test_a_payload_that_no_node_takes_does_not_leave() -> None:
    stranger = Stranger(largest_packet=10_000)
    assert not stranger.machine.peers.push(id_of("z"), 1, bytes(10_000))
    effects = stranger.feed(WriteReady(1, True))
    assert events(effects, trace.DROPPED)[0].fields["reason"] == "too_large"


# ---- bad input


@pytest.mark.parametrize("raw", ["00000000", "0000000f", "ffffffff", "06400001"])
def test_a_length_that_no_packet_has_ends_the_link(raw: str) -> None:
    stranger = Stranger()
    effects = stranger.feed(BytesReceived(1, bytes.fromhex(raw)))
    assert any(isinstance(effect, CloseTransport) for effect in effects)
    assert events(effects, trace.PROTOCOL_ERROR)
    assert stranger.machine.sizes()["links"] == 0
    assert stranger.machine.sizes()["bytes_unfinished"] == 0


def test_a_bomb_of_snappy_ends_the_link_and_takes_no_memory() -> None:
    stranger = Stranger(largest_packet=1_000_000)
    raw = encode_p2p(P2PPacket(1, 0, 5, bytes(2_000_000)))
    assert len(raw) < 200_000
    effects = stranger.feed(BytesReceived(1, raw))
    assert CloseTransport(1, "packet_too_large") in effects


def test_without_compression_what_is_compressed_is_ignored() -> None:
    stranger = Stranger(compress=False)
    effects = stranger.say(P2PPacket(1, 0, 5, bytes(5000)))
    assert events(effects, trace.IGNORED)[0].fields["reason"] == "compressed"
    assert list(stranger.machine.peers.connected()) == [id_of("z")]


@pytest.mark.parametrize("protocol", [3, 8, 9, 10, 11, 1 << 16 | 1, 5 << 16 | 2, -8, -(2**31)])
def test_packets_of_other_modules_and_groups_are_ignored_and_counted(protocol: int) -> None:
    stranger = Stranger()
    effects = stranger.say(P2PPacket(protocol, 1, 7, b"x"))
    assert events(effects, trace.IGNORED)[0].fields["reason"] == "unknown_protocol"
    assert not any(isinstance(effect, CloseTransport) for effect in effects)


def flood(stranger: Stranger, raw: bytes, rounds: int) -> str:
    """Send the same bytes until it is held back or dropped for it; how it ended."""
    for _ in range(rounds):
        for effect in stranger.feed(BytesReceived(1, raw)):
            if isinstance(effect, CloseTransport):
                return effect.reason
            if isinstance(effect, RestTransport):
                stranger.wait(effect.seconds)
    return ""


def test_who_sends_nothing_but_what_is_ignored_is_held_back_and_dropped_at_last() -> None:
    stranger = Stranger()
    garbage = encode_p2p(P2PPacket(9, 1, 7, b"x")) * 2000
    assert flood(stranger, garbage, 400) == "too_much_work"
    assert events(stranger.effects, trace.HELD_BACK)


def test_who_sends_a_packet_byte_by_byte_is_held_back() -> None:
    stranger = Stranger()
    stranger.feed(BytesReceived(1, bytes.fromhex("00010000")))
    assert flood(stranger, b"x", 60_000) == "too_much_work"


def test_packets_that_never_end_are_bounded_for_all_nodes_together() -> None:
    machine = new_machine("a", max_peer_unfinished_bytes=1_000_000)
    for number in range(2, 8):
        machine.handle(TransportOpened(number, "x:1", None, "", credentials_of(number)), 0.0)
        raw = bytes.fromhex("00ffffff") + bytes(100_000 * number)
        machine.handle(BytesReceived(number, raw), 0.0)
    sizes = machine.sizes()
    assert sizes["bytes_unfinished"] <= 1_000_000
    assert sizes["links"] < 6
    assert _unfinished(machine) == sizes["bytes_unfinished"]


def _unfinished(machine: NodeMachine) -> int:
    return sum(link.reader.buffered for link in machine.peers._links._by_connection.values())

"""Two hosts and a wire made of lists: what they tell pubsub, the user and each other."""

from __future__ import annotations

from typing import Any

import pytest

from rumormill.core import trace
from rumormill.core.errors import LocalProtocolError
from rumormill.core.machine import (
    Connect,
    Drop,
    PeerJoined,
    PeerLeft,
    Received,
    Send,
    Shutdown,
    Writable,
)
from rumormill.core.transport import (
    CloseTransport,
    Dial,
    DialEnded,
    Listening,
    OpenTransport,
    WriteBytes,
)
from rumormill.libp2p.host.host import Host
from tests.helpers.libp2p.host_net import FAKE_PROTOCOL, FakePubsub, HostNet, key

ALICE, BOB, CAROL = (key(name).peer for name in ("alice", "bob", "carol"))
BOB_ADDRESS = "/ip4/10.0.0.1/tcp/4001"


class Pair:
    """Alice and Bob."""

    def __init__(self, *, connect: bool = True, **parameters: Any) -> None:
        self.net = HostNet()
        self.alice_pubsub, self.bob_pubsub = FakePubsub(), FakePubsub()
        self.alice = self.net.host("alice", self.alice_pubsub, **parameters)
        self.bob = self.net.host("bob", self.bob_pubsub, **parameters)
        if connect:
            self.net.connect(self.alice, self.bob)

    @property
    def bob_address(self) -> str:
        return self.net.seat(self.bob).address

    def send(self, host: Host, *packets: bytes) -> None:
        """Let the pubsub of ``host`` send to the other."""
        pubsub, to = (self.alice_pubsub, BOB) if host is self.alice else (self.bob_pubsub, ALICE)
        pubsub.waiting += [Send(to, packet) for packet in packets]
        self.net.flush(host)


def received(pubsub: FakePubsub) -> bytes:
    return b"".join(each.packet for each in pubsub.inputs if isinstance(each, Received))


def test_two_hosts_connect_and_each_pubsub_hears_of_the_other_once() -> None:
    pair = Pair()
    assert pair.alice.peers() == (BOB,) and pair.bob.peers() == (ALICE,)
    assert pair.net.dials(pair.alice) == [DialEnded(pair.bob_address, BOB)]
    joined = [each for each in pair.alice_pubsub.inputs if isinstance(each, PeerJoined)]
    assert joined == [PeerJoined(BOB, FAKE_PROTOCOL, True, BOB_ADDRESS)]
    joined = [each for each in pair.bob_pubsub.inputs if isinstance(each, PeerJoined)]
    assert joined == [PeerJoined(ALICE, FAKE_PROTOCOL, False, "/ip4/10.0.0.0/tcp/4001")]
    [opened] = pair.net.traces(pair.alice, trace.CONNECTION_OPENED)
    assert opened.peer == BOB
    assert opened.fields == {"address": pair.bob_address, "outbound": True}


def test_pubsub_may_not_send_until_our_own_stream_is_open() -> None:
    """Whose stream comes first makes the peer known; only ours makes it writable."""
    pair = Pair()
    for pubsub, peer in ((pair.alice_pubsub, BOB), (pair.bob_pubsub, ALICE)):
        kinds = pubsub.inputs
        assert isinstance(kinds[0], PeerJoined)
        if len(kinds) > 1:
            assert kinds == [kinds[0], Writable(peer, False), Writable(peer, True)]


def test_packets_of_pubsub_reach_the_other_pubsub_in_order() -> None:
    pair = Pair()
    pair.send(pair.alice, b"one ", b"two ", b"three")
    pair.send(pair.bob, b"back")
    pair.net.run()
    assert received(pair.bob_pubsub) == b"one two three"
    assert received(pair.alice_pubsub) == b"back"


def test_a_turn_writes_once_for_each_connection() -> None:
    pair = Pair()
    pair.alice_pubsub.waiting += [Send(BOB, b"x" * 1000)] * 50
    effects = pair.net.flush(pair.alice)
    assert [type(effect) for effect in effects] == [WriteBytes]
    for seat in pair.net.seats:
        for turn in seat.turns:
            written = [effect.connection for effect in turn if isinstance(effect, WriteBytes)]
            assert len(written) == len(set(written))


def test_a_large_message_passes_through_the_window() -> None:
    pair = Pair()
    pair.send(pair.alice, bytes(range(256)) * 8192)
    pair.net.run(5.0)
    assert received(pair.bob_pubsub) == bytes(range(256)) * 8192


def test_peers_identify_themselves() -> None:
    pair = Pair()
    for host, peer, name in ((pair.alice, BOB, "bob"), (pair.bob, ALICE, "alice")):
        [event] = pair.net.traces(host, trace.PEER_IDENTIFIED)
        assert event.peer == peer and event.fields["agent"] == f"test/{name}"
        assert event.fields["protocols"] == (
            f"{FAKE_PROTOCOL} /ipfs/id/1.0.0 /ipfs/id/push/1.0.0 /ipfs/ping/1.0.0"
        )


def test_addresses_carry_the_peer_id() -> None:
    pair = Pair(connect=False)
    assert pair.bob.addresses == (f"{pair.bob_address}/p2p/{BOB}",)


def test_new_addresses_are_pushed_to_every_peer_once() -> None:
    pair = Pair()
    pair.net.feed(pair.bob, Listening(("/ip4/192.0.2.9/tcp/9",)))
    pair.net.run()
    assert len(pair.net.traces(pair.alice, trace.PEER_IDENTIFIED)) == 2
    pair.net.feed(pair.bob, Listening(("/ip4/192.0.2.9/tcp/9",)))
    pair.net.run()
    assert len(pair.net.traces(pair.alice, trace.PEER_IDENTIFIED)) == 2, "nothing has changed"


def test_the_end_of_the_transport_is_the_end_of_the_peer() -> None:
    pair = Pair()
    pair.alice_pubsub.take()
    pair.net.cut(pair.bob, pair.net.transports(pair.bob)[0], "connection_reset")
    pair.net.run()
    assert pair.alice_pubsub.inputs == [PeerLeft(BOB, "connection_reset")]
    assert pair.alice.peers() == ()
    [closed] = pair.net.traces(pair.alice, trace.CONNECTION_CLOSED)
    assert closed.peer == BOB and closed.fields["reason"] == "connection_reset"


def test_dropping_a_peer_says_goodbye() -> None:
    pair = Pair()
    pair.alice_pubsub.waiting.append(Drop(BOB, "unwelcome"))
    pair.net.flush(pair.alice)
    pair.net.run()
    assert pair.alice_pubsub.inputs[-1] == PeerLeft(BOB, "unwelcome")
    assert pair.bob_pubsub.inputs[-1] == PeerLeft(ALICE, "closed_by_peer")
    assert pair.alice.peers() == pair.bob.peers() == ()
    pair.alice_pubsub.waiting.append(Drop(CAROL, "unwelcome"))
    pair.net.flush(pair.alice)


def want(pair: Pair, *addresses: str) -> None:
    """Pubsub of Alice would like Bob, and has heard where he is."""
    pair.alice_pubsub.waiting.append(Connect(BOB, addresses))
    pair.net.flush(pair.alice)
    pair.net.run()


def test_pubsub_can_ask_for_a_peer_at_addresses_that_others_told() -> None:
    pair = Pair(connect=False)
    want(pair, pair.bob_address)
    assert pair.alice.peers() == (BOB,)
    assert pair.net.dials(pair.alice) == [], "no user is waiting for it"
    want(pair, pair.bob_address)
    assert len(pair.net.transports(pair.alice)) == 1, "it is here already"


def test_addresses_that_others_told_may_be_nonsense_and_are_tried_once() -> None:
    pair = Pair(connect=False)
    elsewhere = f"{pair.bob_address}/p2p/{CAROL}"
    want(pair, "nonsense", elsewhere, "/ip4/10.9.9.9/tcp/1")
    pair.net.run(100.0)
    assert pair.alice.peers() == () and len(pair.alice._dialer) == 0
    failed = pair.net.traces(pair.alice, trace.CONNECTION_FAILED)
    assert [(each.peer, each.fields["reason"]) for each in failed] == [
        (BOB, "bad_address"),
        (BOB, "wrong_peer"),
        (BOB, "connection refused"),
    ]


def test_no_more_than_a_few_addresses_of_one_peer_are_tried() -> None:
    pair = Pair(connect=False)
    want(pair, *(f"/ip4/10.9.9.{number}/tcp/1" for number in range(100)))
    assert len(pair.net.of(pair.alice, OpenTransport)) == 8


def test_pubsub_can_ask_for_a_peer_whose_address_is_known() -> None:
    pair = Pair(connect=False, redial_first_delay=50.0)
    pair.net.connect(pair.alice, pair.bob, keep=True)
    pair.alice_pubsub.waiting.append(Connect(BOB))
    assert pair.net.flush(pair.alice) == [], "it is there"
    pair.net.cut(pair.alice, pair.net.transports(pair.alice)[0])
    pair.net.run()
    assert pair.alice.peers() == ()
    pair.alice_pubsub.waiting += [Connect(BOB), Connect(CAROL)]
    pair.net.run()
    assert pair.alice.peers() == (BOB,)


def test_pubsub_can_drop_a_peer() -> None:
    pair = Pair()
    pair.bob_pubsub.answers[Received] = lambda each: [Drop(each.peer, "frame_too_large")]
    pair.send(pair.alice, b"nonsense")
    pair.net.run()
    assert pair.bob_pubsub.inputs[-1] == PeerLeft(ALICE, "frame_too_large")
    [closed] = pair.net.traces(pair.bob, trace.CONNECTION_CLOSED)
    assert closed.fields["reason"] == "frame_too_large"
    assert pair.alice.peers() == pair.bob.peers() == ()


def test_a_kept_peer_comes_back_after_its_connection_was_lost() -> None:
    pair = Pair(connect=False)
    pair.net.feed(pair.alice, Dial(pair.bob_address, keep=True))
    pair.net.run()
    pair.net.cut(pair.bob, pair.net.transports(pair.bob)[0])
    pair.net.run(0.1)
    assert pair.alice.peers() == ()
    pair.net.run(2.0)
    assert pair.alice.peers() == (BOB,)
    assert len(pair.net.traces(pair.alice, trace.DIAL_SCHEDULED)) == 1
    assert len(pair.net.dials(pair.alice)) == 1, "only the first outcome is reported"


def test_a_peer_that_is_there_is_not_dialed_again() -> None:
    pair = Pair()
    address = f"{pair.bob_address}/p2p/{BOB}"
    [ended] = pair.net.feed(pair.alice, Dial(address))
    assert ended == DialEnded(address, BOB)


def test_nobody_at_the_address_gives_a_sentence_that_names_it() -> None:
    pair = Pair(connect=False)
    pair.net.feed(pair.alice, Dial("/ip4/10.9.9.9/tcp/1"))
    pair.net.run()
    [ended] = pair.net.dials(pair.alice)
    assert ended.peer is None
    assert ended.problem == "could not connect to /ip4/10.9.9.9/tcp/1: connection refused"


def test_another_peer_than_expected_fails_the_handshake_and_says_who_it_is() -> None:
    pair = Pair(connect=False)
    address = f"{pair.bob_address}/p2p/{CAROL}"
    pair.net.feed(pair.alice, Dial(address))
    pair.net.run()
    [ended] = pair.net.dials(pair.alice)
    assert ended.peer is None and address in ended.problem and BOB in ended.problem
    [failed] = pair.net.traces(pair.alice, trace.CONNECTION_FAILED)
    assert failed.fields["reason"] == "wrong_peer"
    assert pair.alice.peers() == () and pair.alice_pubsub.inputs == []


def test_a_host_that_dials_itself_finds_out_and_does_not_try_again() -> None:
    pair = Pair(connect=False)
    pair.net.feed(pair.alice, Dial(pair.net.seat(pair.alice).address, keep=True))
    pair.net.run(100.0)
    [ended] = pair.net.dials(pair.alice)
    assert ended.peer is None and "own identity" in ended.problem
    assert pair.alice.peers() == () and not pair.net.traces(pair.alice, trace.DIAL_SCHEDULED)


def test_a_wrong_address_is_the_callers_fault() -> None:
    pair = Pair(connect=False)
    for wrong in (Dial("nowhere"), Listening(("nowhere",))):
        with pytest.raises(LocalProtocolError, match="nowhere"):
            pair.alice.handle(wrong, 0.0)


def test_an_input_that_is_none_is_the_callers_fault() -> None:
    pair = Pair(connect=False)
    with pytest.raises(LocalProtocolError, match="str"):
        pair.alice.handle("hello", 0.0)  # type: ignore[arg-type]


def test_shutdown_says_goodbye_to_all_and_refuses_what_comes_later() -> None:
    pair = Pair()
    carol = pair.net.host("carol")
    pair.net.connect(carol, pair.alice)
    pair.net.feed(pair.alice, Dial("/ip4/10.9.9.9/tcp/1", keep=True))
    effects = pair.net.feed(pair.alice, Shutdown())
    assert sum(isinstance(effect, CloseTransport) for effect in effects) == 2
    assert any(isinstance(effect, DialEnded) for effect in effects)
    pair.net.run(100.0)
    assert pair.alice.peers() == pair.bob.peers() == carol.peers() == ()
    assert pair.bob_pubsub.inputs[-1] == PeerLeft(ALICE, "closed_by_peer")
    pair.net.connect(carol, pair.alice)
    assert pair.net.dials(carol)[-1].peer is None
    [refused] = pair.net.traces(pair.alice, trace.CONNECTION_REFUSED)
    assert refused.fields["reason"] == "shutting_down"
    with pytest.raises(LocalProtocolError, match="shutting down"):
        pair.alice.handle(Dial(pair.bob_address), pair.net.now)
    assert pair.alice.next_wake() is None


def test_equal_seeds_give_equal_effects() -> None:
    def run() -> list[object]:
        pair = Pair()
        pair.send(pair.alice, b"hello")
        pair.net.cut(pair.bob, pair.net.transports(pair.bob)[0])
        pair.net.run(5.0)
        return [seat.effects for seat in pair.net.seats]

    assert run() == run()

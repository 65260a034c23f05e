"""Connections of an SDK: handshake, heartbeat, silence, and coming back."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable

import pytest

from rumormill.bcos.wire.channel_packet import ChannelPacket, ChannelType, encode_channel
from rumormill.bcos.wire.p2p_packet import Module, P2PPacket, encode_p2p
from rumormill.core.machine import Hold, Shutdown, Subscribe
from rumormill.core.transport import (
    BytesReceived,
    CancelTransport,
    CloseTransport,
    Dial,
    DialEnded,
    OpenTransport,
    RestTransport,
    TransportClosed,
    TransportFailed,
    TransportOpened,
    WriteReady,
)
from tests.helpers.bcos.sdk_bench import SEQ, ScriptedNode, SdkBench, seq

ADDRESS = "127.0.0.1:20200"


def test_a_node_is_up_once_it_has_answered_the_handshake() -> None:
    bench = SdkBench()
    node = bench.opened(ADDRESS, bench.dial(ADDRESS))
    proposal = json.loads(node.packets()[0].data)
    assert proposal == {"minimumSupport": 1, "maximumSupport": 3, "clientType": "rumormill"}
    assert bench.machine.peers() == ()
    bench = SdkBench()
    node = bench.node(ADDRESS)
    assert bench.machine.peers() == (ADDRESS,)
    assert bench.take(DialEnded) == [DialEnded(ADDRESS, ADDRESS)]
    assert [event.peer for event in bench.events("peer_joined")] == [ADDRESS]


def test_a_node_that_does_not_answer_the_handshake_is_dropped_and_dialed_again() -> None:
    bench = SdkBench(greeting_timeout=4)
    node = bench.opened(ADDRESS, bench.dial(ADDRESS))
    bench.advance(4)
    assert len(node.closed) == 1
    (ended,) = bench.take(DialEnded)
    assert ended.peer is None
    assert ended.problem == (
        f"could not connect to {ADDRESS}: no answer to the handshake within 4 s; "
        "is it the port for other nodes?"
    )
    (failed,) = bench.events("connection_failed")
    assert failed.fields["reason"] == "handshake_timed_out"
    bench.advance(2)
    assert [each.address for each in bench.take(OpenTransport)] == [ADDRESS]


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"{}", b'{"protocol":9}', b'{"protocol":"3"}', b"[" * 9999, b"\xff"]
)
def test_a_handshake_that_cannot_be_read_costs_the_node_its_connection(body: bytes) -> None:
    bench = SdkBench()
    node = bench.opened(ADDRESS, bench.dial(ADDRESS))
    node.send(ChannelType.HANDSHAKE, node.packet(ChannelType.HANDSHAKE).seq, body)
    assert node.closed and bench.events("protocol_error")
    assert bench.take(DialEnded)[0].peer is None


@pytest.mark.parametrize(
    ("reason", "problem"),
    [
        ("certificate_of_another_ca", "its certificate is of another CA than those we trust"),
        ("our_certificate_expired", "it says that our certificate has expired"),
        ("not_tls", "it does not speak TLS"),
    ],
)
def test_what_is_wrong_with_a_certificate_is_told_in_words(reason: str, problem: str) -> None:
    bench = SdkBench()
    bench.feed(TransportFailed(bench.dial(ADDRESS), reason))
    (ended,) = bench.take(DialEnded)
    assert ended.problem == f"could not connect to {ADDRESS}: {problem}"
    assert [event.fields["reason"] for event in bench.events("connection_failed")] == [reason]


def test_who_speaks_to_nodes_may_be_the_wrong_port() -> None:
    bench = SdkBench()
    node = bench.opened(ADDRESS, bench.dial(ADDRESS))
    node.raw(encode_p2p(P2PPacket(Module.TOPIC, 1, 0, b"0")))
    assert node.closed
    (ended,) = bench.take(DialEnded)
    assert ended.problem == (
        f"could not connect to {ADDRESS}: what it says is not for SDKs; "
        "is it the port for other nodes?"
    )


def test_who_hangs_up_before_the_handshake_is_named_with_the_place_to_look() -> None:
    bench = SdkBench()
    node = bench.opened(ADDRESS, bench.dial(ADDRESS))
    bench.feed(TransportClosed(node.number, "closed"))
    (ended,) = bench.take(DialEnded)
    assert ended.problem == (
        f"could not connect to {ADDRESS}: it closed the connection before it answered the "
        "handshake; its trace tells why"
    )


def test_nothing_of_a_node_is_taken_before_its_handshake() -> None:
    bench = SdkBench()
    bench.feed(Subscribe("weather"))
    node = bench.opened(ADDRESS, bench.dial(ADDRESS))
    node.message("weather", b"rain")
    assert not bench.events("delivered")
    assert [event.fields["reason"] for event in bench.events("ignored")] == ["before_handshake"]


@pytest.mark.parametrize(("protocol", "body"), [(1, b"0"), (2, b'{"heartBeat":0}')])
def test_heartbeats_leave_in_the_form_of_the_protocol(protocol: int, body: bytes) -> None:
    bench = SdkBench(heartbeat_interval=3)
    node = bench.node(protocol=protocol)
    bench.advance(2.9)
    assert node.packets(ChannelType.HEARTBEAT) == []
    bench.advance(6.2)
    assert [packet.data for packet in node.packets(ChannelType.HEARTBEAT)] == [body] * 3


def test_a_silent_node_is_dropped_and_one_that_answers_stays() -> None:
    bench = SdkBench(silence_timeout=15)
    silent, alive = bench.node("127.0.0.1:1"), bench.node("127.0.0.1:2")
    for _ in range(10):
        bench.advance(3)
        alive.send(ChannelType.HEARTBEAT, seq(1), b'{"heartBeat":1}\n')
    assert silent.closed == ["timed_out"]
    assert alive.closed == []
    assert bench.machine.peers() == ("127.0.0.1:2",)
    assert bench.events("peer_left")[0].fields["reason"] == "timed_out"


def test_delays_between_dials_grow_up_to_the_longest() -> None:
    bench = SdkBench(redial_first_delay=1, redial_longest_delay=8, redial_jitter=0)
    bench.feed(Dial(ADDRESS, True))
    times = []
    for _ in range(6):
        (dial,) = bench.take(OpenTransport)
        times.append(bench.now)
        bench.feed(TransportFailed(dial.dial, "connection_refused"))
        due = bench.machine.next_wake()
        assert due is not None
        bench.now = due
        bench.wake()
    assert [later - before for before, later in itertools.pairwise(times)] == [
        1, 2, 4, 8, 8,
    ]  # fmt: skip
    (ended,) = bench.take(DialEnded)
    assert ended.problem == f"could not connect to {ADDRESS}: connection refused"
    assert len(bench.events("connection_failed")) == 6
    assert len(bench.events("dial_scheduled")) == 6


def test_delays_begin_anew_after_a_connection_that_lasted() -> None:
    bench = SdkBench(redial_jitter=0, stable_after=5, redial_first_delay=1)
    node = bench.node()
    for lasted, attempt in ((1.0, 1), (1.0, 2), (6.0, 1)):
        bench.advance(lasted)
        node.vanish()
        assert bench.events("dial_scheduled")[0].fields["attempt"] == attempt
        bench.effects.clear()
        bench.advance(2)
        node = bench.opened(ADDRESS, bench.take(OpenTransport)[0].dial)
        node.shake()


def test_a_node_that_is_not_to_be_kept_is_not_dialed_again() -> None:
    bench = SdkBench()
    node = bench.opened(ADDRESS, bench.dial(ADDRESS, keep=False))
    node.shake()
    node.vanish()
    bench.advance(60)
    assert bench.take(OpenTransport) == []
    assert bench.machine.sizes()["targets"] == 0


def test_a_dial_that_takes_too_long_is_given_up() -> None:
    bench = SdkBench(dial_timeout=10)
    dial = bench.dial(ADDRESS, keep=False)
    bench.advance(10)
    assert bench.take(CancelTransport) == [CancelTransport(dial)]
    assert "no answer within 10 s" in bench.take(DialEnded)[0].problem
    bench.feed(TransportOpened(9, ADDRESS, dial))
    assert bench.take(CloseTransport) == [CloseTransport(9, "not_wanted")]


def test_a_second_dial_of_a_connected_node_is_answered_at_once() -> None:
    bench = SdkBench()
    bench.node(ADDRESS)
    bench.take(DialEnded)
    bench.feed(Dial(ADDRESS))
    assert bench.take(DialEnded) == [DialEnded(ADDRESS, ADDRESS)]
    assert bench.take(OpenTransport) == []


@pytest.mark.parametrize("raw", [b"\0\0\0\x05abcde", b"\xff" * 50])
def test_lengths_that_no_packet_has_cost_the_node_its_connection(raw: bytes) -> None:
    bench = SdkBench()
    node = bench.node()
    bench.feed(BytesReceived(node.number, raw))
    assert len(node.closed) == 1
    assert bench.events("protocol_error") and bench.events("dial_scheduled")
    bench.feed(BytesReceived(node.number, raw))  # what was still under way


def test_while_the_application_is_behind_nothing_is_read_and_heartbeats_leave() -> None:
    bench = SdkBench(silence_timeout=5, heartbeat_interval=2)
    node = bench.node()
    bench.feed(Hold(True))
    assert [rest.connection for rest in bench.take(RestTransport)] == [node.number]
    bench.feed(BytesReceived(node.number, b""))
    assert len(bench.take(RestTransport)) == 1
    bench.advance(19)
    assert node.closed == []
    assert len(node.packets(ChannelType.HEARTBEAT)) == 9
    bench.feed(Hold(False))
    bench.feed(BytesReceived(node.number, b""))
    assert bench.take(RestTransport) == []
    bench.advance(4.9)
    assert node.closed == []
    bench.advance(0.2)
    assert node.closed == ["timed_out"]
    assert bench.events("source_paused") and bench.events("source_resumed")


@pytest.mark.parametrize(
    "waste",
    [
        pytest.param(lambda node: node.send(0x7777, SEQ), id="unknown types"),
        pytest.param(lambda node: node.send(ChannelType.HEARTBEAT, SEQ), id="heartbeats"),
        pytest.param(lambda node: node.send(ChannelType.RESPONSE, SEQ), id="answers"),
        pytest.param(lambda node: node.message("weather", b"rain"), id="duplicates"),
        pytest.param(lambda node: node.message("news", b"?"), id="not subscribed to"),
    ],
)
def test_a_node_that_makes_us_work_for_nothing_has_to_rest_and_is_dropped_at_last(
    waste: Callable[[ScriptedNode], None],
) -> None:
    bench = SdkBench(work_share=0.001, work_burst=0.001)
    bench.feed(Subscribe("weather"))
    node = bench.node()
    for _ in range(2000):
        waste(node)
        for rest in bench.take(RestTransport):
            bench.advance(rest.seconds)
        if node.closed:
            break
    assert node.closed == ["too_much_work"]
    assert bench.events("held_back")


def test_a_large_packet_that_is_of_no_use_costs_more_than_a_small_one() -> None:
    bench = SdkBench(work_share=0.001, work_burst=0.001)
    node = bench.node()
    node.send(0x7777, SEQ, bytes(10_000))
    assert not bench.events("held_back")
    node.send(0x7777, SEQ, bytes(10_000_000))
    assert bench.events("held_back")


def test_a_packet_in_many_small_pieces_has_to_wait_for_its_turns() -> None:
    bench = SdkBench(work_share=0.001, work_burst=0.001)
    node = bench.node()
    raw = encode_channel(ChannelPacket(0x7777, SEQ, 0, bytes(1000)))
    for number in range(500):
        node.raw(raw[number : number + 1])
    assert bench.events("held_back")[0].fields["reason"] == "pieces"


def test_what_waits_for_a_full_socket_is_bounded() -> None:
    bench = SdkBench(sdk_queue_bytes=1024, max_sdk_topics=10_000)
    node = bench.node()
    bench.feed(WriteReady(node.number, False))
    for number in range(100):
        bench.feed(Subscribe(f"topic-{number}"))
        bench.wake()
        if node.closed:
            break
    assert node.closed == ["queue_full"]
    assert bench.events("dropped")[0].fields["reason"] == "queue_full"


def test_at_shutdown_all_is_closed_and_nothing_dialed_any_more() -> None:
    bench = SdkBench()
    node = bench.node("127.0.0.1:1")
    dial = bench.dial("127.0.0.1:2")
    bench.feed(Shutdown())
    assert node.closed == ["shutdown"]
    assert bench.take(CancelTransport) == [CancelTransport(dial)]
    assert bench.take(DialEnded)[-1].problem.endswith(": the network is being closed")
    bench.advance(100)
    assert bench.take(OpenTransport) == []
    assert bench.machine.next_wake() is None

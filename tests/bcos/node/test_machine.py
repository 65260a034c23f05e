"""The machine of a node as a whole: services, equal runs, memory."""

from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from rumormill.bcos.effects import Multicast, Unicast, UnicastEnded
from rumormill.bcos.wire.channel_packet import ChannelPacket, ChannelType, encode_channel
from rumormill.bcos.wire.p2p_packet import COMPRESSED, HEADER, P2PPacket, encode_p2p
from rumormill.bcos.wire.routed import ROUTED_MODULE
from rumormill.core import trace
from rumormill.core.machine import Deliver, Published, Shutdown, Subscribe, Unsubscribe
from rumormill.core.trace import TraceEvent
from rumormill.core.transport import (
    BytesReceived,
    CloseTransport,
    TransportClosed,
    TransportOpened,
    WriteBytes,
)
from tests.helpers.bcos.machine_network import credentials_of
from tests.helpers.bcos.nodes import Nodes, Stranger, id_of, new_machine


def test_a_connection_at_the_channels_listener_is_one_of_an_sdk() -> None:
    machine = new_machine("a")
    machine.handle(TransportOpened(1, "sdk:1", None, "channel", credentials_of(9)), 0.0)
    assert machine.sizes()["channel_sessions"] == 1
    assert list(machine.peers.connected()) == []
    heartbeat = ChannelPacket(ChannelType.HEARTBEAT, b"1" * 32, 0, b"0")
    effects = machine.handle(BytesReceived(1, encode_channel(heartbeat)), 0.1)
    assert any(isinstance(effect, WriteBytes) for effect in effects)
    machine.handle(TransportClosed(1), 0.2)
    assert machine.sizes()["channel_sessions"] == 0
    assert machine.sizes()["sdk_connections"] == 0


def test_who_comes_after_the_shutdown_is_closed() -> None:
    machine = new_machine("a")
    machine.handle(Shutdown(), 0.0)
    for service in ("", "channel"):
        opened = TransportOpened(1, "x:1", None, service, credentials_of(9))
        assert machine.handle(opened, 1.0) == [CloseTransport(1, "shutdown")]


def test_a_machine_may_be_woken_early() -> None:
    network = Nodes()
    network.start("ab")
    network.dial("a", "b")
    network.run(1.0)
    machine = network.node("a")
    when = machine.next_wake()
    assert when is not None
    assert machine.wake(network.now) == []
    assert machine.next_wake() == when


def test_applications_of_two_nodes_talk() -> None:
    network = Nodes()
    network.start("ab")
    network.dial("a", "b")
    network.subscribe("b", "news")
    network.run_accepting(1.0)
    network.feed("a", Unicast(1, "news", b"one", 5.0), Multicast(2, "news", b"all", 5.0))
    network.feed("a", Multicast(3, "nobody listens", b"everywhere", 5.0, True))
    network.run_accepting(1.0)
    assert [each.message.data for each in network.of("b", Deliver)] == [b"one", b"all"]
    (ended,) = network.of("a", UnicastEnded)
    assert (ended.result, ended.node) == (0, id_of("b"))
    receipts = [each.receipt for each in network.of("a", Published)]
    assert [receipt.reached for receipt in receipts] == [(id_of("b"),)] * 2


protocols = st.sampled_from([1, -1, 2, -2, ROUTED_MODULE, -ROUTED_MODULE, 8, 65537, -(2**31)])
payloads = st.one_of(
    st.binary(max_size=200),
    st.sampled_from([b"1", b"2\ta\tb", b"3\t2\t+c\t-a", b"3\t1\t+c", b"999999"]),
    st.binary(min_size=64, max_size=64).map(lambda raw: raw + b"\x01" + bytes(8)),
)
versions = st.sampled_from([0, 0, 0, 0, 1, COMPRESSED])
numbers = st.integers(0, 6)
packets = st.builds(P2PPacket, protocols, numbers, numbers, payloads, versions)


@given(st.lists(packets, max_size=30), st.integers(1, 400), st.binary(max_size=40))
def test_whatever_a_node_sends_the_machine_goes_on(
    packets: list[P2PPacket], cut: int, end: bytes
) -> None:
    stranger = Stranger(multi_hop=True, relay=True)
    stranger.feed(Subscribe("a"))
    raw = b"".join(map(encode_p2p, packets)) + end
    for start in range(0, len(raw), cut):
        stranger.feed(BytesReceived(1, raw[start : start + cut]))
        stranger.wait(0.1)
    stranger.feed(TransportClosed(1))
    stranger.wait(100.0)
    sizes = stranger.machine.sizes()
    kept = ("links", "questions", "topics_of_nodes", "reach_ways", "bytes_unfinished")
    assert [sizes[name] for name in kept] == [0] * len(kept)


def stormy(seed: int) -> Nodes:
    """Links that come and go, topics that change, and messages all the time."""
    random = Random(seed)
    network = Nodes()
    names = "abcdef"
    network.start(names, relay=True, multi_hop=True)
    network.mesh(names)
    for _ in range(150):
        one, other = random.sample(names, 2)
        match random.randrange(5):
            case 0:
                network.sever(one, other)
            case 1:
                network.subscribe(one, f"topic-{random.randrange(5)}")
            case 2:
                network.feed(one, Unsubscribe(f"topic-{random.randrange(5)}"))
            case 3:
                topic = f"topic-{random.randrange(5)}"
                network.feed(one, Unicast(1000 + random.randrange(10**9), topic, b"x" * 50, 5.0))
            case _:
                topic = f"topic-{random.randrange(5)}"
                data = b"x" * random.randrange(3000)
                network.feed(one, Multicast(1, topic, data, 5.0, random.random() < 0.3))
        network.run_accepting(random.random() / 4)
    network.run_accepting(30.0)
    return network


def test_equal_seeds_have_equal_traces_and_all_is_well_after_a_storm() -> None:
    first, second = stormy(5), stormy(5)
    assert first.sent == second.sent
    for name in "abcdef":
        assert first.of(name, TraceEvent) == second.of(name, TraceEvent)
        assert first.linked(name) == "abcdef".replace(name, "")
        sizes = first.node(name).sizes()
        assert (sizes["links"], sizes["spare_links"], sizes["questions"]) == (5, 0, 0)
        assert (sizes["bytes_unfinished"], sizes["bytes_waiting"]) == (0, 0)
        assert first.traced(name, trace.PROTOCOL_ERROR) == []
        for topic in (f"topic-{number}" for number in range(5)):
            having = [n for n in "abcdef" if n != name and first.node(n).board.holds(topic)]
            assert first.holders(name, topic) == "".join(having)


def test_links_that_come_and_go_leave_nothing_behind() -> None:
    machine = new_machine("a", multi_hop=True)
    names = b"\t".join(b"topic-%d" % number for number in range(100))
    sizes = []
    for round in range(300):
        now, connection = round * 20.0, round + 1
        node = credentials_of(2 + round % 50)
        machine.handle(TransportOpened(connection, "x:1", None, "", node), now)
        seq = HEADER.pack(HEADER.size + 1, 0, 2, 1, 0) + b"7"
        asked = machine.handle(BytesReceived(connection, seq), now)
        (question,) = (each.data for each in asked if isinstance(each, WriteBytes))
        answer = HEADER.pack(HEADER.size + 2 + len(names), 0, -2, 3, HEADER.unpack(question)[4])
        machine.handle(BytesReceived(connection, answer + b"7\t" + names), now)
        assert machine.sizes()["topics_of_nodes"] == 100
        machine.handle(TransportClosed(connection), now + 1.0)
        machine.wake(now + 15.0)
        sizes.append(machine.sizes())
    assert sizes[-1] == sizes[0]
    assert not any(size for name, size in sizes[-1].items() if name != "dials")

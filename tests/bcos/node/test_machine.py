"""The machine of a node as a whole: services, equal runs, memory."""

from __future__ import annotations

from random import Random

from rumormill.bcos.effects import Multicast, Unicast, UnicastEnded
from rumormill.bcos.wire.channel_packet import ChannelPacket, ChannelType, encode_channel
from rumormill.bcos.wire.p2p_packet import HEADER
from rumormill.core import trace
from rumormill.core.machine import Deliver, Published, Shutdown, Unsubscribe
from rumormill.core.trace import TraceEvent
from rumormill.core.transport import (
    BytesReceived,
    CloseTransport,
    TransportClosed,
    TransportOpened,
    WriteBytes,
)
from tests.helpers.bcos.machine_network import credentials_of
from tests.helpers.bcos.nodes import Nodes, id_of, new_machine


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

"""The byte level: dialing, chunks, closing, partitions, crashes."""

from __future__ import annotations

from typing import Any

import pytest

from rumormill.core.addresses import Endpoint
from rumormill.core.errors import ConfigError, LocalProtocolError
from rumormill.core.transport import (
    BytesReceived,
    CancelTransport,
    CloseTransport,
    Dial,
    Listening,
    OpenTransport,
    RestTransport,
    TransportClosed,
    TransportFailed,
    TransportOpened,
    WriteBytes,
    WriteReady,
)
from rumormill.simulate import Link, Simulation
from rumormill.simulate.toys import Echo
from tests.helpers.core.notebook import Notebook


class Socket(Notebook):
    """Knows what bytes are."""

    def received(self) -> bytes:
        return b"".join(input.data for input in self.inputs(BytesReceived))


def pair(link: Link | None = None, **options: Any) -> tuple[Simulation, Socket, Socket]:
    """Two nodes, ``a`` connected to ``b`` on connection 1, at 1.0 s."""
    simulation = Simulation(1, level="transports", link=link, **options)
    a, b = Socket(), Socket()
    simulation.add_node("a", a)
    simulation.add_node("b", b)
    simulation.command("a", [OpenTransport(7, simulation.address("b"))])
    simulation.run_until(1.0)
    return simulation, a, b


def test_every_node_listens_at_an_address_of_its_own() -> None:
    simulation = Simulation(1, level="transports")
    sockets = [Socket() for _ in range(300)]
    for number, socket in enumerate(sockets):
        simulation.add_node(str(number), socket)
    simulation.add_node("special", Socket(), address="10.9.9.9:1")
    assert simulation.address("0") == "10.0.0.1:4001"
    assert simulation.address("299") == "10.0.1.44:4001"
    assert simulation.address("special") == "10.9.9.9:1"
    assert sockets[0].inputs() == [Listening(("10.0.0.1:4001",))]
    with pytest.raises(LocalProtocolError, match="another node"):
        simulation.add_node("thief", Socket(), address="10.9.9.9:1")


def test_a_dial_takes_a_round_trip_and_the_listener_hears_of_it_half_of_one_later() -> None:
    simulation, a, b = pair(Link(latency=0.1))
    opened = TransportOpened(1, "10.0.0.2:4001", 7)
    assert a.lines[1:] == [(0.2, opened)]
    assert b.lines[1:] == [(0.3, TransportOpened(1, "10.0.0.1:49153", None))]
    assert (simulation.connected("a"), simulation.connected("b")) == (["b"], ["a"])


class Slashes:
    """A notation that says who is to answer, too: ``/host/port/name``."""

    def parse(self, text: str) -> Endpoint:
        _, host, port, *_ = text.split("/")
        return Endpoint(host, int(port))

    def text(self, host: str, port: int) -> str:
        return f"/{host}/{port}"


def test_addresses_are_read_and_written_as_the_family_does() -> None:
    simulation, a, b = pair(addresses=Slashes())
    assert simulation.address("b") == "/10.0.0.2/4001"
    simulation.command("a", [OpenTransport(8, "/10.0.0.2/4001/somebody")])
    simulation.run_until(2.0)
    assert a.inputs(TransportOpened)[-1].dial == 8
    assert b.inputs(TransportOpened)[-1].address.startswith("/10.0.0.1/")


def test_nobody_answers_at_what_is_no_address() -> None:
    simulation, a, _ = pair()
    simulation.command("a", [OpenTransport(8, "nowhere")])
    simulation.run_until(2.0)
    assert a.inputs(TransportFailed) == [TransportFailed(8, "refused")]


def test_connecting_makes_the_node_dial_over_the_given_link() -> None:
    simulation = Simulation(1, level="transports")
    a, b = Echo(b"hello"), Echo()
    simulation.add_node("a", a)
    simulation.add_node("b", b)
    simulation.connect("a", "b", Link(latency=0.3), Link(latency=0.7))
    simulation.run_until(10.0)
    assert [time for time, input in a.events if isinstance(input, TransportOpened)] == [1.0]
    assert list(a.dialed.values()) == [b"hello"]


def test_nobody_there_means_refused() -> None:
    simulation, a, _ = pair()
    simulation.command("a", [OpenTransport(8, "10.0.0.99:4001")])
    simulation.crash("b")
    simulation.command("a", [OpenTransport(9, simulation.address("b"))])
    simulation.run_until(2.0)
    failures = a.inputs(TransportFailed)
    assert failures == [TransportFailed(8, "refused"), TransportFailed(9, "refused")]


def test_a_cancelled_dial_is_never_answered() -> None:
    simulation, a, b = pair()
    simulation.command("a", [OpenTransport(8, simulation.address("b")), CancelTransport(8)])
    simulation.command("a", [CancelTransport(12345)])
    simulation.run_until(30.0)
    assert [input.dial for input in a.inputs(TransportOpened)] == [7]
    assert len(b.inputs(TransportOpened)) == 1


@pytest.mark.parametrize("chunk", [(1, 1), (1, 7), (100, 100), (1460, 65536)])
def test_bytes_arrive_whole_and_in_order_however_they_are_cut(chunk: tuple[int, int]) -> None:
    simulation, _, b = pair(Link(jitter=0.1, loss=0.1, bandwidth=1e6), chunk=chunk)
    data = bytes(number % 251 for number in range(5000))
    simulation.command("a", [WriteBytes(1, data[:1000]), WriteBytes(1, b"")])
    simulation.command("a", [WriteBytes(1, data[1000:])])
    assert simulation.run_until_idle(1e6)
    assert b.received() == data
    sizes = [len(input.data) for input in b.inputs(BytesReceived)]
    assert max(sizes) <= chunk[1]
    assert 0 not in sizes


def test_a_wrong_chunk_is_refused() -> None:
    with pytest.raises(ConfigError, match="chunk"):
        Simulation(1, chunk=(0, 10))


def test_what_is_written_as_soon_as_it_stands_comes_after_the_opening() -> None:
    simulation = Simulation(1, level="transports", link=Link(jitter=0.2, loss=0.3))
    a, b = Echo(b"x" * 100_000), Echo()
    simulation.add_node("a", a)
    simulation.add_node("b", b)
    simulation.command("a", Dial(simulation.address("b")))
    simulation.run_until(100.0)
    assert list(a.dialed.values()) == [b"x" * 100_000]


def test_closing_lets_out_what_was_written_and_tells_both() -> None:
    simulation, a, b = pair(Link(latency=0.1, bandwidth=1000))
    simulation.command("a", [WriteBytes(1, bytes(1000)), CloseTransport(1, "done")])
    simulation.command("b", [WriteBytes(1, b"unheard")])
    simulation.run_until(5.0)
    assert a.lines[-1] == (1.0, TransportClosed(1, "done"))
    assert b.lines[-2:] == [
        (2.1, BytesReceived(1, bytes(1000))),
        (2.1, TransportClosed(1, "closed")),
    ]
    assert simulation.drops == {"disconnected": 1}


def test_writing_to_what_is_closed_is_dropped_and_traced() -> None:
    simulation, _, _ = pair()
    simulation.command("a", [CloseTransport(1, "done"), CloseTransport(1, "twice")])
    simulation.command("a", [WriteBytes(1, b"x"), WriteBytes(99, b"x")])
    assert simulation.drops == {"not_connected": 2}


def test_the_writer_is_told_at_the_water_marks() -> None:
    link = Link(latency=0.0, bandwidth=100, queue=1000, high_water=250, low_water=100)
    simulation, a, _ = pair(link, chunk=(100, 100))
    simulation.command("a", [WriteBytes(1, bytes(400))])
    simulation.run_until(10.0)
    assert a.lines[-2:] == [(1.0, WriteReady(1, False)), (4.0, WriteReady(1, True))]


def test_who_writes_on_regardless_is_reset() -> None:
    simulation, a, b = pair(Link(queue=1000), chunk=(100, 100))
    simulation.command("a", [WriteBytes(1, bytes(5000))])
    simulation.run_until(2.0)
    assert a.inputs(TransportClosed) == [TransportClosed(1, "send_backlog")]
    assert b.inputs(TransportClosed) == [TransportClosed(1, "send_backlog")]
    assert simulation.drops["link_full"] == 1
    assert b.received() == b""


def test_a_partition_stalls_and_goes_on() -> None:
    simulation, _, b = pair(Link(latency=0.1))
    simulation.partition([["a"]])
    simulation.command("a", [WriteBytes(1, b"held")])
    simulation.run_until(10.0)
    assert b.received() == b""
    simulation.heal()
    simulation.run_until(11.0)
    assert b.lines[-1] == (10.1, BytesReceived(1, b"held"))


def test_a_long_partition_resets_both_sides_and_they_stay_apart() -> None:
    simulation, a, b = pair(tcp_timeout=20.0)
    simulation.partition([["a"]])
    simulation.run_until(30.0)
    simulation.heal()
    simulation.run_until(40.0)
    assert a.lines[-1] == (21.0, TransportClosed(1, "timeout"))
    assert b.lines[-1] == (21.0, TransportClosed(1, "timeout"))


def test_a_dial_into_a_partition_times_out() -> None:
    simulation, a, _ = pair(connect_timeout=10.0)
    simulation.partition([["a"]])
    simulation.command("a", [OpenTransport(8, simulation.address("b"))])
    simulation.run_until(30.0)
    assert (11.0, TransportFailed(8, "timeout")) in a.lines


def test_a_dial_into_a_partition_gets_through_when_it_heals() -> None:
    simulation, a, _ = pair(Link(latency=0.1), connect_timeout=10.0)
    simulation.partition([["a"]])
    simulation.command("a", [OpenTransport(8, simulation.address("b"))])
    simulation.run_until(5.0)
    simulation.heal()
    simulation.run_until(30.0)
    assert (5.2, TransportOpened(2, "10.0.0.2:4001", 8)) in a.lines
    assert a.inputs(TransportFailed) == []


def test_a_partition_in_the_middle_of_the_handshake_holds_the_rest_of_it() -> None:
    simulation, _, b = pair(Link(latency=0.1))
    simulation.command("a", [OpenTransport(8, simulation.address("b"))])
    simulation.run_until(1.25)  # it stands at a, not yet at b
    simulation.partition([["a"]])
    simulation.command("a", [WriteBytes(2, b"early")])
    simulation.run_until(3.0)
    assert len(b.inputs(TransportOpened)) == 1
    simulation.heal()
    simulation.run_until(4.0)
    assert [type(input) for _, input in b.lines[-2:]] == [TransportOpened, BytesReceived]


def test_a_crash_resets_the_others_and_a_silent_one_times_out() -> None:
    simulation, a, _ = pair(Link(latency=0.1), tcp_timeout=20.0)
    simulation.crash("b")
    simulation.run_until(2.0)
    assert a.lines[-1] == (1.1, TransportClosed(1, "reset"))
    simulation, a, _ = pair(Link(latency=0.1), tcp_timeout=20.0, connect_timeout=10.0)
    simulation.crash("b", silent=True)
    simulation.command("a", [OpenTransport(8, simulation.address("b"))])
    simulation.run_until(30.0)
    assert a.lines[-2:] == [
        (11.0, TransportFailed(8, "timeout")),
        (21.0, TransportClosed(1, "timeout")),
    ]


def test_a_crash_in_the_middle_of_the_handshake_resets_the_dialer() -> None:
    simulation, a, _ = pair(Link(latency=0.1))
    simulation.command("a", [OpenTransport(8, simulation.address("b"))])
    simulation.run_until(1.25)
    simulation.crash("b")
    simulation.run_until(2.0)
    assert (1.4, TransportClosed(2, "reset")) in a.lines


def test_what_a_crashed_node_dialed_is_forgotten() -> None:
    simulation, _, b = pair()
    simulation.command("a", [OpenTransport(8, simulation.address("b"))])
    simulation.crash("a")
    again = Socket()
    simulation.restart("a", again)
    simulation.run_until(5.0)
    assert again.inputs() == [Listening(("10.0.0.1:4001",))]
    assert len(b.inputs(TransportOpened)) == 1


def test_disconnecting_resets_every_connection_between_two() -> None:
    simulation, a, b = pair()
    simulation.command("b", [OpenTransport(3, simulation.address("a"))])
    simulation.run_until(2.0)
    simulation.disconnect("a", "b", "cable cut")
    assert [input.connection for input in a.inputs(TransportClosed)] == [1, 2]
    assert [input.connection for input in b.inputs(TransportClosed)] == [1, 2]
    with pytest.raises(LocalProtocolError, match="are not connected"):
        simulation.disconnect("a", "b")


def test_levels_do_not_mix_and_tcp_needs_a_reliable_link() -> None:
    simulation, _, _ = pair()
    simulation.add_node("c", Socket(), level="peers")
    with pytest.raises(LocalProtocolError, match="same level"):
        simulation.connect("a", "c")
    simulation.connect("a", "b", Link(reliable=False))
    with pytest.raises(LocalProtocolError, match="reliable"):
        simulation.command("a", [OpenTransport(8, simulation.address("b"))])
    with pytest.raises(ConfigError, match="level"):
        simulation.add_node("d", Socket(), level="bytes")  # type: ignore[call-overload]


# ---- rests


def test_while_a_transport_rests_no_bytes_of_it_are_handed_on_and_then_all_of_them() -> None:
    simulation, a, b = pair(Link(latency=0.1))
    simulation.command("b", [RestTransport(1, 1.0), WriteBytes(1, b"the other way")])
    simulation.command("a", [WriteBytes(1, b"one "), WriteBytes(1, b"two")])
    simulation.run_until(1.9)
    assert (a.received(), b.received()) == (b"the other way", b"")
    simulation.run_until(2.5)
    assert b.received() == b"one two"
    assert {time for time, input in b.lines if isinstance(input, BytesReceived)} == {2.0}


def test_a_connection_that_ends_while_it_rests_is_seen_to_end_after_its_bytes() -> None:
    simulation, _, b = pair(Link(latency=0.1))
    simulation.command("b", [RestTransport(1, 1.0)])
    simulation.command("a", [WriteBytes(1, b"last words"), CloseTransport(1, "done")])
    simulation.run_until(1.9)
    assert b.inputs(TransportClosed) == []
    simulation.run_until(3.0)
    assert b.received() == b"last words"
    assert b.inputs()[-1] == TransportClosed(1, "closed")


def test_a_rest_of_a_transport_that_is_not_there_is_nothing() -> None:
    simulation, _, b = pair()
    simulation.command("b", [RestTransport(99, 1.0)])
    simulation.command("a", [WriteBytes(1, b"on time")])
    simulation.run_until(1.5)
    assert b.received() == b"on time"


# ---- credentials and services


def secure_pair() -> tuple[Simulation, Socket, Socket]:
    simulation = Simulation(1, level="transports")
    a, b = Socket(), Socket()
    simulation.add_node("a", a, credentials=b"certificate of a")
    simulation.add_node("b", b, credentials=b"certificate of b", services={"channel": 20200})
    return simulation, a, b


def test_each_end_sees_the_credentials_of_the_other() -> None:
    simulation, a, b = secure_pair()
    simulation.command("a", [OpenTransport(7, simulation.address("b"))])
    simulation.run_until(1.0)
    ours, theirs = a.inputs(TransportOpened)[0], b.inputs(TransportOpened)[0]
    assert (ours.credentials, theirs.credentials) == (b"certificate of b", b"certificate of a")
    assert (ours.service, theirs.service) == ("", "")


def test_a_service_has_a_port_of_its_own_and_its_node_is_told() -> None:
    simulation, a, b = secure_pair()
    assert simulation.address("b", "channel") == "10.0.0.2:20200"
    simulation.command("a", [OpenTransport(7, "10.0.0.2:20200")])
    simulation.run_until(1.0)
    assert b.inputs(TransportOpened)[0].service == "channel"
    assert a.inputs(TransportOpened) == [
        TransportOpened(1, "10.0.0.2:20200", 7, "", b"certificate of b")
    ]
    assert b.inputs(Listening) == [Listening(("10.0.0.2:4001",))]


def test_a_node_keeps_its_credentials_and_services_when_it_is_restarted() -> None:
    simulation, a, _ = secure_pair()
    simulation.crash("b")
    simulation.restart("b", again := Socket())
    simulation.command("a", [OpenTransport(7, simulation.address("b", "channel"))])
    simulation.run_until(1.0)
    assert a.inputs(TransportOpened)[0].credentials == b"certificate of b"
    assert again.inputs(TransportOpened)[0].service == "channel"


def test_a_service_that_is_not_there_and_a_port_in_use_are_refused() -> None:
    simulation, *_ = secure_pair()
    with pytest.raises(LocalProtocolError, match="no service 'other'"):
        simulation.address("b", "other")
    with pytest.raises(LocalProtocolError, match="4001 of 'c' is in use"):
        simulation.add_node("c", Socket(), services={"channel": 4001})
    with pytest.raises(LocalProtocolError, match="another node"):
        simulation.add_node("d", Socket(), address="10.0.0.2:20200")


def test_other_levels_have_no_credentials() -> None:
    with pytest.raises(LocalProtocolError, match="not for the level 'peers'"):
        Simulation(1).add_node("a", Socket(), credentials=b"certificate")


def test_a_service_takes_no_address_from_the_next_node() -> None:
    simulation, *_ = secure_pair()
    simulation.add_node("c", Socket())
    assert simulation.address("c") == "10.0.0.3:4001"

"""The dial list: attempts, time-outs, and coming back."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from rumormill.bcos.node.dial_list import DIAL_TIMEOUT, SPEAKS_WITHIN
from rumormill.bcos.wire.p2p_packet import Module, P2PPacket, encode_p2p
from rumormill.core import trace
from rumormill.core.machine import Shutdown
from rumormill.core.transport import (
    BytesReceived,
    CancelTransport,
    CloseTransport,
    Dial,
    DialEnded,
    OpenTransport,
    TransportClosed,
    TransportFailed,
    TransportOpened,
)
from tests.helpers.bcos.machine_network import credentials_of
from tests.helpers.bcos.nodes import Nodes, address_of, id_of, new_machine


def ended(effects: list[Any]) -> list[DialEnded]:
    return [effect for effect in effects if isinstance(effect, DialEnded)]


def test_the_first_attempt_tells_the_transports_reason_in_a_sentence() -> None:
    machine = new_machine("a")
    machine.handle(Dial("b:30300"), 0.0)
    effects = machine.handle(TransportFailed(1, "certificate_expired"), 1.0)
    sentence = "could not connect to b:30300: its certificate has expired"
    assert ended(effects) == [DialEnded("b:30300", None, sentence)]
    assert machine.sizes()["dials"] == 0


def test_an_address_that_is_kept_is_dialed_again_and_again_with_growing_delays() -> None:
    network = Nodes()
    network.start("a")
    network.dial("a", "b")
    network.run(120.0)
    gaps = [late - early for early, late in pairwise(when for when, _, _ in network.dials)]
    assert 1.0 <= gaps[0] <= 1.3
    assert all(10.0 <= gap <= 12.1 for gap in gaps[5:])
    assert len(network.of("a", DialEnded)) == 1
    assert len(network.traced("a", trace.DIAL_SCHEDULED)) == len(network.dials)


def test_an_address_that_is_not_kept_is_dialed_once() -> None:
    network = Nodes()
    network.start("a")
    network.dial("a", "b", keep=False)
    network.run(120.0)
    assert len(network.dials) == 1


def test_a_connection_that_takes_too_long_is_cancelled() -> None:
    machine = new_machine("a")
    machine.handle(Dial("b:30300"), 0.0)
    effects = machine.wake(DIAL_TIMEOUT)
    assert CancelTransport(1) in effects
    assert ended(effects)[0].problem == "could not connect to b:30300: no connection within 50 s"
    late = machine.handle(TransportOpened(5, "b:30300", 1, "", credentials_of(2)), 51.0)
    assert late == [CloseTransport(5, "cancelled")]


def test_an_address_is_never_dialed_twice_at_once() -> None:
    machine = new_machine("a")
    machine.handle(Dial("b:30300", True), 0.0)
    assert machine.handle(Dial("b:30300", True), 1.0) == []
    machine.handle(TransportOpened(5, "b:30300", 1, "", credentials_of(2)), 2.0)
    effects = machine.wake(2.0 + SPEAKS_WITHIN)
    assert ended(effects) == [DialEnded("b:30300", id_of("b"), "")]


def test_a_node_is_reached_at_its_first_word() -> None:
    machine = new_machine("a")
    machine.handle(Dial("b:30300"), 0.0)
    effects = machine.handle(TransportOpened(5, "b:30300", 1, "", credentials_of(2)), 2.0)
    assert ended(effects) == []
    first_word = encode_p2p(P2PPacket(Module.TOPIC, 1, 0, b"0"))
    effects = machine.handle(BytesReceived(5, first_word), 2.1)
    assert ended(effects) == [DialEnded("b:30300", id_of("b"), "")]
    assert ended(machine.wake(2.0 + SPEAKS_WITHIN)) == []


@pytest.mark.parametrize("keep", [True, False])
def test_who_hangs_up_without_a_word_was_not_reached_and_may_be_another_port(keep: bool) -> None:
    machine = new_machine("a")
    machine.handle(Dial("b:20200", keep), 0.0)
    machine.handle(TransportOpened(5, "b:20200", 1, "", credentials_of(2)), 2.0)
    (end,) = ended(machine.handle(TransportClosed(5, "closed"), 2.1))
    assert end.peer is None
    assert end.problem == (
        "could not connect to b:20200: it hung up before it said anything; "
        "is it the port for SDKs, or do its lists keep us out?"
    )
    assert machine.sizes()["dials"] == keep


def test_a_node_that_has_dialed_us_is_not_dialed() -> None:
    network = Nodes()
    network.start("ab")
    network.dial("a", "b")
    network.run(1.0)
    network.dial("b", "a")
    network.run(1.0)
    network.sever("a", "b")
    network.run(60.0)
    (first, second) = (network.linked("a"), network.linked("b"))
    assert (first, second) == ("b", "a")
    dials = len(network.dials)
    network.run(600.0)
    assert len(network.dials) == dials


def test_two_addresses_of_one_node_are_both_reached_by_one_link() -> None:
    network = Nodes()
    network.start("ab")
    network._listeners["b:30399"] = ("b", "")
    network.feed("a", Dial(address_of("b"), True), Dial("b:30399", True))
    network.run(60.0)
    assert [each.peer for each in network.of("a", DialEnded)] == [id_of("b")] * 2
    assert network.links("a") == ["b"]
    assert len(network.dials) == 2


def test_a_dial_that_is_asked_for_again_is_answered_at_once_when_there_is_a_link() -> None:
    network = Nodes()
    network.start("ab")
    network.dial("a", "b")
    network.run(1.0)
    network.dial("a", "b")
    assert [each.peer for each in network.of("a", DialEnded)] == [id_of("b")] * 2
    assert len(network.dials) == 1


def test_shutdown_cancels_what_is_being_dialed() -> None:
    machine = new_machine("a")
    machine.handle(Dial("b:30300", True), 0.0)
    effects = machine.handle(Shutdown(), 1.0)
    assert CancelTransport(1) in effects
    assert ended(effects)[0].problem.endswith("the node is shutting down")
    assert not any(isinstance(each, OpenTransport) for each in machine.wake(1000.0))

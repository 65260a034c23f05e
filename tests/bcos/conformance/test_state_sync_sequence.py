"""The drawing of the state sync in the protocol's documents, packet by packet."""

from __future__ import annotations

from rumormill.bcos.wire.p2p_packet import P2PPacket
from tests.helpers.bcos.nodes import Nodes, id_of

TOPIC_SEQ_1 = bytes.fromhex("00000011 0000 00000002 0001 00000000") + b"1"
QUESTION = bytes.fromhex("00000010 0000 00000002 0002 00000002")
LIST = bytes.fromhex("0000001a 0000 fffffffe 0003 00000002") + b"1\tcpptopic"


def connected() -> Nodes:
    network = Nodes()
    network.start("ab")
    network.dial("a", "b")
    network.run(1.0)
    network.sent.clear()
    return network


def test_the_drawing_of_the_state_sync() -> None:
    network = connected()
    network.subscribe("b", "cpptopic")
    network.run(1.0)
    assert [(sent.source, sent.destination, sent.raw) for sent in network.sent] == [
        ("b", "a", TOPIC_SEQ_1),  # B: tells its seq
        ("a", "b", QUESTION),  # A: it has changed, asks for the state
        ("b", "a", LIST),  # B: answers with its state
    ]
    # A: has the state and the seq of B now
    assert list(network.node("a").peers.holders("cpptopic")) == [id_of("b")]
    network.sent.clear()
    network.run(10.0)
    assert {sent.raw for sent in network.between("b", "a")} == {TOPIC_SEQ_1}
    assert QUESTION not in {sent.raw for sent in network.sent}


def test_the_seq_is_told_to_all_nodes_every_five_seconds() -> None:
    network = Nodes()
    network.start("abc")
    network.dial("a", "b", "c")
    network.run(1.0)
    network.sent.clear()
    network.run(10.0)
    assert [sent.destination for sent in network.sent if sent.source == "a"] == list("bcbc")
    assert {sent.p2p for sent in network.sent} == {P2PPacket(2, 1, 0, b"0")}

"""The drawing of how two nodes connect in the protocol's documents, step by step.

What TLS does itself is below the machine: it gets the certificate of the other end when the
handshake is done. There is no handshake of nodes after it: the first packet is a topic seq.
"""

from __future__ import annotations

from rumormill.core import trace
from rumormill.core.transport import (
    BytesReceived,
    Dial,
    DialEnded,
    OpenTransport,
    TransportOpened,
    WriteBytes,
)
from tests.helpers.bcos.machine_network import credentials_of
from tests.helpers.bcos.nodes import address_of, id_of, new_machine

TOPIC_SEQ_0 = bytes.fromhex("00000011 0000 00000002 0001 00000000") + b"0"


def test_the_drawing_of_a_connection() -> None:
    a, b = new_machine("a"), new_machine("b")  # both: load key and certificate

    # A to B: connect
    (dial,) = a.handle(Dial(address_of("b")), 0.0)
    assert dial == OpenTransport(1, address_of("b"))

    # B to A: connected; both: TLS handshake; A: the key in the certificate is the node id
    effects = a.handle(TransportOpened(7, address_of("b"), 1, "", credentials_of(2)), 0.1)
    opened, joined, hello, sent = effects
    assert isinstance(opened, trace.TraceEvent)
    assert (opened.event, opened.peer) == (trace.CONNECTION_OPENED, id_of("b"))
    assert isinstance(joined, trace.TraceEvent)
    assert (joined.event, joined.peer) == (trace.PEER_JOINED, id_of("b"))
    assert hello == WriteBytes(7, TOPIC_SEQ_0)
    assert isinstance(sent, trace.TraceEvent)
    assert (sent.event, sent.fields["size"]) == (trace.PACKET_SENT, len(TOPIC_SEQ_0))

    # B: the key in the certificate is the node id
    effects = b.handle(TransportOpened(3, "a:49152", None, "", credentials_of(1)), 0.1)
    opened, joined, hello, _ = effects
    assert isinstance(joined, trace.TraceEvent)
    assert (joined.event, joined.peer) == (trace.PEER_JOINED, id_of("a"))
    assert hello == WriteBytes(3, TOPIC_SEQ_0)

    # both: the TLS connection stands
    ended = a.handle(BytesReceived(7, TOPIC_SEQ_0), 0.2)[-1]
    assert ended == DialEnded(address_of("b"), id_of("b"), "")

    assert list(a.peers.connected()) == [id_of("b")]
    assert list(b.peers.connected()) == [id_of("a")]

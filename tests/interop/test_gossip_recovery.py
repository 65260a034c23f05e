"""Messages that can only have come by gossip: IHAVE, IWANT, and the message as the answer.

Of three nodes in a row (``row_of_three``), the last wants no mesh at all. What the first publishes
reaches the peer in the middle by their mesh, and the last only if it asks for it; what the last
publishes goes to nobody, and reaches the peer only if that asks for it.
"""

from __future__ import annotations

import pytest

from rumormill.libp2p.pubsub.topics.message_id import MessageIdFunction, message_id_function
from rumormill.libp2p.wire import IWant
from tests.helpers.interop import interop_matrix as matrix
from tests.helpers.interop.conversation import StartPeer, row_of_three
from tests.helpers.interop.dialects import Dialect, dialect
from tests.helpers.interop.interop_matrix import OURS, THEIRS, row
from tests.helpers.interop.our_node import PATIENCE, TOPIC, OpenNode, OurNode, contents
from tests.helpers.interop.peer_process import numbered_payloads

COUNT = 5

DIALECTS = {
    "rust": [
        dialect("rust"),
        dialect("rust", message_id="origin_bytes"),
        dialect("rust", signing="StrictNoSign"),
    ],
    "js": [
        dialect("js"),
        dialect("js", message_id="origin_bytes"),
        dialect("js", signing="StrictNoSign"),
    ],
    "py": [dialect("py"), dialect("py", signing="StrictNoSign")],
    "go": [dialect("go"), dialect("go", signing="StrictNoSign")],
}


def every_dialect(*, gossiping_peer: bool) -> pytest.MarkDecorator:
    """Each peer with each kind of ids."""
    cases = [
        pytest.param(peer, speech, id=f"{peer}-{speech.message_id}")
        for peer, dialects in DIALECTS.items()
        for speech in dialects
        # py's cache of messages goes by author and number, whatever the ids are made of.
        if not (gossiping_peer and peer == "py" and speech.signing == "StrictNoSign")
    ]
    return pytest.mark.parametrize(("peer", "speech"), cases)


@row(matrix.RECOVERY, THEIRS)
@every_dialect(gossiping_peer=True)
async def test_we_recover_what_a_peer_only_told_us_of(
    open_node: OpenNode, start_peer: StartPeer, peer: str, speech: Dialect
) -> None:
    first, other, last = await row_of_three(open_node, start_peer, speech)
    payloads = numbered_payloads(COUNT, size=500)
    receipts = await first.publish(*payloads)
    assert all(receipt.peers == (other.id,) for receipt in receipts)

    assert contents(await last.received(COUNT)) == payloads
    ids = {receipt.id for receipt in receipts}
    assert last.transcript.told(ours=False) >= ids
    assert last.transcript.wanted(ours=True) == ids
    asked_before_it_came(last, message_id_function(speech.message_id))
    assert last.messages.pending == 0


def asked_before_it_came(node: OurNode, message_id: MessageIdFunction) -> None:
    """Every message that came was asked for before."""
    asked: set[bytes] = set()
    for line in node.transcript.lines:
        if line.ours and line.rpc.control is not None:
            asked |= {each for iwant in line.rpc.control.of(IWant) for each in iwant.message_ids}
        elif not line.ours:
            assert {message_id(message) for message in line.rpc.messages} <= asked


@row(matrix.RECOVERY, OURS)
@every_dialect(gossiping_peer=False)
async def test_a_peer_recovers_what_we_only_told_it_of(
    open_node: OpenNode, start_peer: StartPeer, peer: str, speech: Dialect
) -> None:
    first, other, last = await row_of_three(open_node, start_peer, speech)
    payloads = numbered_payloads(COUNT, size=500)
    receipts = await last.publish(*payloads)
    assert all(receipt.peers == () for receipt in receipts), "it went to nobody"

    there = await other.messages(TOPIC, COUNT, timeout=PATIENCE)
    assert sorted(message["data"] for message in there) == payloads
    ids = {receipt.id for receipt in receipts}
    assert last.transcript.told(ours=True) == ids
    assert last.transcript.wanted(ours=False) == ids
    assert first.transcript.wanted(ours=True) == set()
    assert other.pending("message") == []

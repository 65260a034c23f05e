"""Messages in parts with peers that have them: what they are told, and the message of the tests."""

from __future__ import annotations

import base64
from collections.abc import Sequence

from rumormill.libp2p.gossipsub.partial import PartialMessage, PartList
from rumormill.libp2p.live.partial_topic import PartialTopic
from tests.helpers.interop.our_node import PATIENCE, OurNode
from tests.helpers.interop.peer_process import RouterPeer

CELLS = "cells"
GROUP = b"block 7"
PARTS = [bytes([65 + number]) * 500 for number in range(20)]
EVEN, ODD = range(0, len(PARTS), 2), range(1, len(PARTS), 2)


class PartsPeer(RouterPeer):
    """A node whose router has messages in parts."""

    async def publish_partial(
        self, topic: str, group: bytes, parts: Sequence[bytes | None]
    ) -> None:
        """Offer a message in parts, as ``PartList`` has them; None stands for what it lacks."""
        encoded = [part and base64.b64encode(part).decode() for part in parts]
        group_base64 = base64.b64encode(group).decode()
        await self._command(
            "publish_partial", topic=topic, group_base64=group_base64, parts=encoded
        )

    async def assembled(self, topic: str, group: bytes, *, timeout: float = 30) -> list[bytes]:
        """Wait until peers have brought it the last part of a message; returns all parts."""
        fields = {"topic": topic, "group_base64": base64.b64encode(group).decode()}
        told = await self.expect("parts", complete=True, timeout=timeout, **fields)
        return [base64.b64decode(part) for part in told["parts"]]


def empty(group_id: bytes) -> PartList:
    """A message of which we have nothing yet."""
    return PartList(group_id, len(PARTS))


def only(*numbers: int) -> PartList:
    """A message of which we have these parts."""
    message = empty(GROUP)
    for number in numbers:
        message.add(number, PARTS[number])
    return message


def theirs(*numbers: int) -> list[bytes | None]:
    """The same for a peer in another language."""
    return [part if number in numbers else None for number, part in enumerate(PARTS)]


async def complete(cells: PartialTopic) -> PartList:
    """Wait until we have a message whole."""
    while True:
        news = await cells.get(timeout=PATIENCE)
        message: PartialMessage | None = news.message
        assert isinstance(message, PartList)
        if message.complete:
            return message


async def nobody_is_blamed(node: OurNode, peer: PartsPeer) -> None:
    """Neither side has anything to say against the other."""
    assert node.network.counters["rejected"] == node.network.counters["protocol_error"] == 0
    assert node.network.scores()[peer.id].total >= 0
    assert (await peer.score_of(node.id))["score"] >= 0
    assert peer.pending("trouble") == []

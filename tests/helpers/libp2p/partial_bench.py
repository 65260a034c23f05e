"""A node with partial messages on the bench, and peers that say exactly what a test wants."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from rumormill.core.machine import Peer, PeerJoined
from rumormill.core.protobuf import bytes_field, fields
from rumormill.libp2p.effects import FromRouter
from rumormill.libp2p.gossipsub import GossipsubParameters
from rumormill.libp2p.gossipsub.features import MESHSUB_1_3
from rumormill.libp2p.gossipsub.partial import (
    MakeMessage,
    OpenPartial,
    PartialNews,
    PartialPublished,
    PartList,
    PublishPartial,
)
from rumormill.libp2p.wire import ControlKinds, Rpc, length_prefixed
from rumormill.libp2p.wire.dont_want import IDONTWANT
from rumormill.libp2p.wire.extensions import (
    EXTENSIONS,
    PARTIAL_MESSAGES,
    Extensions,
    PartialRpc,
    SubscriptionOptions,
    decode_partial,
    encode_options,
    encode_partial,
)
from rumormill.libp2p.wire.gossip import GRAFT, IHAVE, IWANT, PRUNE
from rumormill.libp2p.wire.rpc import Subscription, subscription_field
from tests.helpers.libp2p.fake_standing import FakeStanding, JudgingRouter
from tests.helpers.libp2p.workbench import Workbench

KINDS = ControlKinds(IHAVE, IWANT, GRAFT, PRUNE, IDONTWANT, EXTENSIONS)
WANTS = SubscriptionOptions(requests=True, supports=True)
GIVES = SubscriptionOptions(requests=False, supports=True)
NEITHER = SubscriptionOptions()
CELLS = [b"cell %d" % number for number in range(8)]


class PartialBench(Workbench):
    """Our node, with the topic ``t`` open for parts."""

    def __init__(
        self,
        *,
        request: bool = True,
        make: MakeMessage | None = None,
        subscribe: bool = True,
        pubsub: dict[str, Any] | None = None,
        **parameters: Any,
    ) -> None:
        self.standing = FakeStanding()
        self.partial_router = JudgingRouter(
            self.standing, GossipsubParameters(partial_messages=True, **parameters)
        )
        super().__init__(self.partial_router, kinds=KINDS, **(pubsub or {}))
        self.open("t", request, make)
        if subscribe:
            self.subscribe("t")

    @property
    def penalties(self) -> list[tuple[Peer, str]]:
        return [(peer, reason) for peer, reason, _ in self.standing.penalties]

    # ---- the application

    def open(self, topic: str, request: bool = True, make: MakeMessage | None = None) -> None:
        self.feed(OpenPartial(topic, request, make))

    def offer(self, message: PartList, topic: str = "t") -> tuple[Peer, ...]:
        """Publish a message in parts; whom that concerned."""
        effects = self.feed(PublishPartial(topic, message))
        (told,) = [each.news for each in effects if isinstance(each, FromRouter)]
        assert isinstance(told, PartialPublished)
        return told.peers

    def news(self) -> list[PartialNews]:
        told = [each.news for each in self.of(FromRouter)]
        return [each for each in told if isinstance(each, PartialNews)]

    # ---- peers

    def partner(
        self, peer: Peer, options: SubscriptionOptions = WANTS, *topics: str, knows: bool = True
    ) -> Peer:
        """A peer of 1.3 that has the extension, unless told otherwise, and listens to ``t``."""
        self.feed(PeerJoined(peer, MESHSUB_1_3))
        control = bytes_field(6, EXTENSIONS.encode(Extensions((PARTIAL_MESSAGES,))))
        words = subscriptions(options, topics or ("t",))
        self.say_bytes(peer, length_prefixed(words + (bytes_field(3, control) if knows else b"")))
        return peer

    def says_options(self, peer: Peer, options: SubscriptionOptions, topic: str = "t") -> None:
        self.say_bytes(peer, length_prefixed(subscriptions(options, (topic,))))

    def tells(
        self,
        peer: Peer,
        group_id: bytes,
        data: bytes | None = None,
        metadata: bytes | None = None,
        topic: str = "t",
    ) -> None:
        """A peer says something of a message in parts."""
        inside = encode_partial(PartialRpc(topic, group_id, data, metadata))
        self.say_bytes(peer, length_prefixed(bytes_field(PARTIAL_MESSAGES, inside)))

    def got(self, peer: Peer) -> list[PartialRpc]:
        """What the peer was told of parts since this was last asked."""
        return [each for rpc in self.took(peer) for each in of_parts(rpc)]


def subscriptions(options: SubscriptionOptions, topics: Iterable[str]) -> bytes:
    other = encode_options(options)
    return b"".join([subscription_field(Subscription(True, each, other)) for each in topics])


def of_parts(rpc: Rpc) -> list[PartialRpc]:
    """What an RPC says of parts; never more than once."""
    raw = rpc.other
    found = [
        decode_partial(raw[start:end])
        for number, _, start, end in fields(raw, 0, len(raw))
        if number == PARTIAL_MESSAGES
    ]
    assert len(found) <= 1, "go and rust read one of them in an RPC"
    return found


def whole(group_id: bytes = b"g", **options: Any) -> PartList:
    return PartList.whole(group_id, CELLS, **options)


def some(numbers: Sequence[int], group_id: bytes = b"g", **options: Any) -> PartList:
    """A message of which we have the parts of these numbers."""
    message = PartList(group_id, len(CELLS), **options)
    for number in numbers:
        message.add(number, CELLS[number])
    return message


def packed(*numbers: int) -> bytes:
    """These parts as they are sent."""
    parts = some(numbers).parts_for(b"", most_bytes=1 << 20)
    assert parts is not None
    return parts.data


def bits(*numbers: int) -> bytes:
    """Metadata of who has these parts."""
    return bytes((sum(1 << number for number in numbers),))


ALL, NONE = bits(*range(8)), bits()
EVEN, ODD = bits(0, 2, 4, 6), bits(1, 3, 5, 7)

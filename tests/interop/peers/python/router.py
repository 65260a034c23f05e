"""py-libp2p's routers as the command line asks for them."""

# mypy: ignore-errors
# It runs in an environment of its own, with packages that the project does not have.

from __future__ import annotations

import hashlib
from argparse import Namespace
from collections.abc import Callable

from libp2p.abc import IHost
from libp2p.peer.id import ID
from libp2p.pubsub import floodsub, gossipsub
from libp2p.pubsub.pb import rpc_pb2
from libp2p.pubsub.pubsub import Pubsub, get_peer_and_seqno_msg_id

PROTOCOLS = [gossipsub.PROTOCOL_ID_V12, gossipsub.PROTOCOL_ID_V11, gossipsub.PROTOCOL_ID]
DEFAULTS = {
    "protocols": PROTOCOLS,
    "degree": 6,
    "degree_low": 5,
    "degree_high": 12,
    "heartbeat_interval": 1,
    # They stretch the heartbeat to a minute, drop what a node publishes itself above ten messages
    # a second, and take peers that share one address for an attack.
    "adaptive_gossip_enabled": False,
    "spam_protection_enabled": False,
    "eclipse_protection_enabled": False,
}


def make_router(settings: Namespace) -> floodsub.FloodSub | gossipsub.GossipSub:
    if settings.router == "floodsub":
        return floodsub.FloodSub(protocols=[floodsub.PROTOCOL_ID], **settings.options)
    return gossipsub.GossipSub(**{**DEFAULTS, **settings.options})


def sha256(message: rpc_pb2.Message) -> bytes:
    return hashlib.sha256(message.data).digest()


class TalkingPubsub(Pubsub):
    """Tells what it sees at once: the library's own queue of messages has 32 places."""

    def __init__(
        self,
        host: IHost,
        settings: Namespace,
        *,
        on_message: Callable[[rpc_pb2.Message], None],
        on_subscription: Callable[[ID, str, bool], None],
    ) -> None:
        signed = settings.policy == "StrictSign"
        anonymous = settings.policy == "StrictNoSign"
        ids = {"origin_bytes": get_peer_and_seqno_msg_id, "sha256": sha256}
        profile = settings.message_id or ("sha256" if anonymous else "origin_bytes")
        super().__init__(
            host, make_router(settings), strict_signing=signed, msg_id_constructor=ids[profile]
        )
        self.copies = 0
        self._anonymous = anonymous
        self._own_message: rpc_pb2.Message | None = None
        self._on_message = on_message
        self._on_subscription = on_subscription

    async def publish(self, topic: str, data: bytes) -> None:
        if not self._anonymous:
            await super().publish(topic, data)
            return
        # The library's own way without a signature still names author and number.
        self._own_message = rpc_pb2.Message(data=data, topicIDs=[topic])
        if isinstance(self.router, gossipsub.GossipSub):
            # To it, all messages without author and number are one that changes its content.
            self.router.equivocation_detection.pop(b"", None)
        await self.push_msg(self.my_id, self._own_message)

    async def push_msg(self, msg_forwarder: ID, msg: rpc_pb2.Message) -> None:
        if msg_forwarder != self.my_id:
            self.copies += 1
        await super().push_msg(msg_forwarder, msg)

    def notify_subscriptions(self, publish_message: rpc_pb2.Message) -> None:
        own = publish_message.from_id == self.my_id.to_bytes()
        if not own and publish_message is not self._own_message:
            self._on_message(publish_message)

    def handle_subscription(self, origin_id: ID, sub_message: rpc_pb2.RPC.SubOpts) -> None:
        super().handle_subscription(origin_id, sub_message)
        self._on_subscription(origin_id, sub_message.topicid, sub_message.subscribe)

    def subscribers(self, topic: str) -> set[ID]:
        return self.peer_topics.get(topic, set())

    def mesh(self, topic: str) -> set[ID]:
        if isinstance(self.router, gossipsub.GossipSub):
            return self.router.mesh.get(topic, set())
        return self.subscribers(topic)

    def longest_queue(self) -> int:
        return max((len(queue) for queue in self.peer_queues.values()), default=0)

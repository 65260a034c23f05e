"""The pubsub wire: frames, RPCs, messages, their signatures, and kinds of control."""

from rumormill.libp2p.wire.control import Budget, Control, ControlKind, ControlKinds, decode_ids
from rumormill.libp2p.wire.frames import FrameReader, length_prefixed
from rumormill.libp2p.wire.gossip import (
    GOSSIP_KINDS,
    GRAFT,
    IHAVE,
    IWANT,
    PRUNE,
    ExchangedPeer,
    Graft,
    IHave,
    IWant,
    Prune,
)
from rumormill.libp2p.wire.limits import RpcLimits
from rumormill.libp2p.wire.merging import each_id_once, newest_of_topic
from rumormill.libp2p.wire.message import WireMessage, build_message, decode_message
from rumormill.libp2p.wire.rpc import Rpc, Subscription, decode_rpc, message_frame
from rumormill.libp2p.wire.signing import Author, SigningPolicy, signed_message, verify

__all__ = [
    "GOSSIP_KINDS", "GRAFT", "IHAVE", "IWANT", "PRUNE", "Author", "Budget", "Control",
    "ControlKind", "ControlKinds", "ExchangedPeer", "FrameReader", "Graft", "IHave", "IWant",
    "Prune", "Rpc", "RpcLimits", "SigningPolicy", "Subscription", "WireMessage", "build_message",
    "decode_ids", "decode_message", "decode_rpc", "each_id_once", "length_prefixed",
    "message_frame", "newest_of_topic", "signed_message", "verify",
]  # fmt: skip

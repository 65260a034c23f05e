"""A whole RPC as bytes: what a test's peer says. A node packs what waits instead."""

from __future__ import annotations

from rumormill.core.protobuf import bytes_field
from rumormill.libp2p.wire import GOSSIP_KINDS, Control, ControlKinds, Rpc
from rumormill.libp2p.wire.rpc import subscription_field


def encode_rpc(rpc: Rpc, kinds: ControlKinds = GOSSIP_KINDS) -> bytes:
    """An RPC without a length prefix; fields in the order of their numbers."""
    parts = [subscription_field(each) for each in rpc.subscriptions]
    parts += [bytes_field(2, message.raw) for message in rpc.messages]
    if rpc.control is not None:
        parts.append(bytes_field(3, encode_control(rpc.control, kinds)))
    parts.append(rpc.other)
    return b"".join(parts)


def encode_control(control: Control, kinds: ControlKinds = GOSSIP_KINDS) -> bytes:
    """The inside of the field ``control``, entry by entry."""
    return b"".join([kinds.of(each).piece(each) for each in control.entries]) + control.other

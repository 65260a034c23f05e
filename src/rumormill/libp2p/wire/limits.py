"""What one RPC may contain."""

from __future__ import annotations

from typing import NamedTuple


class RpcLimits(NamedTuple):
    """What one RPC may contain; each is checked before the thing it limits is made."""

    messages: int = 5000
    subscriptions: int = 5000
    control_bytes: int = 256 * 1024
    message_ids: int = 5000
    """In all IHAVE, IWANT and IDONTWANT of one RPC together, and the peers that PRUNE names."""
    topics_per_message: int = 32
    control_messages: int = 5000
    """IHAVE, IWANT, GRAFT and PRUNE of one RPC together."""


DEFAULT_LIMITS = RpcLimits()

TAKEN_BY_ALL = RpcLimits(subscriptions=100, message_ids=5000, control_messages=1000)
"""What no peer refuses by default, and so the most that we write into one RPC: go, rust (of more
than 100 subscriptions at once it takes none), js, and rumormill itself, which took no more than
1000 control messages when it was young."""


def within(limits: RpcLimits, others: RpcLimits) -> RpcLimits:
    """The stricter of two sets of limits, one by one.

    >>> within(RpcLimits(messages=7), RpcLimits(message_ids=5))[:4]
    (7, 5000, 262144, 5)
    """
    return RpcLimits(*map(min, limits, others))

"""Partial messages: large messages in parts, of which each peer gets those that it lacks.

:mod:`message` is what an application implements, :mod:`part_list` a ready-made message;
:mod:`commands` is what it says to the machine and hears of it. Within: :mod:`exchange` (the
extension), :mod:`options` (who wants parts), :mod:`groups` (who has what), :mod:`sender` and
:mod:`receiver`.
"""

from rumormill.libp2p.gossipsub.partial.commands import (
    ClosePartial,
    OpenPartial,
    PartialNews,
    PartialPublished,
    PublishPartial,
)
from rumormill.libp2p.gossipsub.partial.exchange import PartialMessages
from rumormill.libp2p.gossipsub.partial.message import MakeMessage, PartialMessage, Parts, Taken
from rumormill.libp2p.gossipsub.partial.part_list import PartList

__all__ = [
    "ClosePartial", "MakeMessage", "OpenPartial", "PartList", "PartialMessage", "PartialMessages",
    "PartialNews", "PartialPublished", "Parts", "PublishPartial", "Taken",
]  # fmt: skip

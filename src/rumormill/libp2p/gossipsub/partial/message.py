"""A message in parts, as the application sees it: the interface that it implements.

What a part is, how parts are written and how one says which parts one has is all the application's
business. :class:`~rumormill.libp2p.gossipsub.partial.part_list.PartList` is ready made for the
common case.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol, TypeAlias


class Parts(NamedTuple):
    """Some parts of a message."""

    data: bytes
    """The parts, as they are sent."""
    metadata: bytes
    """Which parts they are."""


class Taken(NamedTuple):
    """What became of parts that a peer sent."""

    new: bool
    """Whether there was one among them that we did not have."""
    metadata: bytes
    """Which parts they were, new or not."""


class PartialMessage(Protocol):
    """One message of which we have some parts, or all, or none yet.

    The machine calls it in the midst of its work: each method must be quick. Where bytes of a peer
    make no sense, a method raises :class:`ValueError`: the peer pays for it. Any other exception is
    taken for a fault of the application, and costs nobody but it.
    """

    @property
    def group_id(self) -> bytes:
        """What stands for the whole message, for those too who have none of it."""
        ...

    def metadata(self) -> bytes:
        """Which parts we have."""
        ...

    def join(self, known: bytes | None, more: bytes) -> bytes:
        """What a peer has of which we knew ``known`` when we learn that it has ``more``."""
        ...

    def parts_for(self, known: bytes | None, most_bytes: int) -> Parts | None:
        """Parts that we have and a peer that has ``known`` lacks, or None if there are none.

        No more than about ``most_bytes`` of them if there is a choice: it is asked again for the
        rest. ``known`` is None when the peer has said nothing yet. Who gives parts even then sends
        eagerly: sooner by one round trip, for nothing where the peer has them already.
        """
        ...

    def take(self, data: bytes) -> Taken:
        """Take parts that a peer sent, and check them; those that we have already do no harm."""
        ...


MakeMessage: TypeAlias = Callable[[bytes], PartialMessage | None]
"""Makes the message of a group that a peer began, from its id; None if we want nothing of it."""

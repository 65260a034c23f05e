"""What the forwarder knows of a face: what it waits for."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

from rumormill.ndn.faces.face import Face

if TYPE_CHECKING:
    from rumormill.ndn.forwarder.tables.pit_entry import InRecord, PitEntry


class FaceState:
    """A face that is there."""

    __slots__ = ("answers", "asked", "bytes", "face", "waiting")

    def __init__(self, face: Face) -> None:
        self.face = face
        # Not a dict: the oldest must be found without walking over those that ended before.
        self.waiting: OrderedDict[PitEntry, InRecord] = OrderedDict()
        """Its Interests that wait for their Data, oldest first."""
        self.bytes = 0
        """What they cost, in bytes of memory."""
        self.asked = 0
        """Interests that were sent to it."""
        self.answers = 0
        """Data and Nacks that came from it."""

"""One connection to another node: what came of it, what is on its way, and what it has cost us."""

from __future__ import annotations

from rumormill.bcos.certificates.identity import Identity
from rumormill.bcos.links.outlet import Outlet
from rumormill.bcos.wire.frames import FrameReader
from rumormill.core.limits import Work


class Link:
    """A connection whose other end has shown who it is."""

    __slots__ = (
        "address", "closing", "connection", "dialed", "full_since", "identity", "opened_at",
        "outlet", "read_at", "reader", "spoken", "unfinished", "work",
    )  # fmt: skip

    def __init__(
        self,
        connection: int,
        identity: Identity,
        address: str,
        dialed: bool,
        outlet: Outlet,
        reader: FrameReader,
        work: Work,
        now: float,
    ) -> None:
        self.connection = connection
        self.identity = identity
        self.address = address
        self.dialed = dialed
        """Whether it was us who opened it."""
        self.outlet = outlet
        self.reader = reader
        self.work = work
        self.opened_at = now
        self.read_at = now
        """When its last byte came."""
        self.full_since: float | None = None
        """Since when the socket takes no more."""
        self.unfinished = 0
        """Bytes of a packet that is not whole yet, as they were counted."""
        self.spoken = False
        """Whether a packet has come."""
        self.closing = False

    @property
    def node(self) -> str:
        """The id of the node at the other end."""
        return self.identity.node_id

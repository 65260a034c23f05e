"""What pubsub needs of the network: a line to a forwarder, and routes there."""

from __future__ import annotations

from typing import Protocol

from rumormill.ndn.wire.data import Data
from rumormill.ndn.wire.interest import Interest
from rumormill.ndn.wire.name import Name


class Line(Protocol):
    """The way to the forwarder, which may be in this process or elsewhere."""

    @property
    def up(self) -> bool:
        """Whether there is a forwarder at the other end now."""
        ...

    def send_interest(self, interest: Interest) -> None:
        """Send an Interest; what answers it is told to the user of the line."""
        ...

    def send_data(self, data: Data, token: bytes) -> None:
        """Answer an Interest that came with ``token``."""
        ...

    def send_nack(self, interest: Interest, reason: int, token: bytes) -> None:
        """Say that an Interest that came with ``token`` is not answered."""
        ...

    def register(self, prefix: Name) -> None:
        """Want all Interests below ``prefix``; again after each :meth:`LineUser.line_up`, by
        itself. How it went is told by :meth:`LineUser.registered`.
        """
        ...

    def unregister(self, prefix: Name) -> None:
        """Want them no more: the route is withdrawn."""
        ...


class LineUser(Protocol):
    """What is told to the user of a line."""

    def line_up(self) -> None:
        """There is a forwarder; routes follow."""
        ...

    def line_down(self, reason: str) -> None:
        """The forwarder is gone, for now."""
        ...

    def registered(self, prefix: Name, problem: str) -> None:
        """A route stands (``problem`` is empty), or the forwarder has refused it."""
        ...

    def interest(self, interest: Interest, token: bytes) -> None:
        """An Interest for one of our prefixes."""
        ...

    def data(self, data: Data) -> None:
        """Something for one of our Interests, perhaps."""
        ...

    def nack(self, interest: Interest, reason: int) -> None:
        """One of our Interests cannot be answered."""
        ...

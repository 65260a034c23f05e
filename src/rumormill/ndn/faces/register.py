"""All faces of a machine, as those see it that make and end them."""

from __future__ import annotations

from typing import Protocol

from rumormill.ndn.faces.transport_face import TransportFace


class Register(Protocol):
    """Knows every face, whatever it goes over, and tells of them."""

    to_flush: list[TransportFace]
    """Those that have sent something in this turn."""

    def new_id(self) -> int:
        """A number that no face had before."""
        ...

    def add(self, face: TransportFace) -> None:
        """A face is known, though it may not be up yet."""
        ...

    def remove(self, face: TransportFace) -> None:
        """A face is not known any more."""
        ...

    def came_up(self, face: TransportFace) -> None:
        """A face is up: tell everybody."""
        ...

    def went_down(self, face: TransportFace, reason: str) -> None:
        """A face that was up is gone: tell everybody."""
        ...

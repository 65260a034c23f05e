"""What management needs of the faces: to find them, and to make and end them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from rumormill.ndn.faces.face import Face


class FaceDirectory(Protocol):
    """All faces of this node."""

    def create(self, uri: str, keep: bool = True) -> Face:
        """Make a face to an address; it may still have to be reached. With ``keep`` it is reached
        again when it was lost.

        Raises :class:`~rumormill.core.errors.LocalProtocolError` for a wrong address.
        """
        ...

    def close(self, face: Face, reason: str) -> None:
        """End a face."""
        ...

    def by_id(self, id: int) -> Face | None:
        """The face of a number."""
        ...

    def all(self) -> Iterable[Face]:
        """Every face, in the order of their numbers."""
        ...


class NoFaces:
    """For a forwarder whose faces are not its business."""

    def create(self, uri: str, keep: bool = True) -> Face:
        """Nobody can make one."""
        raise NotImplementedError

    def close(self, face: Face, reason: str) -> None:
        """Nobody can end one."""

    def by_id(self, id: int) -> Face | None:
        """None is known."""
        return None

    def all(self) -> Iterable[Face]:
        """None is known."""
        return ()

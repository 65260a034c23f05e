"""Faces that this node wants: neighbours that are dialed, and routes by hand that lead to some."""

from __future__ import annotations

from collections.abc import Iterable

from rumormill.ndn.faces.addresses import canonical
from rumormill.ndn.faces.face import Face
from rumormill.ndn.faces.faces import Faces
from rumormill.ndn.faces.transport_face import TransportFace
from rumormill.ndn.forwarder.tables.fib import Fib, Origin
from rumormill.ndn.routing.distance_vector import DistanceVector
from rumormill.ndn.routing.static_route import StaticRoute


class Dialing:
    """The faces of a node as its user and its forwarder's management see them.

    It is the forwarder's :class:`~rumormill.ndn.forwarder.face_directory.FaceDirectory`.
    """

    faces: Faces
    fib: Fib
    routing: DistanceVector
    """All three are made after this."""

    def __init__(self, routes: Iterable[StaticRoute]) -> None:
        self._routes: dict[str, list[StaticRoute]] = {}
        """Routes by hand, by the address that they lead to."""
        for route in routes:
            self._routes.setdefault(route.address, []).append(route)

    def start(self) -> None:
        """Dial what routes by hand lead to, for good."""
        for address in self._routes:
            self.create(address, keep=True)

    def dial(self, address: str, keep: bool) -> None:
        """The user wants a neighbour."""
        self._wanted(self.faces.dial(address, keep))

    # ---- what management wants

    def create(self, uri: str, keep: bool = True) -> Face:
        """A face to an address."""
        face = self.faces.create(uri, keep)
        self._wanted(face)
        return face

    def close(self, face: Face, reason: str) -> None:
        """End a face."""
        self.faces.close(face, reason)

    def by_id(self, id: int) -> Face | None:
        """The face of a number."""
        return self.faces.by_id(id)

    def all(self) -> Iterable[Face]:
        """Every face, in the order of their numbers."""
        return self.faces.all()

    # ---- faces that are there

    def connected(self) -> list[Face]:
        """Faces that were dialed and are there."""
        return [
            face
            for face in self.faces.all()
            if isinstance(face, TransportFace) and face.dialed and face.up
        ]

    def _wanted(self, face: Face) -> None:
        """A face may be there already, when it is wanted: of somebody else's datagrams."""
        if isinstance(face, TransportFace) and face.up:
            self.face_up(face)

    def face_up(self, face: Face) -> None:
        """A face is there: if it was dialed, routes by hand and hellos go by it."""
        if not isinstance(face, TransportFace) or not face.dialed:
            return
        for route in self._routes.get(canonical(face.dialed), ()):
            self.fib.add(route.prefix, face, route.cost, Origin.STATIC)
        self.routing.face_up(face, dialed=True)

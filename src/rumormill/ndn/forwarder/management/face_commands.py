"""Commands about faces: faces/create and faces/destroy."""

from __future__ import annotations

from functools import partial
from typing import Final

from rumormill.core.errors import LocalProtocolError
from rumormill.ndn.faces.face import Face
from rumormill.ndn.forwarder.management.answers import Answer, Handler, Request, done, refused
from rumormill.ndn.forwarder.management.tables import Tables
from rumormill.ndn.wire.control import ControlParameters, ControlResponse, StatusCode
from rumormill.ndn.wire.dataset import FacePersistency

SCHEMES: Final = {"tcp4": "tcp", "tcp6": "tcp", "udp4": "udp", "udp6": "udp"}
"""As other forwarders write them, and as we do."""

DESTROYED: Final = "destroyed"


class FaceCommands:
    """What programs say about faces."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def handlers(self) -> dict[tuple[str, str], Handler]:
        """What is done for each command, by module and verb."""
        return {("faces", "create"): self.create, ("faces", "destroy"): self.destroy}

    def create(self, request: Request) -> Answer:
        """Make a face to an address. It is answered when the face is there."""
        parameters = request.parameters
        if parameters.uri is None:
            return refused(StatusCode.BAD_REQUEST, "Malformed command")
        uri = ours(parameters.uri)
        persistency = parameters.persistency or FacePersistency.PERSISTENT
        directory = self._tables.directory
        for face in directory.all():
            if face.uri == uri:
                text = "Face with remote URI already exists"
                body = _described(face, persistency)
                return Answer(ControlResponse(StatusCode.CONFLICT, text, body))
        try:
            face = directory.create(uri, keep=persistency == FacePersistency.PERMANENT)
        except LocalProtocolError as error:
            return refused(StatusCode.BAD_REQUEST, str(error))
        answer = done(_described(face, persistency))
        return answer if face.id in self._tables.states else answer._replace(when_up=face)

    def destroy(self, request: Request) -> Answer:
        """End a face. It is no mistake if there is none."""
        id = request.parameters.face_id
        if not id:
            return refused(StatusCode.BAD_REQUEST, "Malformed command")
        directory = self._tables.directory
        face = directory.by_id(id)
        if face is None and id in self._tables.states:
            return refused(StatusCode.UNAUTHORIZED, "A face inside the forwarder")
        answer = done(ControlParameters(face_id=id))
        # It may be the face that the answer goes out by.
        return answer if face is None else Answer(
            answer.response, partial(directory.close, face, DESTROYED)
        )  # fmt: skip


def _described(face: Face, persistency: int) -> ControlParameters:
    return ControlParameters(face_id=face.id, uri=face.uri, persistency=persistency, flags=0)


def ours(uri: str) -> str:
    """An address of another forwarder's spelling in ours.

    >>> ours("udp4://192.0.2.1:6363"), ours("tcp://127.0.0.1:6363")
    ('udp://192.0.2.1:6363', 'tcp://127.0.0.1:6363')
    """
    scheme, separator, rest = uri.partition("://")
    return SCHEMES.get(scheme, scheme) + separator + rest

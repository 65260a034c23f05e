"""Commands to a forwarder: the ways in which it may want them, and answers that are believed."""

from __future__ import annotations

from hashlib import sha256
from random import Random
from typing import Final, NamedTuple

from rumormill.core.errors import RemoteProtocolError
from rumormill.core.turn import Turn
from rumormill.ndn.client.parameters import ClientParameters
from rumormill.ndn.faces.face import Face
from rumormill.ndn.wire.control import (
    V02,
    V03,
    ControlParameters,
    ControlResponse,
    Form,
    Scope,
    decode_response,
    encode_command,
)
from rumormill.ndn.wire.data import Data
from rumormill.ndn.wire.interest import Interest
from rumormill.ndn.wire.name import Name, name_from_uri
from rumormill.ndn.wire.signature import Signature, SignatureType, Signer

REGISTER: Final = "register"
UNREGISTER: Final = "unregister"

MILLISECONDS: Final = 1000
NONCE_SIZE: Final = 4
RANDOM_SIZE: Final = 8


class Way(NamedTuple):
    """How a command is sent."""

    scope: Scope
    form: Form


def ways_to(face: Face, parameters: ClientParameters) -> list[Way]:
    """In which ways a forwarder may want its commands: the likeliest first.

    Forwarders take UDP for another machine's, even if it is on this one, or they do not: then both
    scopes have to be tried.
    """
    scopes: list[Scope]
    if parameters.command_scope != "auto":
        scopes = [parameters.command_scope]
    elif not face.local:
        scopes = ["localhop"]
    elif face.uri.startswith("udp:"):
        scopes = ["localhost", "localhop"]
    else:
        scopes = ["localhost"]
    forms: tuple[Form, ...]
    forms = (V03, V02) if parameters.command_form == "auto" else (parameters.command_form,)
    return [Way(scope, form) for scope in scopes for form in forms]


class CommandWriter:
    """Makes commands, each with a later time than all before: forwarders take no other order."""

    __slots__ = ("_lifetime", "_random", "_signer", "_timestamp", "_turn")

    def __init__(self, turn: Turn, random: Random, signer: Signer, lifetime: float) -> None:
        self._turn = turn
        self._random = random
        self._signer = signer
        self._lifetime = round(lifetime * MILLISECONDS)
        self._timestamp = 0

    def command(self, verb: str, prefix: Name, way: Way) -> Interest:
        """The command for the route of a prefix."""
        self._timestamp = max(self._timestamp + 1, int(self._turn.now * MILLISECONDS))
        return encode_command(
            name_from_uri(f"/{way.scope}/nfd/rib/{verb}"),
            ControlParameters(name=prefix),
            form=way.form,
            nonce=self._random.randbytes(NONCE_SIZE),
            timestamp_ms=self._timestamp,
            random_bytes=self._random.randbytes(RANDOM_SIZE),
            signer=self._signer,
            lifetime=self._lifetime,
        )


def read_answer(data: Data) -> ControlResponse:
    """What a forwarder says of a command; :class:`RemoteProtocolError` for what is no answer.

    A digest must be right. What a forwarder signs with a key of its own cannot be checked, as we do
    not know its keys: it came by the connection that the command left by, and knows its name.
    """
    if not _undamaged(data.signature):
        raise RemoteProtocolError("wrong_digest", "the answer to a command")
    return decode_response(data.content or b"")


def _undamaged(signature: Signature) -> bool:
    if signature.type != SignatureType.DIGEST:
        return True
    return sha256(signature.covered).digest() == signature.value

"""Who may command the forwarder, how often, and what is answered."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from rumormill.core.errors import RemoteProtocolError
from rumormill.core.limits import Allowance
from rumormill.core.timers import Alarm
from rumormill.core.turn import Turn
from rumormill.ndn.faces.face import Face
from rumormill.ndn.forwarder.management.answers import (
    NO_ROOM,
    Answer,
    Handler,
    Request,
    refused,
)
from rumormill.ndn.forwarder.management.datasets import Datasets
from rumormill.ndn.forwarder.management.face_commands import FaceCommands
from rumormill.ndn.forwarder.management.pending_faces import Asked, PendingFaces
from rumormill.ndn.forwarder.management.route_commands import RouteCommands
from rumormill.ndn.forwarder.management.snapshots import Snapshots
from rumormill.ndn.forwarder.management.strategy_commands import StrategyCommands
from rumormill.ndn.forwarder.management.tables import Tables
from rumormill.ndn.forwarder.parameters import ForwarderParameters
from rumormill.ndn.forwarder.scope import LOCALHOP, LOCALHOST
from rumormill.ndn.wire.control import StatusCode, encode_response, read_command
from rumormill.ndn.wire.data import Data, encode_data
from rumormill.ndn.wire.interest import Interest
from rumormill.ndn.wire.link import NackReason
from rumormill.ndn.wire.name import SEGMENT, VERSION, component, components, type_of, value_of
from rumormill.ndn.wire.signature import Signer
from rumormill.ndn.wire.tlv import read_number

NFD: Final = component(b"nfd")
HERE: Final = LOCALHOST + NFD
NEAR: Final = LOCALHOP + NFD

REMOTE_COMMANDS: Final = (("rib", "register"), ("rib", "unregister"))
"""What programs on other machines may ask for, and for themselves only."""

LONGEST_NAME: Final = 8000
"""Bytes: with more, there would be no room for an answer in a packet."""
OF_LIST: Final = 4
"""Components of the name of a list: scope, "nfd", module and verb."""
OF_SEGMENT: Final = 6
"""And a version and a segment."""


def _nobody_pays(face: Face) -> None:
    """What a forwarder does whose faces have no accounts."""


class Manager:
    """Answers what is below /localhost/nfd and /localhop/nfd."""

    def __init__(
        self,
        turn: Turn,
        parameters: ForwarderParameters,
        tables: Tables,
        signer: Signer,
        alarm: Alarm,
    ) -> None:
        self._turn = turn
        self._tables = tables
        self._signer = signer
        self._remote = parameters.localhop_registration
        self._rate, self._burst = parameters.command_rate, parameters.command_burst
        self._allowances: dict[int, Allowance] = {}
        """By the numbers of faces; as many as there are faces at most."""
        self._handlers: dict[tuple[str, str], Handler] = {
            **RouteCommands(turn, parameters, tables).handlers(),
            **FaceCommands(tables).handlers(),
            **StrategyCommands(parameters, tables).handlers(),
        }
        self._datasets = Datasets(turn, parameters, tables)
        self._contents = self._datasets.contents()
        self._snapshots = Snapshots(turn, signer, alarm)
        self._pending = PendingFaces(turn, self._tell, alarm)
        self.on_too_many: Callable[[Face], None] = _nobody_pays
        """Hears whose command was one of too many."""

    def interest(self, face: Face, interest: Interest, token: bytes) -> bool:
        """Take an Interest below /localhost or /localhop; False if it is not for us."""
        name = interest.name
        if name.startswith(HERE):
            remote = False
        elif self._remote and name.startswith(NEAR):
            remote = True
        else:
            return False
        if not self._allowance(face).take(1, self._turn.now):
            self._tables.tally.dropped(face, "command", "too_many")
            self.on_too_many(face)
            self._nack(face, interest, NackReason.CONGESTION, token)
            return True
        if len(name) > LONGEST_NAME:
            self._tables.tally.ignored(face, "command", "too_long")
            self._nack(face, interest, NackReason.NO_ROUTE, token)
            return True
        parts = components(name)
        if not remote and len(parts) in (OF_LIST, OF_SEGMENT) and self._key(parts) is not None:
            self._ask(face, interest, token, parts)
        else:
            self._command(face, interest, token, remote)
        return True

    def face_up(self, face: Face) -> None:
        """A face is there."""
        self._datasets.started()
        self._pending.face_up(face)

    def face_down(self, face: Face) -> None:
        """A face is gone."""
        self._allowances.pop(face.id, None)
        self._pending.face_down(face)

    # ---- commands

    def _command(self, face: Face, interest: Interest, token: bytes, remote: bool) -> None:
        answer = self._answer(face, interest, remote)
        made = answer.when_up
        if made is None:
            self._tell(face, interest, token, answer)
        elif not self._pending.wait(Asked(face, interest, token, made, answer)):
            self._tell(face, interest, token, refused(NO_ROOM, "Too many faces are awaited"))

    def _tell(self, face: Face, interest: Interest, token: bytes, answer: Answer) -> None:
        """Send an answer, and do what follows from it."""
        code = answer.response.code
        if code != StatusCode.OK:
            self._tables.tally.ignored(face, "command", f"status_{code}")
        content = encode_response(answer.response)
        self._send(face, encode_data(interest.name, content, self._signer), token)
        if answer.then is not None:
            answer.then()

    def _answer(self, face: Face, interest: Interest, remote: bool) -> Answer:
        try:
            command = read_command(interest)
        except RemoteProtocolError as error:
            return refused(StatusCode.BAD_REQUEST, f"Malformed command: {error.detail}")
        key = (command.module, command.verb)
        if remote and key not in REMOTE_COMMANDS:
            return refused(StatusCode.UNAUTHORIZED, "Not for programs on other machines")
        handler = self._handlers.get(key)
        if handler is None:
            return refused(StatusCode.NOT_SUPPORTED, "Unsupported command")
        return handler(Request(face, command.parameters, remote))

    # ---- lists

    def _ask(self, face: Face, interest: Interest, token: bytes, parts: list[bytes]) -> None:
        data = self._list(interest, parts)
        if data is None:
            self._nack(face, interest, NackReason.NO_ROUTE, token)
        else:
            self._send(face, data, token)

    def _list(self, interest: Interest, parts: list[bytes]) -> Data | None:
        list_name = b"".join(parts[:OF_LIST])
        if len(parts) == OF_LIST:
            key = self._key(parts)
            if key is None or not interest.can_be_prefix:
                return None  # the Data is called otherwise
            return self._snapshots.first(list_name, self._contents[key])
        version, segment = parts[OF_LIST:]
        if type_of(version) != VERSION or type_of(segment) != SEGMENT:
            return None
        try:
            index = read_number(value_of(segment))
        except RemoteProtocolError:
            return None
        return self._snapshots.segment(list_name, version, index)

    def _key(self, parts: list[bytes]) -> tuple[str, str] | None:
        """Which list a name is of."""
        module, verb = (value_of(part).decode(errors="replace") for part in parts[2:OF_LIST])
        return (module, verb) if (module, verb) in self._contents else None

    # ---- faces

    def _allowance(self, face: Face) -> Allowance:
        found = self._allowances.get(face.id)
        if found is None:
            found = self._allowances[face.id] = Allowance(self._rate, self._burst)
        return found

    def _send(self, face: Face, data: Data, token: bytes) -> None:
        self._tables.statistics.out_data += 1
        face.send_data(data, token)

    def _nack(self, face: Face, interest: Interest, reason: int, token: bytes) -> None:
        self._tables.statistics.out_nacks += 1
        face.send_nack(interest, reason, token)

    # ---- time

    def wake(self, now: float) -> None:
        """Forget lists that are old, and answer who has waited long enough."""
        self._snapshots.wake(now)
        self._pending.wake(now)

    def next_wake(self) -> float | None:
        """When that is."""
        times = (self._snapshots.next_wake(), self._pending.next_wake())
        return min((when for when in times if when is not None), default=None)

    def sizes(self) -> dict[str, int]:
        """How much is kept, for tests of memory."""
        return {
            "managers": len(self._allowances),
            "snapshots": len(self._snapshots),
            "pending_faces": len(self._pending),
        }

"""The forwarder: what becomes of each Interest, Data and Nack."""

from __future__ import annotations

from random import Random

from rumormill.core.timers import Alarm
from rumormill.core.turn import Turn
from rumormill.ndn.faces.face import Face
from rumormill.ndn.forwarder.face_directory import FaceDirectory
from rumormill.ndn.forwarder.fib import Fib, RouteListener
from rumormill.ndn.forwarder.parameters import ForwarderParameters
from rumormill.ndn.forwarder.strategy_choice import StrategyChoice
from rumormill.ndn.wire.data import Data
from rumormill.ndn.wire.interest import Interest
from rumormill.ndn.wire.signature import Signer


class Forwarder:
    """The forwarder of a node; it is the sink of all packets that its faces bring.

    ``faces`` is what management makes and ends faces with, ``signer`` signs its answers. Neither
    faces nor their turns are its own: whoever owns them calls :meth:`wake` when ``alarm`` says so.
    """

    fib: Fib
    strategies: StrategyChoice

    def __init__(
        self,
        turn: Turn,
        parameters: ForwarderParameters,
        random: Random,
        alarm: Alarm,
        faces: FaceDirectory | None = None,
        signer: Signer | None = None,
    ) -> None:
        raise NotImplementedError

    def face_up(self, face: Face) -> None:
        """A face is there."""

    def face_down(self, face: Face, reason: str) -> None:
        """A face is gone, and its routes with it; what waited for it goes elsewhere, or ends."""

    def interest(self, face: Face, interest: Interest, token: bytes) -> None:
        """An Interest came in."""

    def data(self, face: Face, data: Data, token: bytes) -> None:
        """A Data came in."""

    def nack(self, face: Face, interest: Interest, reason: int, token: bytes) -> None:
        """A Nack came in."""

    def on_route_change(self, listener: RouteListener) -> None:
        """Tell somebody of every change of a route."""

    def wake(self, now: float) -> None:
        """End what has waited long enough."""

    def next_wake(self) -> float | None:
        """When :meth:`wake` wants to be called next."""
        raise NotImplementedError

    def sizes(self) -> dict[str, int]:
        """How much is kept, for tests of memory."""
        raise NotImplementedError

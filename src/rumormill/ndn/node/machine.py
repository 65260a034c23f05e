"""The machine of a node: a forwarder, its neighbours, and an application of its own on it."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from rumormill.core.gate import Gate
from rumormill.core.machine import (
    Checked,
    CheckedMany,
    Hold,
    Received,
    Shutdown,
    Subscribe,
    Unsubscribe,
)
from rumormill.core.timers import NEVER, Alarm
from rumormill.core.transport import (
    BytesReceived,
    Dial,
    Listening,
    TransportClosed,
    TransportFailed,
    TransportOpened,
    WriteReady,
)
from rumormill.core.turn import Turn
from rumormill.ndn.effects import Forget, NdnInput, Publication
from rumormill.ndn.faces.face import Face
from rumormill.ndn.faces.faces import Faces
from rumormill.ndn.forwarder.forwarder import Forwarder
from rumormill.ndn.node.dialing import Dialing
from rumormill.ndn.node.inner_line import InnerLine
from rumormill.ndn.node.parameters import NodeParameters
from rumormill.ndn.node.routes import Routes
from rumormill.ndn.pubsub.pubsub import PubSub, always
from rumormill.ndn.routing.distance_vector import DistanceVector
from rumormill.ndn.routing.messages import PREFIX
from rumormill.ndn.routing.static_route import read_static_route
from rumormill.ndn.security.signers import DigestSigner
from rumormill.ndn.security.trust import Trust
from rumormill.ndn.wire.data import Data
from rumormill.ndn.wire.interest import Interest
from rumormill.ndn.wire.name import Name, name_from_uri, name_to_uri
from rumormill.ndn.wire.notify import notify_name
from rumormill.ndn.wire.signature import Signer

AT_ONCE = 0.0
"""A time that is past: the machine wants to be woken as soon as somebody asks."""


class NodeMachine:
    """A node without I/O: see :mod:`rumormill.core.machine`.

    ``name`` is what it is called, and what its own messages are published below. ``signer`` signs
    them, and its acknowledgements; ``trust`` says whose signatures count; ``validated`` whether
    the application judges the messages of a topic itself.
    """

    def __init__(
        self,
        name: Name,
        random: Random,
        parameters: NodeParameters | None = None,
        *,
        signer: Signer | None = None,
        trust: Trust | None = None,
        network: str = "ndn",
        validated: Callable[[str], bool] = always,
    ) -> None:
        parameters = parameters or NodeParameters()
        signer = signer or DigestSigner()
        turn = self._turn = Turn(name_to_uri(name))
        alarm = self._alarm = Alarm()
        alarm.soonest = AT_ONCE
        self.name = name

        def chance() -> Random:
            """A source of its own for each part of which nobody gains by foreseeing it."""
            return Random(random.getrandbits(64))

        self.dialing = Dialing(map(read_static_route, parameters.routing.routes))
        self.forwarder = Forwarder(
            turn, parameters.forwarder, chance(), alarm, self.dialing, signer
        )  # fmt: skip
        self.faces = Faces(turn, self, parameters.faces, chance(), alarm)
        self.forwarder.charge = self.faces.charge
        self._line = InnerLine(self.forwarder)
        self._routes = Routes(turn, self.forwarder.fib, self._line.face)
        self.routing = DistanceVector(
            turn, name, self._routes, self._routes, parameters.routing, chance(), alarm
        )
        self._routes.routing = self.routing
        dialing = self.dialing
        dialing.faces, dialing.fib, dialing.routing = self.faces, self.forwarder.fib, self.routing
        self.pubsub = PubSub(
            turn, self._line, name, parameters.pubsub, random, alarm, signer, network, trust,
            validated,
        )  # fmt: skip
        self._line.user = self.pubsub
        self._parts = (self.faces, self.forwarder, self.routing, self.pubsub)
        handle_face, handle_pubsub = self.faces.handle, self.pubsub.handle
        self._handlers: dict[type, Callable[[Any], None]] = {
            BytesReceived: lambda input: self.faces.received(*input),
            Received: self._received,
            WriteReady: handle_face,
            TransportOpened: handle_face,
            TransportFailed: handle_face,
            TransportClosed: handle_face,
            Listening: handle_face,
            Dial: self._dial,
            Publication: handle_pubsub,
            Forget: handle_pubsub,
            Subscribe: handle_pubsub,
            Unsubscribe: handle_pubsub,
            Checked: handle_pubsub,
            CheckedMany: handle_pubsub,
            Hold: handle_pubsub,
            Shutdown: self._shutdown,
        }
        for prefix, strategy in parameters.strategies:
            self.forwarder.strategies.set(prefix, strategy)
        self._started = self._stopped = False
        self._unwritten = False
        """Whether a publication has left something to be written."""

    # ---- inputs

    def handle(self, input: NdnInput, now: float) -> list[object]:
        """Take one input; return what follows from it.

        What a publication sends is written when the machine is woken, at once: more may come
        before, as often as several wait for their acknowledgements, and one write serves them all.
        """
        self._turn.begin(now)
        if not self._started:
            self._start()
        self._handlers[type(input)](input)
        return self._finish(put_off=type(input) is Publication)

    def _dial(self, input: Dial) -> None:
        if not self._stopped:
            self.dialing.dial(*input)

    def _received(self, input: Received) -> None:
        # Nobody can be told that we are gone, who sends datagrams.
        if not self._stopped:
            self.faces.handle(input)

    def wake(self, now: float) -> list[object]:
        """A timer may be due, or something is to be written; return what follows."""
        if now < self._alarm.soonest:
            if not self._unwritten:
                return []
            self._turn.begin(now)
            return self._finish()
        self._turn.begin(now)
        if not self._started:
            self._start()
        for part in self._parts:
            part.wake(now)
        effects = self._finish()
        times = [part.next_wake() for part in self._parts]
        self._alarm.soonest = min((when for when in times if when is not None), default=NEVER)
        return effects

    def next_wake(self) -> float | None:
        """When :meth:`wake` wants to be called next."""
        if self._unwritten:
            return self._turn.now
        soonest = self._alarm.soonest
        return None if soonest == NEVER else soonest

    def _start(self) -> None:
        self._started = True
        self._line.open()
        self.dialing.start()

    def _finish(self, put_off: bool = False) -> list[object]:
        """Let the parts hear of each other until all is quiet, and hand out what came of it."""
        self._line.pump()
        self._routes.settle()
        self._unwritten = put_off and bool(self.faces.to_flush)
        if not self._unwritten:
            self.faces.flush()
        return self._turn.take()

    def _shutdown(self, input: Shutdown) -> None:
        """Our own routes are withdrawn, neighbours told, and all faces closed."""
        if self._stopped:
            return
        self._stopped = True
        self.pubsub.shutdown()
        self._line.pump()
        self.routing.shutdown()
        self.faces.flush()
        self.faces.shutdown()
        self._line.close("shutdown")
        self.forwarder.shutdown()

    # ---- what faces bring: see PacketSink

    def face_up(self, face: Face) -> None:
        """A face is there."""
        self.forwarder.face_up(face)
        self.dialing.face_up(face)

    def face_down(self, face: Face, reason: str) -> None:
        """A face is gone."""
        self.routing.face_down(face, reason)
        self.forwarder.face_down(face, reason)

    def interest(self, face: Face, interest: Interest, token: bytes) -> None:
        """An Interest came in: of a neighbour for routing, or for the forwarder."""
        if interest.name.startswith(PREFIX):
            self.routing.interest(face, interest, token)
        else:
            self.forwarder.interest(face, interest, token)

    def data(self, face: Face, data: Data, token: bytes) -> None:
        """A Data came in."""
        if data.name.startswith(PREFIX):
            self.routing.data(face, data)
        else:
            self.forwarder.data(face, data, token)

    def nack(self, face: Face, interest: Interest, reason: int, token: bytes) -> None:
        """A Nack came in."""
        if interest.name.startswith(PREFIX):
            self.routing.nack(face, interest, reason)
        else:
            self.forwarder.nack(face, interest, reason, token)

    # ---- what can be asked of it

    @property
    def gate(self) -> Gate:
        """Who may send us datagrams: for the transport, to ask before it hands one on."""
        return self.faces.gate

    @property
    def peers(self) -> tuple[str, ...]:
        """Neighbours: those that speak our routing, and all that we have dialed."""
        dialed = [face.peer for face in self.dialing.connected()]
        speaking = [neighbour.face.peer for neighbour in self.routing.neighbours()]
        return tuple(dict.fromkeys((*dialed, *speaking)))

    @property
    def neighbour_names(self) -> tuple[str, ...]:
        """What nodes call themselves that speak our routing with us."""
        names = [neighbour.face.node for neighbour in self.routing.neighbours()]
        return tuple(name for name in names if name is not None)

    def subscribers(self, topic: str) -> tuple[str, ...]:
        """By whom subscribers of a topic are reached: neighbours, and programs on this node.

        Not this node's own application, and nobody whom only the route for everything leads to.
        """
        hops = self.forwarder.fib.specific_hops(notify_name(name_from_uri(topic)))
        return tuple(hop.face.peer for hop in hops if hop.face is not self._line.face)

    def sizes(self) -> dict[str, int]:
        """How much is kept, for tests of memory."""
        return {
            **self.faces.sizes(),
            **self.forwarder.sizes(),
            **self._routes.sizes(),
            **self.routing.sizes(),
            **self.pubsub.sizes(),
            "inner_packets": len(self._line.face),
        }

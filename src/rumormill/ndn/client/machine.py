"""The machine of a program on somebody's forwarder: faces, routes and pubsub put together."""

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
from rumormill.ndn.client.parameters import ClientParameters
from rumormill.ndn.client.registration import Registration
from rumormill.ndn.client.uplinks import Uplinks
from rumormill.ndn.effects import Forget, NdnInput, Publication
from rumormill.ndn.faces.faces import Faces
from rumormill.ndn.faces.parameters import FaceParameters
from rumormill.ndn.pubsub.parameters import PubSubParameters
from rumormill.ndn.pubsub.pubsub import PubSub, always
from rumormill.ndn.security.signers import DigestSigner
from rumormill.ndn.security.trust import Trust
from rumormill.ndn.wire.name import Name, name_to_uri
from rumormill.ndn.wire.signature import Signer


class ClientMachine:
    """A client without I/O: see :mod:`rumormill.core.machine`.

    ``prefix`` is what its messages are published below, ``name`` what it is called in trace events,
    ``network`` in messages. ``signer`` signs what it publishes, and its commands if the parameters
    say so. ``trust`` and ``validated``: see :class:`~rumormill.ndn.pubsub.pubsub.PubSub`.
    """

    def __init__(
        self,
        prefix: Name,
        random: Random,
        *,
        name: str = "",
        network: str = "ndn",
        client: ClientParameters | None = None,
        faces: FaceParameters | None = None,
        pubsub: PubSubParameters | None = None,
        signer: Signer | None = None,
        trust: Trust | None = None,
        validated: Callable[[str], bool] = always,
    ) -> None:
        client = client or ClientParameters()
        signer = signer or DigestSigner()
        turn = self._turn = Turn(name or name_to_uri(prefix))
        alarm = self._alarm = Alarm()
        uplinks = self._uplinks = Uplinks(turn, client, alarm)
        self._faces = uplinks.faces = Faces(
            turn, uplinks, faces or FaceParameters(), Random(random.getrandbits(64)), alarm,
            strangers=False,
        )  # fmt: skip
        # Nobody may foresee what it makes: the name of a command's answer.
        self._registration = uplinks.registration = Registration(
            turn, client, random, alarm, signer if client.sign_commands else DigestSigner(),
            self._registered, uplinks.silent,
        )  # fmt: skip
        self.pubsub = uplinks.user = PubSub(
            turn, uplinks, prefix, pubsub or PubSubParameters(), random, alarm, signer, network,
            trust, validated,
        )  # fmt: skip
        self._parts = (self._faces, self._registration, uplinks, self.pubsub)
        self._unwritten = False
        """Whether a publication has left something to be written."""
        pubsub_input = self.pubsub.handle
        handle_face = self._faces.handle
        self._handlers: dict[type, Callable[[Any], None]] = {
            BytesReceived: lambda input: self._faces.received(*input),
            Received: handle_face,
            WriteReady: handle_face,
            TransportOpened: handle_face,
            TransportFailed: handle_face,
            TransportClosed: handle_face,
            Listening: handle_face,
            Dial: lambda input: uplinks.dial(*input),
            Publication: pubsub_input,
            Forget: pubsub_input,
            Subscribe: pubsub_input,
            Unsubscribe: pubsub_input,
            Checked: pubsub_input,
            CheckedMany: pubsub_input,
            Hold: pubsub_input,
            Shutdown: self._shutdown,
        }

    # ---- what it is driven by

    def handle(self, input: NdnInput, now: float) -> list[object]:
        """Take one input; return what follows from it.

        What a publication sends is written when the machine is woken, at once: more may come
        before, as often as several wait for their acknowledgements, and one write serves them all.
        """
        self._turn.begin(now)
        self._handlers[type(input)](input)
        return self._finish(put_off=type(input) is Publication)

    def _finish(self, put_off: bool = False) -> list[object]:
        self._unwritten = put_off and bool(self._faces.to_flush)
        if not self._unwritten:
            self._faces.flush()
        return self._turn.take()

    def wake(self, now: float) -> list[object]:
        """A timer may be due, or something is to be written; return what follows."""
        if now < self._alarm.soonest:
            if not self._unwritten:
                return []
            self._turn.begin(now)
            return self._finish()
        self._turn.begin(now)
        for part in self._parts:
            part.wake(now)
        effects = self._finish()
        times = [part.next_wake() for part in self._parts]
        self._alarm.soonest = min((when for when in times if when is not None), default=NEVER)
        return effects

    def next_wake(self) -> float | None:
        """When :meth:`wake` wants to be called."""
        if self._unwritten:
            return self._turn.now
        soonest = self._alarm.soonest
        return None if soonest == NEVER else soonest

    # ---- what can be asked of it

    @property
    def gate(self) -> Gate:
        """Who may send us datagrams: for the transport, to ask before it hands one on."""
        return self._faces.gate

    @property
    def peers(self) -> tuple[str, ...]:
        """The forwarders that are up; the one that is used comes first."""
        return self._uplinks.peers

    @property
    def neighbour_names(self) -> tuple[str, ...]:
        """A forwarder does not tell its programs what it is called."""
        return ()

    def subscribers(self, topic: str) -> tuple[str, ...]:
        """Nobody: only forwarders know where Interests go."""
        return ()

    def sizes(self) -> dict[str, int]:
        """How much there is of what takes memory."""
        return {
            **self._faces.sizes(),
            **self._registration.sizes(),
            **self._uplinks.sizes(),
            **self.pubsub.sizes(),
        }

    # ---- its parts

    def _registered(self, prefix: Name, problem: str) -> None:
        self.pubsub.registered(prefix, problem)

    def _shutdown(self, input: Shutdown) -> None:
        """Routes go first, so that nothing new comes; what is open ends, and connections last."""
        self._uplinks.stop()
        self._registration.stop()
        self.pubsub.shutdown()
        self._faces.shutdown()

"""Publishing and subscribing on one line: what each part is told, and what they share."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import TypeAlias

from rumormill.core import trace
from rumormill.core.errors import LocalProtocolError
from rumormill.core.machine import Checked, CheckedMany, Hold, Subscribe, Unsubscribe
from rumormill.core.timers import Alarm
from rumormill.core.turn import Turn
from rumormill.ndn.effects import Forget, Publication
from rumormill.ndn.pubsub import events
from rumormill.ndn.pubsub.arrivals import Arrivals
from rumormill.ndn.pubsub.checks import Checks
from rumormill.ndn.pubsub.fetching import Fetching
from rumormill.ndn.pubsub.guard import FetchGuard
from rumormill.ndn.pubsub.line import Line
from rumormill.ndn.pubsub.packing import Packing
from rumormill.ndn.pubsub.parameters import PubSubParameters
from rumormill.ndn.pubsub.pending import Pending
from rumormill.ndn.pubsub.publisher import Publisher
from rumormill.ndn.pubsub.recent import Recent
from rumormill.ndn.pubsub.soft_state import SoftState
from rumormill.ndn.pubsub.subscriber import Subscriber
from rumormill.ndn.pubsub.topics import Names
from rumormill.ndn.security.trust import Trust
from rumormill.ndn.wire.data import Data
from rumormill.ndn.wire.interest import Interest
from rumormill.ndn.wire.link import NackReason
from rumormill.ndn.wire.name import Name
from rumormill.ndn.wire.signature import Signer

PubSubInput: TypeAlias = (
    Subscribe | Unsubscribe | Checked | CheckedMany | Publication | Forget | Hold
)
"""What it takes of the application; the machine that it is a part of hands it over."""


def always(topic: str) -> bool:
    """Every topic may have validators."""
    return True


class PubSub:
    """The user of a line (:class:`~.line.LineUser`) that publishes and subscribes.

    ``prefix`` is what our messages are published below. ``trust`` says whose signatures count.
    ``validated`` says whether the application judges the messages of a topic itself: only then, or
    if a signature needs a key, a message is checked outside before it is delivered.

    The machine around it begins and takes turns, wakes it, and hands over inputs and packets.
    """

    def __init__(
        self,
        turn: Turn,
        line: Line,
        prefix: Name,
        parameters: PubSubParameters,
        random: Random,
        alarm: Alarm,
        signer: Signer,
        network: str,
        trust: Trust | None = None,
        validated: Callable[[str], bool] = always,
    ) -> None:
        if not prefix:
            raise LocalProtocolError("the root / cannot be a publisher's prefix")
        self._turn = turn
        self._line = line
        self._parameters = parameters
        self._stopped = False
        self._names = Names(parameters.max_names)
        self._pending = Pending(turn, line, random, alarm)
        self._checks = Checks(turn, Trust.open() if trust is None else trust)
        self._state = SoftState(turn, parameters, alarm)
        packing = Packing(prefix, parameters, random, signer, self._pending, self._state)
        self._publisher = Publisher(
            turn, line, prefix, parameters, self._names, packing, self._pending, self._checks,
            self._state,
        )  # fmt: skip
        self._guard = FetchGuard(parameters)
        self._recent = Recent(turn, parameters, alarm)
        arrivals = Arrivals(turn, line, signer, self._guard, self._recent)
        fetching = Fetching(
            turn, parameters, network, self._names, self._pending, self._checks, arrivals,
            validated,
        )  # fmt: skip
        self._subscriber = Subscriber(
            turn, line, prefix, parameters, self._names, self._pending, self._checks,
            self._guard, self._recent, arrivals, fetching, alarm,
        )  # fmt: skip

    # ---- what the application wants

    def handle(self, input: PubSubInput) -> None:
        """Take one input of the application."""
        match input:
            case Publication():
                self._check_running()
                self._publisher.publish(input)
            case Checked():
                self._checks.checked(input)
            case CheckedMany(answers):
                for answer in answers:
                    self._checks.checked(answer)
            case Subscribe(topic):
                self._check_running()
                self._subscriber.subscribe(topic)
            case Unsubscribe(topic):
                self._subscriber.unsubscribe(topic)
            case Hold(paused):
                self._subscriber.hold(paused)
            case Forget(token):
                self._publisher.forget(token)

    def _check_running(self) -> None:
        if self._stopped:
            raise LocalProtocolError("the network is being closed")

    def shutdown(self) -> None:
        """End all that is open as far as is known, and withdraw all routes."""
        if not self._stopped:
            self._stopped = True
            self._publisher.shutdown()
            self._subscriber.shutdown()

    # ---- what can be asked of it

    @property
    def prefix(self) -> Name:
        """What our messages are published below."""
        return self._publisher.prefix

    @property
    def has_room(self) -> bool:
        """Whether one more message can be published now."""
        return self._publisher.has_room

    def largest_message(self, topic: str) -> int:
        """Bytes of the largest message that can be published to a topic."""
        return self._publisher.largest_message(topic)

    def is_ready(self, topic: str) -> bool:
        """Whether notifications of a topic that we subscribed to come to us."""
        return self._subscriber.is_ready(topic)

    def topics(self) -> tuple[str, ...]:
        """The topics that we listen to."""
        return self._subscriber.topics()

    def sizes(self) -> dict[str, int]:
        """How much there is of what takes memory."""
        return {
            **self._publisher.sizes(),
            **self._state.sizes(),
            **self._subscriber.sizes(),
            **self._guard.sizes(),
            "interests": len(self._pending),
            "checks": len(self._checks),
            "names": len(self._names),
        }

    # ---- what the line tells

    def line_up(self) -> None:
        """There is a forwarder."""
        if self._stopped:
            return
        if self._parameters.register_at_start:
            self._publisher.announce()
        self._pending.resend(notifies=False)

    def line_down(self, reason: str) -> None:
        """The forwarder is gone, for now; what was sent is sent again when it is back."""
        self._publisher.line_down()
        self._subscriber.line_down()

    def registered(self, prefix: Name, problem: str) -> None:
        """A route stands, or the forwarder has refused it."""
        text = self._names.text(prefix)
        if problem:
            self._turn.trace(events.ROUTE_REFUSED, prefix=text, reason=problem)
        else:
            self._turn.trace(events.ROUTE_STANDS, prefix=text)
        if prefix == self._publisher.route:
            self._publisher.registered(problem)
        else:
            self._subscriber.registered(prefix, problem)

    def interest(self, interest: Interest, token: bytes) -> None:
        """Somebody fetches a message of ours, or notifies us of one of theirs."""
        data = self._state.answer(interest.name)
        if data is not None:
            self._line.send_data(data, token)
        elif interest.parameters is not None:
            self._subscriber.notified(interest, token)
        else:
            self._turn.trace(trace.IGNORED, reason="unknown_message")
            self._line.send_nack(interest, NackReason.NO_ROUTE, token)

    def data(self, data: Data) -> None:
        """A message, a segment or an acknowledgement."""
        if not self._pending.data(data):
            self._turn.trace(trace.IGNORED, reason="unexpected_data")

    def nack(self, interest: Interest, reason: int) -> None:
        """One of our Interests cannot be answered."""
        if not self._pending.nack(interest, reason):
            self._turn.trace(trace.IGNORED, reason="unexpected_nack")

    # ---- time

    def wake(self, now: float) -> None:
        """Do what is due; the turn has begun already."""
        self._pending.wake()
        self._subscriber.wake()
        self._state.wake()
        self._recent.wake()

    def next_wake(self) -> float | None:
        """When :meth:`wake` has something to do."""
        times = (
            self._pending.next_wake(),
            self._subscriber.next_wake(),
            self._state.next_wake(),
            self._recent.next_wake(),
        )
        return min((time for time in times if time is not None), default=None)

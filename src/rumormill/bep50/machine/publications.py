"""Publications: from the wish to publish a value to the receipt that says who has it.

    ready --> inquiring --> settling --> catching up --> (again, with a higher number)
                                     \\--> storing --> the end

* *ready*: wait for the first member, if that was wished for;
* *inquiring*: wait until we know the newest value that our neighbours and the main DHT know, else
  a publisher that just started would give its value a number that was used long ago;
* *settling*: the value is on its way; wait until somebody has it, or nobody is left to take it;
* *catching up*: somebody said that there is something newer, and is being asked for it;
* *storing*: nobody took it, but on the main DHT others can find it: wait until it is there.

Each step has a time limit, after which the next one makes do with what there is.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Final, Protocol

from rumormill.bep50.effects import (
    CasMismatch,
    ForgetPublication,
    PublicationDone,
    PublicationFailed,
    Publish,
    PublishValue,
)
from rumormill.bep50.overlay.traffic.outbox import Outbox
from rumormill.bep50.overlay.values.acknowledgements import Publication
from rumormill.bep50.wire.items import Item
from rumormill.core.errors import LocalProtocolError, NotReadyError
from rumormill.core.timers import Alarm, Timers

ATTEMPTS: Final = 3
"""How often a value is published, each time with a higher number, when others knew of a newer."""

MOST_PUBLICATIONS: Final = 16_384
"""Publications that may be under way at once."""

RENUMBERED = "renumbered"
"""Trace event: our value was too late, and is published again; fields: seq, attempt."""


class Topic(Protocol):
    """What a publication has to know of its topic."""

    text: str
    target: bytes
    item: Item | None
    seq: int
    own: bool

    @property
    def populated(self) -> bool:
        """Whether it has members, as far as we know."""
        ...

    @property
    def trying(self) -> bool:
        """Whether a contact was not tried to the end yet."""
        ...

    @property
    def checking(self) -> bool:
        """Whether an item is under check."""
        ...

    @property
    def joined(self) -> bool:
        """Whether we know what our neighbours know."""
        ...

    @property
    def pending(self) -> int:
        """Neighbours that the newest value is on its way to."""
        ...


class Overlays(Protocol):
    """What publications need of the overlay's node."""

    watched: set[bytes]

    def topic(self, text: str) -> Topic | None:
        """A topic that we take part in."""
        ...

    def publish(self, command: Publish, now: float) -> Publication:
        """Pass a value on."""
        ...


class MainDht(Protocol):
    """What publications need of the main DHT."""

    def has_read(self, target: bytes) -> bool:
        """Whether it was asked for the newest value."""
        ...

    def put(self, item: Item, cas: int | None) -> None:
        """Put a value there, too."""
        ...

    def stored(self, target: bytes, seq: int) -> int | None:
        """How many nodes took the value, None if it was not put yet."""
        ...


class Step(Enum):
    """What a publication waits for."""

    READY = "ready"
    INQUIRING = "inquiring"
    SETTLING = "settling"
    CATCHING_UP = "catching_up"
    STORING = "storing"


class _Attempt:
    """One publication under way."""

    __slots__ = ("attempts", "command", "overdue", "publication", "step", "target")

    def __init__(self, command: PublishValue, target: bytes) -> None:
        self.command = command
        self.target = target
        self.step = Step.INQUIRING if command.ready is None else Step.READY
        self.overdue = False
        """Whether the time of this step is over."""
        self.attempts = 0
        self.publication: Publication | None = None


class Publications:
    """All publications under way; one effect tells the end of each."""

    def __init__(
        self,
        outbox: Outbox,
        overlays: Overlays,
        main: MainDht | None,
        looking_up: Callable[[], bool],
        alarm: Alarm,
    ) -> None:
        """``looking_up``: whether names of contacts are being looked up."""
        self._outbox = outbox
        self._overlays = overlays
        self._main = main
        self._looking_up = looking_up
        self._by_token: dict[int, _Attempt] = {}
        self._by_topic: dict[bytes, dict[int, _Attempt]] = {}
        self._timers: Timers[int] = Timers(alarm)
        self._nobody_pending: bool | None = None
        """Whether the topic that is looked at has nothing on its way; None: not known yet."""
        self._steps: dict[Step, Callable[[_Attempt, Topic, float], bool]] = {
            Step.READY: self._ready,
            Step.INQUIRING: self._inquiring,
            Step.SETTLING: self._settling,
            Step.CATCHING_UP: self._catching_up,
            Step.STORING: self._storing,
        }

    def __len__(self) -> int:
        return len(self._by_token)

    # ---- in

    def begin(self, command: PublishValue, now: float) -> None:
        """Somebody wants to publish."""
        topic = self._overlays.topic(command.topic)
        if topic is None:
            self._fail(command.token, f"join the topic {command.topic} before publishing on it")
            return
        if len(self._by_token) >= MOST_PUBLICATIONS:
            self._fail(command.token, f"{MOST_PUBLICATIONS} publications are under way already")
            return
        attempt = self._by_token[command.token] = _Attempt(command, topic.target)
        self._nobody_pending = None
        self._by_topic.setdefault(topic.target, {})[command.token] = attempt
        self._overlays.watched.add(topic.target)
        limit = command.timeout if command.ready is None else command.ready
        self._enter(attempt, attempt.step, now + limit)
        self._advance(attempt, topic, now)

    def forget(self, command: ForgetPublication) -> None:
        """Nobody waits any more."""
        attempt = self._by_token.get(command.token)
        if attempt is not None:
            self._remove(attempt)

    def look(self, target: bytes, now: float) -> None:
        """Something may have changed in a topic."""
        attempts = self._by_topic.get(target)
        if attempts is None:
            return
        first = next(iter(attempts.values()))
        topic = self._overlays.topic(first.command.topic)
        self._nobody_pending = None
        for attempt in list(attempts.values()):
            if topic is None:
                self._left(attempt)
            else:
                self._advance(attempt, topic, now)

    def wake(self, now: float) -> None:
        """Go on with those whose time is over."""
        for token in self._timers.due(now):
            attempt = self._by_token[token]
            attempt.overdue = True
            self._nobody_pending = None
            topic = self._overlays.topic(attempt.command.topic)
            if topic is None:
                self._left(attempt)
            else:
                self._advance(attempt, topic, now)

    def next_wake(self) -> float | None:
        """When the time of one of them is over."""
        return self._timers.next_wake()

    # ---- step by step

    def _advance(self, attempt: _Attempt, topic: Topic, now: float) -> None:
        """Go on as far as it goes."""
        while attempt.command.token in self._by_token:
            if not self._steps[attempt.step](attempt, topic, now):
                return

    def _ready(self, attempt: _Attempt, topic: Topic, now: float) -> bool:
        command = attempt.command
        if not topic.populated:
            if not attempt.overdue:
                return False
            if self._main is None:  # else the main DHT takes it
                problem = f"nobody listened to {topic.text!r} within {command.ready:g} s"
                self._end(attempt, PublicationFailed(command.token, NotReadyError(problem)))
                return False
        self._enter(attempt, Step.INQUIRING, now + command.timeout)
        return True

    def _inquiring(self, attempt: _Attempt, topic: Topic, now: float) -> bool:
        if not attempt.overdue and not self._found_out(topic):
            return False
        self._hand_over(attempt, topic, now)
        return True

    def _settling(self, attempt: _Attempt, topic: Topic, now: float) -> bool:
        publication = attempt.publication
        assert publication is not None
        if not publication.settled and not attempt.overdue:
            if self._nobody_pending is None:
                self._nobody_pending = not topic.pending
            if not self._nobody_pending:
                return False
        if publication.outdated:
            self._enter(attempt, Step.CATCHING_UP, now + attempt.command.timeout)
        else:
            self._judge(attempt, topic, now)
        return True

    def _catching_up(self, attempt: _Attempt, topic: Topic, now: float) -> bool:
        publication = attempt.publication
        assert publication is not None
        if not (topic.seq > publication.seq or topic.joined or attempt.overdue):
            return False
        self._judge(attempt, topic, now)
        return True

    def _storing(self, attempt: _Attempt, topic: Topic, now: float) -> bool:
        publication = attempt.publication
        assert publication is not None and self._main is not None
        nodes = self._main.stored(topic.target, publication.seq)
        if nodes is not None or attempt.overdue:
            fields = {"seq": publication.seq, "stored": nodes or 0}
            receipt = publication.receipt._replace(fields=fields)
            self._end(attempt, PublicationDone(attempt.command.token, receipt))
        return False

    def _found_out(self, topic: Topic) -> bool:
        """Whether we know the newest value that our neighbours know, as far as we have such."""
        if self._main is not None and not self._main.has_read(topic.target):
            return False
        alone = not (self._looking_up() or topic.trying or topic.populated)
        return not topic.checking and (alone or topic.joined)

    def _hand_over(self, attempt: _Attempt, topic: Topic, now: float) -> None:
        self._nobody_pending = None
        command = attempt.command
        try:
            order = Publish(topic.text, command.value, command.cas)
            attempt.publication = self._overlays.publish(order, now)
        except LocalProtocolError as error:
            self._end(attempt, PublicationFailed(command.token, error))
            return
        attempt.attempts += 1
        if self._main is not None and topic.item is not None:
            self._main.put(topic.item, command.cas)
        self._enter(attempt, Step.SETTLING, now + command.timeout)

    def _judge(self, attempt: _Attempt, topic: Topic, now: float) -> None:
        """Did nobody take it because there is something newer? Then it is published anew.

        Somebody else with the key published at the same time, or we had not heard of it yet. A
        newer value of our own is meant to replace it.
        """
        command, publication = attempt.command, attempt.publication
        assert publication is not None
        receipt = publication.receipt
        overtaken = topic.seq > publication.seq and not topic.own and not receipt.reached
        if command.cas is not None and (publication.outdated or overtaken):
            error = CasMismatch(command.cas, topic.seq)
            self._end(attempt, PublicationFailed(command.token, error))
        elif overtaken and attempt.attempts < ATTEMPTS:
            self._outbox.emit(
                RENUMBERED, topic.text, publication.message_id,
                seq=publication.seq, attempt=attempt.attempts,
            )  # fmt: skip
            self._hand_over(attempt, topic, now)
        elif receipt or self._main is None:
            self._end(attempt, PublicationDone(command.token, receipt))
        else:
            self._enter(attempt, Step.STORING, now + command.timeout)

    def _enter(self, attempt: _Attempt, step: Step, deadline: float) -> None:
        attempt.step = step
        attempt.overdue = False
        self._timers.set(attempt.command.token, deadline)

    # ---- out

    def _left(self, attempt: _Attempt) -> None:
        """The topic was left meanwhile; what was handed over has its receipt all the same."""
        token, publication = attempt.command.token, attempt.publication
        if publication is not None:
            self._end(attempt, PublicationDone(token, publication.receipt))
        else:
            error = LocalProtocolError(f"the topic {attempt.command.topic} was left")
            self._end(attempt, PublicationFailed(token, error))

    def _fail(self, token: int, problem: str) -> None:
        self._outbox.effects.append(PublicationFailed(token, LocalProtocolError(problem)))

    def _end(self, attempt: _Attempt, effect: PublicationDone | PublicationFailed) -> None:
        self._remove(attempt)
        self._outbox.effects.append(effect)

    def _remove(self, attempt: _Attempt) -> None:
        token = attempt.command.token
        del self._by_token[token]
        self._timers.cancel(token)
        attempts = self._by_topic[attempt.target]
        del attempts[token]
        if not attempts:
            del self._by_topic[attempt.target]
            self._overlays.watched.discard(attempt.target)

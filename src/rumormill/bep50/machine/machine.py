"""The whole machine of a bep50 node, which a driver runs.

It is made of machines and parts that know little of each other:

    what the user wants --> Publications, Contacts --> OverlayNode <--> datagrams
    libtorrent <-- orders -- MainSession --> MainClient (over the overlay's socket)

Inputs and effects: ``Bep50Input`` and ``Bep50Effect`` of :mod:`rumormill.bep50.effects`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from random import Random
from typing import Any

from rumormill.bep50.effects import (
    Bep50Effect,
    Bep50Input,
    Bootstrap,
    Contact,
    Drain,
    Drained,
    ForgetPublication,
    Join,
    NameResolved,
    PublishValue,
    Reach,
)
from rumormill.bep50.machine.contacts import Contacts
from rumormill.bep50.machine.main_side import MainSide
from rumormill.bep50.machine.publications import Publications
from rumormill.bep50.main_dht.effects import PeersFound, StartMain, TableSize
from rumormill.bep50.main_dht.parameters import MainParameters, SessionParameters
from rumormill.bep50.overlay.node import OverlayNode
from rumormill.bep50.overlay.parameters import OverlayParameters
from rumormill.bep50.wire.items import Item
from rumormill.bep50.wire.keys import ItemKey
from rumormill.bep50.wire.krpc import Answer, Failure
from rumormill.core.errors import LocalProtocolError
from rumormill.core.gate import Gatekeeper
from rumormill.core.machine import Peer, Subscribe, Unsubscribe
from rumormill.core.timers import NEVER, Alarm
from rumormill.core.transport import Listening


class Bep50Machine:
    """One node with all that it does."""

    def __init__(
        self,
        own_id: bytes,
        keys: Iterable[ItemKey],
        random: Random,
        entropy: Random,
        overlay: OverlayParameters | None = None,
        main: MainParameters | None = None,
        session: SessionParameters | None = None,
        network: str = "bep50",
    ) -> None:
        """``entropy`` makes tokens and transaction ids: live it has to be the system's.

        With ``session.main_dht`` the main DHT is used, too.
        """
        parameters = overlay or OverlayParameters()
        self._overlay = OverlayNode(
            own_id, keys, parameters, random, entropy, network, elsewhere=self._elsewhere,
            awaits_elsewhere=self._awaits_elsewhere,
        )  # fmt: skip
        self._outbox = self._overlay.outbox
        self._ended = self._outbox.ended = []
        self._alarm = Alarm()
        self._main: MainSide | None = None
        if session is not None and session.main_dht:
            self._main = MainSide(
                own_id, main or MainParameters(), session, self._overlay, random, entropy,
                self._alarm, announce=not parameters.read_only,
            )  # fmt: skip
        self._contacts = Contacts(
            self._outbox, self._contact, lambda: self._overlay.topic_nodes, self._alarm
        )
        self._publications = Publications(
            self._outbox, self._overlay, self._main, lambda: self._contacts.looking_up, self._alarm
        )
        self._undrained: dict[bytes, None] | None = None
        self._drain_until = NEVER
        self._handlers: dict[type, Callable[[Any, float], None]] = {
            Bootstrap: self._on_bootstrap,
            Drain: self._on_drain,
            ForgetPublication: lambda input, now: self._publications.forget(input),
            Join: self._on_join,
            Listening: self._on_listening,
            NameResolved: self._on_resolved,
            PeersFound: self._on_main,
            PublishValue: self._publications.begin,
            Reach: lambda input, now: self._contacts.reach(input),
            StartMain: self._on_main,
            Subscribe: self._on_join,
            TableSize: self._on_main,
            Unsubscribe: self._on_unsubscribe,
        }

    # ---- the machine

    def handle(self, input: Bep50Input, now: float) -> list[Bep50Effect]:
        """Take one input; return what follows from it."""
        effects = self._outbox.begin(now)
        handler = self._handlers.get(type(input))
        if handler is None:
            self._overlay.take(input, now)  # type: ignore[arg-type]  # the others are its own
        else:
            handler(input, now)
        self._follow_up(now)
        return effects

    def wake(self, now: float) -> list[Bep50Effect]:
        """Do what is due."""
        effects = self._outbox.begin(now)
        self._overlay.rouse(now)
        self._contacts.wake(now)
        self._publications.wake(now)
        self._follow_up(now)
        # Last, and again: what was just published is to be put there now.
        while self._main is not None and self._main.wake(now):
            self._follow_up(now)
        times = [self._contacts.next_wake(), self._publications.next_wake()]
        if self._main is not None:
            times.append(self._main.session_wake())
        if self._undrained is not None:
            times.append(self._drain_until)
        self._alarm.soonest = min((each for each in times if each is not None), default=NEVER)
        return effects

    def next_wake(self) -> float | None:
        """When something may be due."""
        soonest = self._alarm.soonest
        if (due := self._overlay.next_wake()) is not None:
            soonest = min(soonest, due)
        if self._main is not None and (due := self._main.client_wake()) is not None:
            soonest = min(soonest, due)
        return None if soonest == NEVER else soonest

    def _follow_up(self, now: float) -> None:
        """Tell those who wait for it what has happened in the overlays."""
        overlay, ended = self._overlay, self._ended
        while ended:
            self._contacts.ended(ended.pop(0))
        while overlay.stirred:
            stirred, overlay.stirred = overlay.stirred, {}
            for target in stirred:
                self._publications.look(target, now)
                if self._undrained and not self._is_pending(target):
                    self._undrained.pop(target, None)
        if self._undrained is not None:
            self._look_at_drain(now)

    # ---- what the user wants

    def _on_join(self, command: Join | Subscribe, now: float) -> None:
        self._overlay.take(command, now)
        topic = self._overlay.topic(command.topic)
        if self._main is not None and topic is not None:
            self._main.join(topic.name, now)

    def _on_unsubscribe(self, command: Unsubscribe, now: float) -> None:
        topic = self._overlay.topic(command.topic)
        self._overlay.take(command, now)
        if topic is not None:
            self._contacts.left(topic.target)
            if self._main is not None:
                self._main.leave(topic.name, now)

    def _on_listening(self, listening: Listening, now: float) -> None:
        self._overlay.take(listening, now)
        self._contacts.listening(listening.addresses)
        if self._main is not None:
            self._main.rename(self._overlay.name)

    # ---- contacts

    def _on_bootstrap(self, command: Bootstrap, now: float) -> None:
        self._contacts.bootstrap(command)

    def _on_resolved(self, answer: NameResolved, now: float) -> None:
        self._contacts.resolved(answer)
        # Whoever waited for it to end looks again, on every topic.
        self._overlay.stirred |= dict.fromkeys(self._overlay.watched)

    def _contact(self, contact: Contact) -> None:
        self._overlay.take(contact, self._outbox.now)

    # ---- the main DHT

    def _on_main(self, input: StartMain | TableSize | PeersFound, now: float) -> None:
        if self._main is None:
            raise LocalProtocolError("this node does not use the main DHT")
        self._main.handle(input, now)

    def _elsewhere(self, peer: Peer, packet: Answer | Failure, now: float) -> bool:
        """An answer without a topic belongs to our client on the main DHT, if to anybody."""
        if self._main is None or not self._main.awaits(peer, packet.transaction):
            return False
        self._main.answered(peer, packet, now)
        return True

    def _awaits_elsewhere(self, peer: Peer, transaction: bytes) -> bool:
        return self._main is not None and self._main.awaits(peer, transaction)

    # ---- closing

    def _on_drain(self, command: Drain, now: float) -> None:
        if self._main is not None:
            self._main.hurry(now)
        topics = self._overlay.topic_nodes.values()
        self._overlay.watches_all = True
        self._undrained = {topic.target: None for topic in topics if topic.pending}
        self._drain_until = now + command.timeout
        self._alarm.soonest = min(self._alarm.soonest, self._drain_until)

    def _is_pending(self, target: bytes) -> bool:
        topic = self._overlay.topic_nodes.get(target)
        return topic is not None and topic.pending > 0

    def _look_at_drain(self, now: float) -> None:
        main = self._main
        complete = not self._undrained and (main is None or main.nothing_to_put)
        if complete or now >= self._drain_until:
            self._undrained = None
            self._overlay.watches_all = False
            self._outbox.effects.append(Drained(complete))

    # ---- what others may know

    @property
    def name(self) -> str:
        """What traces call us: our address."""
        return self._overlay.name

    @property
    def gate(self) -> Gatekeeper:
        """Says of a packet whether it may come in, before it is read: for a transport to ask."""
        return self._overlay.gate

    def latest(self, topic: str) -> Item | None:
        """The newest item of the topic that we know."""
        return self._overlay.latest(topic)

    def peers(self) -> tuple[Peer, ...]:
        """Everybody in any of our tables."""
        return self._overlay.peers()

    def subscribers(self, topic: str) -> tuple[Peer, ...]:
        """Who is in the topic's tables."""
        return tuple(self._overlay.subscribers(topic))

    def joined(self, topic: str) -> bool:
        """Whether members answered and the first search is over: ``latest`` can be relied on."""
        return self._overlay.joined(topic)

    def state(self) -> bytes:
        """Node id, tables and newest items, for ``Restore`` in the next run."""
        return self._overlay.state()

    def sizes(self) -> dict[str, int]:
        """How many entries each table has: for tests of bounded memory, and for operators."""
        sizes = {**self._overlay.sizes(), **self._contacts.sizes()}
        sizes["publications"] = len(self._publications)
        if self._main is not None:
            sizes.update(self._main.sizes())
        return sizes

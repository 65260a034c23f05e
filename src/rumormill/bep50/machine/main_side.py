"""The main DHT as a part of the whole machine: the session, our client, and what goes between them.

The session says what to read and put, the client does it, and what both find out goes to the
overlays. Orders to libtorrent and trace events are effects of the whole machine.
"""

from __future__ import annotations

from collections.abc import Iterable
from random import Random

from rumormill.bep50.effects import Contact, Offer
from rumormill.bep50.main_dht.client import MainClient
from rumormill.bep50.main_dht.effects import (
    ClientEffect,
    Hurry,
    ItemRead,
    ItemSeen,
    ItemWritten,
    JoinMain,
    LeaveMain,
    MainContact,
    PeersFound,
    PutOnMain,
    ReadItem,
    SessionEffect,
    SessionInput,
    StartMain,
    TableSize,
    WriteItem,
)
from rumormill.bep50.main_dht.parameters import MainParameters, SessionParameters
from rumormill.bep50.main_dht.session import MainSession
from rumormill.bep50.overlay.node import OverlayNode
from rumormill.bep50.wire.items import Item
from rumormill.bep50.wire.krpc import Answer, Failure
from rumormill.bep50.wire.topics import TopicName
from rumormill.core.machine import Peer
from rumormill.core.timers import Alarm


class MainSide:
    """Session and client, side by side."""

    def __init__(
        self,
        own_id: bytes,
        parameters: MainParameters,
        session: SessionParameters,
        overlay: OverlayNode,
        random: Random,
        entropy: Random,
        alarm: Alarm,
        announce: bool,
    ) -> None:
        self._overlay = overlay
        self._outbox = overlay.outbox
        self._client = MainClient(own_id, parameters, entropy, overlay.name)
        self._session = MainSession(session, overlay, random, overlay.name, announce, alarm)

    def rename(self, name: str) -> None:
        """Traces call us something else from now on."""
        self._client.node = self._session.node = name

    # ---- in

    def handle(self, input: StartMain | TableSize | PeersFound, now: float) -> None:
        """libtorrent tells something."""
        self._tell(input, now)

    def join(self, topic: TopicName, now: float) -> None:
        """A topic was joined."""
        self._tell(JoinMain(topic), now)

    def leave(self, topic: TopicName, now: float) -> None:
        """A topic was left."""
        self._tell(LeaveMain(topic), now)

    def put(self, item: Item, cas: int | None) -> None:
        """An item was published: on the main DHT, too."""
        self._tell(PutOnMain(item, cas), self._outbox.now)

    def hurry(self, now: float) -> None:
        """We are about to close."""
        self._tell(Hurry(), now)

    def answered(self, peer: Peer, packet: Answer | Failure, now: float) -> None:
        """An answer came that belongs to no topic."""
        self._from_client(self._client.answered(peer, packet, now), now)

    def awaits(self, peer: Peer, transaction: bytes) -> bool:
        """Whether such an answer is waited for."""
        return self._client.awaits(peer, transaction)

    def wake(self, now: float) -> bool:
        """Do what is due; whether there was anything."""
        woken = False
        if (due := self._client.next_wake()) is not None and due <= now:
            self._from_client(self._client.wake(now), now)
            woken = True
        if (due := self._session.next_wake()) is not None and due <= now:
            self._from_session(self._session.wake(now), now)
            woken = True
        return woken

    def session_wake(self) -> float | None:
        """When the session wants to be woken; it tells the alarm, too."""
        return self._session.next_wake()

    def client_wake(self) -> float | None:
        """When the client wants to be woken."""
        return self._client.next_wake()

    # ---- questions

    def has_read(self, target: bytes) -> bool:
        """Whether the main DHT was asked for the topic's value and somebody answered."""
        return self._session.has_read(target)

    def stored(self, target: bytes, seq: int) -> int | None:
        """How many nodes took the value, None if it was not put yet."""
        return self._session.stored(target, seq)

    @property
    def nothing_to_put(self) -> bool:
        """Whether all that was published is on the main DHT, or was given up."""
        return self._session.nothing_to_put

    def sizes(self) -> dict[str, int]:
        """How much is held, for tests of its bounds."""
        return {**self._client.sizes(), **self._session.sizes()}

    # ---- between them

    def _tell(self, input: SessionInput, now: float) -> None:
        self._from_session(self._session.handle(input, now), now)

    def _from_session(self, effects: Iterable[SessionEffect], now: float) -> None:
        for effect in effects:
            if isinstance(effect, ReadItem | WriteItem | MainContact):
                self._from_client(self._client.handle(effect, now), now)
            elif isinstance(effect, Contact | Offer):
                self._overlay.take(effect, now)
            else:
                self._outbox.effects.append(effect)

    def _from_client(self, effects: Iterable[ClientEffect], now: float) -> None:
        for effect in effects:
            if isinstance(effect, ItemSeen | ItemRead | ItemWritten):
                target = self._session.target_of(effect.token)
                self._tell(effect, now)
                if target is not None and target in self._overlay.watched:
                    self._overlay.stirred[target] = None
            else:
                self._outbox.effects.append(effect)

"""A network of Named Data Networking on asyncio: a node with a forwarder, or a program on one.

receipt = await network.publish("/weather", b"rain at noon")
if receipt.outcome == "delivered":
    ...
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import ClassVar, Final, Protocol

from rumormill.core import trace
from rumormill.core.errors import ConnectError, LocalProtocolError, NotReadyError
from rumormill.core.gate import Gatekeeper
from rumormill.core.machine import Hold, Shutdown
from rumormill.core.message import Message
from rumormill.core.receipt import Outcome, Receipt
from rumormill.core.topic import Capabilities
from rumormill.core.trace import TraceEvent
from rumormill.core.transport import Dial, Listening
from rumormill.core.words import in_words
from rumormill.live.checks.checker import Subject
from rumormill.live.checks.validation import ValidatorFunction
from rumormill.live.driver import Driver
from rumormill.live.network import Network, as_bytes
from rumormill.live.topics.message_filter import MessageFilter
from rumormill.live.topics.subscription import Subscription, WhenFull
from rumormill.live.waiting.answers import Waiting
from rumormill.live.waiting.dials import Dials
from rumormill.ndn.effects import Forget, NdnInput, Publication, PublicationEnded
from rumormill.ndn.forwarder.tables.fib import ROUTE_ADDED, ROUTE_REMOVED
from rumormill.ndn.live.settings import NdnSettings, check_address
from rumormill.ndn.live.sockets import Sockets
from rumormill.ndn.live.topics import canonical_topic
from rumormill.ndn.pubsub import events
from rumormill.ndn.pubsub.checks import Unverified
from rumormill.ndn.pubsub.pubsub import PubSub
from rumormill.ndn.routing import events as routing_events
from rumormill.ndn.security.trust import Trust

AGAIN: Final = 0.25
"""Seconds until a message is tried again that found nobody."""

LOOK_UP_AGAIN: Final = 5.0
"""Seconds until the name of a host is looked up again that nobody knew."""

GOODBYE: Final = 0.5
"""Seconds of the time for closing that are kept for what is sent last."""

LOOPBACK: Final = "tcp://127.0.0.1:0"
"""Where a node listens that was not told."""

TYPICAL_TOPIC: Final = "/" + "t" * 100
"""For the largest message of all topics: the names of both are in one packet."""


class NdnMachine(Protocol):
    """What the machines of a node and of a client have in common."""

    @property
    def pubsub(self) -> PubSub:
        """What publishes and subscribes."""
        ...

    @property
    def gate(self) -> Gatekeeper:
        """Who may send us datagrams."""
        ...

    @property
    def peers(self) -> tuple[str, ...]:
        """Whom we are connected to."""
        ...

    @property
    def neighbour_names(self) -> tuple[str, ...]:
        """The nodes among them that have told their names."""
        ...

    def subscribers(self, topic: str) -> tuple[str, ...]:
        """By whom subscribers are reached, as far as we know."""
        ...

    def sizes(self) -> dict[str, int]:
        """How much there is of what takes memory."""
        ...

    def handle(self, input: NdnInput, now: float) -> Sequence[object]:
        """See :class:`~rumormill.core.machine.Machine`."""
        ...

    def wake(self, now: float) -> Sequence[object]:
        """See :class:`~rumormill.core.machine.Machine`."""
        ...

    def next_wake(self) -> float | None:
        """See :class:`~rumormill.core.machine.Machine`."""
        ...


class NdnNetwork(Network):
    """Publishes by notifications to a topic's subscribers, who fetch the message and acknowledge.

    ``build`` makes the machine; it is given what says whether a topic has a validator.
    """

    repeatable: ClassVar[frozenset[str]] = (
        events.REPEATABLE | routing_events.REPEATABLE | {ROUTE_ADDED, ROUTE_REMOVED}
    )
    shifts: ClassVar[frozenset[str]] = Network.shifts | {
        events.PUBLICATION_ENDED, events.ROUTE_STANDS, trace.CONNECTION_OPENED,
        trace.CONNECTION_CLOSED,
    }  # fmt: skip
    instead_of_relay: ClassVar[str] = "its nodes forward every name that they have a route for"

    def __init__(
        self,
        *,
        name: str,
        id: str,
        settings: NdnSettings,
        build: Callable[[Callable[[str], bool]], NdnMachine],
        trust: Trust,
        signed: bool,
    ) -> None:
        live = settings.live
        self._settings = settings
        self._machine = build(lambda topic: topic in self._validators)
        self._ndn: Driver[NdnInput] = Driver(self._machine)
        super().__init__(
            name=name,
            id=id,
            driver=self._ndn,
            capabilities=Capabilities(
                largest_message=self._machine.pubsub.largest_message(TYPICAL_TOPIC),
                all_subscribers=settings.pubsub.reaches == "all",
                acknowledged=True,
                signed=signed,
            ),
            subject=Subject(lambda subject: subject.genuine(trust), self._judged),
            validator_concurrency=live.validator_concurrency,
            close_timeout=live.close_timeout,
            trace_each=live.trace_each,
        )
        self._addresses: tuple[str, ...] = ()
        self._tokens = itertools.count(1)
        self._publications: Waiting[Receipt] = Waiting()
        self._dials = Dials(self._ndn)
        self._background: set[asyncio.Task[None]] = set()
        self._fetched_until = 0.0
        """Until when some may still fetch what all are to get, in the loop's time."""
        self._sockets = Sockets(
            self._ndn.feed,
            gate=self._machine.gate,
            now=self._ndn.now,
            close_timeout=live.close_timeout,
            on_short=lambda: self.emit(trace.CONNECTION_REFUSED, reason="too_many_open_files"),
            on_lost=self._datagram_lost,
        )
        self._sockets.attach(self._ndn)
        self._ndn.on(PublicationEnded, self._publication_ended)

    # ---- what there is

    @property
    def addresses(self) -> tuple[str, ...]:
        """Where others can reach us; a client is reached by its forwarder alone."""
        return self._addresses

    @property
    def peers(self) -> tuple[str, ...]:
        """Whom we are connected to."""
        return self._machine.peers

    def _trace_peers(self) -> tuple[str, ...]:
        """Faces, and the nodes behind them."""
        return (*self._machine.peers, *self._machine.neighbour_names)

    def subscribers(self, topic: str) -> tuple[str, ...]:
        """By whom subscribers of the topic are reached, as far as a node knows; a client does not,
        and learns it from what becomes of a message.
        """
        return self._machine.subscribers(canonical_topic(topic))

    def sizes(self) -> dict[str, int]:
        """See :meth:`Network.sizes`; and what the machine and its sockets keep."""
        return {
            **super().sizes(),
            **self._machine.sizes(),
            **self._sockets.sizes(),
            "publishing": len(self._publications),
            "connecting": len(self._dials) + len(self._background),
        }

    # ---- subscribe

    def join(self, topic: str) -> None:
        """See :meth:`Network.join`."""
        super().join(canonical_topic(topic))

    def subscribe(
        self,
        topic: str,
        *,
        buffer: int = 1024,
        when_full: WhenFull | None = None,
        buffer_bytes: int = 16 * 1024 * 1024,
        only: MessageFilter | None = None,
    ) -> Subscription:
        """See :meth:`Network.subscribe`; :meth:`wait_subscribed` waits for the route.

        A full subscription that waits lets publishers try again for a while, or go to others.
        """
        return super().subscribe(
            canonical_topic(topic),
            buffer=buffer,
            when_full=when_full,
            buffer_bytes=buffer_bytes,
            only=only,
        )

    async def wait_subscribed(self, topic: str, timeout: float | None = None) -> None:
        """Wait until the forwarder brings us the topic's notifications.

        Raises :class:`NotReadyError` after ``timeout`` seconds, and says why not yet.
        """
        self._check_open()
        name, pubsub = canonical_topic(topic), self._machine.pubsub
        refusals: list[str] = []

        def see(event: TraceEvent) -> None:
            if event.event == events.ROUTE_REFUSED:
                refusals[:] = (str(event.fields.get("reason", "")),)

        stop = self._ndn.on_trace(see)
        try:
            stands = await self._until(lambda: pubsub.is_ready(name), timeout)
        finally:
            stop()
        if not stands:
            problem = f"the forwarder brought us nothing of {name} after {timeout:g} s"
            why = f": {in_words(refusals[0])}" if refusals else ""
            raise NotReadyError(problem + why)

    async def wait_for_peers(
        self, topic: str, count: int = 1, timeout: float | None = None
    ) -> tuple[str, ...]:
        """See :meth:`Network.wait_for_peers`; of a node, since a client knows of none."""
        return await super().wait_for_peers(canonical_topic(topic), count, timeout)

    def add_validator(
        self,
        topic: str | None,
        function: ValidatorFunction,
        *,
        timeout: float = 5.0,
        concurrency: int = 1024,
    ) -> None:
        """See :meth:`Network.add_validator`."""
        name = None if topic is None else canonical_topic(topic)
        super().add_validator(name, function, timeout=timeout, concurrency=concurrency)

    def remove_validator(self, topic: str | None) -> None:
        """See :meth:`Network.remove_validator`."""
        super().remove_validator(None if topic is None else canonical_topic(topic))

    def _judged(self, subject: Unverified, peer: str | None) -> Iterable[Message]:
        """What validators see of what is checked."""
        return () if subject.message is None else (subject.message,)

    # ---- publish

    async def publish(
        self,
        topic: str | Sequence[str],
        data: bytes,
        *,
        ready: float | None = None,
        timeout: float = 5.0,
    ) -> Receipt:
        """Publish ``data``, and wait for what becomes of it: the receipt's ``outcome`` is
        ``delivered`` (a subscriber has acknowledged it), ``unknown`` (one has fetched it, and
        nothing more was heard) or ``no_subscriber`` (it was not delivered).

        It goes to the nearest subscriber, or to all where forwarders do so (``strategy``). Our own
        subscriptions count as the farthest of them. With ``ready``, a message that finds nobody is
        tried again for so many seconds, then :class:`NotReadyError` tells it. What has no end after
        ``timeout`` seconds is ``unknown``.
        """
        self._check_open()
        name, data = _one(topic), as_bytes(data)
        if self._validators:
            await self._judge_own((name,), data)
        loop = asyncio.get_running_loop()
        ready_by = loop.time() + (ready or 0.0)
        while True:
            receipt = await self._publish(name, data, timeout)
            if receipt.outcome != Outcome.NO_SUBSCRIBER or ready is None:
                return receipt
            if loop.time() + AGAIN > ready_by:
                raise NotReadyError(self._nobody(receipt, ready), receipt)
            await asyncio.sleep(AGAIN)

    async def _publish(self, topic: str, data: bytes, timeout: float) -> Receipt:
        """One try; our own subscriptions get it where all do, or where nobody else does."""
        began = asyncio.get_running_loop().time()
        if not self._machine.pubsub.has_room:
            await self._until(lambda: self._machine.pubsub.has_room, timeout)
        self._check_open()
        took = asyncio.get_running_loop().time() - began
        receipt = await self._publication(topic, data, max(0.0, timeout - took))
        nobody = receipt.outcome == Outcome.NO_SUBSCRIBER
        if not nobody and self.capabilities.all_subscribers:
            self._fetched_until = asyncio.get_running_loop().time() + self._settings.pubsub.linger
        if topic in self.topics and (nobody or self.capabilities.all_subscribers):
            self._deliver_own(receipt, data)
            if nobody:
                fields = {**receipt.fields, "outcome": Outcome.DELIVERED}
                return receipt._replace(reached=(self.id,), fields=fields)
        return receipt

    async def _publication(self, topic: str, data: bytes, timeout: float) -> Receipt:
        token = next(self._tokens)
        end = self._publications.begin(token)
        try:
            self._ndn.feed(Publication(token, topic, data))
            async with asyncio.timeout(timeout):
                return await end
        except TimeoutError:
            fields = {"outcome": Outcome.UNKNOWN, "reason": "timeout", "seconds": timeout}
            return Receipt(b"", topic, fields=fields)
        finally:
            if self._publications.forget(token):  # too late, cancelled, or refused
                self._ndn.feed(Forget(token))

    def _publication_ended(self, effect: PublicationEnded) -> None:
        self._publications.done(effect.token, effect.receipt)

    def _deliver_own(self, receipt: Receipt, data: bytes) -> None:
        now, topic = self._ndn.now(), receipt.topic
        message = Message(topic, data, self.id, receipt.id, self.name, received_at=now)
        self._deliveries.deliver(message)
        self._trace(trace.DELIVERED, topic, receipt.id, size=len(data), sender=self.id)

    def _nobody(self, receipt: Receipt, seconds: float) -> str:
        why = WHY.get(receipt.fields.get("reason", ""), "nobody listened to {topic!r}")
        return f"{why.format(topic=receipt.topic, prefix=self.id)} within {seconds:g} s"

    def _has_targets(self, topics: tuple[str, ...]) -> bool:
        return all(self.subscribers(topic) for topic in topics)

    def _hold(self, paused: bool) -> None:
        self._ndn.feed(Hold(paused))

    # ---- connect

    async def connect(self, address: str, keep: bool = False) -> str:
        """Connect to the forwarder at ``address`` and return what we call it; see
        :class:`Network`. Of one that is reached over UDP nobody knows whether it is there.
        """
        self._check_open()
        check_address(address)
        target = await self._sockets.target(address)
        self._check_open()
        return await self._dials.dial(target, keep)

    async def _keep(self, address: str) -> None:
        """Have an address dialed whose host may have to be looked up first, until it is known."""
        while True:
            try:
                target = await self._sockets.target(address)
            except ConnectError as error:
                self._trace(trace.CONNECTION_FAILED, address=address, reason="name_not_found",
                            detail=str(error))  # fmt: skip
                await asyncio.sleep(LOOK_UP_AGAIN)
            else:
                self._ndn.feed(Dial(target, keep=True))
                return

    def _datagram_lost(self, reason: str, peer: str | None, count: int) -> None:
        self._trace(trace.DROPPED, what="datagram", reason=reason, count=count, address=peer)

    # ---- come and go

    async def _start(self) -> None:
        live = self._settings.live
        if not self._settings.is_client:
            self._addresses = await self._sockets.listen(live.listen or (LOOPBACK,))
        for route in self._settings.static_addresses:
            await self._sockets.target(route)  # a socket, if it needs one
        self._ndn.feed(Listening(self._addresses))
        for address in live.bootstrap:
            task = asyncio.create_task(self._keep(address))
            self._background.add(task)
            task.add_done_callback(self._background.discard)

    async def _leave(self) -> None:
        for task in self._background:
            task.cancel()
        loop = asyncio.get_running_loop()
        # One subscriber has the last message; where all are to get it, others may be about to.
        await asyncio.sleep(min(self._fetched_until, self._close_by - GOODBYE) - loop.time())
        self._ndn.feed(Shutdown())
        self._ndn.wake()
        await self._sockets.close(max(0.0, self._close_by - loop.time()))
        self._dials.close()


WHY: Final = {
    "not_reachable": "no forwarder could be reached",
    "route_refused": "the forwarder gave us no route to {prefix}",
}
"""Why nobody got a message, where it is not that nobody listens."""


def _one(topic: str | Sequence[str]) -> str:
    if isinstance(topic, str):
        return canonical_topic(topic)
    if len(topic) != 1:
        raise LocalProtocolError(f"a message of this network has one topic, not {len(topic)}")
    return canonical_topic(topic[0])

"""A network: the verbs that every family shares, on top of a machine and its driver.

async with rumormill.open(name, listen=address) as network:
    async with network.subscribe("weather") as messages:
        receipt = await network.publish("weather", b"rain at noon")
        async for message in messages:
            print(message.sender, message.data)
"""

from __future__ import annotations

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from types import TracebackType
from typing import ClassVar, Self

from rumormill.core import trace
from rumormill.core.errors import ClosedError, LocalProtocolError, NotReadyError
from rumormill.core.machine import (
    Check,
    Checked,
    CheckedMany,
    NetworkInput,
    Subscribe,
    Unsubscribe,
)
from rumormill.core.message import Message
from rumormill.core.receipt import Receipt
from rumormill.core.topic import Capabilities, check_topic
from rumormill.core.trace import TraceEvent, type_of_field
from rumormill.live.changes import Changes
from rumormill.live.checker import Checker, Subject
from rumormill.live.deliveries import Deliveries, DeliverListener
from rumormill.live.driver import Driver, TraceListener
from rumormill.live.message_filter import MessageFilter
from rumormill.live.relay import Relay, Relays
from rumormill.live.subscription import Subscription, WhenFull
from rumormill.live.summaries import EACH
from rumormill.live.topic import Topic
from rumormill.live.topic_events import TopicEvents, TopicWatch
from rumormill.live.trace_listeners import TraceListeners
from rumormill.live.validation import ValidatorFunction, Validators

VALIDATORS_SHARE = 0.25
"""Of the time that closing may take: how long validators have that do not stop when told to."""

log = logging.getLogger("rumormill")

SHIFTS = frozenset(
    (
        trace.PEER_SUBSCRIBED, trace.PEER_UNSUBSCRIBED, trace.GRAFTED, trace.PRUNED,
        trace.PEER_JOINED, trace.PEER_LEFT, trace.SUBSCRIBED, trace.UNSUBSCRIBED,
        trace.RELAY_BEGAN, trace.RELAY_ENDED,
    )
)  # fmt: skip
"""Events that may change who would get a message."""


class Network(ABC):
    """One network that this node takes part in.

    A family derives from this and says how to start, publish, connect and leave. Use it with
    ``async with``, or call :meth:`close` at the end.
    """

    when_full: ClassVar[WhenFull] = "wait"
    """What a subscription does that is full and was not told what to do."""

    shifts: ClassVar[frozenset[str]] = SHIFTS
    """Events that whoever waits for peers wants to look at."""

    repeatable: ClassVar[frozenset[str]] = frozenset()
    """Kinds of the family's own that a peer can bring about at will, to be summed up in traces."""

    def __init__(
        self,
        *,
        name: str,
        id: str,
        driver: Driver[NetworkInput],
        capabilities: Capabilities,
        subject: Subject,
        validator_concurrency: int,
        close_timeout: float = 5.0,
        trace_each: int = EACH,
    ) -> None:
        self.name = name
        """Which network it is."""
        self.id = id
        """Who we are on it."""
        self.capabilities = capabilities
        """What it promises about messages."""
        self._validators = Validators(validator_concurrency)
        self._driver = driver
        self._checker = Checker(self._answer_checks, subject, self._validators)
        driver.on(Check, self._checker.check)
        self._deliveries = Deliveries(
            driver,
            hold=self._hold,
            left=self._unsubscribe,
            dropped=self._overflowed,
            filtered=self._left_out,
        )
        self._trace_listeners = TraceListeners(
            driver, each=trace_each, more=self.repeatable, peers=self._trace_peers
        )
        self._opened: dict[str, TraceEvent] = {}
        """By the name of the node: how we have told that the network is open."""
        self._before_opening: list[Callable[[], None]] = []
        """Events of ours that wait for that: until then our name may be unknown."""
        self._relays = Relays(self._begin_relay, self._end_relay)
        self._topic_watch = TopicWatch(self.shifts, driver.on_trace, self.subscribers)
        self._changes = Changes()
        self._stop_watching: Callable[[], None] | None = None
        self._at_close: list[Callable[[], Awaitable[None]]] = []
        self._close_timeout = close_timeout
        self._close_by = 0.0
        """When everything is to be closed, in the loop's time; from :meth:`close` on."""
        self._closing: asyncio.Task[None] | None = None

    def __repr__(self) -> str:
        state = "open" if self._closing is None else "closed"
        return f"<Network {self.name} {self.id} {state}>"

    # ---- what a family says

    @property
    def trace_name(self) -> str:
        """What this node is called in trace events: what others call it as a peer."""
        return self.id

    @property
    @abstractmethod
    def addresses(self) -> tuple[str, ...]:
        """Where others can reach us."""

    @property
    def services(self) -> Mapping[str, tuple[str, ...]]:
        """Where we answer others than peers, by what that is for; most networks have no such."""
        return {}

    @property
    @abstractmethod
    def peers(self) -> tuple[str, ...]:
        """Whom we are connected to."""

    def _trace_peers(self) -> tuple[str, ...]:
        """The same by all names that trace events have for them."""
        return self.peers

    @abstractmethod
    def subscribers(self, topic: str) -> tuple[str, ...]:
        """Peers that listen to the topic, as far as we know."""

    def mesh(self, topic: str) -> tuple[str, ...]:
        """Peers that get every message of the topic from us, where the network has such."""
        return ()

    def join(self, topic: str) -> None:
        """Take part in a topic though nobody here listens to it yet.

        Needed before :meth:`connect` where peers are known by their topics, and harmless where they
        are not.
        """
        self._check_open()
        check_topic(topic)

    @abstractmethod
    async def connect(self, address: str, keep: bool = False) -> str:
        """Connect to the peer at ``address`` and return its id.

        With ``keep``, it is dialed again whenever the connection is lost. Raises
        :class:`ConnectError` that names the address and says why.
        """

    instead_of_relay: ClassVar[str] = "subscribe to it, and leave its messages unread"
    """What to do where topics cannot be relayed; for the sentence that says so."""

    def _begin_relay(self, topic: str) -> None:
        """Pass the topic on from now on; only where ``capabilities.relays``."""
        raise NotImplementedError

    def _end_relay(self, topic: str) -> None:
        """Pass it on no longer."""
        raise NotImplementedError

    @abstractmethod
    def _has_targets(self, topics: tuple[str, ...]) -> bool:
        """Whether anyone would get a message that is published now."""

    @abstractmethod
    def _hold(self, paused: bool) -> None:
        """Hold all peers back, or let them go on."""

    @abstractmethod
    async def _start(self) -> None:
        """Listen and dial."""

    @abstractmethod
    async def _leave(self) -> None:
        """Say goodbye and close all sockets."""

    # ---- publish

    @abstractmethod
    async def publish(
        self,
        topic: str | Sequence[str],
        data: bytes,
        *,
        ready: float | None = None,
        timeout: float = 5.0,
    ) -> Receipt:
        """Publish ``data``; the receipt says whom it went to and what was dropped.

        With ``ready``, wait up to so many seconds until at least one peer would get it, and raise
        :class:`NotReadyError` if none comes. ``timeout`` seconds are what publishing itself may
        take. Our own validator of the topic is asked first (:class:`RejectedError`).
        """

    async def publish_many(
        self,
        topic: str | Sequence[str],
        several: Iterable[bytes],
        *,
        ready: float | None = None,
        timeout: float = 5.0,
    ) -> tuple[Receipt, ...]:
        """Publish several messages; a receipt for each, in their order.

        Where the network has no better way, one after the other as :meth:`publish` does. An error
        ends it, and those before have left.
        """
        return tuple(
            [await self.publish(topic, each, ready=ready, timeout=timeout) for each in several]
        )

    async def _judge_own(
        self, topics: tuple[str, ...], data: bytes, author: str | None = None
    ) -> None:
        for topic in topics:
            if topic in self._validators:
                now = self._driver.now()
                sender = author or self.id
                message = Message(topic, data, sender, network=self.name, received_at=now)
                await self._validators.judge_own(message)

    async def _wait_ready(self, topics: tuple[str, ...], seconds: float) -> None:
        if not await self._until(lambda: self._has_targets(topics), seconds):
            names = ", ".join(repr(topic) for topic in topics)
            raise NotReadyError(f"nobody listened to {names} within {seconds:g} s")

    async def wait_for_peers(
        self, topic: str, count: int = 1, timeout: float | None = None
    ) -> tuple[str, ...]:
        """Wait until so many peers listen to the topic; return them.

        Raises :class:`NotReadyError` after ``timeout`` seconds.
        """
        self._check_open()
        check_topic(topic)
        if not await self._until(lambda: len(self.subscribers(topic)) >= count, timeout):
            found = len(self.subscribers(topic))
            raise NotReadyError(
                f"{found} of {count} peers listened to {topic!r} within {timeout:g} s"
            )
        return self.subscribers(topic)

    async def wait_subscribed(self, topic: str, timeout: float | None = None) -> None:
        """Wait until what is published comes to our subscriptions of the topic, as far as we can
        know: most networks tell their peers at once, and there is nothing to wait for.

        Raises :class:`NotReadyError` after ``timeout`` seconds.
        """
        self._check_open()
        check_topic(topic)

    async def _until(self, condition: Callable[[], bool], timeout: float | None) -> bool:
        """Wait for what may change with an event of :data:`SHIFTS`, or with room in a queue."""
        if self._stop_watching is None:
            self._stop_watching = self._driver.on_trace(self._shifted)
        try:
            met = await self._changes.until(lambda: self.closed or condition(), timeout)
        finally:
            # One listener serves all who wait, and events cost nothing when nobody does.
            if not self._changes.waiting and self._stop_watching is not None:
                self._stop_watching()
                self._stop_watching = None
        self._check_open()
        return met

    def _shifted(self, event: TraceEvent) -> None:
        if event.event in self.shifts:
            self._changes.happened()

    # ---- subscribe

    def subscribe(
        self,
        topic: str,
        *,
        buffer: int = 1024,
        when_full: WhenFull | None = None,
        buffer_bytes: int = 16 * 1024 * 1024,
        only: MessageFilter | None = None,
    ) -> Subscription:
        """Listen to a topic from now on.

        ``buffer`` messages, and ``buffer_bytes`` of their data, may wait to be read; then
        ``when_full`` says what happens: see :mod:`rumormill.live.subscription`. A topic may have
        several subscriptions; each gets every message, or with ``only`` those of which this says
        True: see :mod:`rumormill.live.message_filter`.
        """
        self._check_open()
        check_topic(topic)
        return self._deliveries.subscribe(
            topic,
            lambda: self._driver.feed(Subscribe(topic)),
            buffer=buffer,
            buffer_bytes=buffer_bytes,
            when_full=when_full or self.when_full,
            only=only,
        )

    def _answer_checks(self, answers: list[Checked]) -> None:
        # Nothing more comes of this turn's checks: what they bring can leave at once.
        self._driver.feed(CheckedMany(answers), then_wake=True)

    def _unsubscribe(self, topic: str) -> None:
        """The last subscription of a topic was closed, by its user or with the network."""
        self._driver.feed(Unsubscribe(topic, quietly=self.closed))

    def _overflowed(self, subscription: Subscription, message: Message) -> None:
        why = "subscription_full"
        self._trace(
            trace.DROPPED, subscription.topic, message.id, what="message", reason=why, count=1
        )

    def _left_out(self, subscription: Subscription, message: Message, reason: str) -> None:
        self._trace(trace.FILTERED, subscription.topic, message.id, reason=reason)

    # ---- topics, validators, what happens

    @property
    def topics(self) -> tuple[str, ...]:
        """The topics that we listen to."""
        return self._deliveries.topics

    def topic(self, name: str, *, fanout_only: bool = False) -> Topic:
        """A topic as an object of its own; ``fanout_only``: one to publish on, and nothing else."""
        return Topic(self, name, fanout_only=fanout_only)

    def relay(self, topic: str) -> Relay:
        """Pass the messages of a topic on from now on, for others: none is delivered here.

        It lasts until the last handle of the topic is closed: see :mod:`rumormill.live.relay`.
        Raises :class:`LocalProtocolError` where a network has no such thing
        (``capabilities.relays``).
        """
        self._check_open()
        check_topic(topic)
        if not self.capabilities.relays:
            raise LocalProtocolError(
                f"{self.name} cannot relay {topic!r} for others alone: {self.instead_of_relay}"
            )
        return self._relays.add(topic)

    @property
    def relayed(self) -> tuple[str, ...]:
        """The topics that :meth:`relay` keeps."""
        return self._relays.topics

    def topic_events(self, topic: str) -> TopicEvents:
        """Who begins and who ends to listen to a topic, those first who do so already.

        See :mod:`rumormill.live.topic_events`. What is told is what :meth:`subscribers` knows.
        """
        self._check_open()
        self.subscribers(check_topic(topic))  # raises for what is no topic of this network
        return self._topic_watch.watch(topic)

    def add_validator(
        self,
        topic: str | None,
        function: ValidatorFunction,
        *,
        timeout: float = 5.0,
        concurrency: int = 1024,
    ) -> None:
        """Let ``function`` judge every message of the topic before it is passed on; of every topic,
        if it is None.

        See :mod:`rumormill.live.validation`. An ``async`` function has ``timeout`` seconds, and at
        most ``concurrency`` of its calls are under way at once; messages past that are dropped,
        counted.
        """
        self._validators.add(topic, function, timeout=timeout, concurrency=concurrency)

    def remove_validator(self, topic: str | None) -> None:
        """Pass on the messages of the topic without asking; None: end the one for all topics."""
        self._validators.remove(topic)

    @property
    def counters(self) -> Mapping[str, int]:
        """How often each event happened: ``delivered``, ``dropped.queue_full``; 0 if never."""
        return self._driver.counters

    def sizes(self) -> dict[str, int]:
        """How much there is of what takes memory or time: subscriptions and the messages in them,
        checks and validators under way, tasks that wait for peers or room, listeners to events.
        """
        return {
            **self._deliveries.sizes(),
            "relays": len(self._relays),
            "topic_events": len(self._topic_watch),
            "checks": self._checker.pending,
            "validators": self._validators.running,
            "waiting": self._changes.waiting,
            "trace_listeners": len(self._trace_listeners) + (self._stop_watching is not None),
        }

    def on_trace(self, listener: TraceListener) -> Callable[[], None]:
        """Call ``listener`` with every trace event; returns a function that ends it.

        It runs on the event loop, in the midst of the work: it must be quick. What a peer repeats
        comes summed up, up to a second later: an event with a ``count`` stands for so many.

        The first event is always ``network_opened``, with the time of the opening: a listener that
        comes later is told at once.
        """
        return self._trace_listeners.add(listener, tuple(self._opened.values()))

    def on_deliver(self, listener: DeliverListener) -> Callable[[], None]:
        """Call ``listener`` with every message that is delivered, whether or not a subscription has
        room for it; returns a function that ends it. Like :meth:`on_trace`, it must be quick.
        """
        return self._deliveries.on_deliver(listener)

    def emit(self, event: str, **fields: type_of_field) -> None:
        """Add a trace event of this node: it is counted, and shown to those of :meth:`on_trace`.

        Before the network is open it waits: ``network_opened`` comes first.
        """
        now = self._driver.now()
        if self._opened or self.closed:
            self._driver.trace(TraceEvent(now, self.trace_name, event, fields=fields))
        else:
            self._before_opening.append(
                lambda: self._driver.trace(TraceEvent(now, self.trace_name, event, fields=fields))
            )

    def _trace(
        self,
        event: str,
        topic: str | None = None,
        message_id: bytes | None = None,
        **fields: type_of_field,
    ) -> None:
        now, node = self._driver.now(), self.trace_name
        self._driver.trace(TraceEvent(now, node, event, topic, message_id, None, fields))

    # ---- open and close

    @property
    def closed(self) -> bool:
        """Whether the network was closed."""
        return self._closing is not None

    def _check_open(self) -> None:
        if self._closing is not None:
            raise ClosedError(f"the network {self.name} is closed")

    async def start(self) -> Self:
        """Begin; :func:`rumormill.open` calls it."""
        self._driver.start()
        self._driver.on(TraceEvent, self._first_event)
        try:
            await self._start()
        except BaseException:
            await self.close()
            raise
        self._say_opened(self.trace_name)
        return self

    def _first_event(self, event: TraceEvent) -> None:
        """Carry out the first trace event of the machine, behind the one that opens the trace."""
        self._say_opened(event.node)
        self._driver.trace(event)

    def _say_opened(self, node: str) -> None:
        """Say what the network promises, once under each name; a family whose nodes are called
        otherwise once they know their address says it again.
        """
        self._driver.on(TraceEvent, self._driver.trace)
        if node not in self._opened:
            event = trace.network_opened(self._driver.now(), node, self.capabilities)
            self._opened[node] = event
            self._driver.trace(event)
        self._say_what_waited()

    def _say_what_waited(self) -> None:
        waited, self._before_opening = self._before_opening, []
        for say in waited:
            say()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Leave every topic, say goodbye, send what waits, close every socket.

        Takes ``close_timeout`` seconds at most. Closing twice is harmless: the second call waits
        for the first.
        """
        if self._closing is None:
            self._close_by = asyncio.get_running_loop().time() + self._close_timeout
            self._closing = asyncio.ensure_future(self._close())
        await asyncio.shield(self._closing)

    async def _close(self) -> None:
        self._changes.happened()
        self._driver.wake()
        self._deliveries.close()
        self._relays.close()
        self._topic_watch.close()
        await self._validators.close(VALIDATORS_SHARE * self._close_timeout)
        self._driver.wake()
        try:
            await self._leave()
        finally:
            self._say_what_waited()
            self._driver.stop()
            self._checker.close()
            self._trace_listeners.close()
            await self._last_actions()

    async def _last_actions(self) -> None:
        """Do what was asked of :meth:`at_close`, all of it; then tell the first that failed."""
        problem: BaseException | None = None
        for action in reversed(self._at_close):
            try:
                await action()
            except (Exception, asyncio.CancelledError) as error:
                self.emit("close_failed", reason=type(error).__name__)
                if problem is None:
                    problem = error
                else:
                    log.warning("%r failed when %r was closed", action, self, exc_info=error)
        if problem is not None:
            raise problem

    def at_close(self, action: Callable[[], Awaitable[None]]) -> None:
        """Await ``action`` at the end of :meth:`close`, when nothing happens any more."""
        self._at_close.append(action)


def as_bytes(data: bytes) -> bytes:
    """What a user published; :class:`LocalProtocolError` if it is no bytes."""
    if isinstance(data, bytes):
        return data
    if isinstance(data, bytearray | memoryview):
        return bytes(data)
    raise LocalProtocolError(f"a message is bytes, not {type(data).__name__}")

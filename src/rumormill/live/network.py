"""A network: the verbs that every family shares, on top of a machine and its driver.

async with rumormill.open("gossipsub", listen="/ip4/0.0.0.0/tcp/4001") as network:
    async with network.subscribe("weather") as messages:
        receipt = await network.publish("weather", b"rain at noon")
        async for message in messages:
            print(message.sender, message.data)
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from types import TracebackType
from typing import ClassVar, Self

from rumormill.core import trace
from rumormill.core.errors import ClosedError, LocalProtocolError, NotReadyError
from rumormill.core.machine import (
    Check,
    Checked,
    CheckedMany,
    Deliver,
    Machine,
    Subscribe,
    Unsubscribe,
)
from rumormill.core.message import Message
from rumormill.core.receipt import Receipt
from rumormill.core.topic import Capabilities, check_topic
from rumormill.core.trace import TraceEvent, type_of_field
from rumormill.live.changes import Changes
from rumormill.live.checker import Checker, Subject
from rumormill.live.driver import Driver, TraceListener
from rumormill.live.subscription import Subscription, SubscriptionHooks, WhenFull
from rumormill.live.topic import Topic
from rumormill.live.validation import ValidatorFunction, Validators

DeliverListener = Callable[[Message], object]

SHIFTS = frozenset(
    (
        trace.PEER_SUBSCRIBED, trace.PEER_UNSUBSCRIBED, trace.GRAFTED, trace.PRUNED,
        trace.PEER_JOINED, trace.PEER_LEFT, trace.SUBSCRIBED, trace.UNSUBSCRIBED,
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

    def __init__(
        self,
        *,
        name: str,
        id: str,
        machine: Machine,
        capabilities: Capabilities,
        subject: Subject,
        validator_concurrency: int,
    ) -> None:
        self.name = name
        """Which network it is, such as ``gossipsub``."""
        self.id = id
        """Who we are on it."""
        self.capabilities = capabilities
        """What it promises about messages."""
        self._validators = Validators(validator_concurrency)
        self._driver = Driver(machine)
        self._checker = Checker(self._answer_checks, subject, self._validators)
        self._driver.on({Deliver: self._deliver, Check: self._checker.check})
        self._changes = Changes()
        self._subscriptions: dict[str, tuple[Subscription, ...]] = {}
        self._full: dict[Subscription, None] = {}
        self._hooks = SubscriptionHooks(self._left, self._filled, self._overflowed)
        self._deliver_listeners: tuple[DeliverListener, ...] = ()
        self._at_close: list[Callable[[], Awaitable[None]]] = []
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
    @abstractmethod
    def peers(self) -> tuple[str, ...]:
        """Whom we are connected to."""

    @abstractmethod
    def subscribers(self, topic: str) -> tuple[str, ...]:
        """Peers that listen to the topic, as far as we know."""

    def mesh(self, topic: str) -> tuple[str, ...]:
        """Peers that get every message of the topic from us, where the network has such."""
        return ()

    def join(self, topic: str) -> None:
        """Take part in a topic though nobody here listens to it yet.

        Needed before :meth:`connect` where peers are known by their topics (bep50), and harmless
        where they are not.
        """
        self._check_open()
        check_topic(topic)

    @abstractmethod
    async def connect(self, address: str, keep: bool = False) -> str:
        """Connect to the peer at ``address`` and return its id.

        With ``keep``, it is dialed again whenever the connection is lost. Raises
        :class:`ConnectError` that names the address and says why.
        """

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

    async def _judge_own(self, topics: tuple[str, ...], data: bytes) -> None:
        for topic in topics:
            if topic in self._validators:
                now = self._driver.now()
                message = Message(topic, data, self.id, network=self.name, received_at=now)
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

    async def _until(self, condition: Callable[[], bool], timeout: float | None) -> bool:
        """Wait for what may change with an event of :data:`SHIFTS`, or with room in a queue."""

        def shifted(event: TraceEvent) -> None:
            if event.event in self.shifts:
                self._changes.happened()

        stop = self._driver.on_trace(shifted)
        try:
            met = await self._changes.until(lambda: self.closed or condition(), timeout)
        finally:
            stop()
        self._check_open()
        return met

    # ---- subscribe

    def subscribe(
        self,
        topic: str,
        *,
        buffer: int = 1024,
        when_full: WhenFull | None = None,
        buffer_bytes: int = 16 * 1024 * 1024,
    ) -> Subscription:
        """Listen to a topic from now on.

        ``buffer`` messages, and ``buffer_bytes`` of their data, may wait to be read; then
        ``when_full`` says what happens: see :mod:`rumormill.live.subscription`. A topic may have
        several subscriptions; each gets every message.
        """
        self._check_open()
        check_topic(topic)
        subscription = Subscription(
            topic,
            self._hooks,
            buffer=buffer,
            buffer_bytes=buffer_bytes,
            when_full=when_full or self.when_full,
        )
        others = self._subscriptions.get(topic, ())
        # Known before the machine is told, which may have a message at hand.
        self._subscriptions[topic] = (*others, subscription)
        if not others:
            try:
                self._driver.feed(Subscribe(topic))
            except BaseException:
                del self._subscriptions[topic]
                raise
        return subscription

    def _answer_checks(self, answers: list[Checked]) -> None:
        # Nothing more comes of this turn's checks: what they bring can leave at once.
        self._driver.feed(CheckedMany(answers), then_wake=True)

    def _deliver(self, effect: Deliver) -> None:
        message = effect.message
        for subscription in self._subscriptions.get(message.topic, ()):
            subscription.push(message)

    def _deliver_and_show(self, effect: Deliver) -> None:
        for listener in self._deliver_listeners:
            try:
                listener(effect.message)
            except Exception:
                self._driver.listener_failed(listener)
        self._deliver(effect)

    def _left(self, subscription: Subscription) -> None:
        topic = subscription.topic
        rest = tuple(
            each for each in self._subscriptions.get(topic, ()) if each is not subscription
        )
        if rest:
            self._subscriptions[topic] = rest
        elif self._subscriptions.pop(topic, None) is not None:
            self._unsubscribe(topic)

    def _unsubscribe(self, topic: str) -> None:
        """The last subscription of a topic was closed, by its user or with the network."""
        self._driver.feed(Unsubscribe(topic, quietly=self.closed))

    def _filled(self, subscription: Subscription, full: bool) -> None:
        """A subscription wants peers held back, or no longer does."""
        before = bool(self._full)
        if full:
            self._full[subscription] = None
        else:
            self._full.pop(subscription, None)
        if bool(self._full) != before:
            self._hold(full)

    def _overflowed(self, subscription: Subscription, message: Message) -> None:
        why = "subscription_full"
        self._trace(
            trace.DROPPED, subscription.topic, message.id, what="message", reason=why, count=1
        )

    # ---- topics, validators, what happens

    @property
    def topics(self) -> tuple[str, ...]:
        """The topics that we listen to."""
        return tuple(self._subscriptions)

    def topic(self, name: str) -> Topic:
        """A topic as an object of its own."""
        return Topic(self, name)

    def add_validator(
        self,
        topic: str,
        function: ValidatorFunction,
        *,
        timeout: float = 5.0,
        concurrency: int = 1024,
    ) -> None:
        """Let ``function`` judge every message of the topic before it is passed on.

        See :mod:`rumormill.live.validation`. An ``async`` function has ``timeout`` seconds, and at
        most ``concurrency`` of its calls are under way at once; messages past that are dropped,
        counted.
        """
        self._validators.add(topic, function, timeout=timeout, concurrency=concurrency)

    def remove_validator(self, topic: str) -> None:
        """Pass on the messages of the topic without asking."""
        self._validators.remove(topic)

    @property
    def counters(self) -> Mapping[str, int]:
        """How often each event happened: ``delivered``, ``dropped.queue_full``; 0 if never."""
        return self._driver.counters

    def on_trace(self, listener: TraceListener) -> Callable[[], None]:
        """Call ``listener`` with every trace event; returns a function that ends it.

        It runs on the event loop, in the midst of the work: it must be quick.
        """
        return self._driver.on_trace(listener)

    def on_deliver(self, listener: DeliverListener) -> Callable[[], None]:
        """Call ``listener`` with every message that is delivered, whether or not a subscription has
        room for it; returns a function that ends it. Like :meth:`on_trace`, it must be quick.
        """
        self._listen_to_deliveries((*self._deliver_listeners, listener))

        def stop() -> None:
            rest = tuple(each for each in self._deliver_listeners if each is not listener)
            self._listen_to_deliveries(rest)

        return stop

    def _listen_to_deliveries(self, listeners: tuple[DeliverListener, ...]) -> None:
        self._deliver_listeners = listeners
        # Whoever has no listener does not pay for looking whether there is one.
        self._driver.on({Deliver: self._deliver_and_show if listeners else self._deliver})

    def emit(self, event: str, **fields: type_of_field) -> None:
        """Add a trace event of this node: it is counted, and shown to those of :meth:`on_trace`."""
        self._driver.trace(TraceEvent(self._driver.now(), self.trace_name, event, fields=fields))

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
        try:
            await self._start()
        except BaseException:
            await self.close()
            raise
        return self

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
            self._closing = asyncio.ensure_future(self._close())
        await asyncio.shield(self._closing)

    async def _close(self) -> None:
        self._changes.happened()
        self._driver.wake()
        for subscriptions in list(self._subscriptions.values()):
            for subscription in subscriptions:
                subscription.close()
        await self._validators.close()
        self._driver.wake()
        try:
            await self._leave()
        finally:
            self._driver.stop()
            self._checker.close()
            for action in reversed(self._at_close):
                await action()

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

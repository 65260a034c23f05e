"""A network: the verbs that every family shares, on top of a machine and its driver.

async with rumormill.open(name, listen=address) as network:
    async with network.subscribe("weather") as messages:
        receipt = await network.publish("weather", b"rain at noon")
        async for message in messages:
            print(message.sender, message.data)
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from types import TracebackType
from typing import Self

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
from rumormill.live.checks.checker import Checker, Subject
from rumormill.live.checks.validation import ValidatorFunction, Validators
from rumormill.live.driver import Driver, TraceListener
from rumormill.live.family_part import FamilyPart
from rumormill.live.last_actions import LastActions
from rumormill.live.topics.deliveries import Deliveries, DeliverListener
from rumormill.live.topics.message_filter import MessageFilter
from rumormill.live.topics.relay import Relay, Relays
from rumormill.live.topics.subscription import Subscription, WhenFull
from rumormill.live.topics.topic import Topic
from rumormill.live.topics.topic_events import TopicEvents, TopicWatch
from rumormill.live.tracing.beginning import TraceBeginning
from rumormill.live.tracing.summaries import EACH
from rumormill.live.tracing.trace_listeners import TraceListeners
from rumormill.live.waiting.readiness import Readiness

VALIDATORS_SHARE = 0.25
"""Of the time that closing may take: how long validators have that do not stop when told to."""


class Network(FamilyPart):
    """One network that this node takes part in.

    A family derives from this and says how to start, publish, connect and leave. Use it with
    ``async with``, or call :meth:`close` at the end.
    """

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
        self._beginning = TraceBeginning(driver, capabilities)
        self._relays = Relays(self._begin_relay, self._end_relay)
        self._topic_watch = TopicWatch(self.shifts, driver.on_trace, self.subscribers)
        self._readiness = Readiness(driver, self.shifts)
        self._last_actions = LastActions(self, self._tell_failed)
        self._close_timeout = close_timeout
        self._close_by = 0.0
        """When everything is to be closed, in the loop's time; from :meth:`close` on."""
        self._closing: asyncio.Task[None] | None = None

    def __repr__(self) -> str:
        state = "open" if self._closing is None else "closed"
        return f"<Network {self.name} {self.id} {state}>"

    # ---- publish, and wait for whom it goes to

    def join(self, topic: str) -> None:
        """Take part in a topic though nobody here listens to it yet.

        Needed before :meth:`connect` where peers are known by their topics, and harmless where they
        are not.
        """
        self._check_open()
        check_topic(topic)

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
        """Wait for what may change with one of :attr:`shifts`, or with room in a queue."""
        met = await self._readiness.until(lambda: self.closed or condition(), timeout)
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
        only: MessageFilter | None = None,
    ) -> Subscription:
        """Listen to a topic from now on.

        ``buffer`` messages, and ``buffer_bytes`` of their data, may wait to be read; then
        ``when_full`` says what happens: see :mod:`rumormill.live.topics.subscription`. A topic may
        have several subscriptions; each gets every message, or with ``only`` those of which this
        says True: see :mod:`rumormill.live.topics.message_filter`.
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

        It lasts until the last handle of the topic is closed: see
        :mod:`rumormill.live.topics.relay`. Raises :class:`LocalProtocolError` where a network has
        no such thing (``capabilities.relays``).
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

        See :mod:`rumormill.live.topics.topic_events`. What is told is what :meth:`subscribers`
        knows.
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

        See :mod:`rumormill.live.checks.validation`. An ``async`` function has ``timeout`` seconds,
        and at most ``concurrency`` of its calls are under way at once; messages past that are
        dropped, counted.
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
            "waiting": self._readiness.waiting,
            "trace_listeners": len(self._trace_listeners) + self._readiness.watching,
        }

    def on_trace(self, listener: TraceListener) -> Callable[[], None]:
        """Call ``listener`` with every trace event; returns a function that ends it.

        It runs on the event loop, in the midst of the work: it must be quick. What a peer repeats
        comes summed up, up to a second later: an event with a ``count`` stands for so many.

        The first event is always ``network_opened``, with the time of the opening: a listener that
        comes later is told at once.
        """
        return self._trace_listeners.add(listener, self._beginning.events)

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
        if self._beginning.told or self.closed:
            self._driver.trace(TraceEvent(now, self.trace_name, event, fields=fields))
        else:
            self._beginning.later(
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
        self._beginning.watch()
        try:
            await self._start()
        except BaseException:
            await self.close()
            raise
        self._beginning.say_opened(self.trace_name)
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
            self._close_by = asyncio.get_running_loop().time() + self._close_timeout
            self._closing = asyncio.ensure_future(self._close())
        await asyncio.shield(self._closing)

    async def _close(self) -> None:
        self._readiness.look_again()
        self._driver.wake()
        self._deliveries.close()
        self._relays.close()
        self._topic_watch.close()
        await self._validators.close(VALIDATORS_SHARE * self._close_timeout)
        self._driver.wake()
        try:
            await self._leave()
        finally:
            self._beginning.say_what_waited()
            self._driver.stop()
            self._checker.close()
            self._trace_listeners.close()
            await self._last_actions.carry_out()

    def _tell_failed(self, error: BaseException) -> None:
        self.emit("close_failed", reason=type(error).__name__)

    def at_close(self, action: Callable[[], Awaitable[None]]) -> None:
        """Await ``action`` at the end of :meth:`close`, when nothing happens any more."""
        self._last_actions.add(action)


def as_bytes(data: bytes) -> bytes:
    """What a user published; :class:`LocalProtocolError` if it is no bytes."""
    if isinstance(data, bytes):
        return data
    if isinstance(data, bytearray | memoryview):
        return bytes(data)
    raise LocalProtocolError(f"a message is bytes, not {type(data).__name__}")

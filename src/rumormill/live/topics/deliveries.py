"""Who gets the messages of a network: listeners to all of them, subscriptions of a topic."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Never

from rumormill.core.machine import Deliver
from rumormill.core.message import Message
from rumormill.live.driver import Driver
from rumormill.live.topics.message_filter import FilteredSubscription, MessageFilter
from rumormill.live.topics.subscription import Subscription, SubscriptionHooks, WhenFull

DeliverListener = Callable[[Message], object]


class Deliveries:
    """Carries out ``Deliver``.

    * ``hold(paused)`` is called when the first subscription wants peers held back, and when the
      last no longer does;
    * ``left(topic)`` when the last subscription of a topic is closed;
    * ``dropped`` for each message that a full subscription lost;
    * ``filtered`` for each that the filter of a subscription left out.
    """

    def __init__(
        self,
        driver: Driver[Never],
        *,
        hold: Callable[[bool], None],
        left: Callable[[str], None],
        dropped: Callable[[Subscription, Message], None],
        filtered: Callable[[Subscription, Message, str], None],
    ) -> None:
        self._driver = driver
        self._hold = hold
        self._topic_left = left
        self._filtered = filtered
        self._hooks = SubscriptionHooks(self._left, self._filled, dropped)
        self._subscriptions: dict[str, tuple[Subscription, ...]] = {}
        self._full: dict[Subscription, None] = {}
        self._listeners: tuple[DeliverListener, ...] = ()
        driver.on(Deliver, self._deliver)

    @property
    def topics(self) -> tuple[str, ...]:
        """The topics that somebody subscribed to."""
        return tuple(self._subscriptions)

    def __iter__(self) -> Iterator[Subscription]:
        for several in list(self._subscriptions.values()):
            yield from several

    def sizes(self) -> dict[str, int]:
        """How many subscriptions there are, messages in them, and listeners."""
        return {
            "subscriptions": sum(1 for _ in self),
            "pending": sum(each.pending for each in self),
            "deliver_listeners": len(self._listeners),
        }

    # ---- subscriptions

    def subscribe(
        self,
        topic: str,
        tell: Callable[[], None],
        *,
        buffer: int,
        buffer_bytes: int,
        when_full: WhenFull,
        only: MessageFilter | None = None,
    ) -> Subscription:
        """Add a subscription; ``tell`` is called if it is the first of its topic."""
        kind = Subscription if only is None else partial(FilteredSubscription, only, self._filtered)
        subscription = kind(
            topic, self._hooks, buffer=buffer, buffer_bytes=buffer_bytes, when_full=when_full
        )
        others = self._subscriptions.get(topic, ())
        # Known before the machine is told, which may have a message at hand.
        self._subscriptions[topic] = (*others, subscription)
        if not others:
            try:
                tell()
            except BaseException:
                del self._subscriptions[topic]
                raise
        return subscription

    def _left(self, subscription: Subscription) -> None:
        topic = subscription.topic
        rest = tuple(
            each for each in self._subscriptions.get(topic, ()) if each is not subscription
        )
        if rest:
            self._subscriptions[topic] = rest
        elif self._subscriptions.pop(topic, None) is not None:
            self._topic_left(topic)

    def _filled(self, subscription: Subscription, full: bool) -> None:
        """A subscription wants peers held back, or no longer does."""
        before = bool(self._full)
        if full:
            self._full[subscription] = None
        else:
            self._full.pop(subscription, None)
        if bool(self._full) != before:
            self._hold(full)

    def close(self) -> None:
        """Close every subscription."""
        for subscription in self:
            subscription.close()

    # ---- listeners

    def on_deliver(self, listener: DeliverListener) -> Callable[[], None]:
        """Call ``listener`` with every message; returns how to stop that."""
        self._listen((*self._listeners, listener))

        def stop() -> None:
            self._listen(tuple(each for each in self._listeners if each is not listener))

        return stop

    def _listen(self, listeners: tuple[DeliverListener, ...]) -> None:
        self._listeners = listeners
        # Whoever has no listener does not pay for looking whether there is one.
        self._driver.on(Deliver, self._deliver_and_show if listeners else self._deliver)

    # ---- messages

    def deliver(self, message: Message) -> None:
        """Hand on a message that the machine does not bring, such as one of our own."""
        (self._deliver_and_show if self._listeners else self._deliver)(Deliver(message))

    def _deliver(self, effect: Deliver) -> None:
        message = effect.message
        for subscription in self._subscriptions.get(message.topic, ()):
            subscription.push(message)

    def _deliver_and_show(self, effect: Deliver) -> None:
        for listener in self._listeners:
            try:
                listener(effect.message)
            except Exception:
                self._driver.listener_failed(listener)
        self._deliver(effect)

"""A filter of the messages of one subscription: what this one reader wants of a topic.

    def of_others(message):
        return message.sender != network.id

    network.subscribe("weather", only=of_others)

Other subscriptions of the topic and all peers get every message all the same: to keep bad ones from
them is a validator's part. What is left out takes no room in the buffer; it is counted
(``subscription.filtered``) and traced. A filter that fails leaves its message out, and never stops
the node.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import TypeAlias

from rumormill.core.message import Message
from rumormill.live.topics.subscription import Subscription, SubscriptionHooks, WhenFull

MessageFilter: TypeAlias = Callable[[Message], bool]
"""Whether a subscription wants the message. It is called in the midst of the work: be quick."""

FILTERED, FILTER_FAILED = "subscription_filter", "subscription_filter_failed"

log = logging.getLogger("rumormill")


class FilteredSubscription(Subscription):
    """A subscription that takes only what its filter lets pass; others do not pay for the look."""

    def __init__(
        self,
        only: MessageFilter,
        left_out: Callable[[Subscription, Message, str], None],
        topic: str,
        hooks: SubscriptionHooks,
        *,
        buffer: int,
        buffer_bytes: int,
        when_full: WhenFull,
    ) -> None:
        super().__init__(
            topic, hooks, buffer=buffer, buffer_bytes=buffer_bytes, when_full=when_full
        )
        self._only = only
        self._left_out = left_out
        self._warned = False

    def push(self, message: Message) -> None:
        """Take a message from the network, if the filter wants it."""
        reason = FILTERED
        try:
            wanted = self._only(message)
        except (Exception, asyncio.CancelledError) as error:
            wanted, reason = False, FILTER_FAILED
            self._failed(error)
        if wanted:
            super().push(message)
            return
        self.filtered += 1
        self._left_out(self, message, reason)

    def _failed(self, error: BaseException) -> None:
        """Said once, then only counted."""
        if not self._warned:
            self._warned = True
            log.warning(
                "the filter of a subscription of %r failed, its message is left out; "
                "further failures are only counted",
                self.topic,
                exc_info=error,
            )

"""The subscriber: a notification is looked at, and its message fetched, delivered, acknowledged.

A message is known by its publisher, its topic and its nonce: by the name of its Data. A
notification that comes again while it is being fetched waits for the same end. One that comes again
later is acknowledged again, and nothing is delivered twice.

While the application is behind (``Hold``), nothing new is fetched. Notifications wait for as long
as they live, and are followed in their order when the application has caught up. Nothing is said
meanwhile: to silence, forwarders bring the publisher's next try to another subscriber, while a Nack
would make them ask us again. A publisher whose patience ends first knows for sure that it was not
delivered. What was being fetched is delivered: subscriptions have room for that much.

Who does not take a message answers with a Nack, so that its publisher need not wait. NoRoute says
that we will never take it: forwarders ask the next subscriber, if there is one. Congestion says
that there was no room, and that it is worth trying again soon.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from rumormill.core import trace
from rumormill.core.errors import LocalProtocolError, RemoteProtocolError
from rumormill.core.machine import Checked, Verdict
from rumormill.core.timers import Alarm, Timers
from rumormill.core.turn import Turn
from rumormill.ndn.pubsub.arrivals import Arrival, Arrivals, Subscription, Waiter
from rumormill.ndn.pubsub.checks import Checks, Unverified
from rumormill.ndn.pubsub.fetching import Fetching
from rumormill.ndn.pubsub.guard import FetchGuard
from rumormill.ndn.pubsub.line import Line
from rumormill.ndn.pubsub.message_id import message_id_of
from rumormill.ndn.pubsub.parameters import PubSubParameters
from rumormill.ndn.pubsub.pending import Pending
from rumormill.ndn.pubsub.recent import Recent
from rumormill.ndn.pubsub.topics import Names
from rumormill.ndn.wire.interest import Interest, encode_interest
from rumormill.ndn.wire.link import NackReason
from rumormill.ndn.wire.name import Name
from rumormill.ndn.wire.notify import decode_notify, message_name, notify_name

DIGEST_COMPONENT: Final = 34
"""Bytes of the component that ends the name of an Interest with parameters."""

LONGEST_WAIT: Final = 60.0
"""Seconds that we believe a notification waits for its answer, whatever it says."""


class Subscriber:
    """All topics that we listen to."""

    def __init__(
        self,
        turn: Turn,
        line: Line,
        prefix: Name,
        parameters: PubSubParameters,
        names: Names,
        pending: Pending,
        checks: Checks,
        guard: FetchGuard,
        recent: Recent,
        arrivals: Arrivals,
        fetching: Fetching,
        alarm: Alarm,
    ) -> None:
        self._turn = turn
        self._line = line
        self._prefix = prefix
        self._parameters = parameters
        self._names = names
        self._pending = pending
        self._checks = checks
        self._guard = guard
        self._recent = recent
        self._arrivals = arrivals
        self._fetching = fetching
        self._lifetime = round(parameters.fetch_lifetime * 1000)
        self._subscriptions: dict[str, Subscription] = {}
        self._by_route: dict[Name, Subscription] = {}
        self._paused = False
        self._held: Timers[bytes] = Timers(alarm)
        """Ids of messages whose notifications wait for the application."""

    # ---- topics

    def subscribe(self, topic: str) -> None:
        """Listen to a topic."""
        if topic in self._subscriptions:
            return
        if len(self._subscriptions) >= self._parameters.max_topics:
            raise LocalProtocolError(f"there are {len(self._subscriptions)} topics already")
        name = self._names.topic(topic)
        subscription = Subscription(topic, name, notify_name(name))
        self._subscriptions[topic] = subscription
        self._by_route[subscription.route] = subscription
        self._line.register(subscription.route)

    def unsubscribe(self, topic: str) -> None:
        """Listen to it no more: the route goes, and what was on its way is not delivered."""
        subscription = self._subscriptions.pop(topic, None)
        if subscription is None:
            return
        del self._by_route[subscription.route]
        self._line.unregister(subscription.route)
        arrivals = self._arrivals.by_id.values()
        for arrival in [each for each in arrivals if each.subscription is subscription]:
            self._give_up(arrival, NackReason.NO_ROUTE, "unsubscribed")
        self._turn.trace(trace.UNSUBSCRIBED, topic)

    def registered(self, route: Name, problem: str) -> None:
        """The route of a topic stands, or is refused."""
        subscription = self._by_route.get(route)
        if subscription is None:
            return
        subscription.ready = not problem
        if not problem and not subscription.told:
            subscription.told = True
            self._turn.trace(trace.SUBSCRIBED, subscription.text)

    def line_down(self) -> None:
        """No notification comes until the routes stand again."""
        for subscription in self._subscriptions.values():
            subscription.ready = False

    def is_ready(self, topic: str) -> bool:
        """Whether notifications of a topic come to us."""
        subscription = self._subscriptions.get(topic)
        return subscription is not None and subscription.ready

    def topics(self) -> tuple[str, ...]:
        """The topics that we listen to."""
        return tuple(self._subscriptions)

    def shutdown(self) -> None:
        """Leave all of them."""
        for topic in self.topics():
            self.unsubscribe(topic)

    # ---- notifications

    def notified(self, interest: Interest, token: bytes) -> None:
        """An Interest came that may be a notification."""
        subscription = self._by_route.get(interest.name[:-DIGEST_COMPONENT])
        if subscription is None or interest.parameters is None:
            self._turn.trace(trace.IGNORED, reason="not_subscribed")
            self._line.send_nack(interest, NackReason.NO_ROUTE, token)
            return
        topic = subscription.text
        try:
            if len(interest.raw) > self._parameters.largest_notify:
                raise RemoteProtocolError("notify_too_large", f"{len(interest.raw)} bytes")
            publisher, nonce, hint = decode_notify(interest.parameters)
        except RemoteProtocolError as error:
            self._turn.trace(trace.REJECTED, topic, reason=error.reason, detail=error.detail)
            self._line.send_nack(interest, NackReason.NO_ROUTE, token)
            return
        name = message_name(publisher, subscription.name, nonce)
        message_id = message_id_of(name)
        if publisher == self._prefix:
            # No Nack: it would come back to us as the answer to our own notification.
            self._turn.trace(trace.IGNORED, topic, message_id, reason="own_message")
            return
        lifetime = min(interest.lifetime / 1000, LONGEST_WAIT)
        waiter = Waiter(interest, token, self._turn.now + lifetime)
        if self._is_known(message_id, subscription, publisher, waiter):
            return
        fetch = encode_interest(
            name,
            nonce=self._pending.new_nonce(),
            lifetime=self._lifetime,
            forwarding_hint=() if hint is None else (hint,),
        )
        arrival = Arrival(
            self._fetching, message_id, subscription, publisher, self._names.text(publisher),
            fetch, waiter,
        )  # fmt: skip
        if self._paused:
            self._hold(arrival)
        else:
            self._begin(arrival)

    def _is_known(
        self, message_id: bytes, subscription: Subscription, publisher: Name, waiter: Waiter
    ) -> bool:
        """Whether a message is on its way or came before; then the notification is dealt with.

        The name of a message can be read in two ways, if a topic has a component "msg" in it. A
        message is of the topic that it was notified for first.
        """
        arrival = self._arrivals.by_id.get(message_id)
        seen = None if arrival is not None else self._recent.get(message_id)
        if arrival is None and seen is None:
            return False
        notify, token, _ = waiter
        topic, peer = subscription.text, self._names.text(publisher)
        if arrival is not None and arrival.subscription is subscription:
            arrival.join(waiter)
            if not arrival.fetching:
                self._held.set(message_id, waiter.until)
            problem = ""
        elif seen is not None and seen.topic == subscription.name:
            most = self._parameters.max_acknowledgements
            problem = self._arrivals.again(seen, notify, token, most)
        else:
            self._turn.trace(trace.REJECTED, topic, message_id, peer, reason="ambiguous_name")
            self._line.send_nack(notify, NackReason.NO_ROUTE, token)
            return True
        self._turn.trace(trace.DUPLICATE, topic, message_id, peer)
        if problem:
            self._turn.trace(
                trace.DROPPED, topic, message_id, peer, what="acknowledgement", reason=problem,
                count=1,
            )  # fmt: skip
        return True

    def _begin(self, arrival: Arrival) -> None:
        """Believe a notification, or have it checked first, and fetch the message."""
        subscription = arrival.subscription
        strained = self._guard.is_strained(arrival.publisher, self._turn.now)
        if strained:
            arrival.timeouts = self._parameters.fetch_attempts - 1  # the first try is the last
        refusal = self._guard.refusal(arrival.publisher, strained)
        if not refusal and subscription.fetches >= self._parameters.max_fetches_per_topic:
            refusal = "topic_fetches"
        if refusal:
            self._turn_away(arrival, refusal)
            return
        notify, token, _ = arrival.waiters[0]
        genuine = self._checks.at_once(subscription.name, notify.signature)
        if genuine is False:
            self._arrivals.trace(trace.REJECTED, arrival, "bad_signature")
            self._line.send_nack(notify, NackReason.NO_ROUTE, token)
            return
        self._arrivals.begin(arrival)
        if genuine:
            self._fetching.begin(arrival)
        else:
            self._check(arrival, arrival.waiters[0])

    def _turn_away(self, arrival: Arrival, reason: str) -> None:
        """There is no room for a message now."""
        self._arrivals.dropped(arrival, "notify", reason)
        for notify, token, _ in arrival.waiters:
            self._line.send_nack(notify, NackReason.CONGESTION, token)

    def _check(self, arrival: Arrival, waiter: Waiter) -> None:
        subject = Unverified("notify", arrival.subscription.name, waiter.notify.signature)
        answer = partial(self._checked, arrival, waiter)
        arrival.check = self._checks.begin(subject, arrival.source, answer)

    def _checked(self, arrival: Arrival, waiter: Waiter, answer: Checked) -> None:
        """What came of the signature of a notification."""
        arrival.check = 0
        reason = answer.detail or answer.verdict
        if answer.verdict == Verdict.ACCEPT:
            self._fetching.begin(arrival)
        elif answer.verdict == Verdict.OVERLOADED:
            self._arrivals.dropped(arrival, "notify", reason)
            self._arrivals.refused(arrival, NackReason.CONGESTION, came=None)
        else:
            self._arrivals.trace(trace.REJECTED, arrival, reason)
            # Another one of the same message may be the true one.
            others = [each for each in arrival.waiters if each.notify.name != waiter.notify.name]
            if others:
                self._line.send_nack(waiter.notify, NackReason.NO_ROUTE, waiter.token)
                arrival.waiters = others
                self._check(arrival, others[0])
            else:
                self._arrivals.refused(arrival, NackReason.NO_ROUTE, came=False)

    # ---- when the application is behind

    def hold(self, paused: bool) -> None:
        """The application is behind, or has caught up."""
        if paused == self._paused:
            return
        self._paused = paused
        self._turn.trace(trace.SOURCE_PAUSED if paused else trace.SOURCE_RESUMED)
        if not paused:
            arrivals = self._arrivals.by_id
            for arrival in [each for each in arrivals.values() if not each.fetching]:
                del arrivals[arrival.id]
                self._held.cancel(arrival.id)
                self._begin(arrival)

    def _hold(self, arrival: Arrival) -> None:
        if len(self._held) >= self._parameters.max_held:
            self._turn_away(arrival, "too_many_held")
            return
        self._arrivals.by_id[arrival.id] = arrival
        self._held.set(arrival.id, arrival.waiters[0].until)

    def _give_up(self, arrival: Arrival, nack: int, reason: str) -> None:
        """A message is not wanted any more."""
        self._fetching.stop(arrival)
        self._held.cancel(arrival.id)
        self._arrivals.dropped(arrival, "message", reason)
        self._arrivals.refused(arrival, nack, came=None)

    def wake(self) -> None:
        """Forget what waits for the application, and whose publisher does not wait any more."""
        for message_id in self._held.due(self._turn.now):
            self._arrivals.dropped(self._arrivals.by_id.pop(message_id), "notify", "held")

    def next_wake(self) -> float | None:
        """When the first of those is to be forgotten."""
        return self._held.next_wake()

    def sizes(self) -> dict[str, int]:
        """What takes memory."""
        arrivals = self._arrivals.by_id.values()
        return {
            "topics": len(self._subscriptions),
            "arrivals": len(arrivals),
            "waiters": sum(len(each.waiters) for each in arrivals),
            "held": len(self._held),
            "remembered": len(self._recent),
            "reserved_bytes": self._fetching.reserved,
        }

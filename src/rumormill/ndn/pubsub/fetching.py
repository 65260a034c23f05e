"""Fetching a message from its publisher, and handing it over once it is believed."""

from __future__ import annotations

from collections.abc import Callable

from rumormill.core import trace
from rumormill.core.errors import RemoteProtocolError
from rumormill.core.machine import Checked, Deliver, Verdict
from rumormill.core.message import Message
from rumormill.core.turn import Turn
from rumormill.ndn.pubsub import events
from rumormill.ndn.pubsub.arrivals import Arrival, Arrivals, Fetcher
from rumormill.ndn.pubsub.checks import Checks, Unverified
from rumormill.ndn.pubsub.parameters import PubSubParameters
from rumormill.ndn.pubsub.pending import Pending
from rumormill.ndn.pubsub.segments import SegmentFetch
from rumormill.ndn.pubsub.topics import Names
from rumormill.ndn.wire.data import ContentType, Data
from rumormill.ndn.wire.link import NackReason
from rumormill.ndn.wire.manifest import MANIFEST_CONTENT_TYPE, Manifest, decode_manifest
from rumormill.ndn.wire.signature import Signature


class Fetching(Fetcher):
    """From the notification that was believed to the delivery."""

    def __init__(
        self,
        turn: Turn,
        parameters: PubSubParameters,
        network: str,
        names: Names,
        pending: Pending,
        checks: Checks,
        arrivals: Arrivals,
        validated: Callable[[str], bool],
    ) -> None:
        self._turn = turn
        self._parameters = parameters
        self._network = network
        self._names = names
        self._pending = pending
        self._checks = checks
        self._arrivals = arrivals
        self._validated = validated
        self._reserved = 0

    @property
    def reserved(self) -> int:
        """Bytes that are set aside for messages in segments."""
        return self._reserved

    def begin(self, arrival: Arrival) -> None:
        """Ask for the message."""
        self._send(arrival)

    def stop(self, arrival: Arrival) -> None:
        """Want it no more; whoever calls this ends the arrival."""
        self._pending.end(arrival)
        if arrival.check:
            self._checks.forget(arrival.check)
        if arrival.segments is not None:
            arrival.segments.stop()
        self._release(arrival)

    # ---- retries

    def refused(self, arrival: Arrival) -> None:
        """A forwarder could not bring it: perhaps later."""
        self._missed(arrival, "nack")

    def due(self, arrival: Arrival) -> None:
        """It did not come, or is to be asked for again."""
        if arrival.sent:
            self._missed(arrival, "timed_out")
        else:
            self._again(arrival, "nack")

    def _missed(self, arrival: Arrival, reason: str) -> None:
        parameters = self._parameters
        arrival.timeouts += 1
        if arrival.timeouts >= parameters.fetch_attempts:
            self._pending.end(arrival)
            self._failed(arrival, reason)
        elif arrival.sent:
            self._again(arrival, reason)
        else:
            delay = parameters.nack_delay * 2.0 ** (arrival.nacks - 1)
            delay = min(delay, parameters.longest_nack_delay)
            self._pending.pause(arrival, self._pending.jitter(delay))

    def _again(self, arrival: Arrival, reason: str) -> None:
        self._turn.trace(
            events.RETRIED, arrival.subscription.text, arrival.id, arrival.sender, what="fetch",
            reason=reason, attempt=arrival.sends + 1,
        )  # fmt: skip
        self._send(arrival)

    def _send(self, arrival: Arrival) -> None:
        parameters = self._parameters
        last = arrival.timeouts + 1 >= parameters.fetch_attempts
        self._pending.send(arrival, parameters.fetch_lifetime, last=last)

    def _failed(self, arrival: Arrival, reason: str) -> None:
        """It cannot be had from here; its publisher may find somebody nearer, or try again."""
        self._turn.trace(
            events.FETCH_FAILED, arrival.subscription.text, arrival.id, arrival.sender,
            reason=reason, attempts=arrival.sends,
        )  # fmt: skip
        self._arrivals.refused(arrival, NackReason.CONGESTION, came=False)

    # ---- what came

    def answered(self, arrival: Arrival, data: Data) -> None:
        """The message is there, or its manifest."""
        signature = data.signature
        genuine = self._checks.at_once(arrival.subscription.name, signature)
        if genuine is False:
            self._forged(arrival, "bad_signature")
        elif data.content_type == ContentType.BLOB:
            self._message(arrival, data.content or b"", signature, genuine is True)
        elif data.content_type == MANIFEST_CONTENT_TYPE:
            self._manifest(arrival, data, genuine is True)
        else:
            self._reject(arrival, "content_type")

    def _message(
        self, arrival: Arrival, content: bytes, signature: Signature, verified: bool
    ) -> None:
        subscription = arrival.subscription
        topic, sender, key_name = subscription.text, arrival.sender, signature.key_name
        signed_by = None if key_name is None else self._names.text(key_name)
        message = Message(
            topic, content, sender, arrival.id, self._network, sender, self._turn.now,
            {"signed_by": signed_by},
        )  # fmt: skip
        if verified and not self._validated(topic):
            self._deliver(arrival, message)
            return
        arrival.check = self._checks.begin(
            Unverified("message", subscription.name, signature, message, verified),
            arrival.source,
            lambda answer: self._checked(arrival, message, answer),
        )

    def _checked(self, arrival: Arrival, message: Message, answer: Checked) -> None:
        arrival.check = 0
        if answer.verdict == Verdict.ACCEPT:
            self._deliver(arrival, message)
        else:
            self._not_accepted(arrival, answer)

    def _deliver(self, arrival: Arrival, message: Message) -> None:
        self._release(arrival)
        self._turn.add(Deliver(message))
        self._turn.trace(
            trace.DELIVERED, message.topic, arrival.id, arrival.sender, size=len(message.data),
            sender=arrival.sender,
        )  # fmt: skip
        self._arrivals.delivered(arrival)

    def _not_accepted(self, arrival: Arrival, answer: Checked) -> None:
        reason = answer.detail or answer.verdict
        if answer.verdict == Verdict.FORGED:
            self._forged(arrival, reason)
        elif answer.verdict == Verdict.REJECT:
            self._reject(arrival, reason)
        elif answer.verdict == Verdict.IGNORE:
            self._release(arrival)
            self._arrivals.trace(trace.IGNORED, arrival, reason)
            self._arrivals.refused(arrival, NackReason.NO_ROUTE, came=True, remember=True)
        else:
            self._release(arrival)
            self._arrivals.dropped(arrival, "message", reason)
            self._arrivals.refused(arrival, NackReason.CONGESTION, came=True)

    def _forged(self, arrival: Arrival, reason: str) -> None:
        """Not by somebody who may write to the topic; the next copy may be the true one."""
        self._release(arrival)
        self._arrivals.trace(trace.REJECTED, arrival, reason)
        self._arrivals.refused(arrival, NackReason.NO_ROUTE, came=False)

    def _reject(self, arrival: Arrival, reason: str) -> None:
        self._release(arrival)
        self._arrivals.trace(trace.REJECTED, arrival, reason)
        self._arrivals.refused(arrival, NackReason.NO_ROUTE, came=True, remember=True)

    # ---- in segments

    def _manifest(self, arrival: Arrival, data: Data, verified: bool) -> None:
        if not self._parameters.segments:
            self._reject(arrival, "segmented")
            return
        try:
            manifest = decode_manifest(data.content or b"")
        except RemoteProtocolError as error:
            self._reject(arrival, error.reason)
            return
        signature = data.signature
        if manifest.size > self._parameters.largest_segmented:
            self._reject(arrival, "too_large")
        elif verified:
            self._segments(arrival, manifest, signature)
        else:
            arrival.check = self._checks.begin(
                Unverified("manifest", arrival.subscription.name, signature),
                arrival.source,
                lambda answer: self._manifest_checked(arrival, manifest, signature, answer),
            )

    def _manifest_checked(
        self, arrival: Arrival, manifest: Manifest, signature: Signature, answer: Checked
    ) -> None:
        arrival.check = 0
        if answer.verdict == Verdict.ACCEPT:
            self._segments(arrival, manifest, signature)
        else:
            self._not_accepted(arrival, answer)

    def _segments(self, arrival: Arrival, manifest: Manifest, signature: Signature) -> None:
        if self._reserved + manifest.size > self._parameters.max_segmented_bytes:
            self._arrivals.dropped(arrival, "message", "too_many_segmented")
            self._arrivals.refused(arrival, NackReason.CONGESTION, came=True)
            return
        self._reserved += manifest.size
        arrival.reserved = manifest.size
        fetch = arrival.interest

        def done(content: bytes, problem: str) -> None:
            arrival.segments = None
            if not problem:
                self._message(arrival, content, signature, verified=True)
            elif problem in ("wrong_size", "wrong_digest"):
                self._forged(arrival, problem)
            else:
                self._release(arrival)
                self._failed(arrival, problem)

        arrival.segments = SegmentFetch(
            self._turn, self._pending, self._parameters, fetch.name, fetch.forwarding_hint,
            manifest, done,
        )  # fmt: skip
        arrival.segments.begin()

    def _release(self, arrival: Arrival) -> None:
        self._reserved -= arrival.reserved
        arrival.reserved = 0

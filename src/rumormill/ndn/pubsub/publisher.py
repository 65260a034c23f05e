"""The publisher: a notification is sent until somebody has the message, or nobody will.

    notify Interest  ->  (somebody fetches the message Data)  ->  acknowledgement Data

Both packets are signed once. The notification is sent again with another nonce and the same name,
so that an acknowledgement of the first is one of the last. The message stays where it can be
fetched until its end is known, and lingers if it was fetched; once it is reported that there is no
subscriber, nobody can fetch it any more, so that the report stays true.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Final

from rumormill.core import trace
from rumormill.core.errors import LocalProtocolError
from rumormill.core.machine import Checked, Verdict
from rumormill.core.receipt import Receipt
from rumormill.core.turn import Turn
from rumormill.ndn.effects import Outcome, Publication, PublicationEnded
from rumormill.ndn.pubsub import events
from rumormill.ndn.pubsub.checks import Checks, Unverified
from rumormill.ndn.pubsub.line import Line
from rumormill.ndn.pubsub.message_id import message_id_of
from rumormill.ndn.pubsub.packing import Packed, Packing
from rumormill.ndn.pubsub.parameters import PubSubParameters
from rumormill.ndn.pubsub.pending import Flight, Pending
from rumormill.ndn.pubsub.soft_state import SoftState
from rumormill.ndn.pubsub.topics import Names
from rumormill.ndn.wire.data import ContentType, Data
from rumormill.ndn.wire.link import NackReason
from rumormill.ndn.wire.name import Name, component
from rumormill.ndn.wire.signature import SignatureType

MSG: Final = component(b"msg")
"""The component between a publisher's prefix and a topic."""

SOMEBODY: Final = "subscriber"
"""Who acknowledged, if the acknowledgement does not say."""

NACKS: Final = {
    NackReason.CONGESTION: "congestion",
    NackReason.DUPLICATE: "duplicate",
    NackReason.NO_ROUTE: "no_route",
}
MODES: Final = {"one": "unicast", "all": "multicast"}
"""What tables know the kinds of messages by."""


class _Publication(Flight):
    """A message of ours whose end is open."""

    __slots__ = (
        "began", "check", "deadline", "id", "kept", "progress", "publisher", "reason", "timeouts",
        "token", "topic", "topic_name",
    )  # fmt: skip

    is_notify = True

    def __init__(
        self,
        publisher: Publisher,
        publication: Publication,
        topic_name: Name,
        packed: Packed,
        now: float,
        deadline: float,
    ) -> None:
        super().__init__(packed.notify)
        self.publisher = publisher
        self.token, self.topic, _ = publication
        self.topic_name = topic_name
        self.kept = packed.kept
        self.id = message_id_of(packed.kept.data.name)
        self.began = now
        self.deadline = deadline
        self.timeouts = 0
        self.progress = 0
        """Segments that were fetched when we looked last."""
        self.check = 0
        """The number of the check of its acknowledgement."""
        self.reason = ""
        """Why it had to be sent again."""

    def answered(self, data: Data) -> None:
        self.publisher.acknowledged(self, data)

    def refused(self, reason: int) -> None:
        self.publisher.nacked(self, reason)

    def due(self) -> None:
        self.publisher.due(self)


class Publisher:
    """All messages of ours."""

    def __init__(
        self,
        turn: Turn,
        line: Line,
        prefix: Name,
        parameters: PubSubParameters,
        names: Names,
        packing: Packing,
        pending: Pending,
        checks: Checks,
        state: SoftState,
    ) -> None:
        self._turn = turn
        self._line = line
        self.prefix = prefix
        self.route = prefix + MSG
        """What the forwarder brings us Interests below."""
        self._parameters = parameters
        self._names = names
        self._packing = packing
        self._pending = pending
        self._checks = checks
        self._state = state
        self._mode = MODES[parameters.reaches]
        self._publications: dict[int, _Publication] = {}
        self._asked_for_route = False
        self._reachable = False
        """Whether others can fetch from us."""
        self._refusal = ""
        """Why the forwarder does not want to bring us anything."""

    # ---- routes

    def announce(self) -> None:
        """Ask for the routes by which others fetch from us; only the first time counts."""
        if not self._asked_for_route:
            self._asked_for_route = True
            for route in self._routes():
                self._line.register(route)

    def withdraw(self) -> None:
        """Others need not come to us any more."""
        if self._asked_for_route:
            self._asked_for_route = False
            for route in self._routes():
                self._line.unregister(route)

    def _routes(self) -> tuple[Name, ...]:
        hint = self._packing.hint
        if hint is None or not self._parameters.announce_hint:
            return (self.route,)
        return self.route, hint

    def registered(self, problem: str) -> None:
        """The route by which others fetch from us stands, or is refused."""
        if self._reachable and not problem:
            return
        self._reachable, self._refusal = not problem, problem
        if problem:
            for publication in list(self._publications.values()):
                self._give_up(publication, "route_refused")
            return
        self._pending.resend(notifies=True)
        for publication in list(self._publications.values()):
            if not publication.sent and not publication.check:
                self._send(publication)

    def line_down(self) -> None:
        """Nobody can fetch from us until the route stands again."""
        self._reachable = False

    # ---- publishing

    @property
    def has_room(self) -> bool:
        """Whether one more message can be published now."""
        return (
            len(self._publications) < self._parameters.max_publications
            and self._state.open_bytes < self._parameters.max_publication_bytes
        )

    def largest_message(self, topic: str) -> int:
        """Bytes of the largest message that can be published to a topic."""
        return self._packing.largest_message(self._names.topic(topic))

    def publish(self, publication: Publication) -> None:
        """Begin with a message."""
        token, topic, data = publication
        topic_name = self._names.topic(topic)
        if token in self._publications:
            raise LocalProtocolError(f"there is a publication {token} already")
        packed = self._packing.pack(topic_name, data)
        self.announce()  # before there is something to be sent when the route stands
        parameters, now = self._parameters, self._turn.now
        open = _Publication(self, publication, topic_name, packed, now, now + parameters.patience)
        room = self.has_room
        self._turn.trace(
            trace.PUBLISHED, topic, open.id, size=len(data), mode=self._mode,
            peers=1 if room else 0, dropped=0 if room else 1,
        )  # fmt: skip
        self._publications[token] = open
        self._state.add(packed.kept)
        if not room:
            self._give_up(open, "too_many_publications")
        elif self._refusal:
            self._give_up(open, "route_refused")
        elif self._reachable:
            self._send(open)
        else:
            self._pending.pause(open, parameters.notify_lifetime)

    def forget(self, token: int) -> None:
        """Nobody waits for the end of a message any more: no further notification is sent. Who has
        the last one can still fetch it."""
        publication = self._publications.get(token)
        if publication is not None:
            self._end(publication, Outcome.UNKNOWN, "forgotten", told=False)

    def shutdown(self) -> None:
        """End all of them as far as is known."""
        for publication in list(self._publications.values()):
            self._give_up(publication, "shutdown")
        self.withdraw()

    # ---- what comes of it

    def acknowledged(self, publication: _Publication, data: Data) -> None:
        """An acknowledgement came."""
        signature = data.signature
        if data.content_type == ContentType.NACK:
            self._refuse(publication, "refused")
        elif signature.type == SignatureType.DIGEST:
            if sha256(signature.covered).digest() == signature.value:
                self._delivered(publication, SOMEBODY)
            else:
                self._refuse(publication, "bad_signature")
        elif self._parameters.verify_acknowledgements:
            self._pending.pause(publication, self._parameters.notify_lifetime)
            subject = Unverified("acknowledgement", publication.topic_name, signature)
            publication.check = self._checks.begin(
                subject, None, lambda answer: self._checked(publication, data, answer)
            )
        else:
            self._delivered(publication, self._signer_of(data))

    def _checked(self, publication: _Publication, data: Data, answer: Checked) -> None:
        publication.check = 0
        if answer.verdict == Verdict.ACCEPT:
            self._delivered(publication, self._signer_of(data))
        else:
            self._refuse(publication, answer.detail or answer.verdict)

    def _signer_of(self, data: Data) -> str:
        key_name = data.signature.key_name
        return SOMEBODY if key_name is None else self._names.text(key_name)

    def _refuse(self, publication: _Publication, reason: str) -> None:
        """What came is no acknowledgement; a true one may follow."""
        self._turn.trace(trace.REJECTED, publication.topic, publication.id, reason=reason)
        publication.nacks += 1
        self._again_later(publication, reason)

    def nacked(self, publication: _Publication, reason: int) -> None:
        """The notification finds nobody, or somebody who cannot take it now."""
        if reason == NackReason.NO_ROUTE and not publication.kept.fetched:
            self._end(publication, Outcome.NO_SUBSCRIBER, "no_route")
            return
        publication.reason = NACKS.get(reason, "nack")
        if reason != NackReason.CONGESTION:
            # Who is congested is there, and worth waiting for; all else is a try that failed.
            publication.timeouts += 1
        if publication.timeouts >= self._parameters.notify_attempts:
            self._give_up(publication, publication.reason)
        else:
            self._again_later(publication, publication.reason)

    def _again_later(self, publication: _Publication, reason: str) -> None:
        parameters = self._parameters
        publication.reason = reason
        delay = min(
            parameters.nack_delay * 2.0 ** (publication.nacks - 1), parameters.longest_nack_delay
        )
        self._pending.pause(publication, self._pending.jitter(delay))

    def due(self, publication: _Publication) -> None:
        """The notification has not been acknowledged, or is to be sent again."""
        if publication.sent or not self._reachable:
            publication.reason = "timed_out" if publication.sent else "not_reachable"
            publication.timeouts += 1
            if self._progresses(publication):
                publication.timeouts = 0
        over = publication.timeouts >= self._parameters.notify_attempts
        if over or self._turn.now >= publication.deadline:
            self._give_up(publication, publication.reason)
        elif self._reachable and not publication.check:
            self._send(publication)
        else:
            self._pending.pause(publication, self._parameters.notify_lifetime)

    def _progresses(self, publication: _Publication) -> bool:
        """Whether somebody has fetched more of a message in segments since the last time."""
        segments = publication.kept.segments
        if segments is None or segments.progress == publication.progress:
            return False
        publication.progress = segments.progress
        parameters = self._parameters
        longest = publication.began + parameters.segments_timeout
        publication.deadline = min(longest, self._turn.now + parameters.patience)
        return True

    def _send(self, publication: _Publication) -> None:
        if publication.sends:
            self._turn.trace(
                events.RETRIED, publication.topic, publication.id, what="notify",
                reason=publication.reason, attempt=publication.sends + 1,
            )  # fmt: skip
        last = publication.timeouts + 1 >= self._parameters.notify_attempts
        self._pending.send(publication, self._parameters.notify_lifetime, last=last)

    # ---- the end

    def _delivered(self, publication: _Publication, by: str) -> None:
        self._end(publication, Outcome.DELIVERED, "", (by,))

    def _give_up(self, publication: _Publication, reason: str) -> None:
        fetched = publication.kept.fetched
        self._end(publication, Outcome.UNKNOWN if fetched else Outcome.NO_SUBSCRIBER, reason)

    def _end(
        self,
        publication: _Publication,
        outcome: str,
        reason: str,
        reached: tuple[str, ...] = (),
        told: bool = True,
    ) -> None:
        del self._publications[publication.token]
        self._pending.end(publication)
        if publication.check:
            self._checks.forget(publication.check)
        kept = publication.kept
        if outcome == Outcome.NO_SUBSCRIBER:
            self._state.take_away(kept)
        else:
            self._state.close(kept)
        seconds = round(self._turn.now - publication.began, 6)
        self._turn.trace(
            events.PUBLICATION_ENDED, publication.topic, publication.id, outcome=outcome,
            reason=reason, attempts=publication.sends, fetched=kept.fetched, seconds=seconds,
        )  # fmt: skip
        if told:
            fields: dict[str, object] = {
                "outcome": outcome, "attempts": publication.sends, "seconds": seconds,
            }  # fmt: skip
            if reason:
                fields["reason"] = reason
            receipt = Receipt(publication.id, publication.topic, reached, fields=fields)
            self._turn.add(PublicationEnded(publication.token, receipt))

    def sizes(self) -> dict[str, int]:
        """What takes memory."""
        return {"publications": len(self._publications)}

"""Publishers and subscribers in virtual time, on lines to one small forwarder.

The forwarder knows routes, Interests that wait, and Nacks for what has no route; it brings an
Interest to one next hop (the next one when it is sent again) or to all. What travels is bytes: each
packet is decoded where it arrives. Lines lose, repeat and delay as ``faults`` says.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from heapq import heappop, heappush
from itertools import count
from random import Random
from typing import Any, NamedTuple, TypeVar

from rumormill.core.machine import Check, Checked, Deliver, Subscribe, Verdict
from rumormill.core.message import Message
from rumormill.core.receipt import Receipt
from rumormill.core.timers import NEVER, Alarm
from rumormill.core.trace import TraceEvent
from rumormill.core.turn import Turn
from rumormill.ndn.effects import Publication, PublicationEnded
from rumormill.ndn.pubsub.checks import Unverified
from rumormill.ndn.pubsub.parameters import PubSubParameters
from rumormill.ndn.pubsub.pubsub import PubSub, always
from rumormill.ndn.security.signers import DigestSigner
from rumormill.ndn.security.trust import Trust
from rumormill.ndn.wire.data import Data, decode_data, encode_data
from rumormill.ndn.wire.interest import Interest, decode_interest, encode_interest
from rumormill.ndn.wire.link import NackReason
from rumormill.ndn.wire.name import Name, name_from_uri, prefix_ends
from rumormill.ndn.wire.notify import (
    NotifyParameters,
    encode_notify,
    message_name,
    notify_name,
)
from rumormill.ndn.wire.signature import Signer

Kind = TypeVar("Kind")

PATIENT = PubSubParameters()

Faults = Callable[["Packet"], Sequence[float]]
"""The delays with which a packet arrives: none if it is lost, several if it is repeated."""


class Packet(NamedTuple):
    """Something on a line."""

    time: float
    source: str
    destination: str
    kind: str
    """"interest", "data" or "nack"."""
    raw: bytes
    reason: int = 0
    token: bytes = b""

    @property
    def interest(self) -> Interest:
        return decode_interest(self.raw)

    @property
    def data(self) -> Data:
        return decode_data(self.raw)

    @property
    def name(self) -> Name:
        return self.data.name if self.kind == "data" else self.interest.name


class Member:
    """One program with a line; it is the line, and the machine around pubsub."""

    def __init__(
        self,
        town: Town,
        name: str,
        parameters: PubSubParameters,
        signer: Signer | None,
        trust: Trust | None,
        validated: Callable[[str], bool],
    ) -> None:
        self.town = town
        self.name = name
        self.turn = Turn(name)
        self.alarm = Alarm()
        self.trust = Trust.open() if trust is None else trust
        self.effects: list[Any] = []
        self.judge: Callable[[Message], str] = lambda message: Verdict.ACCEPT
        self.answers_checks = True
        self.checks: list[Check] = []
        """Those that were not answered, if it answers none."""
        self.up = True
        self.prefixes: dict[Name, None] = {}
        self.refuses: dict[Name, str] = {}
        """Routes that the forwarder does not give, and what it says."""
        self.pubsub = PubSub(
            self.turn, self, name_from_uri(name), parameters, Random(f"{town.seed}{name}"),
            self.alarm, DigestSigner() if signer is None else signer, "ndn", trust, validated,
        )  # fmt: skip
        self._tokens = count(1)

    # ---- what happened

    def of(self, kind: type[Kind]) -> list[Kind]:
        """The effects of a kind."""
        return [effect for effect in self.effects if isinstance(effect, kind)]

    def traced(self, event: str) -> list[TraceEvent]:
        """The trace events of a kind."""
        return [each for each in self.of(TraceEvent) if each.event == event]

    def reasons(self, event: str) -> list[Any]:
        """Why events of a kind happened."""
        return [each.fields.get("reason") for each in self.traced(event)]

    @property
    def messages(self) -> list[bytes]:
        """What was delivered."""
        return [each.message.data for each in self.of(Deliver)]

    @property
    def receipts(self) -> list[Receipt]:
        """What became of its messages."""
        return [each.receipt for each in self.of(PublicationEnded)]

    @property
    def outcomes(self) -> list[Any]:
        return [receipt.outcome for receipt in self.receipts]

    # ---- what it does

    def publish(self, topic: str, data: bytes) -> int:
        """Publish a message; returns its token."""
        token = next(self._tokens)
        self.feed(Publication(token, topic, data))
        return token

    def subscribe(self, *topics: str) -> None:
        self.feed(*map(Subscribe, topics))

    def feed(self, *inputs: Any) -> None:
        """Give it inputs, and carry out what follows."""
        for each in inputs:
            self.run(self.pubsub.handle, each)

    def run(self, action: Callable[..., Any], *arguments: Any) -> None:
        """One turn."""
        self.turn.begin(self.town.now)
        try:
            action(*arguments)
        finally:
            effects = self.turn.take()
            for effect in effects:
                self.effects.append(effect)
                if isinstance(effect, TraceEvent):
                    self.town.trace.append(effect)
            self.town.arm(self)
        for effect in effects:
            if isinstance(effect, Check):
                self._check(effect)

    def _check(self, check: Check) -> None:
        if not self.answers_checks:
            self.checks.append(check)
            return
        subject = check.subject
        assert isinstance(subject, Unverified)
        if not subject.genuine(self.trust):
            verdict = Verdict.FORGED
        else:
            verdict = Verdict.ACCEPT if subject.message is None else self.judge(subject.message)
        self.town.later(0.0, self.feed, Checked(check.token, verdict))

    def wake(self) -> None:
        """Do what is due, as machines do it."""
        self.alarm.soonest = NEVER
        self.pubsub.wake(self.town.now)
        soonest = self.pubsub.next_wake()
        self.alarm.soonest = NEVER if soonest is None else soonest

    def disconnect(self) -> None:
        """The forwarder is gone, and knows nothing of us any more."""
        self.up = False
        self.town.forget(self)
        self.run(self.pubsub.line_down, "closed")

    def connect(self) -> None:
        """It is back."""
        self.up = True
        self.run(self.pubsub.line_up)
        for prefix in self.prefixes:
            self.town.register(self, prefix)

    # ---- what others send, without a forwarder

    def interest(self, interest: Interest, token: bytes = b"token") -> None:
        """An Interest comes in."""
        self.run(self.pubsub.interest, interest, token)

    def data(self, data: Data) -> None:
        """A Data comes in."""
        self.run(self.pubsub.data, data)

    def nack(self, interest: Interest, reason: int) -> None:
        """A Nack comes in."""
        self.run(self.pubsub.nack, interest, reason)

    def take_sent(self) -> list[Packet]:
        """What it has sent since the last time."""
        sent = [each for each in self.town.sent if each.source == self.name]
        self.town.sent.clear()
        return sent

    # ---- as a line

    def send_interest(self, interest: Interest) -> None:
        self.town.send(Packet(self.town.now, self.name, "", "interest", interest.raw))

    def send_data(self, data: Data, token: bytes) -> None:
        self.town.send(Packet(self.town.now, self.name, "", "data", data.raw, 0, token))

    def send_nack(self, interest: Interest, reason: int, token: bytes) -> None:
        self.town.send(Packet(self.town.now, self.name, "", "nack", interest.raw, reason, token))

    def register(self, prefix: Name) -> None:
        self.prefixes[prefix] = None
        if self.up:
            self.town.register(self, prefix)

    def unregister(self, prefix: Name) -> None:
        del self.prefixes[prefix]
        self.town.unregister(self, prefix)


class _Waiting:
    """An Interest at the forwarder."""

    def __init__(self) -> None:
        self.downstream: dict[str, tuple[Interest, float]] = {}
        self.tried: list[str] = []
        self.nacked: dict[str, int] = {}


class Town:
    """Members by name, and the forwarder between them."""

    def __init__(
        self,
        *,
        latency: float = 0.005,
        multicast: bool = False,
        nacks: bool = True,
        faults: Faults | None = None,
        seed: int = 1,
    ) -> None:
        self.now = 0.0
        self.seed = seed
        self.latency = latency
        self.multicast = multicast
        self.at_once = False
        """Whether routes stand before the call that asks for them has ended, as in a node."""
        self.nacks = nacks
        """Whether the forwarder says that it has no route, and passes Nacks on."""
        self.faults: Faults = (lambda packet: (latency,)) if faults is None else faults
        self.members: dict[str, Member] = {}
        self.sent: list[Packet] = []
        """All that was sent, by members and by the forwarder (source ""), lost or not."""
        self.trace: list[TraceEvent] = []
        self.routes: dict[Name, dict[str, None]] = {}
        self._waiting: dict[Name, _Waiting] = {}
        self._queue: list[tuple[float, int, Callable[[], object]]] = []
        self._order = count()

    def add(
        self,
        name: str,
        *topics: str,
        parameters: PubSubParameters = PATIENT,
        signer: Signer | None = None,
        trust: Trust | None = None,
        validated: Callable[[str], bool] = always,
        up: bool = True,
    ) -> Member:
        """A program with a prefix, and topics that it listens to."""
        member = Member(self, name, parameters, signer, trust, validated)
        member.up = up
        self.members[name] = member
        if up:
            member.run(member.pubsub.line_up)
        member.subscribe(*topics)
        self.run(0.0)
        return member

    # ---- time

    def run(self, seconds: float) -> None:
        """Let so much time pass."""
        until = self.now + seconds
        while self._queue and self._queue[0][0] <= until:
            self.now, _, action = heappop(self._queue)
            action()
        self.now = until

    def later(self, delay: float, action: Callable[..., object], *arguments: Any) -> None:
        call: Callable[[], object] = partial(action, *arguments)
        heappush(self._queue, (self.now + delay, next(self._order), call))

    def arm(self, member: Member) -> None:
        """See to it that a member is woken in time, as drivers do it."""
        when = member.alarm.soonest
        if when != NEVER:
            call: Callable[[], object] = partial(self._wake, member, when)
            heappush(self._queue, (max(when, self.now), next(self._order), call))

    def _wake(self, member: Member, when: float) -> None:
        if member.alarm.soonest == when:
            member.run(member.wake)

    # ---- what was sent

    def between(self, source: str, kind: str = "") -> list[Packet]:
        """What a member has sent; "" for what the forwarder has sent to members."""
        return [each for each in self.sent if each.source == source and kind in ("", each.kind)]

    # ---- lines

    def send(self, packet: Packet) -> None:
        """A packet goes out by a line."""
        member = self.members[packet.source or packet.destination]
        if not member.up:
            return
        self.sent.append(packet)
        for delay in self.faults(packet):
            self.later(delay, self._arrive, packet, member)

    def _arrive(self, packet: Packet, member: Member) -> None:
        if not member.up:
            return
        if packet.destination:
            self._at_member(packet, member)
        elif packet.kind == "interest":
            self._interest(packet.source, packet.interest)
        elif packet.kind == "data":
            self._data(packet.data)
        else:
            self._nack(packet.source, packet.interest, packet.reason)

    def _at_member(self, packet: Packet, member: Member) -> None:
        if packet.kind == "interest":
            member.run(member.pubsub.interest, packet.interest, packet.token)
        elif packet.kind == "data":
            member.run(member.pubsub.data, packet.data)
        else:
            member.run(member.pubsub.nack, packet.interest, packet.reason)

    def _out(self, destination: str, kind: str, raw: bytes, reason: int = 0) -> None:
        token = b"token" if kind == "interest" else b""
        self.send(Packet(self.now, "", destination, kind, raw, reason, token))

    # ---- the forwarder

    def register(self, member: Member, prefix: Name) -> None:
        problem = member.refuses.get(prefix, "")
        if not problem:
            self.routes.setdefault(prefix, {})[member.name] = None
        if self.at_once:
            member.pubsub.registered(prefix, problem)
        else:
            self.later(self.latency, member.run, member.pubsub.registered, prefix, problem)

    def unregister(self, member: Member, prefix: Name) -> None:
        self.routes.get(prefix, {}).pop(member.name, None)

    def forget(self, member: Member) -> None:
        """A member is gone, with all its routes."""
        for hops in self.routes.values():
            hops.pop(member.name, None)

    def _hops(self, interest: Interest, source: str) -> list[str]:
        for name in (interest.name, *interest.forwarding_hint):
            for end in reversed(prefix_ends(name)):
                hops = [hop for hop in self.routes.get(name[:end], ()) if hop != source]
                if hops:
                    return hops
        return []

    def _interest(self, source: str, interest: Interest) -> None:
        hops = self._hops(interest, source)
        if not hops:
            if self.nacks:
                self._out(source, "nack", interest.raw, NackReason.NO_ROUTE)
            return
        waiting = self._waiting.get(interest.name)
        if waiting is None:
            waiting = self._waiting[interest.name] = _Waiting()
        until = self.now + interest.lifetime / 1000
        waiting.downstream[source] = (interest, until)
        self.later(interest.lifetime / 1000, self._expire, interest.name, waiting)
        if not self.multicast:
            # The nearest first; when it is sent again, one that was not tried yet.
            untried = [hop for hop in hops if hop not in waiting.tried]
            hops = [untried[0] if untried else hops[0]]
        for hop in hops:
            waiting.tried.append(hop)
            waiting.nacked.pop(hop, None)
            self._out(hop, "interest", interest.raw)

    def _expire(self, name: Name, waiting: _Waiting) -> None:
        for source, (_, until) in list(waiting.downstream.items()):
            if until <= self.now:
                del waiting.downstream[source]
        if not waiting.downstream and self._waiting.get(name) is waiting:
            del self._waiting[name]

    def _data(self, data: Data) -> None:
        waiting = self._waiting.pop(data.name, None)
        if waiting is not None:
            for source in waiting.downstream:
                self._out(source, "data", data.raw)

    def _nack(self, hop: str, interest: Interest, reason: int) -> None:
        waiting = self._waiting.get(interest.name)
        if waiting is None or not self.nacks:
            return
        waiting.nacked[hop] = reason
        if all(each in waiting.nacked for each in waiting.tried):
            del self._waiting[interest.name]
            for source, (asked, _) in waiting.downstream.items():
                self._out(source, "nack", asked.raw, min(waiting.nacked.values()))


# ---- packets of somebody else's make


def foreign_notify(
    topic: str,
    publisher: str,
    nonce: bytes,
    *,
    hint: str = "",
    signer: Signer | None = None,
    signature_nonce: bytes | None = None,
    lifetime: int = 4000,
    parameters: bytes | None = None,
) -> Interest:
    """A notification; with ``signature_nonce`` each has another name, as NDNts sends them."""
    if parameters is None:
        parameters = encode_notify(
            NotifyParameters(name_from_uri(publisher), nonce, name_from_uri(hint) if hint else None)
        )
    return encode_interest(
        notify_name(name_from_uri(topic)),
        nonce=nonce[:4].ljust(4, b"\0"),
        lifetime=lifetime,
        parameters=parameters,
        signer=DigestSigner() if signer is None else signer,
        signature_nonce=signature_nonce,
    )


def foreign_message(
    topic: str,
    publisher: str,
    nonce: bytes,
    content: bytes | None,
    *,
    signer: Signer | None = None,
    content_type: int | None = 0,
) -> Data:
    """The Data of a message; with ``content_type`` None without MetaInfo, as NDNts sends it."""
    name = message_name(name_from_uri(publisher), name_from_uri(topic), nonce)
    made_by = DigestSigner() if signer is None else signer
    return encode_data(name, content, made_by, content_type=content_type)

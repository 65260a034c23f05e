"""The machine of an SDK: what each of its parts is told, and what they tell each other."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from rumormill.bcos.certificates.identity import Identify, identity_of
from rumormill.bcos.effects import (
    Forget,
    Multicast,
    Respond,
    SdkInput,
    SetResponder,
    Unicast,
    Watch,
)
from rumormill.bcos.links.pending import Pending
from rumormill.bcos.sdk.connection import Connection
from rumormill.bcos.sdk.holders import Holders
from rumormill.bcos.sdk.parameters import SdkParameters
from rumormill.bcos.sdk.pool import Pool
from rumormill.bcos.sdk.private_topics import PrivateTopics, TopicKeys
from rumormill.bcos.sdk.publishing import Publishing
from rumormill.bcos.sdk.receiving import Receiving
from rumormill.bcos.sdk.subscriptions import Subscriptions
from rumormill.bcos.sdk.verifying import Verifying
from rumormill.bcos.wire.channel_packet import ChannelPacket, ChannelType
from rumormill.bcos.wire.topic_body import decode_body
from rumormill.core import trace
from rumormill.core.errors import LocalProtocolError
from rumormill.core.machine import Checked, CheckedMany, Hold, Shutdown, Subscribe, Unsubscribe
from rumormill.core.timers import NEVER, Alarm
from rumormill.core.transport import (
    BytesReceived,
    Dial,
    Listening,
    TransportClosed,
    TransportFailed,
    TransportOpened,
    WriteReady,
)
from rumormill.core.turn import Turn


class SdkMachine:
    """An SDK. ``name`` is what it is called in trace events, ``network`` in messages."""

    def __init__(
        self,
        *,
        name: str,
        network: str,
        parameters: SdkParameters,
        random: random.Random,
        keys: TopicKeys = TopicKeys(),  # noqa: B008 - it cannot be changed
        identify: Identify = identity_of,
    ) -> None:
        turn = self._turn = Turn(name)
        alarm = self._alarm = Alarm()
        self._stopped = False
        self._questions: Pending[bytes, ChannelPacket] = Pending(alarm)
        """What we asked nodes, by seq."""
        self._private = PrivateTopics(keys)
        self._pool = Pool(turn, parameters, random, identify, alarm, self)
        self._subscriptions = Subscriptions(turn, parameters, self._pool, self._private, alarm)
        self._holders = Holders(
            turn, parameters, self._pool, self._private, self._questions,
            self._subscriptions.reads, alarm,
        )  # fmt: skip
        self._publishing = Publishing(
            turn, parameters, self._pool, self._private, self._questions,
            self._holders.of, self._subscriptions.changed,
        )  # fmt: skip
        self._receiving = Receiving(
            turn, parameters, network, self._pool, self._subscriptions, alarm
        )
        self._verifying = Verifying(turn, random, self._pool, self._private, self._questions)
        self._handlers: dict[type, Callable[[Any], None]] = {
            Subscribe: self._subscribe,
            Unsubscribe: lambda input: self._subscriptions.unsubscribe(input.topic),
            SetResponder: lambda input: self._subscriptions.set_answering(*input),
            Checked: self._receiving.checked,
            CheckedMany: self._checked_many,
            Respond: lambda input: self._receiving.respond(*input),
            Unicast: self._unicast,
            Multicast: self._multicast,
            Forget: lambda input: self._publishing.forget(input.token),
            Watch: self._watch,
            Hold: self._hold,
            Dial: lambda input: self._pool.dial(*input),
            TransportOpened: self._pool.opened,
            TransportFailed: lambda input: self._pool.targets.transport_failed(*input),
            TransportClosed: lambda input: self._pool.closed(*input),
            BytesReceived: lambda input: self._pool.received(*input),
            WriteReady: lambda input: self._pool.write_ready(*input),
            Listening: lambda input: None,  # an SDK does not listen
            Shutdown: self._shutdown,
        }

    # ---- what it is driven by

    def handle(self, input: SdkInput, now: float) -> list[object]:
        """Take one input; return what follows from it."""
        self._turn.begin(now)
        self._handlers[type(input)](input)
        return self._turn.take()

    def wake(self, now: float) -> list[object]:
        """Do what is due."""
        self._turn.begin(now)
        self._alarm.soonest = NEVER
        self._pool.wake()
        self._questions.wake(now)
        self._receiving.wake()
        self._holders.wake()
        self._subscriptions.wake()
        times = (
            *self._pool.next_wake(), self._questions.next_wake(), self._receiving.next_wake(),
            self._holders.next_wake(), self._subscriptions.next_wake(),
        )  # fmt: skip
        self._alarm.soonest = min((time for time in times if time is not None), default=NEVER)
        return self._turn.take()

    def next_wake(self) -> float | None:
        """When :meth:`wake` wants to be called."""
        soonest = self._alarm.soonest
        return None if soonest == NEVER else soonest

    # ---- what can be asked of it

    def peers(self) -> tuple[str, ...]:
        """The nodes that can be used."""
        return self._pool.peers()

    def holders(self, topic: str) -> tuple[str, ...] | None:
        """The nodes that have subscribers of a topic; None if nobody can tell."""
        return self._holders.of(topic)

    def has_targets(self, topic: str) -> bool:
        """Whether a message would find somebody; if our node cannot tell, it may."""
        return self._holders.has_targets(topic)

    def check_message(self, topic: str, size: int) -> None:
        """Raise :class:`LocalProtocolError` if a message of so many bytes cannot be published."""
        self._publishing.check(topic, size)

    def check_readable(self, topic: str) -> None:
        """Raise :class:`LocalProtocolError` if a topic cannot be subscribed to."""
        self._private.readable_name(topic)

    def sizes(self) -> dict[str, int]:
        """How much there is of what takes memory."""
        return {
            **self._receiving.sizes(),
            "questions": len(self._questions),
            "publications": len(self._publishing),
            "known_topics": len(self._holders),
            "verifications": len(self._verifying),
            "targets": len(self._pool.targets),
            "topics": len(self._subscriptions),
        }

    # ---- what the application wants

    def _subscribe(self, input: Subscribe) -> None:
        self._subscriptions.subscribe(input.topic)
        self._holders.use(input.topic)

    def _checked_many(self, input: CheckedMany) -> None:
        for answer in input.answers:
            self._receiving.checked(answer)

    def _unicast(self, input: Unicast) -> None:
        self._check_running()
        self._publishing.unicast(input)
        self._holders.use(input.topic)

    def _multicast(self, input: Multicast) -> None:
        self._check_running()
        self._publishing.multicast(input)
        self._holders.use(input.topic)

    def _watch(self, input: Watch) -> None:
        if input.watching:
            self._publishing.prepare(input.topic)
        self._holders.watch(*input)

    def _hold(self, input: Hold) -> None:
        self._turn.trace(trace.SOURCE_PAUSED if input.paused else trace.SOURCE_RESUMED)
        self._pool.hold(input.paused)

    def _shutdown(self, input: Shutdown) -> None:
        self._stopped = True
        self._pool.stop()

    def _check_running(self) -> None:
        if self._stopped:
            raise LocalProtocolError("the network is being closed")

    # ---- what nodes bring

    def node_up(self, connection: Connection) -> None:
        """A node can be used: it has to know what we listen to."""
        self._subscriptions.tell(connection)
        self._holders.node_up()

    def node_down(self, connection: Connection, reason: str) -> None:
        """A node is gone, and all that it had to answer."""
        self._questions.lost(connection.number, "left")
        self._receiving.node_down(connection, "left")
        self._holders.node_down()

    def packet(self, connection: Connection, packet: ChannelPacket) -> None:
        """A packet of a node; raises :class:`RemoteProtocolError` if it is none."""
        kind = packet.type
        if kind in (ChannelType.REQUEST, ChannelType.MULTICAST):
            topic, data = decode_body(packet.data)
            if kind == ChannelType.MULTICAST or not self._verifying.challenged(
                connection, packet, topic, data
            ):
                self._receiving.message(connection, packet, topic, data)
        elif kind in (ChannelType.RESPONSE, ChannelType.RPC):
            if self._questions.asked(packet.seq) == connection.number:
                self._questions.answer(packet.seq, packet)
            else:
                self._ignore(connection, "unexpected_answer")
        elif kind == ChannelType.VERIFY:
            self._verifying.asked(connection, packet)
        elif kind != ChannelType.HEARTBEAT:
            self._ignore(connection, "unknown_type")
        elif not connection.take_beat():
            self._ignore(connection, "unexpected_heartbeat")

    def _ignore(self, connection: Connection, reason: str) -> None:
        self._turn.trace(trace.IGNORED, peer=connection.peer, reason=reason)
        self._pool.charge(connection, reason)

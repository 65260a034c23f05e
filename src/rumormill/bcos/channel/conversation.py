"""What SDKs say, packet by packet, and what becomes of it."""

from __future__ import annotations

from collections.abc import Callable

from rumormill.bcos.amop.amop import Amop
from rumormill.bcos.amop.multicast import FORWARDED
from rumormill.bcos.amop.parcel import Parcel, parcel_of
from rumormill.bcos.channel import toll
from rumormill.bcos.channel.greeting import NoCommonProtocolError, agree, agreed, heartbeat_answer
from rumormill.bcos.channel.parameters import ChannelParameters
from rumormill.bcos.channel.rpc import Rpc
from rumormill.bcos.channel.session import Questions, Session
from rumormill.bcos.channel.toll import Toll
from rumormill.bcos.wire.channel_packet import (
    KINDS,
    MESSAGES,
    ChannelPacket,
    ChannelType,
    Result,
    decode_channel,
)
from rumormill.bcos.wire.json_text import read_json, write_json
from rumormill.bcos.wire.topic_body import LONGEST_TOPIC
from rumormill.bcos.wire.topic_state import can_travel
from rumormill.bcos.wire.verification import decode_topic_status
from rumormill.core import trace
from rumormill.core.errors import RemoteProtocolError
from rumormill.core.turn import Turn

NO_SUCH_GROUP = -41002
"""What nodes say of events of a group that they do not have: this one has no chain at all."""

LONGEST_WRITTEN = 6 * LONGEST_TOPIC + 4
"""Bytes of a topic in JSON, if each of its letters is escaped."""


class TooManyTopicsError(RemoteProtocolError):
    """The SDK wants more than it may have."""


LAST_WORDS = (NoCommonProtocolError, TooManyTopicsError)
"""Who breaks the protocol like that is dropped; all other packets are only of no use."""


class Conversation:
    """Takes the packets of all sessions; ``drop`` ends one."""

    def __init__(
        self,
        turn: Turn,
        amop: Amop,
        rpc: Rpc,
        questions: Questions,
        parameters: ChannelParameters,
        charge: Toll,
        drop: Callable[[Session, str], None],
    ) -> None:
        self._turn = turn
        self._amop = amop
        self._rpc = rpc
        self._questions = questions
        self._most_topics = parameters.max_session_topics
        self._toll = charge
        self._drop = drop
        self._by_type: dict[int, Callable[[Session, ChannelPacket, bytes], None]] = {
            ChannelType.RPC: self._on_rpc,
            ChannelType.HEARTBEAT: self._on_heartbeat,
            ChannelType.HANDSHAKE: self._on_handshake,
            ChannelType.EVENT_REGISTER: self._on_events,
            ChannelType.EVENT_UNREGISTER: self._on_events,
            ChannelType.REQUEST: self._on_request,
            ChannelType.RESPONSE: self._on_response,
            ChannelType.SUBSCRIBE: self._on_subscribe,
            ChannelType.MULTICAST: self._on_multicast,
            ChannelType.TOPIC_STATUS: self._on_topic_status,
        }

    def take(self, session: Session, raw: bytes) -> None:
        """A whole packet came.

        What has the seq of a question is its answer, whatever its type: SDKs answer the same
        question with different ones.
        """
        packet = decode_channel(raw)
        self._turn.trace(
            trace.PACKET_RECEIVED, peer=session.peer, size=len(raw),
            kind=KINDS.get(packet.type, "other"), messages=int(packet.type in MESSAGES),
        )  # fmt: skip
        if self._questions.answer((session.connection, packet.seq), packet):
            return
        handler = self._by_type.get(packet.type, self._on_unknown)
        try:
            handler(session, packet, raw)
        except RemoteProtocolError as error:
            self._toll.junk(session, error.reason, len(raw))
            self._turn.trace(
                trace.PROTOCOL_ERROR, peer=session.peer, reason=error.reason, detail=error.detail
            )
            if isinstance(error, LAST_WORDS):
                self._drop(session, error.reason)

    # ---- the node by itself

    def _on_handshake(self, session: Session, packet: ChannelPacket, raw: bytes) -> None:
        session.protocol = agree(packet.data)
        session.reply(packet, agreed(session.protocol))
        self._toll.service(session, "handshakes", toll.ANSWER)

    def _on_heartbeat(self, session: Session, packet: ChannelPacket, raw: bytes) -> None:
        answer = heartbeat_answer(session.protocol, packet.data)
        if answer is not None:
            session.reply(packet, answer)
        self._toll.service(session, "heartbeats", toll.ANSWER)

    def _on_rpc(self, session: Session, packet: ChannelPacket, raw: bytes) -> None:
        answer = self._rpc.answer(packet.data)
        session.reply(packet, answer.data)
        cost = toll.ANSWER + len(answer.data) / toll.BYTES_PER_RPC_MICROSECOND
        self._toll.service(session, "rpc", cost)
        if answer.problem:
            self._turn.trace(
                trace.PROTOCOL_ERROR, peer=session.peer, reason="bad_rpc", detail=answer.problem
            )
            self._toll.junk(session, "bad_rpc", len(raw))

    def _on_events(self, session: Session, packet: ChannelPacket, raw: bytes) -> None:
        session.reply(packet, b"\x01" + write_json({"result": NO_SUCH_GROUP}))
        self._toll.service(session, "events", toll.ANSWER)

    def _on_unknown(self, session: Session, packet: ChannelPacket, raw: bytes) -> None:
        raise RemoteProtocolError("unknown_type", f"{packet.type:#x}")

    # ---- AMOP

    def _on_subscribe(self, session: Session, packet: ChannelPacket, raw: bytes) -> None:
        named = read_json(packet.data, 2 + self._most_topics * LONGEST_WRITTEN)
        if not isinstance(named, list):
            raise RemoteProtocolError("bad_json", "topics are a list")
        if len(named) > self._most_topics:
            detail = f"{len(named)} topics, {self._most_topics} allowed"
            raise TooManyTopicsError("too_many_topics", detail)
        topics = [topic for topic in named if isinstance(topic, str) and can_travel(topic)]
        changed = self._amop.subscribe(session, topics)
        cost = toll.ANSWER + changed * toll.TOPIC + len(named) * toll.NAMED_TOPIC
        self._toll.service(session, "subscriptions", cost)
        if len(topics) < len(named):
            count = len(named) - len(topics)
            self._turn.trace(
                trace.DROPPED, peer=session.peer, what="topic", reason="bad_topic", count=count
            )
            self._toll.junk(session, "bad_topics", len(raw))

    def _on_request(self, session: Session, packet: ChannelPacket, raw: bytes) -> None:
        parcel = self._parcel_of(session, packet, raw)
        session.begin_request(packet.seq)

        def outcome(result: int, body: bytes, node: str | None) -> None:
            session.end_request(packet.seq)
            if result == Result.NO_NODE:
                self._toll.service(session, "unreachable", toll.ANSWER)
            if not session.gone:
                session.send(ChannelPacket(ChannelType.RESPONSE, parcel.seq, result, body))

        self._trace_forwarded(session, parcel, mode="unicast")
        self._amop.unicast(parcel, session, outcome)

    def _on_multicast(self, session: Session, packet: ChannelPacket, raw: bytes) -> None:
        """Answered at once, whoever listens: that is what publishers wait for."""
        parcel = self._parcel_of(session, packet, raw)
        spread = self._amop.multicast(parcel, session)
        session.reply(packet, packet.data, ChannelType.RESPONSE)
        nodes = len(spread.reached) + len(spread.queued)
        self._trace_forwarded(
            session, parcel, mode="multicast", peers=nodes, here=spread.here,
            dropped=len(spread.dropped),
        )  # fmt: skip
        if not nodes:
            self._toll.service(session, "unreachable", toll.ANSWER)

    def _on_response(self, session: Session, packet: ChannelPacket, raw: bytes) -> None:
        """Nobody waits for it: it is too late, or the answer to a multicast, as Go SDKs send it."""
        expected = session.answers_due > 0
        self._turn.trace(
            trace.DROPPED, peer=session.peer, what="answer",
            reason="nobody_waits" if expected else "unexpected", count=1,
        )  # fmt: skip
        if expected:
            session.answers_due -= 1
        else:
            self._toll.service(session, "answers", toll.JUNK)

    def _on_topic_status(self, session: Session, packet: ChannelPacket, raw: bytes) -> None:
        self._amop.judged(session, decode_topic_status(packet.data))

    def _parcel_of(self, session: Session, packet: ChannelPacket, raw: bytes) -> Parcel:
        """The message of a packet.

        To one without a topic that can be read nobody listens, and its publisher hears so; a packet
        without any body gets no answer, as from nodes of other make.
        """
        try:
            return parcel_of(packet, raw)
        except RemoteProtocolError:
            if packet.data:
                session.send(ChannelPacket(ChannelType.RESPONSE, packet.seq, Result.NO_NODE))
            raise

    def _trace_forwarded(
        self, session: Session, parcel: Parcel, **fields: trace.type_of_field
    ) -> None:
        self._turn.trace(
            FORWARDED, parcel.topic, parcel.id, session.peer, size=len(parcel.payload), **fields
        )

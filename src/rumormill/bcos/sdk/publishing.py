"""What we say: one node passes it on, and answers.

It goes by the first node that is there, so that the messages of a publisher keep their order as
far as nodes keep it. Another node is tried only when nobody can have got the message: the first had
no room for it, refused it, or said at once that it knows no subscriber. A message whose connection
was lost before the answer may have arrived, and is not sent again: the caller hears that there was
no answer, and decides.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from rumormill.bcos.effects import Multicast, MulticastEnded, Unicast, UnicastEnded
from rumormill.bcos.links.pending import Pending
from rumormill.bcos.sdk.connection import Connection
from rumormill.bcos.sdk.parameters import SdkParameters
from rumormill.bcos.sdk.pool import Pool
from rumormill.bcos.sdk.private_topics import PrivateTopics
from rumormill.bcos.wire.channel_packet import ChannelPacket, ChannelType, Result, id_of_seq
from rumormill.bcos.wire.topic_body import decode_body, encode_body
from rumormill.core import trace
from rumormill.core.errors import (
    LocalProtocolError,
    MessageTooLargeError,
    RemoteProtocolError,
)
from rumormill.core.receipt import Receipt
from rumormill.core.turn import Turn

UNANSWERED: Final = "unanswered"
"""A message of ours had no good answer; fields: result, reason, mode."""

SENT_AGAIN: Final = "sent_again"
"""The first node had nobody for a message of ours, so another has it; fields as of published."""

AT_ONCE: Final = 1.0
"""Seconds. A node that knows no subscriber says so sooner than that; one that has asked others in
vain says the same much later, and one of those may have delivered the message."""

NOT_DELIVERED: Final = (Result.NO_NODE, Result.BANDWIDTH)
"""Results with which nobody has got the message, if they come at once."""


class _Publication:
    """A message of ours until its end."""

    __slots__ = (
        "body", "mode", "result", "sent_at", "seq", "size", "token", "topic", "tried", "until",
    )  # fmt: skip

    def __init__(
        self, mode: str, input: Unicast | Multicast, seq: bytes, body: bytes, until: float
    ) -> None:
        self.mode = mode
        self.token = input.token
        self.topic = input.topic
        self.size = len(input.data)
        self.seq = seq
        self.body = body
        self.until = until
        self.sent_at: float | None = None
        self.tried: dict[int, None] = {}
        self.result = Result.UNREACHABLE
        """How the last try ended."""

    @property
    def id(self) -> bytes:
        """Of the message."""
        return id_of_seq(self.seq)


class Publishing:
    """Hands messages to nodes. ``holders`` knows who listens to a topic, or None if nobody can
    tell; ``changed`` is called when nodes have to be told of a further topic.
    """

    def __init__(
        self,
        turn: Turn,
        parameters: SdkParameters,
        pool: Pool,
        private: PrivateTopics,
        questions: Pending[bytes, ChannelPacket],
        holders: Callable[[str], tuple[str, ...] | None],
        changed: Callable[[], None],
    ) -> None:
        self._turn = turn
        self._parameters = parameters
        self._pool = pool
        self._private = private
        self._questions = questions
        self._holders = holders
        self._changed = changed
        self._by_token: dict[int, _Publication] = {}
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._by_token)

    def unicast(self, input: Unicast) -> None:
        """Send a message to one subscriber; :class:`LocalProtocolError` if it cannot be sent."""
        if input.node is not None:
            raise LocalProtocolError("an SDK cannot choose the node of a subscriber")
        self._begin("unicast", input)

    def multicast(self, input: Multicast) -> None:
        """Send a message to all subscribers."""
        if input.everywhere:
            raise LocalProtocolError("an SDK cannot broadcast; its nodes know who listens")
        self._begin("multicast", input)

    def forget(self, token: int) -> None:
        """Nobody waits for the answer any more."""
        publication = self._by_token.get(token)
        if publication is not None:
            self._remove(publication)
            self._questions.forget(publication.seq)

    def _is_full(self, size: int) -> bool:
        parameters = self._parameters
        return len(self._by_token) >= parameters.max_sdk_requests or (
            bool(self._by_token) and self._bytes + size > parameters.max_sdk_request_bytes
        )

    def _remove(self, publication: _Publication) -> None:
        if self._by_token.get(publication.token) is publication:
            del self._by_token[publication.token]
            self._bytes -= len(publication.body)

    def check(self, topic: str, size: int) -> str:
        """The topic's name on the wire; :class:`LocalProtocolError` if a message cannot be sent."""
        name = self._private.publishable_name(topic)
        largest = self._parameters.largest_message(len(name.encode()))
        if size > largest:
            raise MessageTooLargeError(size, largest)
        return name

    def prepare(self, topic: str) -> None:
        """We are a publisher of a topic: nodes have to know, if it is a private one."""
        if self._private.publish_to(topic):
            self._changed()

    def _begin(self, mode: str, input: Unicast | Multicast) -> None:
        if input.token in self._by_token:
            raise LocalProtocolError(f"the token {input.token} is in use")
        name = self.check(input.topic, len(input.data))
        self.prepare(input.topic)
        body = encode_body(name, input.data)
        until = self._turn.now + input.timeout
        publication = _Publication(mode, input, self._pool.new_seq(), body, until)
        if self._is_full(len(body)):
            publication.result = Result.BANDWIDTH
            self._end(publication, None, b"", "too_many_requests")
            return
        self._by_token[input.token] = publication
        self._bytes += len(body)
        self._try(publication)

    def _try(self, publication: _Publication) -> None:
        """Hand it to the next node that has not had it."""
        kind = ChannelType.REQUEST if publication.mode == "unicast" else ChannelType.MULTICAST
        for connection in self._pool.up():
            if connection.number in publication.tried:
                continue
            publication.tried[connection.number] = None
            if connection.send(kind, publication.seq, publication.body):
                self._sent(publication, connection)
                return
            publication.result = Result.BANDWIDTH
        self._end(publication, None, b"", "")

    def _sent(self, publication: _Publication, connection: Connection) -> None:
        event = trace.PUBLISHED if publication.sent_at is None else SENT_AGAIN
        publication.sent_at = self._turn.now
        self._turn.trace(
            event, publication.topic, publication.id, connection.peer,
            size=publication.size, peers=1, mode=publication.mode,
        )  # fmt: skip
        self._questions.begin(
            publication.seq, connection.number, publication.until,
            partial(self._answered, publication, connection),
        )  # fmt: skip

    def _answered(
        self,
        publication: _Publication,
        connection: Connection,
        answer: ChannelPacket | None,
        problem: str,
    ) -> None:
        if answer is None:
            publication.result = Result.TIMED_OUT
            self._end(publication, connection, b"", problem)
            return
        publication.result = answer.result
        at_once = self._turn.now - (publication.sent_at or 0.0) < AT_ONCE
        if answer.result in NOT_DELIVERED and at_once:
            self._try(publication)
            return
        data = b""
        if answer.result == Result.OK and publication.mode == "unicast":
            try:
                data = decode_body(answer.data)[1]
            except RemoteProtocolError as error:
                # A subscriber's doing: its node passed it on as it is.
                self._turn.trace(
                    trace.PROTOCOL_ERROR, publication.topic, peer=connection.peer,
                    reason=error.reason, detail=error.detail,
                )  # fmt: skip
                publication.result = Result.BAD_ANSWER
        self._end(publication, connection, data, "")

    def _end(
        self, publication: _Publication, connection: Connection | None, data: bytes, problem: str
    ) -> None:
        token, result = publication.token, publication.result
        self._remove(publication)
        node = None if connection is None else connection.peer
        if result != Result.OK:
            self._turn.trace(
                UNANSWERED, publication.topic, publication.id, node,
                result=result, reason=problem or f"result_{result}", mode=publication.mode,
            )  # fmt: skip
        if publication.mode == "unicast":
            self._turn.add(UnicastEnded(token, publication.id, result, data, node))
        else:
            self._turn.add(MulticastEnded(token, self._receipt(publication, node), result))

    def _receipt(self, publication: _Publication, node: str | None) -> Receipt:
        """Whom a message went to: those who listen, as far as we know, or the node itself."""
        if node is None:
            return Receipt(publication.id, publication.topic)
        fields = {"node": node}
        if publication.result != Result.OK:
            lost = {node: f"result_{publication.result}"}
            return Receipt(publication.id, publication.topic, dropped=lost, fields=fields)
        holders = self._holders(publication.topic)
        reached = (node,) if holders is None else holders
        return Receipt(publication.id, publication.topic, reached, fields=fields)

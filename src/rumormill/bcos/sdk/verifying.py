"""Private topics at work: a publisher verifies who reads, a reader proves that it may.

A node asks a publisher (0x37) about another node that has a reader. The publisher sends the reader
a challenge by unicast, looks at the proof, and tells its node (0x38). Nodes ask again every few
seconds until they are told, so no answer of a reader is no verdict: a node keeps a bad one for as
long as the reader's node is connected.
"""

from __future__ import annotations

import random
from functools import partial
from typing import Final

from rumormill.bcos.links.pending import Pending
from rumormill.bcos.sdk.challenges.dialects import detect
from rumormill.bcos.sdk.connection import Connection
from rumormill.bcos.sdk.pool import Pool
from rumormill.bcos.sdk.private_topics import PrivateTopics
from rumormill.bcos.wire.channel_packet import ChannelPacket, ChannelType, Result
from rumormill.bcos.wire.topic_body import decode_body, encode_body
from rumormill.bcos.wire.verification import (
    VerifyRequest,
    decode_verify_request,
    encode_topic_status,
    name_of_verify_channel,
    plain_topic,
    verify_channel,
)
from rumormill.core import trace
from rumormill.core.errors import RemoteProtocolError
from rumormill.core.turn import Turn

VERIFICATION: Final = "verification"
"""A reader was verified, or was asked who it is; fields: passed, role, reason."""

BAD_PROOF: Final = "bad_proof"
"""The reason of one that answered, and has none of the keys."""

CHALLENGE_TIMEOUT: Final = 10.0
"""Seconds that a reader has to answer, its node's own time included."""

NONCE_BYTES: Final = 16
MOST_AT_ONCE: Final = 256
"""Readers that are being verified at once; nodes ask again for the others."""

SIGNATURE: Final = 400.0
"""Microseconds that making or checking one costs, of every key that is tried."""


class Verifying:
    """Both sides of it."""

    def __init__(
        self,
        turn: Turn,
        random: random.Random,
        pool: Pool,
        private: PrivateTopics,
        questions: Pending[bytes, ChannelPacket],
    ) -> None:
        self._turn = turn
        self._random = random
        self._pool = pool
        self._private = private
        self._questions = questions
        self._under_way: dict[tuple[int, str, str], None] = {}
        """Connection, node and VerifyChannel of each who is asked."""

    def __len__(self) -> int:
        return len(self._under_way)

    # ---- the publisher

    def asked(self, connection: Connection, packet: ChannelPacket) -> None:
        """A node wants to know whether a reader on another node may read (0x37)."""
        request = decode_verify_request(packet.data)
        connection.send(ChannelType.VERIFY, packet.seq, b"")
        key = connection.number, request.node_id, request.topic_for_cert
        if not self._private.is_published(request.topic):
            self._ignore(connection, request, "not_published")
        elif key in self._under_way:
            self._ignore(connection, request, "under_way")
        elif len(self._under_way) >= MOST_AT_ONCE:
            self._ignore(connection, request, "too_many_verifications")
        else:
            self._challenge(connection, request)

    def _challenge(self, connection: Connection, request: VerifyRequest) -> None:
        nonce = self._random.randbytes(NONCE_BYTES)
        challenge = self._private.keys.dialect.challenge(nonce, request.topic_for_cert)
        seq = self._pool.new_seq()
        body = encode_body(request.topic_for_cert, challenge)
        if not connection.send(ChannelType.REQUEST, seq, body):
            self._told(request, False, "queue_full")
            return
        self._under_way[connection.number, request.node_id, request.topic_for_cert] = None
        self._questions.begin(
            seq, connection.number, self._turn.now + CHALLENGE_TIMEOUT,
            partial(self._answered, connection, request, challenge),
        )  # fmt: skip

    def _answered(
        self,
        connection: Connection,
        request: VerifyRequest,
        challenge: bytes,
        answer: ChannelPacket | None,
        problem: str,
    ) -> None:
        del self._under_way[connection.number, request.node_id, request.topic_for_cert]
        if answer is None:
            self._told(request, False, problem)
            return
        if answer.result != Result.OK:
            self._told(request, False, f"result_{answer.result}")
            return
        passed = self._is_proof(connection, challenge, answer.data)
        status = encode_topic_status(passed, request.node_id, request.topic)
        connection.send(ChannelType.TOPIC_STATUS, self._pool.new_seq(), status)
        self._told(request, passed, "" if passed else BAD_PROOF)

    def _is_proof(self, connection: Connection, challenge: bytes, body: bytes) -> bool:
        keys = self._private.keys
        try:
            proof = decode_body(body)[1]
            passed = keys.dialect.proves(challenge, proof, keys.public_keys)
        except RemoteProtocolError:
            passed = False  # it is the reader who sent this, and the node passed it on
        self._pool.charge(
            connection, "verifications", SIGNATURE * len(keys.public_keys), blame=not passed
        )
        return passed

    def _told(self, request: VerifyRequest, passed: bool, reason: str) -> None:
        self._turn.trace(
            VERIFICATION, plain_topic(request.topic), peer=request.node_id,
            passed=passed, role="publisher", reason=reason,
        )  # fmt: skip

    def _ignore(self, connection: Connection, request: VerifyRequest, reason: str) -> None:
        self._pool.charge(connection, "verifications")
        self._turn.trace(
            trace.IGNORED, plain_topic(request.topic), peer=connection.peer, reason=reason
        )

    # ---- the reader

    def challenged(
        self, connection: Connection, packet: ChannelPacket, topic: str, payload: bytes
    ) -> bool:
        """Whether a message was a challenge for us; then it was dealt with."""
        key = self._private.keys.private_key
        name = None if key is None else name_of_verify_channel(topic)
        if key is None or name is None or topic != verify_channel(name, connection.uuid):
            return False
        self._pool.charge(connection, "verifications", SIGNATURE)
        try:
            proof = detect(payload).prove(payload, key)
        except RemoteProtocolError as error:
            # It is the publisher who sent this, and the node passed it on.
            self._proved(name, connection, False, error.reason)
            return True
        sent = connection.send(ChannelType.RESPONSE, packet.seq, encode_body(topic, proof))
        self._proved(name, connection, sent, "" if sent else "queue_full")
        return True

    def _proved(self, name: str, connection: Connection, sent: bool, reason: str) -> None:
        self._turn.trace(
            VERIFICATION, plain_topic(name), peer=connection.peer,
            passed=sent, role="reader", reason=reason,
        )  # fmt: skip

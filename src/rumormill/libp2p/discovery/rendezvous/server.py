"""A meeting point: takes registrations, and tells who is there."""

from __future__ import annotations

from rumormill.core.errors import RemoteProtocolError
from rumormill.core.machine import Peer
from rumormill.core.trace import REJECTED
from rumormill.libp2p.discovery.effects import Asked
from rumormill.libp2p.discovery.rendezvous.message import (
    LONGEST_NAMESPACE,
    Discover,
    Discovered,
    Register,
    Registered,
    RendezvousMessage,
    Status,
    Unregister,
    decode_message,
    encode_message,
)
from rumormill.libp2p.discovery.rendezvous.records import open_record
from rumormill.libp2p.discovery.rendezvous.registrations import Registrations
from rumormill.libp2p.discovery.way import DiscoveryServices, Way
from rumormill.libp2p.stack.peer_id import from_text

USUAL_TTL, LONGEST_TTL = 7200, 259_200
"""Seconds: two hours, also the least, and three days."""


class RendezvousServer:
    """Answers questions from what was registered."""

    def __init__(self, way: Way, node: DiscoveryServices) -> None:
        self._way = way
        self._node = node
        self.registrations = Registrations(node.random)

    def asked(self, question: Asked, now: float) -> None:
        """Answer; :class:`RemoteProtocolError` for what breaks the rules."""
        message = decode_message(question.message)
        answer: RendezvousMessage
        if isinstance(message, Unregister):
            self.registrations.remove(message.namespace, question.peer)
            self._node.answer(question.exchange)
            return
        if isinstance(message, Register):
            answer = self._register(question.peer, message, now)
        elif isinstance(message, Discover):
            answer = self._discover(question.peer, message, now)
        else:
            raise RemoteProtocolError("bad_rendezvous", "an answer where a question should be")
        self._node.answer(question.exchange, encode_message(answer))

    def _register(self, peer: Peer, message: Register, now: float) -> Registered:
        if not _is_namespace(message.namespace):
            return Registered(Status.INVALID_NAMESPACE)
        ttl = USUAL_TTL if message.ttl is None else message.ttl
        if not USUAL_TTL <= ttl <= LONGEST_TTL:
            return Registered(Status.INVALID_TTL)
        try:
            record = open_record(message.record)
        except RemoteProtocolError as error:
            self._reject(peer, error.reason)
            return Registered(Status.INVALID_SIGNED_PEER_RECORD)
        if record.peer_id != from_text(peer):
            self._reject(peer, "record_of_other_peer")
            return Registered(Status.NOT_AUTHORIZED)
        if not self.registrations.add(message.namespace, peer, message.record, now + ttl, now):
            self._reject(peer, "too_many_registrations")
            return Registered(Status.UNAVAILABLE)
        return Registered(Status.OK, ttl)

    def _discover(self, peer: Peer, message: Discover, now: float) -> Discovered:
        if message.namespace is not None and not _is_namespace(message.namespace):
            return Discovered(Status.INVALID_NAMESPACE)
        try:
            found, cookie = self.registrations.of(
                message.namespace, message.cookie, message.limit, now
            )
        except RemoteProtocolError as error:
            self._reject(peer, error.reason)
            return Discovered(Status.INVALID_COOKIE)
        told = tuple(
            Register(each.namespace, each.record, max(1, int(each.expires - now))) for each in found
        )
        return Discovered(Status.OK, told, cookie)

    def _reject(self, peer: Peer, reason: str) -> None:
        self._node.emit(self._way, REJECTED, peer=peer, reason=reason)


def _is_namespace(namespace: str) -> bool:
    return 0 < len(namespace.encode("utf-8")) <= LONGEST_NAMESPACE

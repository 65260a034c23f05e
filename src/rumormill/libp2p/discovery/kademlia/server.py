"""The server side of Kademlia: what is answered to those who ask us.

Everything is bounded by :mod:`.providers`; a provider counts only if it speaks for itself. Values
are not kept: who asks for one is told who is closer, and who brings one is turned away.
"""

from __future__ import annotations

from rumormill.core.errors import RemoteProtocolError
from rumormill.core.machine import Peer
from rumormill.core.trace import IGNORED
from rumormill.libp2p.discovery.addresses import usable
from rumormill.libp2p.discovery.effects import Asked
from rumormill.libp2p.discovery.kademlia.keys import place_of
from rumormill.libp2p.discovery.kademlia.message import (
    CONNECTED,
    KademliaMessage,
    Kind,
    PeerInfo,
    decode_message,
    encode_message,
)
from rumormill.libp2p.discovery.kademlia.providers import ProviderStore
from rumormill.libp2p.discovery.kademlia.table import RoutingTable
from rumormill.libp2p.discovery.way import DiscoveryServices, Way
from rumormill.libp2p.stack.multiaddr import Multiaddr
from rumormill.libp2p.stack.peer_id import check_peer_id, from_text, to_text
from rumormill.libp2p.stack.reach import Reach

LONGEST_PROVIDED_KEY = 80
"""Bytes of a key that something is provided under, as in go: the longest multihash is shorter."""


class KademliaServer:
    """Answers questions from what the node knows."""

    def __init__(
        self,
        way: Way,
        node: DiscoveryServices,
        table: RoutingTable,
        providers: ProviderStore,
        bucket_size: int,
    ) -> None:
        self._way = way
        self._node = node
        self._table = table
        self._bucket_size = bucket_size
        self.providers = providers

    def asked(self, question: Asked, now: float) -> None:
        """Answer; :class:`RemoteProtocolError` for what breaks the rules."""
        message = decode_message(question.message)
        if message.kind is Kind.ADD_PROVIDER:
            self._add_provider(question.peer, message, now)
            self._node.answer(question.exchange)
            return
        if message.kind is Kind.PUT_VALUE:
            self._node.refuse(question.exchange, "values_not_kept", fault=False)
            return
        if message.kind is Kind.PING:
            answer = KademliaMessage(Kind.PING)
        else:
            answer = self._answer(question.peer, message, now)
        self._node.answer(question.exchange, encode_message(answer))

    def _answer(self, peer: Peer, message: KademliaMessage, now: float) -> KademliaMessage:
        key = message.key
        if not key:
            raise RemoteProtocolError("bad_kademlia", "a question without a key")
        reach = self._reach(peer)
        closer = self._closer(peer, key, reach)
        if message.kind is Kind.FIND_NODE:
            return KademliaMessage(Kind.FIND_NODE, key, self._itself(key, reach) + closer)
        if message.kind is Kind.GET_VALUE:
            return KademliaMessage(Kind.GET_VALUE, key, closer)
        _check_provided(key)
        found = self.providers.of(key, now)
        told = [self._info(each.peer, each.addresses, reach) for each in found]
        return KademliaMessage(Kind.GET_PROVIDERS, key, closer, _with_addresses(told))

    def _reach(self, peer: Peer) -> Reach:
        acquaintance = self._node.acquaintances.get(peer)
        return Reach.PUBLIC if acquaintance is None else acquaintance.reach

    def _closer(self, peer: Peer, key: bytes, reach: Reach) -> tuple[PeerInfo, ...]:
        """The closest peers that we know, without the one that asks."""
        entries = self._table.closest(place_of(key), self._bucket_size + 1)
        told = [
            self._info(each.peer, each.addresses, reach)
            for each in entries
            if each.peer != peer and each.peer_id != key
        ]
        return _with_addresses(told[: self._bucket_size])

    def _itself(self, key: bytes, reach: Reach) -> tuple[PeerInfo, ...]:
        """Of a peer that is looked for by its id, where it is: also if it is ourselves, or only
        connected to us.
        """
        try:
            peer = to_text(check_peer_id(key))
        except RemoteProtocolError:
            return ()  # a key of another kind
        if peer == self._node.node:
            return _with_addresses([self._info(peer, self._node.addresses, reach)])
        acquaintance, entry = self._node.acquaintances.get(peer), self._table.get(peer)
        known = acquaintance or entry
        if known is None:
            return ()
        return _with_addresses([self._info(peer, known.addresses, reach)])

    def _info(self, peer: Peer, addresses: tuple[str, ...], reach: Reach) -> PeerInfo:
        only_public = self._node.parameters.discovery_only_public
        told = usable(peer, addresses, near=reach, only_public=only_public)
        raw = tuple(Multiaddr.parse(each).to_bytes() for each in told)
        connection = CONNECTED if peer in self._node.acquaintances else 0
        return PeerInfo(from_text(peer), raw, connection)

    def _add_provider(self, peer: Peer, message: KademliaMessage, now: float) -> None:
        _check_provided(message.key)
        own_id = from_text(peer)
        infos = [each for each in message.providers if each.peer_id == own_id]
        if not infos:
            raise RemoteProtocolError("provider_of_other_peer", "not by the provider itself")
        acquaintance = self._node.acquaintances.get(peer)
        if acquaintance is None:
            return
        only_public = self._node.parameters.discovery_only_public
        addresses = usable(
            peer, infos[0].addresses, near=acquaintance.reach, only_public=only_public
        )
        if not addresses:
            self._ignore(peer, "provider_without_address")
            return
        reason = self.providers.add(message.key, peer, acquaintance.address, addresses, now)
        if reason:
            self._ignore(peer, reason)

    def _ignore(self, peer: Peer, reason: str) -> None:
        self._node.emit(self._way, IGNORED, peer=peer, reason=reason, count=1)


def _check_provided(key: bytes) -> None:
    if not 0 < len(key) <= LONGEST_PROVIDED_KEY:
        raise RemoteProtocolError("bad_kademlia", f"a provided key of {len(key)} bytes")


def _with_addresses(peers: list[PeerInfo]) -> tuple[PeerInfo, ...]:
    """Without those that nobody could dial."""
    return tuple(each for each in peers if each.addresses)

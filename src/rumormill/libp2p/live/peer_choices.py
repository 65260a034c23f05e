"""Whom a node deals with, by its user's word: direct peers, the blacklist, peers of a topic."""

from __future__ import annotations

import math
from typing import TypeAlias

from rumormill.core.errors import LocalProtocolError
from rumormill.core.machine import MessageInput
from rumormill.core.transport import Dial, TransportInput
from rumormill.libp2p.discovery.effects import OfSockets, PeersWanted
from rumormill.libp2p.effects import (
    Blacklist,
    FilterPeers,
    PeerFilter,
    RouterInput,
    TopicCommand,
)
from rumormill.libp2p.gossipsub.direct import AddDirectPeer, RemoveDirectPeer
from rumormill.libp2p.gossipsub.exchange.peer_exchange import ExchangeFilter, FilterExchange
from rumormill.libp2p.stack.multiaddr import Multiaddr
from rumormill.live.driver import Driver
from rumormill.live.message_network import MessageNetwork

NodeInput: TypeAlias = (
    MessageInput
    | TopicCommand
    | TransportInput
    | Dial
    | Blacklist
    | RouterInput
    | OfSockets
    | PeersWanted
)
"""What a node of this family is told."""


class PeerChoices(MessageNetwork):
    """The verbs by which a user chooses peers."""

    _driver: Driver[NodeInput]

    def add_direct_peer(self, address: str) -> str:
        """Stay connected to the peer at ``address``, which names it, and send it everything.

        It should do the same with us. Returns its id. gossipsub only; those that are known from the
        beginning are the setting ``direct_peers``.
        """
        self._check_open()
        parsed = Multiaddr.parse(address)
        if parsed.peer is None:
            raise LocalProtocolError(f"{address!r} must end with /p2p/ and a peer id")
        self._driver.feed(AddDirectPeer(parsed.peer, (str(parsed),)))
        return parsed.peer

    def remove_direct_peer(self, peer: str) -> None:
        """Treat the peer like any other again; it stays connected."""
        self._check_open()
        self._driver.feed(RemoveDirectPeer(peer))

    def blacklist(self, peer: str, listed: bool = True, *, seconds: float | None = None) -> None:
        """Have nothing to do with the peer any more: drop it, and ignore messages that it wrote.

        With ``seconds``, for so long (trace event ``blacklist_ended``); who is listed already stays
        until the later of both ends. With ``listed=False`` it is welcome again.
        """
        self._check_open()
        if seconds is not None and not (listed and 0 < seconds < math.inf):
            raise LocalProtocolError(
                f"a peer is blacklisted for a number of seconds above 0, not {seconds!r}"
                if listed
                else "who is taken off the blacklist is off it for good: leave seconds out"
            )
        self._driver.feed(Blacklist(peer, listed, seconds))

    def filter_peers(self, allows: PeerFilter | None) -> None:
        """Let a function say which peers may take part in which topics; None: all of them.

            members = {"12D3..", "12D3.."}
            network.filter_peers(lambda peer, topic: topic != "board" or peer in members)

        Who may not gets nothing of the topic from us, and what it sends is ignored. It is asked
        about those who are there at once, and later about what each of them says and sends. If its
        answers change, call this again, with the same function.
        """
        self._check_open()
        self._driver.feed(FilterPeers(allows))

    def filter_exchange(self, names: ExchangeFilter | None) -> None:
        """Let a function say which peers we name to others in peer exchange; None: all of them.

        It gets a peer and the addresses of its signed record, none if we have none. gossipsub only,
        and of use with ``peer_exchange``.
        """
        self._check_open()
        self._driver.feed(FilterExchange(names))

"""A gossipsub node on the bench that exchanges peers, and peers with real ids and records."""

from __future__ import annotations

from typing import Any

from rumormill.core.machine import Connect, Peer, PeerJoined
from rumormill.libp2p.gossipsub import MESHSUB_1_1, GossipsubParameters
from rumormill.libp2p.stack.multiaddr import Multiaddr
from rumormill.libp2p.stack.peer_record import open_peer_record, sign_peer_record
from rumormill.libp2p.wire import Control, ExchangedPeer, Prune, Rpc, Subscription
from tests.helpers.core.machines import AnyEffect
from tests.helpers.libp2p.fake_standing import FakeStanding, JudgingRouter
from tests.helpers.libp2p.workbench import Workbench, identity

TOPIC = "t"


def name(text: str) -> Peer:
    """The peer id of somebody who is called so."""
    return identity(text).peer


def record(who: str, *addresses: str, sequence: int = 1) -> bytes:
    """The signed record of somebody; without addresses, at a public one."""
    found = [Multiaddr.parse(each) for each in addresses or ("/ip4/8.8.4.4/tcp/4001",)]
    return sign_peer_record(identity(who), sequence, found)


def named(who: str, *addresses: str, sequence: int = 1) -> ExchangedPeer:
    """Somebody as a PRUNE names it, with its record."""
    return ExchangedPeer(identity(who).peer_id, record(who, *addresses, sequence=sequence))


class ExchangeBench(Workbench):
    """A node that listens to a topic, with scores that the test sets."""

    def __init__(self, **parameters: Any) -> None:
        parameters = {"peer_exchange": True, **parameters}
        self.marks = FakeStanding()
        super().__init__(JudgingRouter(self.marks, GossipsubParameters(**parameters)))
        self.subscribe(TOPIC)

    def meet(
        self, *who: str, protocol: str = MESHSUB_1_1, address: str = "", records: bool = True
    ) -> None:
        """Peers come, listen to the topic, and have told the host where they are."""
        for each in who:
            peer = name(each)
            if records:
                self.know(each)
            self.feed(PeerJoined(peer, protocol, False, address))
            self.say(peer, Rpc(subscriptions=(Subscription(True, TOPIC),)))

    def know(self, who: str, *addresses: str, sequence: int = 1) -> None:
        """The host has the record of somebody."""
        raw = record(who, *addresses, sequence=sequence)
        self.pubsub.address_book.put(open_peer_record(raw, identity(who).peer_id))

    def pruned_by(self, who: str, *peers: ExchangedPeer, topic: str = TOPIC) -> list[AnyEffect]:
        """Somebody prunes us and names others."""
        return self.say(name(who), Rpc(control=Control((Prune(topic, 60, peers),))))

    def dialed(self) -> list[Connect]:
        return self.of(Connect)

    def prunes_to(self, who: str) -> list[Prune]:
        """The PRUNEs that somebody got since this was last asked."""
        controls = [rpc.control for rpc in self.took(name(who)) if rpc.control]
        return [prune for control in controls for prune in control.of(Prune)]

"""Whole bep50 machines in virtual time: overlays, names to look up, and a main DHT around them."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count
from random import Random
from typing import Any, cast

from rumormill.bep50.effects import (
    NameResolved,
    PublicationDone,
    PublicationFailed,
    PublishValue,
    Reach,
    Reached,
    ResolveName,
)
from rumormill.bep50.machine import Bep50Machine
from rumormill.bep50.main_dht.effects import (
    Announce,
    AskTableSize,
    PeersFound,
    SearchPeers,
    StartMain,
    TableSize,
)
from rumormill.bep50.main_dht.parameters import MainParameters, SessionParameters
from rumormill.bep50.overlay.node import OverlayNode
from rumormill.bep50.overlay.parameters import OverlayParameters
from rumormill.bep50.wire.addresses import NodeInfo, parse_peer
from rumormill.bep50.wire.bencode import encode
from rumormill.bep50.wire.keys import ItemKey
from rumormill.bep50.wire.krpc import Query, read_packet
from rumormill.core.machine import Received, Send, Subscribe
from rumormill.core.transport import Listening
from tests.helpers.bep50.main_dht_model import ModelDht
from tests.helpers.bep50.overlay_network import KEY, TOPIC, OverlayNetwork
from tests.helpers.core.machines import AnyEffect

LATE = "late"
"""A name that has no answer until the test gives it."""


class MachineNetwork(OverlayNetwork):
    """Machines by their address; ``names`` are what hosts stand for."""

    def __init__(self, seed: int = 1, dht: int = 0) -> None:
        """``dht``: how many nodes the main DHT has."""
        super().__init__(seed)
        self.names: dict[str, tuple[str, ...]] = {}
        self.dht = ModelDht(dht, seed)
        self.table_size = dht
        self._announced: dict[bytes, dict[str, None]] = {}
        self._tokens = count(1)

    # ---- building

    def start(
        self,
        address: str | None = None,
        *,
        subscribe: bool = True,
        main_dht: bool = False,
        keys: Iterable[ItemKey] = (KEY,),
        session: dict[str, Any] | None = None,
        **parameters: Any,
    ) -> str:
        """A machine that listens; returns its address."""
        address = address or f"10.200.0.{len(self.nodes) + 1}:6881"
        machine = Bep50Machine(
            self.random.randbytes(20),
            keys,
            Random(self.random.getrandbits(64)),
            Random(self.random.getrandbits(64)),
            OverlayParameters(**parameters),
            MainParameters(),
            SessionParameters(main_dht=main_dht, **(session or {})),
        )
        self.nodes[address] = cast(OverlayNode, machine)
        self.feed(address, Listening((address,)))
        if main_dht:
            peers = tuple(node.peer for node in self.dht.nodes[:3])
            self.feed(address, StartMain((address,), peers, ("10.255.0.1:1",)))
        if subscribe:
            self.feed(address, Subscribe(TOPIC.text))
        return address

    def machine(self, address: str) -> Bep50Machine:
        """The machine at an address."""
        return cast(Bep50Machine, self.nodes[address])

    # ---- what users do

    def publish_value(self, address: str, data: bytes, **more: Any) -> int:
        """Begin to publish; returns the token of the publication."""
        token = next(self._tokens)
        self.feed(address, PublishValue(token, TOPIC.text, encode(data), **more))
        return token

    def end_of(self, address: str, token: int) -> PublicationDone | PublicationFailed | None:
        """What became of a publication, None if nothing yet; it is told once."""
        kinds = (PublicationDone, PublicationFailed)
        ends = [each for kind in kinds for each in self.of_type(address, kind)]
        found = [each for each in ends if each.token == token]
        assert len(found) <= 1, "a publication ended twice"
        return found[0] if found else None

    def done(self, address: str, token: int) -> PublicationDone:
        """The same for one that has been done."""
        end = self.end_of(address, token)
        assert isinstance(end, PublicationDone), end
        return end

    def error_of(self, address: str, token: int) -> Exception:
        """Why a publication failed."""
        end = self.end_of(address, token)
        assert isinstance(end, PublicationFailed), end
        return end.error

    def reach(self, address: str, wanted: str) -> int:
        """Begin to connect; returns the token."""
        token = next(self._tokens)
        self.feed(address, Reach(token, wanted))
        return token

    def reached(self, address: str, token: int) -> Reached | None:
        """What became of it, None if nothing yet."""
        found = [each for each in self.of_type(address, Reached) if each.token == token]
        assert len(found) <= 1, "it was told twice"
        return found[0] if found else None

    # ---- what is around them

    def _carry_out(self, address: str, effects: list[AnyEffect]) -> None:
        super()._carry_out(address, effects)
        for effect in effects:
            if isinstance(effect, Send):
                self._ask_dht(address, effect)
            elif isinstance(effect, ResolveName):
                self._resolve(address, effect.address)
            elif isinstance(effect, AskTableSize):
                if self.table_size:  # libtorrent says nothing of an empty table
                    self._schedule(self.now + 0.01, address, TableSize(self.table_size))
            elif isinstance(effect, Announce | SearchPeers):
                self._search(address, effect)

    def _resolve(self, address: str, wanted: str) -> None:
        host, port = wanted.rsplit(":", 1)
        if host == LATE:
            return
        peers = tuple(f"{each}:{port}" for each in self.names.get(host, ()))
        problem = "" if peers else f"could not reach {wanted}: nobody knows it"
        self._schedule(self.now + self.latency, address, NameResolved(wanted, peers, problem))

    def _ask_dht(self, address: str, sent: Send) -> None:
        node = self.dht.by_peer.get(sent.peer)
        if node is None:
            return
        query = read_packet(sent.packet)
        assert isinstance(query, Query)
        target = query.arguments.get(b"target", b"")
        assert isinstance(target, bytes)
        nearest = [NodeInfo(each.id, each.peer) for each in self.dht.nearest(target)]
        raw = node.answer(sent.packet, nearest[: self.dht.told])
        if raw is not None:
            self._schedule(self.now + 2 * self.latency, address, Received(sent.peer, raw))

    def _search(self, address: str, order: Announce | SearchPeers) -> None:
        announced = self._announced.setdefault(order.target, {})
        if announced:
            found = PeersFound(order.target, tuple(announced))
            self._schedule(self.now + 4 * self.latency, address, found)
        if isinstance(order, Announce):
            host, _ = parse_peer(address)
            announced[f"{host}:{order.port}"] = None

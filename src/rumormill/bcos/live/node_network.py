"""A node on asyncio: TLS connections of nodes and of SDKs, and the application in this process."""

from __future__ import annotations

import asyncio
import random
import ssl
from collections.abc import Mapping
from typing import ClassVar

from rumormill.bcos.certificates.access import AccessLists
from rumormill.bcos.effects import BcosInput, Multicast
from rumormill.bcos.live.bcos_network import ADDRESSES, UNICAST_TIMEOUT, Answer, BcosNetwork
from rumormill.bcos.live.certificate_set import CertificateFolder
from rumormill.bcos.live.settings import BcosSettings
from rumormill.bcos.live.tls_contexts import (
    channel_server,
    p2p_client,
    p2p_server,
    rsa_channel_server,
)
from rumormill.bcos.node.machine import CHANNEL, NodeMachine
from rumormill.core.errors import ConfigError, MessageTooLargeError
from rumormill.core.machine import Published, Shutdown
from rumormill.core.receipt import Receipt
from rumormill.core.trace import CONNECTION_FAILED, CONNECTION_REFUSED, HELD_BACK
from rumormill.core.transport import Dial, Listening
from rumormill.live.driver import Driver
from rumormill.live.topics.subscription import WhenFull
from rumormill.live.transports.client_hello import SECP256K1, Offer
from rumormill.live.transports.tls import Tls
from rumormill.live.transports.tls_session import ContextChoice


class BcosNodeNetwork(BcosNetwork):
    """A node; its peers are other nodes. What it publishes and hears is its own application's.

    A subscription that is full loses its oldest message: SDKs and other nodes must not wait for
    an application that is slow.
    """

    when_full: ClassVar[WhenFull] = "drop_oldest"

    def __init__(self, name: str, settings: BcosSettings, folder: CertificateFolder) -> None:
        live = settings.live
        self._settings = settings
        source = random.SystemRandom()
        self._machine = NodeMachine(
            folder.identity.node_id,
            folder.issuers,
            # Which subscriber is chosen is no secret; seqs are no proof of anything.
            random.Random(source.getrandbits(128)),
            settings.node,
            settings.channel,
            access=AccessLists(live.whitelist, live.blacklist),
            network=name,
        )
        self._node: Driver[BcosInput] = Driver(self._machine)
        super().__init__(
            name=name,
            id=folder.identity.node_id,
            driver=self._node,
            mode=live.mode,
            largest_packet=settings.node.largest_packet,
            live=live,
        )
        self._addresses: tuple[str, ...] = ()
        self._services: dict[str, tuple[str, ...]] = {}
        self._tls = Tls(
            self._node.feed,
            ADDRESSES,
            server=_contexts(folder, live.channel_profile),
            client=p2p_client(folder),
            on_failed=self._handshake_failed,
            on_wait=self._handshake_waits,
            handshake_timeout=live.handshake_timeout,
            max_handshakes=live.max_handshakes,
            close_timeout=live.close_timeout,
            on_short=lambda: self.emit(CONNECTION_REFUSED, reason="too_many_open_files"),
        )
        self._tls.attach(self._node)

    # ---- what there is

    @property
    def addresses(self) -> tuple[str, ...]:
        """Where other nodes can reach us."""
        return self._addresses

    @property
    def services(self) -> Mapping[str, tuple[str, ...]]:
        """Where SDKs can reach us: ``channel``."""
        return self._services

    @property
    def peers(self) -> tuple[str, ...]:
        """The nodes that we are connected to."""
        return tuple(self._machine.peers.linked_nodes())

    def subscribers(self, topic: str) -> tuple[str, ...]:
        """Other nodes that have subscribers of the topic; us, too, if an SDK of ours is one."""
        return tuple(self._machine.holders(topic))

    def sizes(self) -> dict[str, int]:
        """See :meth:`Network.sizes`; and what the machine and its connections keep."""
        return {**super().sizes(), **self._machine.sizes(), **self._tls.sizes()}

    # ---- publish

    async def send(
        self, node: str, topic: str, data: bytes, *, timeout: float = UNICAST_TIMEOUT
    ) -> Answer:
        """Send ``data`` to a subscriber of the topic on that node, and return its answer.

        As :meth:`unicast`, with the node's id in place of a choice.
        """
        return await self.unicast(topic, data, timeout=timeout, node=node)

    async def broadcast(self, topic: str, data: bytes) -> Receipt:
        """Send ``data`` to all nodes that we reach, whether or not they listen to the topic."""
        data = await self._checked(topic, data)
        return self._spread(topic, data, everywhere=True)

    async def _multicast(self, topic: str, data: bytes, timeout: float) -> Receipt:
        return self._spread(topic, data)

    def _spread(self, topic: str, data: bytes, everywhere: bool = False) -> Receipt:
        order = Multicast(next(self._tokens), topic, data, 0.0, everywhere)
        return self._node.ask(order, Published).receipt

    def _has_targets(self, topics: tuple[str, ...]) -> bool:
        return all(self._machine.holders(topic) for topic in topics)

    def _check_message(self, topic: str, data: bytes) -> None:
        if len(data) > self.capabilities.largest_message:
            raise MessageTooLargeError(len(data), self.capabilities.largest_message)

    # ---- come and go

    def _handshake_failed(self, address: str, reason: str, detail: str) -> None:
        self._trace(CONNECTION_FAILED, address=address, reason=reason, detail=detail)

    def _handshake_waits(self, address: str, seconds: float) -> None:
        self._trace(HELD_BACK, address=address, reason="failed_handshakes", seconds=seconds)

    async def _start(self) -> None:
        live = self._settings.live
        self._addresses = await self._tls.listen(live.listen)
        if live.channel_listen:
            try:
                self._services[CHANNEL] = await self._tls.listen(live.channel_listen, CHANNEL)
            except ConfigError as error:
                raise ConfigError("channel_listen", error.problem) from None
        self._node.feed(Listening(self._addresses))
        for address in live.bootstrap:
            self._node.feed(Dial(address, keep=True))

    async def _leave(self) -> None:
        await self._responders.close()
        self._node.feed(Shutdown())
        self._node.wake()
        left = self._close_by - asyncio.get_running_loop().time()
        await self._tls.close(max(0.0, left))


def _contexts(folder: CertificateFolder, profile: str) -> dict[str, ContextChoice]:
    """For nodes and for SDKs, which certificate a client is shown."""
    nodes = p2p_server(folder)
    return {"": lambda offer: nodes, CHANNEL: _channel_choice(folder, profile)}


def _channel_choice(folder: CertificateFolder, profile: str) -> ContextChoice:
    """Whoever knows secp256k1 is shown the certificate on it: Java has forgotten that curve."""
    curve, rsa = channel_server(folder), rsa_channel_server(folder)
    if profile == "rsa" and rsa is None:
        where = folder.own.certificate.parent
        raise ConfigError("channel_profile", f"{where} holds no certificate of the RSA profile")

    def choose(offer: Offer) -> ssl.SSLContext:
        if rsa is None or profile == "secp256k1":
            return curve
        return curve if profile == "both" and SECP256K1 in offer.groups else rsa

    return choose

"""A node's machine on real TLS sockets, for SDKs to connect to."""

from __future__ import annotations

import random
from pathlib import Path

from rumormill.bcos.effects import BcosInput
from rumormill.bcos.live.certificate_folder import load_certificates
from rumormill.bcos.live.tls_contexts import channel_server, p2p_client, p2p_server
from rumormill.bcos.node.machine import CHANNEL, NodeMachine
from rumormill.core.addresses import HostPort
from rumormill.core.machine import Shutdown
from rumormill.core.transport import Dial
from rumormill.live.driver import Driver
from rumormill.live.transports.tls import Tls


class LiveNode:
    """One node; its application does nothing."""

    def __init__(self, certificates: Path) -> None:
        folder = load_certificates(certificates)
        self._machine = NodeMachine(
            folder.identity.node_id, folder.identity.issuer, random.Random(1)
        )
        self._driver: Driver[BcosInput] = Driver(self._machine)
        nodes, sdks = p2p_server(folder), channel_server(folder)
        self._tls = Tls(
            self._driver.feed, HostPort(), client=p2p_client(folder),
            server={"": lambda offer: nodes, CHANNEL: lambda offer: sdks},
        )  # fmt: skip
        self._tls.attach(self._driver)
        self.id = folder.identity.node_id
        self.p2p = self.channel = ""

    async def start(self, *peers: str, channel: str = "127.0.0.1:0") -> LiveNode:
        """Listen, and dial other nodes."""
        self._driver.start()
        (self.p2p,) = await self._tls.listen(["127.0.0.1:0"])
        (self.channel,) = await self._tls.listen([channel], CHANNEL)
        for peer in peers:
            self._driver.feed(Dial(peer, keep=True))
        return self

    async def close(self) -> None:
        """Be gone."""
        self._driver.feed(Shutdown())
        self._driver.wake()
        await self._tls.close(1.0)
        self._driver.stop()

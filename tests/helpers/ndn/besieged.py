"""A node with honest programs on it that talk all the time, and attackers beside them."""

from __future__ import annotations

from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from rumormill.core.trace import TraceEvent
from rumormill.ndn.live.network import NdnNetwork
from tests.helpers.live.siege import PATIENCE, Siege
from tests.helpers.ndn.attacker import Attacker, DatagramAttacker
from tests.helpers.ndn.live_town import LiveTown

NEWS, INSIDE, RADIO = "/honest/news", "/honest/node", "/honest/radio"
"""Topics of a program on a Unix socket, of the node's own application, of a program over UDP."""

PUBLISHER = "/honest/alice"
NODE = "/honest/besieged"

MANY_TIMES = 25
"""How often a notification is sent: on a busy machine an answer may take longer than usual."""


class Town(Siege):
    """``node`` is attacked. An honest program publishes over TCP; another one on a Unix socket,
    the node itself and, if wanted, one over UDP listen.
    """

    node: NdnNetwork
    publisher: NdnNetwork
    subscriber: NdnNetwork

    def __init__(self, folder: Path, stack: AsyncExitStack) -> None:
        super().__init__(stack)
        self.live = LiveTown(folder, stack)
        self._topics: list[str] = []

    @property
    def attacked(self) -> NdnNetwork:
        """The node."""
        return self.node

    async def start(self, *, radio: bool = False, **settings: Any) -> None:
        """Open all; ``settings`` are those of the node. With ``radio`` one listens over UDP."""
        self.node = await self.live.node("tcp", "unix", "udp", prefix=NODE, **settings)
        self.node.on_trace(self.events.append)
        self.listen("node", self.node, INSIDE)
        self.publisher = await self.live.client(
            self.tcp, prefix=PUBLISHER, notify_attempts=MANY_TIMES
        )
        self.subscriber = await self.live.client(self.unix, prefix="/honest/bob")
        self.listen("subscriber", self.subscriber, NEWS)
        await self.subscriber.wait_subscribed(NEWS, PATIENCE)
        self._topics = [NEWS, INSIDE]
        if radio:
            far = await self.live.client(self.udp, prefix="/honest/carol")
            self.listen("radio", far, RADIO)
            await far.wait_subscribed(RADIO, PATIENCE)
            self._topics.append(RADIO)
        await self.exchange(-1)

    @property
    def tcp(self) -> str:
        """Where the node listens, over TCP."""
        return self.node.addresses[0]

    @property
    def unix(self) -> str:
        """On a Unix socket."""
        return self.node.addresses[1]

    @property
    def udp(self) -> str:
        """And over UDP."""
        return self.node.addresses[2]

    async def exchange(self, number: int) -> None:
        """The same message on each topic."""
        for topic in self._topics:
            receipt = await self.publisher.publish(topic, self.message(number), timeout=PATIENCE)
            assert receipt.outcome == "delivered", (topic, receipt)

    # ---- attackers

    async def attacker(self, address: str = "", host: str | None = None) -> Attacker:
        """Somebody who has connected, over TCP if nothing is said, and whom the node knows."""
        opened = self.node.counters["connection_opened"]
        attacker = await Attacker.connect(address or self.tcp, host)
        self._stack.callback(attacker.cut)
        await self.until(lambda: self.node.counters["connection_opened"] > opened)
        # A Unix socket has no address of its own at the other end: the node gives it a number.
        attacker.called = attacker.called or self._last_opened()
        return attacker

    def culprit(self, event: TraceEvent) -> str:
        """The address, as nobody has proved what a neighbour calls itself; or the publisher."""
        return str(event.fields.get("address") or event.peer)

    def _last_opened(self) -> str:
        opened = [
            str(each.fields["address"]) for each in self.events if each.event == "connection_opened"
        ]
        return str(opened[-1])

    def radio_attacker(self, host: str = "127.0.0.1") -> DatagramAttacker:
        """Somebody who speaks by UDP."""
        attacker = DatagramAttacker(self.udp, host)
        self._stack.callback(attacker.cut)
        return attacker

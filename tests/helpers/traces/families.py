"""A small real network of each family, on loopback, and what truly happened on it.

    told = await run_family("gossipsub", tmp_path)
    told.spools, told.published, told.heard, told.newest

Each node keeps a spool of its own. The truth is what the applications saw: receipts of those who
published, and what came out of the subscriptions. Nothing of it is taken from a trace.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import rumormill
from rumormill.bcos.live.bcos_network import BcosNetwork
from rumormill.bcos.live.chain_folder import extend_chain
from rumormill.bep50.live.key_file import create_item_key, load_item_key
from rumormill.core.message import Message

PATIENCE: Final = 30.0
"""Seconds that is waited for what must come."""
MESSAGES: Final = 12
"""How many each network publishes to all of its subscribers, or to one of them."""
UNICASTS: Final = 4
"""And how many to one, where a network can do both."""
LIBP2P: Final = "/ip4/127.0.0.1/tcp/0"


@dataclass
class Publication:
    """What an application published."""

    node: str
    """Who, as traces call it."""
    message_id: bytes
    data: bytes
    to_one: bool = False
    """Only one subscriber is to get it."""


@dataclass
class FamilyTrace:
    """The spools of a run, and what truly happened in it."""

    name: str
    """Which run: a name of :data:`FAMILIES`."""
    network: str
    topic: str
    promises: Mapping[str, bool]
    """As the event ``network_opened`` has them."""
    nodes: list[str] = field(default_factory=list)
    """What traces call them; all of them are subscribers but those that ``heard`` has not."""
    spools: list[Path] = field(default_factory=list)
    """The folder of each, in the order of ``nodes``."""
    published: list[Publication] = field(default_factory=list)
    """In the order of publication."""
    heard: dict[str, list[bytes]] = field(default_factory=dict)
    """By subscriber: the data of all that came out of its subscription, in that order."""
    newest: dict[str, bytes] = field(default_factory=dict)
    """By subscriber: the data of the last that came out of it."""

    @property
    def delivered(self) -> int:
        """How much came out of all subscriptions together."""
        return sum(map(len, self.heard.values()))


class Town:
    """The nodes of one run, each with a spool and, unless it only publishes, a subscription."""

    def __init__(self, told: FamilyTrace, folder: Path, stack: AsyncExitStack) -> None:
        self.told = told
        self.networks: list[Any] = []
        self._folder = folder
        self._stack = stack
        self._listeners: list[asyncio.Task[None]] = []

    async def open(self, *, subscribe: bool = True, **settings: Any) -> Any:
        """One node more."""
        spool = self._folder / f"node{len(self.networks)}"
        network: Any = await rumormill.open(self.told.network, spool=spool, **settings)
        self._stack.push_async_callback(network.close)
        self.networks.append(network)
        self.told.nodes.append(network.trace_name)
        self.told.spools.append(spool)
        if subscribe:
            heard = self.told.heard.setdefault(network.trace_name, [])
            self._listeners.append(asyncio.create_task(self._listen(network, heard)))
        return network

    async def _listen(self, network: rumormill.Network, heard: list[bytes]) -> None:
        async for message in network.subscribe(self.told.topic):
            heard.append(message.data)

    async def publish(self, network: Any, data: bytes) -> None:
        """Publish to whom the network brings it."""
        receipt = await network.publish(self.told.topic, data, ready=PATIENCE, timeout=PATIENCE)
        to_one = not network.capabilities.all_subscribers
        self.told.published.append(Publication(network.trace_name, receipt.id, data, to_one))

    async def ended(self) -> None:
        """Wait for the end of all subscriptions: their networks are closed."""
        await asyncio.wait_for(asyncio.gather(*self._listeners), PATIENCE)

    async def until(self, condition: Callable[[], Any]) -> None:
        """Wait for what must come."""
        async with asyncio.timeout(PATIENCE):
            while not condition():
                await asyncio.sleep(0.005)

    async def until_heard(self, count: int) -> None:
        """Wait until so much has come out of all subscriptions together."""
        await self.until(lambda: self.told.delivered >= count)


async def _libp2p(town: Town) -> None:
    """Four nodes, the first of which all others dial; all publish."""
    hub = await town.open(listen=LIBP2P)
    for _ in range(3):
        await town.open(listen=LIBP2P, bootstrap=hub.addresses)
    topic = town.told.topic
    await hub.wait_for_peers(topic, 3, timeout=PATIENCE)
    for spoke in town.networks[1:]:
        await spoke.wait_for_peers(topic, 1, timeout=PATIENCE)
    if town.told.network == "gossipsub":
        await town.until(lambda: len(hub.mesh(topic)) == 3)
    for number in range(MESSAGES):
        await town.publish(town.networks[number % 4], b"message %d" % number)
    await town.until_heard(MESSAGES * 4)


async def _bep50(town: Town) -> None:
    """Four nodes; the first publishes all at once, the last is slow and skips values."""
    topic = town.told.topic
    quick: dict[str, Any] = {"query_timeout": 0.3, "join_retry": 0.05, "listen": "127.0.0.1:0"}
    first = await town.open(key_file=town._folder / "key.json", **quick)
    for _ in range(3):
        other = await town.open(bootstrap=first.addresses, **quick)
        await other.wait_for_peers(topic, timeout=PATIENCE)
    slow = town.networks[-1]

    async def hesitate(message: Message) -> bool:
        await asyncio.sleep(0.05)  # of the values that come meanwhile only the newest counts
        return True

    slow.add_validator(topic, hesitate)
    values = [b"value %d" % number for number in range(MESSAGES)]
    await asyncio.gather(*(town.publish(first, value) for value in values))
    town.told.published.sort(key=lambda each: values.index(each.data))
    last = b"value %d" % (MESSAGES - 1)
    await town.until(lambda: all(each[-1:] == [last] for each in town.told.heard.values()))


async def _bcos(town: Town) -> None:
    """Three nodes in a line of dials; messages to all, and then to one who answers."""
    folder = town._folder / "chain"
    extend_chain(folder, nodes=3, sdks=0, topic_keys=0)
    nodes: list[BcosNetwork] = []
    for number in range(3):
        certificates = folder / "nodes" / str(number)
        bootstrap = [each.addresses[0] for each in nodes]
        settings: dict[str, Any] = {"certificates": certificates, "listen": "127.0.0.1:0"}
        nodes.append(await town.open(bootstrap=bootstrap, **settings))
        nodes[-1].respond(town.told.topic, lambda message: b"thanks")
    for each in nodes:
        await each.wait_for_peers(town.told.topic, 2, timeout=PATIENCE)
    for number in range(MESSAGES):
        await town.publish(nodes[number % 3], b"message %d" % number)
    await town.until(lambda: town.told.delivered >= MESSAGES * 2)
    for number in range(UNICASTS):
        node, data = nodes[0], b"question %d" % number
        answer = await node.unicast(town.told.topic, data, ready=PATIENCE, timeout=PATIENCE)
        town.told.published.append(Publication(node.trace_name, answer.id, data, to_one=True))


async def _ndn(town: Town, **settings: Any) -> None:
    """A forwarder in the middle of three others; the publisher does not listen."""
    listen = "tcp://127.0.0.1:0"
    hub = await town.open(listen=listen, **settings)
    for _ in range(2):
        await town.open(listen=listen, bootstrap=hub.addresses, **settings)
    publisher = await town.open(subscribe=False, listen=listen, bootstrap=hub.addresses, **settings)
    await town.until(lambda: len(hub.subscribers(town.told.topic)) == 2)
    await publisher.wait_for_peers(town.told.topic, timeout=PATIENCE)
    for number in range(MESSAGES):
        await town.publish(publisher, b"message %d" % number)
    copies = 3 if hub.capabilities.all_subscribers else 1
    await town.until_heard(MESSAGES * copies)


async def _ndn_multicast(town: Town) -> None:
    await _ndn(town, strategy="multicast")


@dataclass(frozen=True)
class _Family:
    run: Callable[[Town], Awaitable[None]]
    network: str
    topic: str
    every_message: bool = True
    all_subscribers: bool = True
    acknowledged: bool = False


FAMILIES: Final = {
    "gossipsub": _Family(_libp2p, "gossipsub", "weather"),
    "floodsub": _Family(_libp2p, "floodsub", "weather"),
    "bep50": _Family(_bep50, "bep50", ":weather", every_message=False, acknowledged=True),
    "bcos": _Family(_bcos, "bcos", "weather"),
    "ndn-best-route": _Family(_ndn, "ndn", "/weather", all_subscribers=False, acknowledged=True),
    "ndn-multicast": _Family(_ndn_multicast, "ndn", "/weather", acknowledged=True),
}
"""The runs there are, by name."""


async def run_family(name: str, folder: Path) -> FamilyTrace:
    """Run the network of a name of :data:`FAMILIES`, which takes a few seconds; the spools are
    below ``folder``, and closed.
    """
    family = FAMILIES[name]
    topic = family.topic
    folder.mkdir(parents=True, exist_ok=True)
    if family.network == "bep50":
        create_item_key(folder / "key.json")
        topic = load_item_key(folder / "key.json").public_key.hex() + topic
    promises = {
        "every_message": family.every_message,
        "all_subscribers": family.all_subscribers,
        "ordered": False,
        "acknowledged": family.acknowledged,
    }
    told = FamilyTrace(name, family.network, topic, promises)
    async with AsyncExitStack() as stack:
        town = Town(told, folder, stack)
        await family.run(town)
    await town.ended()
    told.newest = {node: heard[-1] for node, heard in told.heard.items() if heard}
    return told

"""The bep50 family: the newest value of a topic, pushed along an overlay of the BitTorrent DHT.

A topic is a public key and a salt; only who has the key can publish. Each value replaces the one
before: a subscriber gets the newest, and may miss some in between.

async with rumormill.open("bep50", listen="0.0.0.0:6881", bootstrap=["192.0.2.7:6881"]) as network:
    async with network.subscribe("d75a98...:weather") as messages:
        async for message in messages:
            print(message.fields["seq"], message.data)
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from rumormill.bep50.effects import (
    ContactEnded,
    Join,
    Listening,
    Restore,
)
from rumormill.bep50.live.addresses import ADDRESSES, resolve
from rumormill.bep50.live.contacts import Contacts, known_peers
from rumormill.bep50.live.key_file import load_item_key
from rumormill.bep50.live.main_side import StoredValues, main_addresses
from rumormill.bep50.live.publisher import Publisher
from rumormill.bep50.live.settings import Bep50Settings
from rumormill.bep50.live.state_file import StateFile, not_a_state, own_node_id, read_state
from rumormill.bep50.live.value_network import LARGEST_DATA, ValueNetwork
from rumormill.bep50.main_dht.client import MainClient
from rumormill.bep50.overlay.node import Node
from rumormill.bep50.overlay.topic_node import JOINED, content, message_id
from rumormill.bep50.wire.items import LARGEST_PUBLISHED, Item, genuine
from rumormill.bep50.wire.topics import TopicName, parse_topic
from rumormill.core import trace
from rumormill.core.errors import (
    ConfigError,
    ConnectError,
    LocalProtocolError,
    MessageTooLargeError,
)
from rumormill.core.machine import Unsubscribe
from rumormill.core.message import Message
from rumormill.core.receipt import Receipt
from rumormill.core.topic import Capabilities
from rumormill.live.checker import Subject
from rumormill.live.driver import Driver
from rumormill.live.network import Network
from rumormill.live.subscription import Subscription, WhenFull
from rumormill.live.transports.udp import Udp
from rumormill.live.validation import ValidatorFunction

if TYPE_CHECKING:
    from rumormill.bep50.live.mainline import Mainline

LOOK_INTERVAL = 0.05
"""Seconds between two looks at what no event tells of: that a search is over, that all has left."""


class Bep50Network(ValueNetwork):
    """A bep50 network: all topics of one node."""

    when_full: ClassVar[WhenFull] = "drop_oldest"
    shifts: ClassVar[frozenset[str]] = Network.shifts | {JOINED}

    def __init__(self, name: str, settings: Bep50Settings) -> None:
        live = settings.live
        self._settings = settings
        keys = () if live.key_file is None else (load_item_key(live.key_file),)
        self._state = read_state(live.state_file)
        entropy = random.SystemRandom()
        own_id = own_node_id(self._state, live.state_file, live.listen)
        main = MainClient(own_id, settings.main, entropy) if settings.mainline.main_dht else None
        self._node = Node(
            own_id=own_id,
            keys=keys,
            parameters=settings.overlay,
            random=random.Random(entropy.getrandbits(128)),
            entropy=entropy,
            network=name,
            main=main,
            name=own_id.hex(),
        )
        self._driver: Driver[Any] = Driver(self._node)
        super().__init__(
            name=name,
            id=own_id.hex(),
            driver=self._driver,
            capabilities=Capabilities(
                largest_message=LARGEST_DATA, every_message=False, acknowledged=True
            ),
            subject=Subject(genuine, self._messages),
            validator_concurrency=live.validator_concurrency,
            close_timeout=live.close_timeout,
        )
        self._main = main
        self._addresses: tuple[str, ...] = ()
        self._own: tuple[str, ...] = ()
        self._named = False
        self._names: dict[str, TopicName] = {}
        self._kept: dict[str, None] = {}
        """Topics that we stay in though nobody here listens."""
        self._heard: dict[str, None] = {}
        """Topics whose values the machine delivers."""
        self._stored = StoredValues(self._driver.trace, self._changes.happened)
        self._udp = Udp(self._driver.feed, ADDRESSES, self._datagram_lost)
        self._contacts = Contacts(self._driver.feed, self._unresolved)
        self._mainline = self._make_mainline()
        self._publisher = Publisher(
            self._node, self._driver.feed, self._look_until, self._changes.happened, self._shared
        )
        self._udp.attach(self._driver)
        self._driver.on(ContactEnded, self._contact_ended)
        for kind, handler in self._publisher.handlers.items():
            self._driver.on(kind, handler)
        self._state_file: StateFile | None = None

    # ---- what there is

    @property
    def trace_name(self) -> str:
        """Our address: that is what others know us by."""
        return self._node.name

    @property
    def addresses(self) -> tuple[str, ...]:
        """Where others can reach us, as ``HOST:PORT``."""
        return self._addresses

    @property
    def peers(self) -> tuple[str, ...]:
        """Everybody in the tables of our topics."""
        return self._node.peers()

    def subscribers(self, topic: str) -> tuple[str, ...]:
        """Those members of the topic that we deal with: a part of them all."""
        return tuple(self._node.subscribers(parse_topic(topic).text))

    def mesh(self, topic: str) -> tuple[str, ...]:
        """The same: each of them gets every new value from us."""
        return self.subscribers(topic)

    def latest(self, topic: str) -> Message | None:
        """The newest value of a topic that we take part in, None if we know of none."""
        text = parse_topic(topic).text
        item = self._node.latest(text)
        return None if item is None else self._message(item, text, None)

    def _message(self, item: Item, topic: str, peer: str | None) -> Message:
        data, fields = content(item)
        return Message(
            topic, data, item.public_key.hex(), message_id(item.target, item), self.name, peer,
            self._driver.now(), fields,
        )  # fmt: skip

    def _messages(self, item: Item, peer: str | None) -> Iterator[Message]:
        """What the validator of the item's topic is to see."""
        topic = TopicName(item.public_key, item.salt).text
        if topic in self._validators:
            yield self._message(item, topic, peer)

    def add_validator(
        self,
        topic: str,
        function: ValidatorFunction,
        *,
        timeout: float = 5.0,
        concurrency: int = 1024,
    ) -> None:
        """See :meth:`Network.add_validator`."""
        text = parse_topic(topic).text
        super().add_validator(text, function, timeout=timeout, concurrency=concurrency)

    def remove_validator(self, topic: str) -> None:
        """See :meth:`Network.remove_validator`."""
        super().remove_validator(parse_topic(topic).text)

    # ---- topics

    def join(self, topic: str) -> None:
        """Take part in a topic without listening to it: keep its newest value, and pass it on.

        It lasts until the network is closed. Who publishes joins by that.
        """
        self._check_open()
        name = parse_topic(topic)
        if name.text not in self._kept:
            if name.text not in self._names:
                self._enter(name)
            self._kept[name.text] = None
            self._driver.feed(Join(name.text))

    def subscribe(
        self,
        topic: str,
        *,
        buffer: int = 1024,
        when_full: WhenFull | None = None,
        buffer_bytes: int = 16 * 1024 * 1024,
    ) -> Subscription:
        """Listen to a topic from now on; the newest value comes first, as soon as it is known.

        A full subscription loses its oldest message, or with ``when_full="drop_newest"`` the one
        that just came: datagrams cannot be held back, so there is no ``"wait"``.
        """
        if when_full == "wait":
            raise ConfigError("when_full", "must be drop_oldest or drop_newest in bep50, not wait")
        self._check_open()
        name = parse_topic(topic)
        if name.text not in self._names:
            self._enter(name)
        first = name.text not in self._heard
        self._heard[name.text] = None
        subscription = super().subscribe(
            name.text, buffer=buffer, when_full=when_full, buffer_bytes=buffer_bytes
        )
        newest = None if first else self.latest(name.text)
        if newest is not None:
            subscription.push(newest)  # the machine gives it to the first subscription only
        return subscription

    def _unsubscribe(self, topic: str) -> None:
        if topic not in self._kept:
            self._depart(topic)

    def _depart(self, topic: str) -> None:
        """Leave a topic for good."""
        name = self._names.pop(topic)
        self._kept.pop(topic, None)
        self._heard.pop(topic, None)
        self._stored.forget(topic)
        self._contacts.left(name.target)
        if self._mainline is not None:
            self._mainline.leave(name)
        self._driver.feed(Unsubscribe(topic))

    def _enter(self, name: TopicName) -> None:
        self._names[name.text] = name
        self._contacts.joined(name.target)
        if self._mainline is not None:
            self._mainline.join(name)

    def _hold(self, paused: bool) -> None:
        """Nobody can be held back; subscriptions do not ask for it."""

    # ---- publish

    async def _publish_value(
        self,
        topic: str | Sequence[str],
        value: bytes,
        cas: int | None,
        ready: float | None,
        timeout: float,
    ) -> Receipt:
        self._check_open()
        name = self._publisher.own_topic(topic)
        if len(value) > LARGEST_PUBLISHED:
            raise MessageTooLargeError(len(value), LARGEST_PUBLISHED)
        if self._validators:
            item = Item(name.public_key, name.salt, 0, value, b"")
            await self._judge_own((name.text,), content(item)[0])
        self.join(name.text)
        await self._found_out(name, ready, timeout)
        self._check_open()
        receipt = await self._publisher.publish(name, value, cas, timeout)
        if receipt or self._mainline is None:
            return receipt
        return await self._stored_at_least(receipt, timeout)

    async def _stored_at_least(self, receipt: Receipt, timeout: float) -> Receipt:
        """Nobody took it, but on the main DHT others can find it: wait until it is there."""
        topic, seq, stored = receipt.topic, receipt.fields["seq"], self._stored
        await self._look_until(lambda: stored.nodes(topic, seq) is not None, timeout)
        return receipt._replace(fields={"seq": seq, "stored": stored.nodes(topic, seq) or 0})

    async def _found_out(self, name: TopicName, ready: float | None, timeout: float) -> None:
        """Wait until we know the newest value that our neighbours know, as far as we have such.

        Else a publisher that just started would give its value a number that was used long ago.
        """

        def found_out() -> bool:
            alone = not (self._contacts.trying(name.target) or self._node.subscribers(name.text))
            read = self._mainline is None or self._mainline.has_read(name)
            checking = self._node.checks.of_topic(self._node.topic_nodes[name.target])
            return read and not checking and (alone or self._node.joined(name.text))

        if ready is not None and not self._has_targets((name.text,)):
            if self._mainline is None:
                await self._wait_ready((name.text,), ready)
            else:  # the main DHT takes it, too
                await self._until(lambda: self._has_targets((name.text,)), ready)
        if not found_out():
            await self._look_until(found_out, timeout)

    async def _look_until(self, condition: Callable[[], bool], timeout: float) -> bool:
        """Wait for what events tell of, and look now and then for what they do not."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout
        while (left := deadline - loop.time()) > 0:
            if await self._until(condition, min(left, LOOK_INTERVAL)):
                return True
        return condition()

    def _shared(self, item: Item, cas: int | None) -> None:
        """An item was published: on the main DHT, too."""
        if self._mainline is not None:
            self._mainline.published(item, cas)

    def _has_targets(self, topics: tuple[str, ...]) -> bool:
        return any(self._node.subscribers(topic) for topic in topics)

    # ---- connect

    async def connect(self, address: str, keep: bool = False) -> str:
        """Get to know the node at ``address``, for all topics of ours and those to come.

        Waits until it has turned out to be a member of one of our topics, and raises
        :class:`ConnectError` if it is not or does not answer. Before the first topic is joined
        nothing can be asked, and nothing is waited for. ``keep`` changes nothing: addresses are
        tried again whenever a topic has lost everybody.
        """
        self._check_open()
        peer = await resolve(address)
        if not self._udp.has_family(peer):
            raise ConnectError(f"could not reach {address}: we have no socket of its IP version")
        if not self._named:
            self._take_name(peer)
        await self._contacts.connect(address, peer)
        return peer

    def _take_name(self, peer: str) -> None:
        """Be called in traces what this peer calls us: a socket that listens everywhere has many
        addresses, and the first contact shows which of them is the one in use.
        """
        own = self._udp.address_towards(peer)
        if own is not None:
            self._named = True
            others = tuple(each for each in self._own if each != own)
            self._driver.feed(Listening((*others, own)))
            if self._mainline is not None:
                self._mainline.node = self._node.name

    def _contact_ended(self, effect: ContactEnded) -> None:
        self._contacts.ended(effect)
        self._changes.happened()

    def _unresolved(self, address: str, problem: str) -> None:
        self._trace(trace.CONNECTION_FAILED, address=address, reason="name_not_found",
                    detail=problem)  # fmt: skip

    def _datagram_lost(self, reason: str, peer: str | None) -> None:
        self._trace(trace.DROPPED, what="datagram", reason=reason, count=1, address=peer)

    # ---- come and go

    def _make_mainline(self) -> Mainline | None:
        settings = self._settings.mainline
        if not settings.main_dht:
            return None
        from rumormill.bep50.live.mainline import Mainline

        mainline = Mainline(
            settings,
            feed=self._driver.feed,
            latest=self._node.latest,
            members=self._node.subscribers,
            trace=self._stored.trace,
            now=self._driver.now,
            node=self._node.name,
            random=random.Random(random.SystemRandom().getrandbits(128)),
            announce=not self._settings.overlay.read_only,
        )
        for kind, handler in mainline.handlers.items():
            self._driver.on(kind, handler)
        return mainline

    async def _start(self) -> None:
        live = self._settings.live
        udp = self._udp
        own = await (udp.listen(live.listen) if live.listen else udp.listen_anywhere())
        self._addresses = own if live.listen else ()
        self._own = own
        self._driver.feed(Listening(own))
        for peer in known_peers((*live.bootstrap, *self._settings.mainline.main_dht_nodes))[:1]:
            self._take_name(peer)
        if self._state is not None:
            self._restore(self._state)
            self._state = None
        if live.state_file is not None:
            self._state_file = StateFile(
                live.state_file, live.state_interval, self._node.state, self._state_failed
            )
            await self._state_file.start()
        self._contacts.begin(live.bootstrap, own)
        if self._mainline is not None and self._main is not None:
            self._mainline.node = self._main.node = self._node.name
            nodes = self._settings.mainline.main_dht_nodes
            await self._mainline.start(*main_addresses(own, self._node.name, nodes))

    def _restore(self, state: bytes) -> None:
        try:
            self._driver.feed(Restore(state))
        except LocalProtocolError:
            assert self._settings.live.state_file is not None
            raise not_a_state(self._settings.live.state_file) from None

    def _state_failed(self, problem: str) -> None:
        self._trace("state_failed", detail=problem)

    async def _close(self) -> None:
        # Before the topics are left: what they know is what is kept, and what is on its way leaves.
        self._changes.happened()
        await self._drain()
        state = self._node.state()
        try:
            await super()._close()
        finally:
            if self._state_file is not None:
                await self._state_file.close(state)

    async def _drain(self) -> None:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._settings.live.close_timeout
        while (self._node.pending() or self._udp.waiting) and loop.time() < deadline:
            await asyncio.sleep(LOOK_INTERVAL)
        if self._mainline is not None:
            await self._mainline.settled(max(0.0, deadline - loop.time()))

    async def _leave(self) -> None:
        for topic in tuple(self._names):
            self._depart(topic)
        self._contacts.close()
        if self._mainline is not None:
            await self._mainline.close()
        self._udp.close()

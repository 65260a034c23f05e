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
from collections.abc import Iterator, Sequence
from itertools import count
from typing import TYPE_CHECKING, ClassVar

from rumormill.bep50.effects import (
    Bep50Input,
    Bootstrap,
    Drain,
    Drained,
    ForgetPublication,
    Join,
    NameResolved,
    PublicationDone,
    PublicationFailed,
    PublishValue,
    Reach,
    Reached,
    ResolveName,
    Restore,
)
from rumormill.bep50.live.addresses import ADDRESSES
from rumormill.bep50.live.key_file import load_item_key
from rumormill.bep50.live.libtorrent_start import main_addresses, plan_of
from rumormill.bep50.live.settings import Bep50Settings
from rumormill.bep50.live.state_file import StateFile, not_a_state, own_node_id, read_state
from rumormill.bep50.live.value_network import LARGEST_DATA, ValueNetwork
from rumormill.bep50.machine import Bep50Machine
from rumormill.bep50.main_dht.effects import StartMain
from rumormill.bep50.overlay.topic_node import JOINED, content, message_id
from rumormill.bep50.wire.addresses import known_peers
from rumormill.bep50.wire.items import LARGEST_PUBLISHED, Item, genuine
from rumormill.bep50.wire.topics import TopicName, parse_topic
from rumormill.core import trace
from rumormill.core.errors import (
    ClosedError,
    ConfigError,
    ConnectError,
    LocalProtocolError,
    MessageTooLargeError,
)
from rumormill.core.machine import Unsubscribe
from rumormill.core.message import Message
from rumormill.core.receipt import Receipt
from rumormill.core.topic import Capabilities
from rumormill.core.transport import Listening
from rumormill.live.checks.checker import Subject
from rumormill.live.checks.validation import ValidatorFunction
from rumormill.live.driver import Driver
from rumormill.live.network import Network
from rumormill.live.topics.message_filter import MessageFilter
from rumormill.live.topics.subscription import Subscription, WhenFull
from rumormill.live.transports.udp import Udp
from rumormill.live.waiting.answers import Waiting

if TYPE_CHECKING:
    from rumormill.bep50.live.libtorrent_dht import LibtorrentDht

SENTENCES = {
    "name_not_found": "{detail}",
    "no_answer": "could not reach {address}: no answer",
    "no_socket": "could not reach {address}: we have no socket of its IP version",
    "not_a_member": "{address} is a node of the DHT that takes no part in topics",
    "ourselves": "could not reach {address}: that is this node itself",
    "unknown_topic": "{address} takes no part in the topic",
}
"""What a user is told of an address that could not be reached, by the machine's word for it."""


class Bep50Network(ValueNetwork):
    """A bep50 network: all topics of one node."""

    when_full: ClassVar[WhenFull] = "drop_oldest"
    shifts: ClassVar[frozenset[str]] = Network.shifts | {JOINED}
    instead_of_relay: ClassVar[str] = "join it, and its newest value is kept and passed on"

    def __init__(self, name: str, settings: Bep50Settings) -> None:
        live = settings.live
        self._settings = settings
        self._keys = () if live.key_file is None else (load_item_key(live.key_file),)
        self._state = read_state(live.state_file)
        entropy = random.SystemRandom()
        own_id = own_node_id(self._state, live.state_file, live.listen)
        self._machine = Bep50Machine(
            own_id,
            self._keys,
            random=random.Random(entropy.getrandbits(128)),
            entropy=entropy,
            overlay=settings.overlay,
            main=settings.main,
            session=settings.session,
            network=name,
        )
        self._driver: Driver[Bep50Input] = Driver(self._machine)
        super().__init__(
            name=name,
            id=own_id.hex(),
            driver=self._driver,
            capabilities=Capabilities(
                largest_message=LARGEST_DATA, every_message=False, acknowledged=True, fanout=False
            ),
            subject=Subject(genuine, self._messages),
            validator_concurrency=live.validator_concurrency,
            close_timeout=live.close_timeout,
            trace_each=live.trace_each,
        )
        self._addresses: tuple[str, ...] = ()
        self._own: tuple[str, ...] = ()
        self._named = False
        self._joined: dict[str, None] = {}
        """Topics that we take part in."""
        self._kept: dict[str, None] = {}
        """Those that we stay in though nobody here listens."""
        self._heard: dict[str, None] = {}
        """Those whose values the machine delivers."""
        self._tokens = count(1)
        self._publications: Waiting[Receipt] = Waiting()
        self._connections: Waiting[Reached] = Waiting()
        self._drained: asyncio.Future[None] | None = None
        self._lookups: set[asyncio.Task[None]] = set()
        self._udp = Udp(
            self._driver.feed, ADDRESSES, self._datagram_lost, self._machine.gate, self._driver.now
        )
        self._main_dht: LibtorrentDht | None = None
        self._state_file: StateFile | None = None
        self._udp.attach(self._driver)
        on = self._driver.on
        on(PublicationDone, lambda end: self._publications.done(end.token, end.receipt))
        on(PublicationFailed, lambda end: self._publications.failed(end.token, end.error))
        on(Reached, lambda end: self._connections.done(end.token, end))
        on(ResolveName, self._resolve)
        on(Drained, self._on_drained)

    # ---- what there is

    @property
    def trace_name(self) -> str:
        """Our address: that is what others know us by."""
        return self._machine.name

    @property
    def addresses(self) -> tuple[str, ...]:
        """Where others can reach us, as ``HOST:PORT``."""
        return self._addresses

    @property
    def peers(self) -> tuple[str, ...]:
        """Everybody in the tables of our topics."""
        return self._machine.peers()

    def subscribers(self, topic: str) -> tuple[str, ...]:
        """Those members of the topic that we deal with: a part of them all."""
        return self._machine.subscribers(parse_topic(topic).text)

    def mesh(self, topic: str) -> tuple[str, ...]:
        """The same: each of them gets every new value from us."""
        return self.subscribers(topic)

    def latest(self, topic: str) -> Message | None:
        """The newest value of a topic that we take part in, None if we know of none."""
        text = parse_topic(topic).text
        item = self._machine.latest(text)
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
        topic: str | None,
        function: ValidatorFunction,
        *,
        timeout: float = 5.0,
        concurrency: int = 1024,
    ) -> None:
        """See :meth:`Network.add_validator`."""
        text = None if topic is None else parse_topic(topic).text
        super().add_validator(text, function, timeout=timeout, concurrency=concurrency)

    def remove_validator(self, topic: str | None) -> None:
        """See :meth:`Network.remove_validator`."""
        super().remove_validator(None if topic is None else parse_topic(topic).text)

    # ---- topics

    def join(self, topic: str) -> None:
        """Take part in a topic without listening to it: keep its newest value, and pass it on.

        It lasts until the network is closed. Publishing on a topic joins it, too.
        """
        self._check_open()
        name = parse_topic(topic)
        if name.text not in self._kept:
            self._joined[name.text] = self._kept[name.text] = None
            self._driver.feed(Join(name.text))

    def subscribe(
        self,
        topic: str,
        *,
        buffer: int = 1024,
        when_full: WhenFull | None = None,
        buffer_bytes: int = 16 * 1024 * 1024,
        only: MessageFilter | None = None,
    ) -> Subscription:
        """Listen to a topic from now on; the newest value comes first, as soon as it is known.

        A full subscription loses its oldest message, or with ``when_full="drop_newest"`` the one
        that just came: datagrams cannot be held back, so there is no ``"wait"``.
        """
        if when_full == "wait":
            raise ConfigError("when_full", "must be drop_oldest or drop_newest in bep50, not wait")
        self._check_open()
        name = parse_topic(topic)
        first = name.text not in self._heard
        self._joined[name.text] = self._heard[name.text] = None
        subscription = super().subscribe(
            name.text, buffer=buffer, when_full=when_full, buffer_bytes=buffer_bytes, only=only
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
        for each in (self._joined, self._kept, self._heard):
            each.pop(topic, None)
        self._driver.feed(Unsubscribe(topic))

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
        name = self._own_topic(topic)
        if len(value) > LARGEST_PUBLISHED:
            raise MessageTooLargeError(len(value), LARGEST_PUBLISHED)
        if self._validators:
            item = Item(name.public_key, name.salt, 0, value, b"")
            await self._judge_own((name.text,), content(item)[0])
        self.join(name.text)
        token = next(self._tokens)
        end = self._publications.begin(token)
        try:
            self._driver.feed(PublishValue(token, name.text, value, cas, ready, timeout))
            return await end
        finally:
            if self._publications.forget(token):
                self._driver.feed(ForgetPublication(token))

    def _own_topic(self, topic: str | Sequence[str]) -> TopicName:
        """The topic, if it is one and we have its key; else :class:`LocalProtocolError`."""
        if not isinstance(topic, str):
            raise LocalProtocolError("bep50 publishes on one topic at a time")
        name = parse_topic(topic)
        keys = [key.public_key for key in self._keys]
        if name.public_key not in keys:
            have = ", ".join(key.hex() for key in keys)
            held = f"key_file has the one of {have}" if have else "there is no key_file"
            raise LocalProtocolError(f"only its own key can publish on {name.text}, but {held}")
        return name

    def _has_targets(self, topics: tuple[str, ...]) -> bool:
        return any(self._machine.subscribers(topic) for topic in topics)

    # ---- connect

    async def connect(self, address: str, keep: bool = False) -> str:
        """Get to know the node at ``address``, for all topics of ours and those to come.

        Waits until it has turned out to be a member of one of our topics, and raises
        :class:`ConnectError` if it is not or does not answer. Before the first topic is joined
        nothing can be asked, and nothing is waited for. ``keep`` changes nothing: addresses are
        tried again whenever a topic has lost everybody.
        """
        self._check_open()
        token = next(self._tokens)
        end = self._connections.begin(token)
        try:
            self._take_name(*known_peers((address,)))
            self._driver.feed(Reach(token, address))
            reached = await end
        finally:
            self._connections.forget(token)
        if reached.problem:
            sentence = SENTENCES[reached.problem]
            raise ConnectError(sentence.format(address=address, detail=reached.detail))
        return reached.peer

    def _take_name(self, *peers: str) -> None:
        """Be called in traces what a peer calls us: a socket that listens everywhere has many
        addresses, and the first contact shows which of them is the one in use.
        """
        for peer in () if self._named else peers:
            own = self._udp.address_towards(peer)
            if own is not None:
                self._named = True
                others = tuple(each for each in self._own if each != own)
                self._driver.feed(Listening((*others, own)))
                self._beginning.say_opened(self.trace_name)
                return

    def _resolve(self, order: ResolveName) -> None:
        task = asyncio.ensure_future(self._look_up(order.address))
        self._lookups.add(task)
        task.add_done_callback(self._lookups.discard)

    async def _look_up(self, address: str) -> None:
        try:
            peers = await self._udp.resolve_all(address)
        except ConnectError as error:
            self._driver.feed(NameResolved(address, (), str(error)))
        else:
            self._take_name(*peers)
            self._driver.feed(NameResolved(address, peers))

    def _datagram_lost(self, reason: str, peer: str | None, count: int) -> None:
        self._trace(trace.DROPPED, what="datagram", reason=reason, count=count, address=peer)

    # ---- come and go

    async def _start(self) -> None:
        live = self._settings.live
        udp = self._udp
        own = await (udp.listen(live.listen) if live.listen else udp.listen_anywhere())
        self._addresses = own if live.listen else ()
        self._own = own
        self._driver.feed(Listening(own))
        self._take_name(*known_peers((*live.bootstrap, *self._settings.session.main_dht_nodes))[:1])
        if self._state is not None:
            self._restore(self._state)
            self._state = None
        if live.state_file is not None:
            self._state_file = StateFile(
                live.state_file, live.state_interval, self._machine.state, self._state_failed
            )
            await self._state_file.start()
        self._driver.feed(Bootstrap(live.bootstrap))
        if self._settings.session.main_dht:
            await self._start_main_dht(own)

    async def _start_main_dht(self, own: tuple[str, ...]) -> None:
        """Let libtorrent listen; what it does from then on is up to the machine."""
        from rumormill.bep50.live.libtorrent_dht import LibtorrentDht

        session = self._settings.session
        addresses = main_addresses(own, self._machine.name, session.main_dht_nodes)
        plan = await plan_of(session, addresses)
        self._main_dht = LibtorrentDht(plan.settings, self._driver.feed)
        await self._main_dht.start()
        self._main_dht.attach(self._driver)
        self._driver.feed(StartMain(addresses, plan.nodes, self._main_dht.peers))

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
        self._readiness.look_again()
        closed = ClosedError(f"the network {self.name} is closed")
        self._publications.close(closed)
        self._connections.close(closed)
        await self._drain(self._settings.live.close_timeout)
        state = self._machine.state()
        try:
            await super()._close()
        finally:
            if self._state_file is not None:
                await self._state_file.close(state)

    async def _drain(self, timeout: float) -> None:
        """Wait until what was published has left; the machine knows when."""
        self._drained = asyncio.get_running_loop().create_future()
        self._driver.feed(Drain(timeout))
        await asyncio.wait((self._drained,), timeout=timeout)

    def _on_drained(self, effect: Drained) -> None:
        if self._drained is not None and not self._drained.done():
            self._drained.set_result(None)

    async def _leave(self) -> None:
        for topic in tuple(self._joined):
            self._depart(topic)
        for task in self._lookups:
            task.cancel()
        if self._main_dht is not None:
            await self._main_dht.close()
        self._udp.close()

"""The main DHT at an overlay's side: where the members of a topic find each other, and where the
newest value is for those who do not take part in the overlay.

For every topic that is joined, again and again: our address is announced under the topic's target;
whom the search for others finds is a candidate for the overlay; the item is read, and what is found
is offered to the overlay. What is published is put there too, and the newest value every hour.

Searching and announcing is libtorrent's (:mod:`rumormill.bep50.live.libtorrent_dht`). Items go
through our own :class:`~rumormill.bep50.main_dht.client.MainClient`, since libtorrent's binding for
Python chooses the number of a value by itself and puts nothing but strings.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sized
from itertools import count
from random import Random
from typing import Any, Final

from rumormill.bep50.effects import Contact, Offer
from rumormill.bep50.live.libtorrent_dht import LibtorrentDht
from rumormill.bep50.live.mainline_parameters import MainlineParameters
from rumormill.bep50.live.mainline_start import plan_of
from rumormill.bep50.main_dht.effects import (
    ItemRead,
    ItemSeen,
    ItemWritten,
    MainContact,
    ReadItem,
    WriteItem,
)
from rumormill.bep50.wire.addresses import parse_peer, peer_text
from rumormill.bep50.wire.items import Item
from rumormill.bep50.wire.topics import TopicName
from rumormill.core.machine import Input
from rumormill.core.message import NO_FIELDS
from rumormill.core.timers import Timers
from rumormill.core.trace import TraceEvent, type_of_field
from rumormill.live.changes import Changes

SEARCH_DELAYS: Final = (1.0, 2.0, 5.0, 15.0, 30.0)
"""Seconds between the first searches of a topic, before the steady interval: others may be about
to announce themselves just now, and a table that was just begun finds little."""

PUT_DELAYS: Final = (5.0, 15.0, 60.0, 300.0)
"""Seconds after which a put that reached no node is tried again; the last one stays."""

HURRIED_DELAY: Final = 0.25
"""The same while closing waits for it."""

CONNECT_DELAY: Final = 0.05
"""Seconds between two looks at whether libtorrent has found the DHT, at first; it doubles."""

LONGEST_CONNECT_DELAY: Final = 30.0

LOOK_INTERVAL: Final = 30.0
"""Seconds between two looks at whether a topic has lost all its members."""

MOST_CANDIDATES: Final = 200
"""Addresses that one topic is given between two steady announcements; the rest is counted."""

# Trace events of this part.
CONNECTED = "main_dht_connected"  # libtorrent has found the DHT; fields: address, nodes
ANNOUNCED = "main_dht_announced"
FOUND = "main_dht_found"  # new addresses under the topic's target; fields: count, dropped
READ = "main_dht_read"  # fields: answered, seq (null: there is no value)
WRITTEN = "main_dht_written"  # fields: seq, stored, refused, silent, skipped


class _Topic:
    """What is going on for one topic."""

    __slots__ = (
        "failures", "found", "had_members", "name", "put_after", "read", "rounds", "waiting",
        "writing",
    )  # fmt: skip

    def __init__(self, name: TopicName) -> None:
        self.name = name
        self.read = False
        self.had_members = False
        self.rounds = 0
        self.found: dict[str, None] = {}
        self.writing: Item | None = None
        self.waiting: tuple[Item, int | None] | None = None
        self.put_after = 0.0
        self.failures = 0


class Mainline:
    """The main DHT for one network.

    ``feed``, ``trace`` and ``now`` are the driver's, ``latest`` and ``members`` the node's. It is
    made when the user wants it, and started when the overlay's socket is open.
    """

    def __init__(
        self,
        parameters: MainlineParameters,
        *,
        feed: Callable[[Input], None],
        latest: Callable[[str], Item | None],
        members: Callable[[str], Sized],
        trace: Callable[[TraceEvent], None],
        now: Callable[[], float],
        node: str,
        random: Random,
        announce: bool = True,
    ) -> None:
        """``announce``: False for a node that answers nobody, and had better not be found."""
        self.node = node
        """Our name in trace events."""
        self._parameters = parameters
        self._feed = feed
        self._latest = latest
        self._members = members
        self._trace = trace
        self._now = now
        self._random = random
        self._announces = announce
        self._topics: dict[bytes, _Topic] = {}
        self._errands: dict[int, bytes] = {}
        self._tokens = count(1)
        self._timers: Timers[tuple[str, bytes]] = Timers()
        self._timer: asyncio.TimerHandle | None = None
        self._dht: LibtorrentDht | None = None
        self._connecting: asyncio.Task[None] | None = None
        self._own: tuple[str, ...] = ()
        self._changes = Changes()
        self._hurry = False
        self.connected = False
        """Whether libtorrent has found the DHT."""
        self.handlers: Mapping[type, Callable[[Any], None]] = {
            ItemSeen: self._seen,
            ItemRead: self._read,
            ItemWritten: self._written,
        }
        """Who carries out which effect of the node."""

    # ---- come and go

    async def start(self, *overlay: str) -> None:
        """Join the main DHT; ``overlay`` are the addresses that our own socket has.

        Raises :class:`ConfigError` if libtorrent is missing or cannot listen.
        """
        self._own = overlay
        settings, nodes = await plan_of(self._parameters, overlay)
        self._dht = LibtorrentDht(settings, self._found)
        await self._dht.start()
        given = tuple(peer_text(*node) for node in nodes)
        self._feed(MainContact((*given, *self._dht.peers), own=self._own))
        self._connecting = asyncio.create_task(self._connect(self._dht, nodes))

    async def settled(self, timeout: float) -> bool:
        """Wait until what was published is on the main DHT; False if that took too long."""
        self._hurry = True
        for target, topic in self._topics.items():
            if topic.waiting is not None and self.connected:
                self._timers.set(("put", target), self._now())
        self._arm()
        return await self._changes.until(self._nothing_to_put, timeout)

    def _nothing_to_put(self) -> bool:
        return not any(topic.writing or topic.waiting for topic in self._topics.values())

    async def close(self) -> None:
        """Leave the main DHT."""
        self._topics.clear()
        if self._timer is not None:
            self._timer.cancel()
        if self._connecting is not None:
            self._connecting.cancel()
            await asyncio.gather(self._connecting, return_exceptions=True)
        if self._dht is not None:
            await self._dht.close()

    async def _connect(self, dht: LibtorrentDht, nodes: list[tuple[str, int]]) -> None:
        """Wait until libtorrent's table has a node: it does not tell, so it is asked."""
        delay = CONNECT_DELAY
        while True:
            dht.add_nodes(nodes)
            await asyncio.sleep(delay)
            size = await dht.table_size()
            if size:
                break
            delay = min(2 * delay, LONGEST_CONNECT_DELAY)
        self.connected = True
        self._emit(CONNECTED, None, address=", ".join(dht.peers), nodes=size)
        for topic in self._topics.values():
            self._begin(topic)
        self._arm()

    # ---- topics

    def join(self, topic: TopicName) -> None:
        """Look for the members of a topic and for its item, and announce ourselves."""
        if topic.target not in self._topics:
            self._topics[topic.target] = _Topic(topic)
            if self.connected:
                self._begin(self._topics[topic.target])
                self._arm()

    def leave(self, topic: TopicName) -> None:
        """Do no more for the topic; nodes forget our announcement within the hour."""
        if self._topics.pop(topic.target, None) is not None:
            for what in ("announce", "look", "put", "republish"):
                self._timers.cancel((what, topic.target))

    def has_read(self, topic: TopicName) -> bool:
        """Whether the main DHT was asked for the topic's value and somebody answered.

        Who publishes waits for it: else he might give a number that was used long ago.
        """
        found = self._topics.get(topic.target)
        return found is None or found.read

    def published(self, item: Item, cas: int | None = None) -> None:
        """Put an item of a joined topic on the main DHT, too."""
        topic = self._topics.get(item.target)
        if topic is None:
            return
        # Only the first put of several can compare: what it compares with is replaced by it.
        topic.waiting = (item, cas if topic.waiting is None else None)
        topic.failures = 0
        if self.connected and topic.writing is None:
            self._put_in_time(topic)

    def _begin(self, topic: _Topic) -> None:
        target, now = topic.name.target, self._now()
        self._timers.set(("announce", target), now)
        self._timers.set(("look", target), now + LOOK_INTERVAL)
        self._timers.set(("republish", target), now + self._republish_delay())
        if topic.waiting is not None:
            self._timers.set(("put", target), now)

    # ---- the timer

    def _arm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        due = self._timers.next_wake()
        if due is not None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(max(due - self._now(), 0.0), self._wake)

    def _wake(self) -> None:
        self._timer = None
        for what, target in self._timers.due(self._now()):
            topic = self._topics[target]
            if what == "announce":
                self._announce(topic)
            elif what == "look":
                self._look(topic)
            elif what == "put":
                self._put(topic)
            else:
                self._republish(topic)
        self._arm()

    # ---- members

    def _announce(self, topic: _Topic) -> None:
        assert self._dht is not None
        target = topic.name.target
        if self._announces:
            for port in dict.fromkeys(parse_peer(own)[1] for own in self._own):
                self._dht.announce(target, port)
            self._emit(ANNOUNCED, topic)
        else:
            self._dht.search(target)
        self._order(ReadItem(next(self._tokens), topic.name.public_key, topic.name.salt), target)
        if topic.rounds < len(SEARCH_DELAYS):
            delay = SEARCH_DELAYS[topic.rounds]
        else:
            # Not all at the same time: whoever started together would stay together.
            delay = self._parameters.announce_interval * self._random.uniform(0.75, 1.0)
            topic.found.clear()
        topic.rounds += 1
        self._timers.set(("announce", target), self._now() + delay)

    def _found(self, target: bytes, peers: tuple[str, ...]) -> None:
        topic = self._topics.get(target)
        if topic is None:
            return
        new = [peer for peer in peers if peer not in topic.found and peer not in self._own]
        room = MOST_CANDIDATES - len(topic.found)
        taken = dict.fromkeys(new[:room])
        if new:
            self._emit(FOUND, topic, count=len(taken), dropped=len(new) - len(taken))
        if taken:
            topic.found |= taken
            self._feed(Contact(target, tuple(taken)))

    def _look(self, topic: _Topic) -> None:
        """Search again at once for a topic whose members have all gone.

        One that never had any is not worth the load: whoever comes will find our announcement.
        """
        target, now = topic.name.target, self._now()
        members = len(self._members(topic.name.text)) > 0
        if topic.had_members and not members:
            topic.rounds = 0
            topic.found.clear()
            self._timers.set(("announce", target), now)
        topic.had_members = members
        self._timers.set(("look", target), now + LOOK_INTERVAL)

    # ---- items

    def _order(self, order: ReadItem | WriteItem, target: bytes) -> None:
        self._errands[order.token] = target
        self._feed(order)

    def _seen(self, effect: ItemSeen) -> None:
        if self._errands.get(effect.token) in self._topics:
            self._feed(Offer(effect.item))

    def _read(self, effect: ItemRead) -> None:
        topic = self._topics.get(self._errands.pop(effect.token, b""))
        if topic is not None:
            seq = None if effect.item is None else effect.item.seq
            topic.read |= effect.answered > 0
            self._emit(READ, topic, answered=effect.answered, seq=seq)

    def _put_in_time(self, topic: _Topic) -> None:
        now = self._now()
        when = max(now, topic.put_after)
        if self._hurry:
            when = min(when, now + (HURRIED_DELAY if topic.failures else 0.0))
        self._timers.set(("put", topic.name.target), when)
        self._arm()

    def _put(self, topic: _Topic) -> None:
        if topic.writing is not None or topic.waiting is None:
            return
        (item, cas), topic.waiting = topic.waiting, None
        topic.writing = item
        self._order(WriteItem(next(self._tokens), item, cas), topic.name.target)

    def _republish(self, topic: _Topic) -> None:
        when = self._now() + self._republish_delay()
        self._timers.set(("republish", topic.name.target), when)
        newest = self._latest(topic.name.text)
        if newest is not None and topic.writing is None and topic.waiting is None:
            topic.writing = newest
            order = WriteItem(next(self._tokens), newest, refresh=True)
            self._order(order, topic.name.target)

    def _republish_delay(self) -> float:
        return self._parameters.republish_interval * self._random.uniform(0.9, 1.1)

    def _written(self, effect: ItemWritten) -> None:
        topic = self._topics.get(self._errands.pop(effect.token, b""))
        if topic is None or topic.writing is None:
            return
        item, topic.writing = topic.writing, None
        self._emit(
            WRITTEN, topic, seq=item.seq, stored=effect.stored, silent=effect.silent,
            refused=sum(effect.refused.values()), skipped=effect.skipped,
        )  # fmt: skip
        topic.put_after = self._now() + self._parameters.main_dht_pause
        if effect.newer is not None:
            self._feed(Offer(effect.newer))
        elif not effect.stored and not effect.refused and topic.waiting is None:
            delay = PUT_DELAYS[min(topic.failures, len(PUT_DELAYS) - 1)]
            topic.failures += 1
            topic.waiting = (item, None)
            topic.put_after = self._now() + delay
        if topic.waiting is not None:
            self._put_in_time(topic)
        self._changes.happened()

    def _emit(self, event: str, topic: _Topic | None, **fields: type_of_field) -> None:
        name = None if topic is None else topic.name.text
        self._trace(
            TraceEvent(self._now(), self.node, event, topic=name, fields=fields or NO_FIELDS)
        )


__all__ = ["Mainline", "MainlineParameters"]

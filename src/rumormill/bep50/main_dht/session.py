"""The main DHT at an overlay's side: where the members of a topic find each other, and where the
newest value is for those who do not take part in the overlay.

For every topic that is joined, again and again: our address is announced under the topic's target;
whom the search for others finds is a candidate for the overlay; the item is read, and what is found
is offered to the overlay. What is published is put there too, and the newest value every hour.

Searching and announcing is libtorrent's, which gets orders. Items go through our own
:class:`~rumormill.bep50.main_dht.client.MainClient`, since libtorrent's binding for Python chooses
the number of a value by itself and puts nothing but strings.

    not started --StartMain--> connecting --TableSize(1...)--> connected: topics begin
"""

from __future__ import annotations

from collections.abc import Callable, Sized
from enum import Enum
from itertools import count
from random import Random
from typing import Any, Final, Protocol

from rumormill.bep50.effects import Contact, Offer
from rumormill.bep50.main_dht.effects import (
    AddNodes,
    Announce,
    AskTableSize,
    Hurry,
    ItemRead,
    ItemSeen,
    ItemWritten,
    JoinMain,
    LeaveMain,
    MainContact,
    PeersFound,
    PutOnMain,
    ReadItem,
    SearchPeers,
    SessionEffect,
    SessionInput,
    StartMain,
    TableSize,
    WriteItem,
)
from rumormill.bep50.main_dht.parameters import SessionParameters
from rumormill.bep50.main_dht.session_topic import SessionTopic
from rumormill.bep50.wire.addresses import parse_peer
from rumormill.bep50.wire.items import Item
from rumormill.core.errors import LocalProtocolError
from rumormill.core.message import NO_FIELDS
from rumormill.core.timers import Alarm, Timers
from rumormill.core.trace import TraceEvent, type_of_field

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

# Trace events of this part.
CONNECTED = "main_dht_connected"  # libtorrent has found the DHT; fields: address, nodes
ANNOUNCED = "main_dht_announced"
FOUND = "main_dht_found"  # new addresses under the topic's target; fields: count, dropped
READ = "main_dht_read"  # fields: answered, seq (null: there is no value)
WRITTEN = "main_dht_written"  # fields: seq, stored, refused, silent, skipped


class Connection(Enum):
    """How far we are with the main DHT."""

    NOT_STARTED = "not_started"
    CONNECTING = "connecting"
    CONNECTED = "connected"


class Task(Enum):
    """What is done again and again: for the session, or for one topic."""

    CONNECT = "connect"
    ANNOUNCE = "announce"
    LOOK = "look"
    PUT = "put"
    REPUBLISH = "republish"


class Overlays(Protocol):
    """What the session asks of the overlay's node."""

    def latest(self, topic: str) -> Item | None:
        """The newest item of a topic."""
        ...

    def subscribers(self, topic: str) -> Sized:
        """Its members, as far as we deal with them."""
        ...


class MainSession:
    """The main DHT for one node; ``SessionInput`` goes in, ``SessionEffect`` comes out."""

    def __init__(
        self,
        parameters: SessionParameters,
        overlays: Overlays,
        random: Random,
        node: str = "",
        announce: bool = True,
        alarm: Alarm | None = None,
    ) -> None:
        """``announce``: False for a node that answers nobody, and had better not be found."""
        self.node = node
        """Our name in trace events."""
        self._parameters = parameters
        self._overlays = overlays
        self._random = random
        self._announces = announce
        self._connection = Connection.NOT_STARTED
        self._connect_delay = CONNECT_DELAY
        self._start = StartMain((), (), ())
        self._topics: dict[bytes, SessionTopic] = {}
        self._errands: dict[int, bytes] = {}
        self._tokens = count(1)
        self._timers: Timers[tuple[Task, bytes]] = Timers(alarm)
        self._hurry = False
        self._effects: list[SessionEffect] = []
        self._now = 0.0
        self._handlers: dict[type, Callable[[Any], None]] = {
            StartMain: self._on_start,
            TableSize: self._on_table_size,
            PeersFound: self._on_found,
            JoinMain: self._on_join,
            LeaveMain: self._on_leave,
            PutOnMain: self._on_put,
            Hurry: self._on_hurry,
            ItemSeen: self._on_seen,
            ItemRead: self._on_read,
            ItemWritten: self._on_written,
        }
        self._tasks: dict[Task, Callable[[SessionTopic], None]] = {
            Task.ANNOUNCE: self._announce,
            Task.LOOK: self._look,
            Task.PUT: self._put,
            Task.REPUBLISH: self._republish,
        }

    # ---- the machine

    def handle(self, input: SessionInput, now: float) -> list[SessionEffect]:
        """Take one input; return what follows from it."""
        self._now = now
        handler = self._handlers.get(type(input))
        if handler is None:
            raise LocalProtocolError(f"the main DHT's session knows no {type(input).__name__}")
        handler(input)
        return self._done()

    def wake(self, now: float) -> list[SessionEffect]:
        """Do what is due."""
        self._now = now
        for task, target in self._timers.due(now):
            if task is Task.CONNECT:
                self._connect()
            else:
                self._tasks[task](self._topics[target])
        return self._done()

    def next_wake(self) -> float | None:
        """When something is due."""
        return self._timers.next_wake()

    def _done(self) -> list[SessionEffect]:
        effects, self._effects = self._effects, []
        return effects

    # ---- questions

    @property
    def connection(self) -> Connection:
        """Whether libtorrent has found the DHT."""
        return self._connection

    @property
    def nothing_to_put(self) -> bool:
        """Whether all that was published is on the main DHT, or was given up."""
        return not any(topic.putting for topic in self._topics.values())

    def has_read(self, target: bytes) -> bool:
        """Whether the main DHT was asked for the topic's value and somebody answered.

        A publisher waits for it: else it might give a number that was used long ago.
        """
        found = self._topics.get(target)
        return found is None or found.read

    def target_of(self, token: int) -> bytes | None:
        """The topic that an errand is for, None if the errand is none of ours."""
        return self._errands.get(token)

    def stored(self, target: bytes, seq: int) -> int | None:
        """How many nodes took the value with this number or a later one; None: not put yet."""
        found = self._topics.get(target)
        if found is None or found.stored is None or found.stored[0] < seq:
            return None
        return found.stored[1]

    def sizes(self) -> dict[str, int]:
        """How much is held, for tests of its bounds."""
        return {
            "main_topics": len(self._topics),
            "main_errands": len(self._errands),
            "main_timers": len(self._timers),
            "main_found": sum(len(topic.found) for topic in self._topics.values()),
        }

    # ---- connecting

    def _on_start(self, start: StartMain) -> None:
        self._start = start
        self._connection = Connection.CONNECTING
        self._effects.append(MainContact((*start.nodes, *start.peers), own=start.own))
        self._connect()

    def _connect(self) -> None:
        """Ask until libtorrent's table has a node; it is told of the nodes each time."""
        if self._start.nodes:
            self._effects.append(AddNodes(self._start.nodes))
        self._effects.append(AskTableSize())
        self._timers.set((Task.CONNECT, b""), self._now + self._connect_delay)
        self._connect_delay = min(2 * self._connect_delay, LONGEST_CONNECT_DELAY)

    def _on_table_size(self, size: TableSize) -> None:
        if not size.nodes or self._connection is not Connection.CONNECTING:
            return
        self._connection = Connection.CONNECTED
        self._timers.cancel((Task.CONNECT, b""))
        self._emit(CONNECTED, None, address=", ".join(self._start.peers), nodes=size.nodes)
        for topic in self._topics.values():
            self._begin(topic)

    # ---- topics

    def _on_join(self, join: JoinMain) -> None:
        target = join.topic.target
        if target not in self._topics:
            self._topics[target] = SessionTopic(join.topic)
            if self._connection is Connection.CONNECTED:
                self._begin(self._topics[target])

    def _on_leave(self, leave: LeaveMain) -> None:
        target = leave.topic.target
        if self._topics.pop(target, None) is not None:
            for task in self._tasks:
                self._timers.cancel((task, target))

    def _begin(self, topic: SessionTopic) -> None:
        self._set(Task.ANNOUNCE, topic, 0.0)
        self._set(Task.LOOK, topic, LOOK_INTERVAL)
        self._set(Task.REPUBLISH, topic, self._republish_delay())
        if topic.waiting is not None:
            self._set(Task.PUT, topic, 0.0)

    def _set(self, task: Task, topic: SessionTopic, delay: float) -> None:
        self._timers.set((task, topic.name.target), self._now + delay)

    # ---- members

    def _announce(self, topic: SessionTopic) -> None:
        target = topic.name.target
        if self._announces:
            for port in dict.fromkeys(parse_peer(own)[1] for own in self._start.own):
                self._effects.append(Announce(target, port))
            self._emit(ANNOUNCED, topic)
        else:
            self._effects.append(SearchPeers(target))
        self._order(ReadItem(next(self._tokens), topic.name.public_key, topic.name.salt), target)
        if topic.rounds < len(SEARCH_DELAYS):
            delay = SEARCH_DELAYS[topic.rounds]
        else:
            # Not all at the same time: whoever started together would stay together.
            delay = self._parameters.announce_interval * self._random.uniform(0.75, 1.0)
            topic.found.clear()
        topic.rounds += 1
        self._set(Task.ANNOUNCE, topic, delay)

    def _on_found(self, found: PeersFound) -> None:
        topic = self._topics.get(found.target)
        if topic is None:
            return
        taken, dropped = topic.take_candidates(found.peers, self._start.own)
        if taken or dropped:
            self._emit(FOUND, topic, count=len(taken), dropped=dropped)
        if taken:
            self._effects.append(Contact(found.target, taken))

    def _look(self, topic: SessionTopic) -> None:
        """Search again at once for a topic whose members have all gone.

        One that never had any is not worth the load: whoever comes will find our announcement.
        """
        members = len(self._overlays.subscribers(topic.name.text)) > 0
        if topic.had_members and not members:
            topic.rounds = 0
            topic.found.clear()
            self._set(Task.ANNOUNCE, topic, 0.0)
        topic.had_members = members
        self._set(Task.LOOK, topic, LOOK_INTERVAL)

    # ---- items

    def _order(self, order: ReadItem | WriteItem, target: bytes) -> None:
        self._errands[order.token] = target
        self._effects.append(order)

    def _on_seen(self, seen: ItemSeen) -> None:
        if self._errands.get(seen.token) in self._topics:
            self._effects.append(Offer(seen.item))

    def _on_read(self, read: ItemRead) -> None:
        topic = self._topics.get(self._errands.pop(read.token, b""))
        if topic is not None:
            topic.read |= read.answered > 0
            seq = None if read.item is None else read.item.seq
            self._emit(READ, topic, answered=read.answered, seq=seq)

    def _on_put(self, put: PutOnMain) -> None:
        topic = self._topics.get(put.item.target)
        if topic is None:
            return
        # Only the first put of several can compare: what it compares with is replaced by it.
        topic.waiting = (put.item, put.cas if topic.waiting is None else None)
        topic.failures = 0
        if self._connection is Connection.CONNECTED and topic.writing is None:
            self._put_in_time(topic)

    def _on_hurry(self, hurry: Hurry) -> None:
        self._hurry = True
        if self._connection is Connection.CONNECTED:
            for topic in self._topics.values():
                if topic.waiting is not None:
                    self._set(Task.PUT, topic, 0.0)

    def _put_in_time(self, topic: SessionTopic) -> None:
        delay = max(0.0, topic.put_after - self._now)
        if self._hurry:
            delay = min(delay, HURRIED_DELAY if topic.failures else 0.0)
        self._set(Task.PUT, topic, delay)

    def _put(self, topic: SessionTopic) -> None:
        if topic.writing is not None or topic.waiting is None:
            return
        (item, cas), topic.waiting = topic.waiting, None
        topic.writing = item
        self._order(WriteItem(next(self._tokens), item, cas), topic.name.target)

    def _republish(self, topic: SessionTopic) -> None:
        self._set(Task.REPUBLISH, topic, self._republish_delay())
        newest = self._overlays.latest(topic.name.text)
        if newest is not None and not topic.putting:
            topic.writing = newest
            self._order(WriteItem(next(self._tokens), newest, refresh=True), topic.name.target)

    def _republish_delay(self) -> float:
        return self._parameters.republish_interval * self._random.uniform(0.9, 1.1)

    def _on_written(self, written: ItemWritten) -> None:
        topic = self._topics.get(self._errands.pop(written.token, b""))
        if topic is None or topic.writing is None:
            return
        item, topic.writing = topic.writing, None
        topic.stored = (item.seq, written.stored)
        self._emit(
            WRITTEN, topic, seq=item.seq, stored=written.stored, silent=written.silent,
            refused=sum(written.refused.values()), skipped=written.skipped,
        )  # fmt: skip
        topic.put_after = self._now + self._parameters.main_dht_pause
        if written.newer is not None:
            self._effects.append(Offer(written.newer))
        elif not written.stored and not written.refused and topic.waiting is None:
            delay = PUT_DELAYS[min(topic.failures, len(PUT_DELAYS) - 1)]
            topic.failures += 1
            topic.waiting = (item, None)
            topic.put_after = self._now + delay
        if topic.waiting is not None:
            self._put_in_time(topic)

    def _emit(self, event: str, topic: SessionTopic | None, **fields: type_of_field) -> None:
        name = None if topic is None else topic.name.text
        self._effects.append(
            TraceEvent(self._now, self.node, event, topic=name, fields=fields or NO_FIELDS)
        )

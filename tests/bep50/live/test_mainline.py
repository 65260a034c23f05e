"""The main DHT at an overlay's side: what is announced, searched, read and put, and when."""

from __future__ import annotations

import asyncio
import builtins
import random
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Any

import pytest

from rumormill.bep50.effects import Contact, Offer
from rumormill.bep50.live.mainline import Mainline, MainlineParameters
from rumormill.bep50.main_dht.effects import (
    ItemRead,
    ItemSeen,
    ItemWritten,
    MainContact,
    ReadItem,
    WriteItem,
)
from rumormill.bep50.wire.bencode import encode
from rumormill.bep50.wire.items import Item
from rumormill.bep50.wire.keys import ItemKey
from rumormill.bep50.wire.topics import TopicName
from rumormill.core.errors import ConfigError
from rumormill.core.trace import TraceEvent
from rumormill.live.changes import Changes

KEY = ItemKey.from_seed(bytes(32))
TOPIC = TopicName(KEY.public_key, b"weather")
OWN = "127.0.0.1:7000"
NODE = "127.0.0.9:6881"
PATIENCE = 30.0


def item(seq: int) -> Item:
    return KEY.item(b"weather", seq, encode(b"rain"))


class FakeDht:
    """In libtorrent's place: it is connected when the test says so."""

    made: list[FakeDht]
    problem: ConfigError | None = None

    def __init__(self, settings: dict[str, Any], on_peers: Callable[..., None]) -> None:
        self.settings = settings
        self.on_peers = on_peers
        self.peers = ("127.0.0.1:6999",)
        self.size = 1
        self.nodes: list[tuple[str, int]] = []
        self.announced: list[tuple[bytes, int]] = []
        self.searched: list[bytes] = []
        self.closed = False
        self.asked_for_size = asyncio.Event()
        FakeDht.made.append(self)

    async def start(self) -> None:
        if FakeDht.problem is not None:
            raise FakeDht.problem

    async def close(self) -> None:
        self.closed = True

    def add_nodes(self, nodes: Iterable[tuple[str, int]]) -> None:
        self.nodes += nodes

    def announce(self, target: bytes, port: int) -> None:
        self.announced.append((target, port))

    def search(self, target: bytes) -> None:
        self.searched.append(target)

    async def table_size(self) -> int:
        self.asked_for_size.set()
        return self.size


class Bench:
    """A Mainline with everything around it written down."""

    def __init__(self, announce: bool = True, **parameters: Any) -> None:
        self.inputs: list[Any] = []
        self.events: list[TraceEvent] = []
        self.newest: Item | None = None
        self.members: tuple[str, ...] = ()
        self.answers: Callable[[WriteItem], ItemWritten | None] = lambda order: ItemWritten(
            order.token, 8, {}
        )
        self._changes = Changes()
        self.mainline = Mainline(
            MainlineParameters(main_dht=True, **{"main_dht_nodes": NODE, **parameters}),
            feed=self._feed,
            latest=lambda topic: self.newest if topic == TOPIC.text else None,
            members=lambda topic: self.members,
            trace=self._trace,
            now=time.monotonic,
            node="us",
            random=random.Random(1),
            announce=announce,
        )

    @property
    def dht(self) -> FakeDht:
        return FakeDht.made[-1]

    def _trace(self, event: TraceEvent) -> None:
        self.events.append(event)
        self._changes.happened()

    def _feed(self, input: Any) -> None:
        self.inputs.append(input)
        if isinstance(input, WriteItem):
            answer = self.answers(input)
            if answer is not None:
                # The node answers later, when it has asked others.
                loop = asyncio.get_running_loop()
                loop.call_soon(self.mainline.handlers[ItemWritten], answer)
        self._changes.happened()

    def given(self, kind: type) -> list[Any]:
        return [each for each in self.inputs if isinstance(each, kind)]

    async def until(self, condition: Callable[[], object]) -> None:
        assert await self._changes.until(lambda: bool(condition()), PATIENCE), self.inputs

    async def start(self) -> None:
        await self.mainline.start(OWN)
        await self.until(lambda: self.mainline.connected)


@pytest.fixture(autouse=True)
def fake_dht(monkeypatch: pytest.MonkeyPatch) -> None:
    FakeDht.made, FakeDht.problem = [], None
    monkeypatch.setattr("rumormill.bep50.live.mainline.LibtorrentDht", FakeDht)


@pytest.fixture
async def make() -> AsyncIterator[Callable[..., Bench]]:
    """Makes benches, and closes them after the test."""
    made: list[Bench] = []

    def one(**parameters: Any) -> Bench:
        made.append(Bench(**parameters))
        return made[-1]

    yield one
    for bench in made:
        await bench.mainline.close()


Make = Callable[..., Bench]


# ---- joining the main DHT


async def test_a_private_dht_is_joined_by_the_given_nodes_alone(make: Make) -> None:
    bench = make()
    await bench.start()
    assert bench.dht.nodes == [("127.0.0.9", 6881)]
    assert bench.dht.settings["dht_bootstrap_nodes"] == ""
    assert bench.dht.settings["listen_interfaces"] == "127.0.0.1:0"
    assert bench.dht.settings["dht_restrict_routing_ips"] is False
    # Our own client begins with them and with libtorrent itself.
    assert bench.given(MainContact) == [MainContact((NODE, "127.0.0.1:6999"), own=(OWN,))]


async def test_given_nodes_of_the_internet_are_no_reason_to_trust_one_network(make: Make) -> None:
    bench = make(main_dht_nodes=["8.8.8.8:6881"], main_dht_listen="127.0.0.1:0")
    await bench.start()
    assert bench.dht.settings["dht_bootstrap_nodes"] == ""
    assert "dht_restrict_routing_ips" not in bench.dht.settings


async def test_the_public_dht_is_not_joined_from_loopback(make: Make) -> None:
    with pytest.raises(ConfigError, match=r"main_dht_nodes: must be given where we listen on this"):
        await make(main_dht_nodes=[]).mainline.start(OWN, "[::1]:7000")
    assert not FakeDht.made


async def test_the_public_dht_is_joined_by_libtorrents_own_list(make: Make) -> None:
    bench = make(main_dht_nodes=[])
    await bench.mainline.start("127.0.0.1:7000", "192.0.2.1:7000")
    assert "dht_bootstrap_nodes" not in bench.dht.settings
    # Nobody would find us on loopback.
    assert bench.dht.settings["listen_interfaces"] == "192.0.2.1:0"


async def test_a_dht_that_cannot_listen_is_told_in_one_sentence(make: Make) -> None:
    FakeDht.problem = ConfigError("main_dht_listen", "libtorrent cannot listen: taken")
    with pytest.raises(ConfigError, match="main_dht_listen: libtorrent cannot listen: taken"):
        await make().mainline.start(OWN)


async def test_a_missing_libtorrent_is_told_with_the_command_that_brings_it(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    from rumormill.bep50.live import libtorrent_dht

    monkeypatch.setattr("rumormill.bep50.live.mainline.LibtorrentDht", libtorrent_dht.LibtorrentDht)
    monkeypatch.delitem(sys.modules, "libtorrent", raising=False)
    real = builtins.__import__

    def without(name: str, *arguments: Any, **options: Any) -> Any:
        if name == "libtorrent":
            raise ImportError("No module named 'libtorrent'")
        return real(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(
        ConfigError, match=r"main_dht: libtorrent.*pip install 'rumormill\[bep50\]'"
    ):
        await make().mainline.start(OWN)


@pytest.mark.parametrize("key", ["main_dht_nodes", "main_dht_listen"])
def test_a_wrong_address_names_its_key(key: str) -> None:
    with pytest.raises(ConfigError, match=f"{key}.*HOST:PORT"):
        MainlineParameters.model_validate({key: "127.0.0.1"})


async def test_nothing_is_done_before_the_dht_is_found(make: Make) -> None:
    bench = make()
    bench.mainline.join(TOPIC)
    await bench.mainline.start(OWN)
    bench.dht.size = 0
    await asyncio.wait_for(bench.dht.asked_for_size.wait(), PATIENCE)
    bench.mainline.published(item(1))
    assert not bench.dht.announced
    assert not bench.given(WriteItem)
    bench.dht.size = 3
    await bench.until(lambda: bench.given(WriteItem))
    assert bench.dht.announced == [(TOPIC.target, 7000)]


# ---- topics


async def test_a_joined_topic_is_announced_and_its_item_read(make: Make) -> None:
    bench = make()
    await bench.start()
    bench.mainline.join(TOPIC)
    await bench.until(lambda: bench.given(ReadItem))
    assert bench.dht.announced == [(TOPIC.target, 7000)]
    (order,) = bench.given(ReadItem)
    assert order[1:] == (TOPIC.public_key, TOPIC.salt)
    assert not bench.mainline.has_read(TOPIC)
    bench.mainline.handlers[ItemSeen](ItemSeen(order.token, item(4)))
    assert bench.given(Offer) == [Offer(item(4))]
    bench.mainline.handlers[ItemRead](ItemRead(order.token, item(4), 8))
    assert bench.mainline.has_read(TOPIC)
    assert bench.events[-1].fields == {"answered": 8, "seq": 4}


async def test_a_node_that_answers_nobody_searches_and_is_not_announced(make: Make) -> None:
    bench = make(announce=False)
    await bench.start()
    bench.mainline.join(TOPIC)
    await bench.until(lambda: bench.given(ReadItem))
    assert (bench.dht.announced, bench.dht.searched) == ([], [TOPIC.target])


async def test_a_search_that_nobody_answered_does_not_count_as_read(make: Make) -> None:
    bench = make()
    await bench.start()
    bench.mainline.join(TOPIC)
    await bench.until(lambda: bench.given(ReadItem))
    bench.mainline.handlers[ItemRead](ItemRead(bench.given(ReadItem)[0].token, None, 0))
    assert not bench.mainline.has_read(TOPIC)


async def test_announcements_are_repeated_for_ever(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rumormill.bep50.live.mainline.SEARCH_DELAYS", (0.001, 0.001, 0.001))
    bench = make(announce_interval=0.01)
    await bench.start()
    bench.mainline.join(TOPIC)
    await bench.until(lambda: len(bench.dht.announced) >= 8)
    bench.mainline.leave(TOPIC)
    count = len(bench.dht.announced)
    assert bench.mainline._timers.next_wake() is None
    assert count == len(bench.dht.announced)


async def test_new_addresses_are_candidates_once_and_we_are_none(make: Make) -> None:
    bench = make()
    await bench.start()
    bench.mainline.join(TOPIC)
    bench.dht.on_peers(TOPIC.target, (OWN, "127.0.0.2:7000"))
    bench.dht.on_peers(TOPIC.target, ("127.0.0.2:7000", "127.0.0.3:7000"))
    bench.dht.on_peers(bytes(20), ("127.0.0.4:7000",))
    assert bench.given(Contact) == [
        Contact(TOPIC.target, ("127.0.0.2:7000",)),
        Contact(TOPIC.target, ("127.0.0.3:7000",)),
    ]


async def test_a_topic_that_has_lost_its_members_is_searched_for_at_once(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rumormill.bep50.live.mainline.LOOK_INTERVAL", 0.001)
    monkeypatch.setattr("rumormill.bep50.live.mainline.SEARCH_DELAYS", ())
    bench = make()
    await bench.start()
    bench.members = ("127.0.0.2:7000",)
    bench.mainline.join(TOPIC)
    bench.dht.on_peers(TOPIC.target, bench.members)
    topic = bench.mainline._topics[TOPIC.target]
    while not topic.had_members:
        await asyncio.sleep(0.001)
    assert len(bench.dht.announced) == 1
    bench.members = ()
    await bench.until(lambda: len(bench.dht.announced) == 2)
    # Whoever is found counts anew.
    bench.dht.on_peers(TOPIC.target, ("127.0.0.2:7000",))
    assert len(bench.given(Contact)) == 2


async def test_a_crowd_of_addresses_is_cut_and_counted(make: Make) -> None:
    bench = make()
    await bench.start()
    bench.mainline.join(TOPIC)
    bench.dht.on_peers(TOPIC.target, tuple(f"10.0.0.1:{port}" for port in range(1, 501)))
    (contact,) = bench.given(Contact)
    assert len(contact.peers) == 200
    assert bench.events[-1].fields == {"count": 200, "dropped": 300}


# ---- values


async def test_what_is_published_is_put_and_the_newest_wins(make: Make) -> None:
    bench = make(main_dht_pause=0.01)
    await bench.start()
    bench.mainline.join(TOPIC)
    for seq in range(1, 100):
        bench.mainline.published(item(seq), cas=seq - 1)
    await bench.until(
        lambda: bench.given(WriteItem)[-1:] and bench.given(WriteItem)[-1].item.seq == 99
    )
    orders = bench.given(WriteItem)
    assert len(orders) <= 2
    assert not any(order.refresh for order in orders)
    assert await bench.mainline.settled(PATIENCE)


async def test_compare_and_swap_is_passed_on_for_a_value_that_replaces_no_waiting_one(
    make: Make,
) -> None:
    bench = make(main_dht_pause=0.0)
    await bench.start()
    bench.mainline.join(TOPIC)
    bench.mainline.published(item(5), cas=4)
    await bench.until(lambda: bench.given(WriteItem))
    assert bench.given(WriteItem)[0].cas == 4


async def test_a_pause_lies_between_two_puts_unless_we_close(make: Make) -> None:
    bench = make(main_dht_pause=3600.0)
    await bench.start()
    bench.mainline.join(TOPIC)
    bench.mainline.published(item(1))
    await bench.until(lambda: any(event.event == "main_dht_written" for event in bench.events))
    bench.mainline.published(item(2))
    for _ in range(20):
        await asyncio.sleep(0)  # time enough for what is due now
    assert [order.item.seq for order in bench.given(WriteItem)] == [1]
    assert await bench.mainline.settled(PATIENCE)
    assert [order.item.seq for order in bench.given(WriteItem)] == [1, 2]


async def test_a_put_that_reached_nobody_is_tried_again(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rumormill.bep50.live.mainline.PUT_DELAYS", (0.001,))
    bench = make(main_dht_pause=0.0)
    outcomes = iter([0, 0, 8])
    bench.answers = lambda order: ItemWritten(order.token, next(outcomes), {})
    await bench.start()
    bench.mainline.join(TOPIC)
    bench.mainline.published(item(1))
    await bench.until(lambda: len(bench.given(WriteItem)) == 3)
    assert await bench.mainline.settled(PATIENCE)


async def test_a_refused_put_is_not_tried_again(make: Make) -> None:
    bench = make(main_dht_pause=0.0)
    bench.answers = lambda order: ItemWritten(order.token, 0, {301: 8})
    await bench.start()
    bench.mainline.join(TOPIC)
    bench.mainline.published(item(1), cas=7)
    assert await bench.mainline.settled(PATIENCE)
    assert len(bench.given(WriteItem)) == 1
    assert bench.events[-1].fields["refused"] == 8


async def test_a_newer_value_in_the_way_is_offered_to_the_overlay(make: Make) -> None:
    bench = make(main_dht_pause=0.0)
    bench.answers = lambda order: ItemWritten(order.token, 0, {}, newer=item(9))
    await bench.start()
    bench.mainline.join(TOPIC)
    bench.mainline.published(item(1))
    assert await bench.mainline.settled(PATIENCE)
    assert bench.given(Offer) == [Offer(item(9))]
    assert len(bench.given(WriteItem)) == 1


async def test_the_newest_value_is_put_again_and_again(make: Make) -> None:
    bench = make(republish_interval=0.01)
    bench.newest = item(3)
    await bench.start()
    bench.mainline.join(TOPIC)
    await bench.until(lambda: len(bench.given(WriteItem)) >= 3)
    assert all(order.refresh and order.item == item(3) for order in bench.given(WriteItem))


async def test_closing_does_not_wait_for_ever_for_a_dht_that_is_not_there(make: Make) -> None:
    bench = make()
    bench.mainline.join(TOPIC)
    await bench.mainline.start(OWN)
    bench.dht.size = 0
    bench.mainline.published(item(1))
    assert not await bench.mainline.settled(0.0)
    await bench.mainline.close()
    assert bench.dht.closed

"""The main DHT at an overlay's side: what is announced, searched, read and put, and when."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import pairwise
from typing import Any, TypeVar

import pytest

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
from rumormill.bep50.main_dht.session import Connection, MainSession
from rumormill.bep50.wire.bencode import encode
from rumormill.bep50.wire.items import Item
from rumormill.bep50.wire.keys import ItemKey
from rumormill.bep50.wire.topics import TopicName
from rumormill.core.errors import ConfigError, LocalProtocolError
from rumormill.core.machine import Subscribe
from rumormill.core.trace import TraceEvent

KEY = ItemKey.from_seed(bytes(32))
TOPIC = TopicName(KEY.public_key, b"weather")
OWN = "127.0.0.1:7000"
NODE, LIBTORRENT = "127.0.0.9:6881", "127.0.0.1:6999"
START = StartMain((OWN,), (NODE,), (LIBTORRENT,))
FIRST_ANNOUNCEMENTS = [0.0, 1.0, 3.0, 8.0, 23.0, 53.0]

Kind = TypeVar("Kind")


def item(seq: int) -> Item:
    return KEY.item(b"weather", seq, encode(b"rain"))


class Bench:
    """A session in virtual time, with the overlay and the client around it."""

    def __init__(self, announce: bool = True, seed: int = 1, **parameters: Any) -> None:
        self.now = 0.0
        self.effects: list[tuple[float, SessionEffect]] = []
        self.newest: Item | None = None
        self.members: tuple[str, ...] = ()
        self.answers: Callable[[WriteItem], ItemWritten | None] = lambda order: ItemWritten(
            order.token, 8, {}
        )
        self.session = MainSession(
            SessionParameters(main_dht=True, **parameters),
            self,
            random.Random(seed),
            "us",
            announce,
        )

    def latest(self, topic: str) -> Item | None:
        return self.newest if topic == TOPIC.text else None

    def subscribers(self, topic: str) -> tuple[str, ...]:
        return self.members

    def tell(self, *inputs: SessionInput) -> None:
        waiting = list(inputs)
        while waiting:
            made = self.session.handle(waiting.pop(0), self.now)
            waiting += self._answers(made)

    def _answers(self, made: list[SessionEffect]) -> list[SessionInput]:
        """What the client says to the orders: at once, in a virtual network."""
        self.effects += [(self.now, effect) for effect in made]
        orders = [effect for effect in made if isinstance(effect, WriteItem)]
        return [answer for order in orders if (answer := self.answers(order)) is not None]

    def run(self, seconds: float) -> None:
        """Let the time pass."""
        end = self.now + seconds
        while (due := self.session.next_wake()) is not None and due <= end:
            self.now = due
            self.tell(*self._answers(self.session.wake(due)))
        self.now = end

    def given(self, kind: type[Kind]) -> list[Kind]:
        return [effect for _, effect in self.effects if isinstance(effect, kind)]

    def times(self, kind: type) -> list[float]:
        return [at for at, effect in self.effects if isinstance(effect, kind)]

    def events(self, kind: str) -> list[TraceEvent]:
        return [event for event in self.given(TraceEvent) if event.event == kind]


def connected(join: bool = True, **parameters: Any) -> Bench:
    """A session whose libtorrent has found the DHT, with a topic."""
    bench = Bench(**parameters)
    bench.tell(START, TableSize(3))
    if join:
        bench.tell(JoinMain(TOPIC))
        bench.run(0.0)
    return bench


# ---- joining the main DHT


def test_our_client_begins_with_the_given_nodes_and_with_libtorrent_itself() -> None:
    bench = Bench()
    bench.tell(START)
    assert bench.given(MainContact) == [MainContact((NODE, LIBTORRENT), own=(OWN,))]
    assert bench.given(AddNodes) == [AddNodes((NODE,))]


def test_libtorrent_is_asked_until_it_has_found_the_dht_more_and_more_seldom() -> None:
    bench = Bench()
    bench.tell(START, TableSize(0))
    bench.run(1.0)
    assert bench.times(AskTableSize) == pytest.approx([0.0, 0.05, 0.15, 0.35, 0.75])
    bench.run(300.0)
    first, second = bench.times(AskTableSize)[-2:]
    assert second - first == pytest.approx(30.0)
    assert len(bench.given(AddNodes)) == len(bench.given(AskTableSize)), "each time of the nodes"
    assert not bench.events("main_dht_connected")
    bench.tell(TableSize(3), TableSize(4))
    assert bench.session.connection is Connection.CONNECTED
    (event,) = bench.events("main_dht_connected")
    assert event.fields == {"address": LIBTORRENT, "nodes": 3}
    count = len(bench.given(AskTableSize))
    bench.run(300.0)
    assert len(bench.given(AskTableSize)) == count


def test_nothing_is_done_before_the_dht_is_found() -> None:
    bench = Bench()
    bench.tell(JoinMain(TOPIC), START, TableSize(0), PutOnMain(item(1)))
    bench.run(60.0)
    assert not bench.given(Announce) and not bench.given(WriteItem)
    bench.tell(TableSize(3))
    bench.run(0.0)
    assert bench.given(Announce) == [Announce(TOPIC.target, 7000)]
    assert [order.item for order in bench.given(WriteItem)] == [item(1)]


@pytest.mark.parametrize("key", ["main_dht_nodes", "main_dht_listen"])
def test_a_wrong_address_names_its_key(key: str) -> None:
    with pytest.raises(ConfigError, match=f"{key}.*HOST:PORT"):
        SessionParameters.model_validate({key: "127.0.0.1"})


def test_an_unknown_input_is_the_callers_mistake() -> None:
    with pytest.raises(LocalProtocolError, match="knows no Subscribe"):
        Bench().session.handle(Subscribe("x"), 0.0)  # type: ignore[arg-type]


# ---- topics


def test_a_joined_topic_is_announced_and_its_item_read() -> None:
    bench = connected()
    assert bench.given(Announce) == [Announce(TOPIC.target, 7000)]
    (order,) = bench.given(ReadItem)
    assert order[1:] == (TOPIC.public_key, TOPIC.salt)
    assert not bench.session.has_read(TOPIC.target)
    bench.tell(ItemSeen(order.token, item(4)))
    assert bench.given(Offer) == [Offer(item(4))]
    bench.tell(ItemRead(order.token, item(4), 8))
    assert bench.session.has_read(TOPIC.target)
    assert bench.events("main_dht_read")[-1].fields == {"answered": 8, "seq": 4}


def test_each_port_that_we_listen_on_is_announced_once() -> None:
    bench = Bench()
    own = ("127.0.0.1:7000", "10.0.0.1:7000", "[::1]:7001")
    bench.tell(StartMain(own, (), (LIBTORRENT,)), TableSize(1), JoinMain(TOPIC))
    bench.run(0.0)
    assert [order.port for order in bench.given(Announce)] == [7000, 7001]


def test_a_node_that_answers_nobody_searches_and_is_not_announced() -> None:
    bench = connected(announce=False)
    assert (bench.given(Announce), bench.given(SearchPeers)) == ([], [SearchPeers(TOPIC.target)])
    assert not bench.events("main_dht_announced")


def test_a_search_that_nobody_answered_does_not_count_as_read() -> None:
    bench = connected()
    bench.tell(ItemRead(bench.given(ReadItem)[0].token, None, 0))
    assert not bench.session.has_read(TOPIC.target)


def test_announcements_are_repeated_for_ever_and_end_with_the_topic() -> None:
    bench = connected(announce_interval=100.0)
    bench.run(2000.0)
    times = bench.times(Announce)
    assert times[:6] == FIRST_ANNOUNCEMENTS
    gaps = [later - earlier for earlier, later in pairwise(times[5:])]
    assert len(gaps) > 15 and all(75.0 <= gap <= 100.0 for gap in gaps)
    assert len(set(gaps)) == len(gaps), "whoever started together does not stay together"
    bench.tell(LeaveMain(TOPIC))
    assert bench.session.next_wake() is None
    assert bench.session.sizes()["main_topics"] == bench.session.sizes()["main_timers"] == 0


def test_new_addresses_are_candidates_once_and_we_are_none() -> None:
    bench = connected()
    bench.tell(
        PeersFound(TOPIC.target, (OWN, "127.0.0.2:7000")),
        PeersFound(TOPIC.target, ("127.0.0.2:7000", "127.0.0.3:7000")),
        PeersFound(bytes(20), ("127.0.0.4:7000",)),
    )
    assert bench.given(Contact) == [
        Contact(TOPIC.target, ("127.0.0.2:7000",)),
        Contact(TOPIC.target, ("127.0.0.3:7000",)),
    ]


def test_a_topic_that_has_lost_its_members_is_searched_for_at_once() -> None:
    bench = connected()
    bench.members = ("127.0.0.2:7000",)
    bench.tell(PeersFound(TOPIC.target, bench.members))
    bench.run(100.0)
    assert bench.times(Announce) == FIRST_ANNOUNCEMENTS
    bench.members = ()
    bench.run(20.0)
    assert bench.times(Announce)[6:] == [120.0], "at the next look, long before the steady interval"
    # Whoever is found counts anew.
    bench.tell(PeersFound(TOPIC.target, ("127.0.0.2:7000",)))
    assert len(bench.given(Contact)) == 2


def test_a_topic_that_never_had_members_is_not_worth_the_load() -> None:
    bench = connected()
    bench.run(800.0)
    assert bench.times(Announce) == FIRST_ANNOUNCEMENTS


def test_a_crowd_of_addresses_is_cut_and_counted() -> None:
    bench = connected()
    bench.tell(PeersFound(TOPIC.target, tuple(f"10.0.0.1:{port}" for port in range(1, 501))))
    (contact,) = bench.given(Contact)
    assert len(contact.peers) == 200
    assert bench.events("main_dht_found")[-1].fields == {"count": 200, "dropped": 300}
    assert bench.session.sizes()["main_found"] == 200


# ---- values


def test_what_is_published_is_put_and_the_newest_wins() -> None:
    bench = connected()
    for seq in range(1, 100):
        bench.tell(PutOnMain(item(seq), cas=seq - 1))
        bench.run(0.01)
    bench.run(10.0)
    orders = bench.given(WriteItem)
    assert [order.item.seq for order in orders] == [1, 99]
    assert not any(order.refresh for order in orders)
    assert bench.session.nothing_to_put


def test_compare_and_swap_is_passed_on_for_a_value_that_replaces_no_waiting_one() -> None:
    bench = connected()
    bench.tell(PutOnMain(item(5), cas=4))
    bench.run(1.0)
    bench.tell(PutOnMain(item(6), cas=5), PutOnMain(item(7), cas=6))
    bench.run(10.0)
    assert [(order.item.seq, order.cas) for order in bench.given(WriteItem)] == [(5, 4), (7, None)]


def test_a_pause_lies_between_two_puts_unless_we_close() -> None:
    bench = connected(main_dht_pause=3600.0)
    bench.tell(PutOnMain(item(1)))
    bench.run(1.0)
    bench.tell(PutOnMain(item(2)))
    bench.run(3000.0)
    assert [order.item.seq for order in bench.given(WriteItem)] == [1]
    bench.tell(Hurry())
    bench.run(0.0)
    assert [order.item.seq for order in bench.given(WriteItem)] == [1, 2]


def test_a_put_that_reached_nobody_is_tried_again_later_and_later() -> None:
    bench = connected()
    bench.answers = lambda order: ItemWritten(order.token, 0, {})
    bench.tell(PutOnMain(item(1)))
    bench.run(1000.0)
    assert bench.times(WriteItem) == [0.0, 5.0, 20.0, 80.0, 380.0, 680.0, 980.0]
    assert not bench.session.nothing_to_put
    bench.answers = lambda order: ItemWritten(order.token, 8, {})
    bench.run(300.0)
    assert bench.session.nothing_to_put
    assert bench.session.stored(TOPIC.target, 1) == 8


def test_a_put_in_vain_is_tried_again_quickly_while_we_close() -> None:
    bench = connected()
    bench.answers = lambda order: ItemWritten(order.token, 0, {})
    bench.tell(Hurry(), PutOnMain(item(1)))
    bench.run(1.0)
    assert bench.times(WriteItem) == [0.0, 0.25, 0.5, 0.75, 1.0]


def test_a_refused_put_is_not_tried_again() -> None:
    bench = connected()
    bench.answers = lambda order: ItemWritten(order.token, 0, {301: 8})
    bench.tell(PutOnMain(item(1), cas=7))
    bench.run(3000.0)
    assert len(bench.given(WriteItem)) == 1
    assert bench.events("main_dht_written")[-1].fields["refused"] == 8
    assert bench.session.nothing_to_put


def test_a_newer_value_in_the_way_is_offered_to_the_overlay() -> None:
    bench = connected()
    bench.answers = lambda order: ItemWritten(order.token, 0, {}, newer=item(9))
    bench.tell(PutOnMain(item(1)))
    bench.run(3000.0)
    assert bench.given(Offer) == [Offer(item(9))]
    assert len(bench.given(WriteItem)) == 1


def test_the_newest_value_is_put_again_and_again() -> None:
    bench = connected(republish_interval=100.0)
    bench.newest = item(3)
    bench.run(1000.0)
    times = bench.times(WriteItem)
    assert 9 <= len(times) <= 11
    assert all(order.refresh and order.item == item(3) for order in bench.given(WriteItem))
    gaps = [later - earlier for earlier, later in pairwise([0.0, *times])]
    assert all(90.0 <= gap <= 110.0 for gap in gaps)


def test_what_waits_for_a_dht_that_is_not_there_is_known_to_wait() -> None:
    bench = Bench()
    bench.tell(START, JoinMain(TOPIC), PutOnMain(item(1)), Hurry())
    bench.run(60.0)
    assert not bench.session.nothing_to_put
    assert bench.session.stored(TOPIC.target, 1) is None


def test_what_is_published_on_a_topic_that_was_left_is_nobodys() -> None:
    bench = connected()
    bench.tell(LeaveMain(TOPIC), PutOnMain(item(1)))
    bench.run(60.0)
    assert not bench.given(WriteItem) and bench.session.nothing_to_put


def test_an_answer_that_comes_after_its_topic_was_left_is_harmless() -> None:
    bench = connected()
    (order,) = bench.given(ReadItem)
    bench.tell(LeaveMain(TOPIC), ItemSeen(order.token, item(4)), ItemRead(order.token, item(4), 8))
    assert not bench.given(Offer) and not bench.events("main_dht_read")
    assert bench.session.sizes()["main_errands"] == 0


def test_equal_seeds_give_equal_effects() -> None:
    def run(seed: int) -> list[Any]:
        bench = connected(seed=seed, announce_interval=50.0)
        bench.newest = item(3)
        bench.run(10_000.0)
        return bench.effects

    assert run(7) == run(7)
    assert run(7) != run(8)

from __future__ import annotations

from collections.abc import Callable

import pytest

from rumormill.node.connections import FREE_BYTES, Caller, Connections
from rumormill.node.tally import CLOSED, MOST_ADDRESSES, Tally

HERE, THERE = "192.0.2.1", "192.0.2.2"
Make = Callable[..., Connections]


class House:
    """Connections, and who was closed."""

    def __init__(self, most: int = 8, per_address: int = 4, body_bytes: int = 1 << 20) -> None:
        self.tally = Tally()
        self.connections = Connections(most, per_address, body_bytes, self.tally)
        self.closed: list[Caller] = []

    def caller(self, address: str = HERE, *, shown: bool = False) -> Caller:
        caller = Caller(self.connections, lambda: self.closed.append(caller))
        assert self.connections.admit(caller, address)
        if shown:
            caller.has_shown_token()
            self.connections.waits(caller)
        return caller


def test_for_a_newcomer_past_the_bound_who_has_waited_longest_goes() -> None:
    house = House(most=4, per_address=9)
    first, second, *_ = (house.caller() for _ in range(4))
    house.connections.begins(first)
    house.connections.waits(first)  # it asked something meanwhile
    house.caller()
    assert house.closed == [second]
    assert len(house.connections) == 4
    assert house.tally.counters["http_closed.evicted"] == 1


def test_of_one_address_the_oldest_goes_and_others_stay() -> None:
    house = House(most=100, per_address=3)
    other = house.caller(THERE)
    mine = [house.caller(HERE) for _ in range(5)]
    assert house.closed == mine[:2]
    assert other not in house.closed
    assert house.tally.counters["http_closed.evicted_of_address"] == 2


def test_who_has_shown_the_token_stays_though_strangers_come_without_end() -> None:
    house = House(most=8, per_address=4)
    friends = [house.caller(HERE, shown=True) for _ in range(6)]
    for number in range(1000):
        house.caller(f"198.51.100.{number % 250}")
    assert not set(friends) & set(house.closed)
    assert len(house.connections) == 8


def test_the_bound_of_an_address_does_not_count_who_has_shown_the_token() -> None:
    house = House(most=100, per_address=2)
    friends = [house.caller(HERE, shown=True) for _ in range(50)]
    assert house.closed == []
    assert len(house.connections) == len(friends)


def test_without_strangers_who_rests_longest_goes_and_never_one_amid_a_request() -> None:
    house = House(most=2)
    busy, resting = house.caller(shown=True), house.caller(shown=True)
    house.connections.begins(busy)
    third = house.caller()
    assert house.closed == [resting]
    house.connections.begins(third)
    newcomer = Caller(house.connections, lambda: None)
    assert not house.connections.admit(newcomer, THERE)
    assert house.tally.counters["http_closed.no_room"] == 1
    house.connections.waits(third)
    assert house.connections.admit(newcomer, THERE)


def test_bodies_are_bounded_in_all_and_the_largest_of_strangers_goes() -> None:
    house = House(body_bytes=1 << 20)
    large, small, friend = house.caller(), house.caller(), house.caller(shown=True)
    assert large.hold(700 << 10)
    assert small.hold(200 << 10)
    house.connections.begins(friend)
    assert friend.hold(500 << 10)
    assert house.closed == [large]
    assert house.connections.sizes()["body_bytes"] == 700 << 10
    assert house.tally.counters["http_closed.evicted_body"] == 1


def test_a_body_for_which_nobody_can_go_is_refused_but_a_small_one_never() -> None:
    house = House(body_bytes=1 << 20)
    friends = [house.caller(shown=True) for _ in range(3)]
    for friend in friends:
        house.connections.begins(friend)
    assert friends[0].hold(1 << 20)
    assert not friends[1].hold(FREE_BYTES + 1)
    assert friends[2].hold(FREE_BYTES)


def test_what_was_held_is_let_go_with_the_answer_and_with_the_end() -> None:
    house = House()
    one, other = house.caller(), house.caller()
    one.hold(1000)
    other.hold(1000)
    house.connections.waits(one)
    house.connections.gone(other)
    house.connections.gone(other)
    assert house.connections.sizes() == {
        "connections": 1, "strangers": 1, "addresses": 1, "body_bytes": 0,
    }  # fmt: skip


def test_nothing_is_left_of_those_who_went() -> None:
    house = House(most=16)
    for number in range(5000):
        house.caller(f"2001:db8:{number:x}::/64", shown=number % 3 == 0)
    house.connections.close()
    assert set(house.connections.sizes().values()) == {0}


def test_a_flood_becomes_one_event_for_each_reason_and_address() -> None:
    told: list[tuple[str, dict[str, object]]] = []
    tally = Tally(lambda event, **fields: told.append((event, fields)))
    for number in range(10_000):
        tally.add(CLOSED, "evicted", f"address {number % 5}")
    tally.tell()
    assert [fields["count"] for _, fields in told] == [2000] * 5
    tally.tell()
    assert len(told) == 5
    for number in range(10_000):
        tally.add(CLOSED, "evicted", f"address {number}")
    tally.tell()
    assert len(told) - 5 == MOST_ADDRESSES + 1
    assert tally.counters["http_closed.evicted"] == 20_000


@pytest.mark.parametrize("reason", ["evicted", "idle_timeout"])
def test_counters_are_by_event_and_reason(reason: str) -> None:
    tally = Tally()
    tally.add(CLOSED, reason)
    assert dict(tally.counters) == {"http_closed": 1, f"http_closed.{reason}": 1}

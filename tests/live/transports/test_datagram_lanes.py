"""Datagrams that wait: sources take turns, and who floods fills its own lane."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumormill.core.machine import Received
from rumormill.live.transports.datagram_lanes import MOST_IN_LANE, DatagramLanes


def add(lanes: DatagramLanes, place: tuple[Any, ...], packet: bytes) -> bool:
    return lanes.add(place, Received(str(place), packet))


@pytest.mark.parametrize(
    ("flood", "others"),
    [
        (("10.0.0.1", 1), ("10.0.0.2", 1)),
        (("2001:db8::1", 1, 0, 0), ("2001:db8:1::1", 1, 0, 0)),
        (("127.0.0.1", 1), ("127.0.0.1", 2)),
        (("::1", 1, 0, 0), ("::1", 2, 0, 0)),
    ],
)
def test_who_sends_now_and_then_waits_for_one_of_a_flood(
    flood: tuple[Any, ...], others: tuple[Any, ...]
) -> None:
    lanes = DatagramLanes()
    taken = sum(add(lanes, flood, b"flood") for _ in range(2 * MOST_IN_LANE))
    assert taken == len(lanes) == MOST_IN_LANE
    assert add(lanes, others, b"rain")
    assert [lanes.take().packet for _ in range(2)] == [b"flood", b"rain"]


@pytest.mark.parametrize(
    ("one", "same"),
    [
        (("10.0.0.1", 1), ("10.0.0.1", 2)),
        (("2001:db8::1", 1, 0, 0), ("2001:db8::ffff:1", 2, 0, 0)),
    ],
)
def test_ports_and_the_lower_half_of_an_address_make_no_other_source(
    one: tuple[Any, ...], same: tuple[Any, ...]
) -> None:
    lanes = DatagramLanes()
    while add(lanes, one, b"flood"):
        pass
    assert not add(lanes, same, b"more of it")


@given(st.lists(st.tuples(st.integers(0, 3), st.binary(max_size=3)), max_size=60))
def test_nothing_is_lost_and_each_source_keeps_its_order(came: list[tuple[int, bytes]]) -> None:
    lanes = DatagramLanes()
    for source, packet in came:
        assert lanes.add((f"10.0.0.{source}", 1), Received(str(source), packet))
    left = [lanes.take() for _ in range(len(lanes))]
    for source in range(4):
        sent = [packet for each, packet in came if each == source]
        assert [each.packet for each in left if each.peer == str(source)] == sent
    assert not lanes

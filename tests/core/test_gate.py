"""The gate of a node that speaks in datagrams."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumormill.core.gate import LONG_REST, MOST_UNHEARD, TURNED_AWAY, Gate, Held
from rumormill.core.limits import WorkLimits

LIMITS = WorkLimits(share=0.02, burst=0.1, patience=5.0, shortest_rest=1.0)


class Everybody:
    """The source of a peer is its host; who says the secret is at its own address."""

    def __init__(self, *neighbours: str) -> None:
        self.neighbours = neighbours

    def source_of(self, peer: str) -> str:
        return peer.partition(":")[0]

    def is_neighbour(self, peer: str) -> bool:
        return peer in self.neighbours

    def is_known(self, peer: str, now: float) -> bool:
        return peer in self.neighbours

    def vouched(self, peer: str, packet: bytes, now: float) -> bool:
        return b"secret" in packet


def gate(*neighbours: str, most: int = 1000) -> Gate:
    return Gate(LIMITS, 0.5, Everybody(*neighbours), most)


def charge(
    gate: Gate, peer: str, cost: float, now: float = 0.0, proven: bool = False
) -> Held | None:
    return gate.charge(peer, "queries", cost, now, proven=proven, blame=False)


def test_whoever_is_within_its_allowance_comes_in_and_nobody_needs_to_ask() -> None:
    node = gate()
    assert charge(node, "a:1", 100_000) is None
    assert not node.alert and node.admits("a:1", b"", 0.0)
    assert node.next_wake() is None


def test_whoever_is_beyond_it_is_turned_away_for_a_while_and_counted() -> None:
    node = gate()
    assert charge(node, "a:1", 101_000) == Held("queries", 1.0, worn_out=False)
    assert node.alert
    assert not node.admits("a:1", b"", 0.5) and not node.admits("a:2", b"", 0.9)
    assert node.admits("b:1", b"", 0.5)
    assert node.next_wake() == 1.0
    (turned_away,) = node.due(1.0)
    assert (turned_away.peer, turned_away.packets, turned_away.held) == ("a:1", 2, None)
    assert node.admits("a:1", b"", 1.0)


def test_who_forges_an_address_silences_only_what_has_no_proof() -> None:
    node = gate()
    charge(node, "a:1", 200_000)
    assert not node.admits("a:1", b"anything", 0.5)
    assert node.admits("a:1", b"the secret", 0.5)


def test_what_is_proven_to_be_of_a_source_silences_all_of_it() -> None:
    node = gate()
    charge(node, "a:1", 200_000, proven=True)
    assert not node.admits("a:1", b"the secret", 0.5)
    assert not node.admits("a:2", b"the secret", 0.5)


def test_a_neighbour_answers_for_itself_and_not_for_others_at_its_address() -> None:
    node = gate("a:1")
    charge(node, "a:2", 200_000, proven=True)
    assert not node.admits("a:2", b"", 0.5) and node.admits("a:1", b"", 0.5)
    charge(node, "a:1", 200_000, proven=True)
    assert not node.admits("a:1", b"the secret", 0.5)


def test_who_goes_on_though_it_is_turned_away_is_not_heard_for_long() -> None:
    node = gate()
    charge(node, "a:1", 101_000)
    for _ in range(MOST_UNHEARD):
        node.admits("a:1", b"", 0.5)
    (turned_away,) = node.due(1.0)
    assert turned_away.held == Held("queries", LONG_REST, worn_out=True)
    assert not node.admits("a:1", b"", LONG_REST)
    (turned_away,) = node.due(1.0 + LONG_REST)
    assert turned_away.held is None and turned_away.packets == 1
    assert node.admits("a:1", b"", 1.0 + LONG_REST) and not node.alert


def test_strangers_share_an_allowance_and_those_wait_first_that_took_most() -> None:
    node = gate("friend:1")
    for number in range(30):
        for _ in range(100):
            charge(node, f"s{number}:1", 100)
    assert not node.admits("s1:1", b"", 0.0), "it took a hundred"
    assert node.admits("new:1", b"", 0.0) and node.admits("friend:1", b"", 0.0)
    for number in range(6_000):
        charge(node, f"t{number}:1", 100)
    assert not node.admits("new:1", b"", 0.0), "now there are too many who took a little"
    assert node.admits("new:1", b"the secret", 0.0) and node.admits("friend:1", b"", 0.0)
    due = node.next_wake()
    assert due is not None
    (turned_away,) = node.due(due)
    assert (turned_away.peer, turned_away.reason, turned_away.packets) == (None, "strangers", 2)
    assert node.admits("new:1", b"", due) and not node.alert


def test_a_few_that_took_much_leave_the_share_of_those_that_take_little_alone() -> None:
    node = gate()
    for number in range(8):
        for _ in range(950):
            charge(node, f"s{number}:1", 100)
    assert not node.admits("s1:1", b"", 0.0)
    assert node.admits("new:1", b"", 0.0)


def test_a_stranger_that_took_much_and_goes_on_is_told_to_rest_by_its_name() -> None:
    node = gate()
    for number in range(30):
        for _ in range(100):
            charge(node, f"s{number}:1", 100)
    turned_away = 0
    while not (told := node.due(0.0))[:-1]:
        assert not node.admits("s1:1", b"", 0.0)
        turned_away += 1
    assert told[0].held is not None
    assert (told[0].peer, told[0].held.reason) == ("s1:1", "turned_away")
    assert turned_away * TURNED_AWAY == pytest.approx(90_000, rel=0.1)


@given(
    st.lists(
        st.tuples(st.integers(0, 50), st.floats(0, 0.5), st.floats(0, 200_000), st.booleans()),
        max_size=300,
    ),
    st.integers(1, 20),
)
def test_nothing_grows_past_its_bound_and_in_the_end_all_are_let_in(
    steps: list[tuple[int, float, float, bool]], most: int
) -> None:
    node, now = gate("s7:1", most=most), 0.0
    for number, pause, cost, proven in steps:
        now += pause
        peer = f"s{number}:1"
        if node.admits(peer, b"", now):
            charge(node, peer, cost, now, proven)
        if (due := node.next_wake()) is not None and due <= now:
            node.due(now)
        sizes = node.sizes()
        assert sizes["accounts"] <= most and sizes["resting"] <= most
    while (due := node.next_wake()) is not None:
        node.due(due)
    assert not node.alert and node.sizes()["resting"] == 0

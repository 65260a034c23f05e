"""Lanes: nobody's checks keep another's waiting, and dear ones wait for cheap ones."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rumormill.core.machine import Check
from rumormill.live.checks.lanes import DEAR, MOST_CHECKS, MOST_COST, MOST_DEAR_COST, Lanes


def check(token: int, peer: str, cost: float = 25.0) -> Check:
    return Check(token, None, peer, cost)


def filled(*checks: Check) -> Lanes:
    lanes = Lanes()
    for each in checks:
        lanes.add(each)
    return lanes


def drained(lanes: Lanes) -> list[list[Check]]:
    batches = []
    while len(lanes):
        batches.append(lanes.take())
    return batches


def test_the_checks_of_one_peer_alone_come_in_order_as_many_as_fit() -> None:
    lanes = filled(*[check(token, "a", 10.0) for token in range(600)])
    taken = lanes.take()
    assert [each.token for each in taken] == list(range(MOST_CHECKS))
    assert len(lanes) == 600 - MOST_CHECKS


def test_a_check_waits_for_no_more_than_one_of_each_other_peer() -> None:
    flood = [check(token, "flood") for token in range(5000)]
    lanes = filled(*flood, check(9999, "honest"))
    assert 9999 in [each.token for each in lanes.take()[:2]]


def test_dear_checks_wait_for_cheap_ones_of_others() -> None:
    dear = [check(token, "dear", DEAR * 8) for token in range(100)]
    lanes = filled(*dear, *[check(1000 + token, "cheap") for token in range(100)])
    assert {each.peer for each in lanes.take()} == {"cheap"}


def test_dear_checks_are_done_though_cheap_ones_never_end() -> None:
    lanes = filled(*[check(token, "dear", DEAR * 8) for token in range(10)])
    done = 0
    for turn in range(100):
        for token in range(300):
            lanes.add(check(1000 + turn * 300 + token, "cheap"))
        done += sum(each.peer == "dear" for each in lanes.take())
    assert done == 10


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from([0.0, 25.0, 350.0, 900.0]))))
def test_each_check_comes_once_those_of_a_peer_and_kind_in_order_and_no_batch_is_long(
    given: list[tuple[str, float]],
) -> None:
    checks = [check(token, peer, cost) for token, (peer, cost) in enumerate(given)]
    batches = drained(filled(*checks))
    taken = [each for batch in batches for each in batch]
    assert sorted(each.token for each in taken) == list(range(len(given)))
    for peer in "abc":
        for dear in (False, True):
            tokens = [
                each.token for each in taken if each.peer == peer and dear is (each.cost > DEAR)
            ]
            assert tokens == sorted(tokens)
    for batch in batches:
        most = MOST_DEAR_COST if batch[0].cost > DEAR else MOST_COST
        assert sum(each.cost for each in batch[:-1]) < most
        assert len({each.cost > DEAR for each in batch}) == 1

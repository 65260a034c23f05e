from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumormill.cli.demo.plan import DemoPlan, plan_demo
from rumormill.cli.sentences import UsageError


def make_plan(nodes: int = 10, messages: int | None = 100, seed: int = 1) -> DemoPlan:
    return plan_demo("gossipsub", nodes, messages, rate=20.0, seconds=None, seed=seed)


def test_equal_seeds_give_equal_plans_and_others_do_not() -> None:
    assert make_plan(seed=7) == make_plan(seed=7)
    assert make_plan(seed=7).links != make_plan(seed=8).links


@given(nodes=st.integers(3, 30), seed=st.integers(0, 1000))
def test_all_nodes_hang_together_even_without_the_killed_one(nodes: int, seed: int) -> None:
    plan = make_plan(nodes=nodes, seed=seed)
    start = plan.publishers[0]
    reached, waiting = {start}, [start]
    while waiting:
        for other in plan.neighbours(waiting.pop()):
            if other != plan.victim and other not in reached:
                reached.add(other)
                waiting.append(other)
    assert len(reached) == nodes - 1


@given(nodes=st.integers(3, 30), seed=st.integers(0, 1000))
def test_no_pair_is_connected_twice_and_nobody_with_himself(nodes: int, seed: int) -> None:
    links = make_plan(nodes=nodes, seed=seed).links
    pairs = [frozenset((node, other)) for node, others in enumerate(links) for other in others]
    assert len(pairs) == len(set(pairs))
    assert all(len(pair) == 2 for pair in pairs)


@given(nodes=st.integers(3, 30), seed=st.integers(0, 1000))
def test_the_killed_node_is_never_a_publisher(nodes: int, seed: int) -> None:
    plan = make_plan(nodes=nodes, seed=seed)
    assert plan.victim not in plan.publishers
    assert 0 <= plan.victim < nodes


@given(messages=st.integers(10, 5000))
def test_kill_return_and_hold_come_in_this_order_with_messages_left(messages: int) -> None:
    plan = make_plan(messages=messages)
    assert 0 < plan.kill_after < plan.return_after < plan.hold_after < messages


def test_publishers_take_turns() -> None:
    plan = make_plan()
    assert [plan.publisher_of(number) for number in range(4)] == [0, 1, 2, 0]


def test_messages_follow_from_rate_and_seconds() -> None:
    plan = plan_demo("gossipsub", 4, messages=None, rate=8.0, seconds=5.0, seed=1)
    assert plan.messages == 40


def test_messages_and_seconds_together_are_refused() -> None:
    with pytest.raises(UsageError, match="not both"):
        plan_demo("gossipsub", 4, messages=10, rate=8.0, seconds=5.0, seed=1)

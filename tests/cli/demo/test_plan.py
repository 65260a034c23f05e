"""Who connects to whom, who publishes and who dies."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumormill.cli.demo.plan import Plan, Wishes, plan_act
from rumormill.cli.words.sentences import UsageError
from rumormill.live.family import DemoAct

ACT = DemoAct("pigeon", "by air", topic="weather", nodes=10, messages=500, rate=20.0, publishers=3)
sizes = st.integers(3, 50)


def make_plan(nodes: int = 10, messages: int | None = 100, seed: int = 1) -> Plan:
    return plan_act(ACT, Wishes(nodes=nodes, messages=messages, seed=seed))


def test_equal_seeds_give_equal_plans_and_others_do_not() -> None:
    assert make_plan(seed=7) == make_plan(seed=7)
    assert make_plan(30, seed=7).links != make_plan(30, seed=8).links


def test_an_act_is_played_as_it_is_unless_wished_otherwise() -> None:
    assert plan_act(ACT, Wishes()).act == ACT
    plan = plan_act(ACT, Wishes(nodes=6, rate=8.0, seconds=5.0))
    assert (plan.act.nodes, plan.act.messages, plan.publishers) == (6, 40, (0, 1))


def test_messages_and_seconds_together_are_refused() -> None:
    with pytest.raises(UsageError, match="not both"):
        plan_act(ACT, Wishes(messages=10, seconds=5.0))


@given(nodes=sizes, seed=st.integers(0, 1000))
def test_everybody_is_started_once_and_connects_to_those_who_are_there(
    nodes: int, seed: int
) -> None:
    plan = make_plan(nodes, seed=seed)
    there: set[int] = set()
    for wave in plan.waves:
        for node in wave:
            assert there.issuperset(plan.links[node])
            assert plan.links[node] or not there  # nobody is alone but the first
        there.update(wave)
    assert sorted(node for wave in plan.waves for node in wave) == list(range(nodes))


@given(nodes=sizes, seed=st.integers(0, 1000))
def test_nobody_connects_to_the_node_that_is_killed_or_to_a_publisher(
    nodes: int, seed: int
) -> None:
    plan = make_plan(nodes, seed=seed)
    targets = {other for links in plan.links for other in links}
    assert plan.victim in plan.subscribers
    assert targets.isdisjoint({plan.victim, *plan.publishers})


@given(messages=st.integers(10, 5000))
def test_kill_and_hold_come_in_this_order_with_messages_left(messages: int) -> None:
    plan = make_plan(messages=messages)
    assert 0 < plan.kill_after < plan.hold_after < messages
    assert 0 < plan.absence < messages / plan.act.rate


def test_publishers_take_turns() -> None:
    assert [make_plan().publisher_of(number) for number in range(4)] == [0, 1, 2, 0]


@given(nodes=sizes, seed=st.integers(0, 1000))
def test_where_messages_go_one_hop_each_publisher_connects_to_all_subscribers(
    nodes: int, seed: int
) -> None:
    plan = plan_act(ACT._replace(all_linked=True), Wishes(nodes=nodes, seed=seed))
    for publisher in plan.publishers:
        assert plan.links[publisher] == plan.subscribers
    assert plan.neighbours(plan.victim) >= len(plan.publishers)
    both = sum(map(plan.neighbours, range(nodes)))
    assert both == 2 * sum(map(len, plan.links))

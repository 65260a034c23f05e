"""From when to when a node was subscribed, also where it does not say when it ends."""

from __future__ import annotations

import pytest

from tests.helpers.second_opinion.by_hand import Listed, Opinion, listed, trace_of

LEAVES = """
    0.0   a  subscribed    @news
    0.5   a  subscribed    @weather
    1.0   b  subscribed    @weather
    5.0   a  unsubscribed  @weather
    6.0   b  unsubscribed  @weather
    6.0   b  subscribed    @weather
    9.0   a  subscribed    @weather
"""
CRASHES = """
    0.0   a  subscribed      @news
    0.0   a  subscribed      @weather
    0.0   b  subscribed      @news
    4.0   a  node_crashed
    7.0   a  node_restarted
    7.5   a  subscribed      @news
"""
SILENT = """
    0.0   a  subscribed   @news
    0.0   b  subscribed   @news
    0.0   c  subscribed   @news
    0.1   a  peer_joined  <c
    0.1   b  peer_joined  <c
    0.1   c  peer_joined  <a
    0.1   c  peer_joined  <b
    5.0   c  delivered    @news  #m1  <a
    35.0  a  peer_left    <c
    50.0  a  published    @news  #m2
    50.1  b  delivered    @news  #m2  <a
"""
SEEN_BY_ALL = SILENT + "40.0  b  peer_left  <c"
GOES_ON = SEEN_BY_ALL + "\n60.0  c  packet_sent  <d"
# b has c to its own end, and that came before the end of c.
DEAD_WITNESS = """
    0.0   a  subscribed   @news
    0.0   c  subscribed   @news
    0.1   a  peer_joined  <c
    0.1   b  peer_joined  <c
    5.0   c  delivered    @news  #m1  <a
    6.0   a  peer_left    <c
    50.0  a  published    @news  #m2
"""
# Nobody needs to see it leave: it opened again.
OPENS_AGAIN = """
    0.0    a  subscribed      @news
    0.0    c  network_opened  agent=rumormill/1
    0.0    c  subscribed      @news
    5.0    c  delivered       @news  #m1  <a
    8.0    c  network_opened  agent=rumormill/2
    8.2    c  subscribed      @news
    9.0    c  delivered       @news  #m2  <a
"""
# The second run has other topics.
COMES_BACK_CHANGED = """
    0.0    c  network_opened
    0.0    c  subscribed      @news
    0.0    c  subscribed      @weather
    5.0    c  packet_sent     <a
    8.0    c  network_opened
    8.2    c  subscribed      @weather
"""
SAYS_IT_TWICE = """
    0.0    c  subscribed      @news
    4.0    c  subscribed      @news
    5.0    c  unsubscribed    @news
"""
# c tells of its end; d is killed, comes back, and its peers learn of it a moment later.
KNOWN = """
    0.0    a  subscribed       @news
    0.0    c  subscribed       @news
    0.0    d  subscribed       @news
    0.2    a  peer_subscribed  @news  <c
    0.3    d  peer_subscribed  @news  <c
    0.4    a  peer_subscribed  @news  <d
    0.5    a  peer_joined      <d
    0.5    a  peer_subscribed  @other  <a
    5.0    c  unsubscribed     @news
    10.0   d  delivered        @news  #m1  <a
    10.1   a  peer_left        <d
    19.0   d  network_opened
    20.0   d  subscribed       @news
    20.4   a  peer_subscribed  @news  <d
"""
# What is published goes to those that its publisher knows, and no further.
DIRECT = """
    0.0    c  subscribed       @news
    0.2    a  peer_subscribed  @news  <c  direct=true
    3.0    a  peer_subscribed  @news  <c  direct=true
    3.0    b  peer_subscribed  @news  <c  direct=true
    4.0    d  peer_subscribed  @news  <c
"""


@pytest.fixture(scope="module")
def found(opinion: Opinion) -> list[dict[str, object]]:
    trace = trace_of(
        leaves=LEAVES,
        crashes=CRASHES,
        unseen=SILENT,
        seen=SEEN_BY_ALL,
        goes_on=GOES_ON,
        dead_witness=DEAD_WITNESS,
        opens_again=OPENS_AGAIN,
        changed=COMES_BACK_CHANGED,
        twice=SAYS_IT_TWICE,
        known=KNOWN,
        direct=DIRECT,
    )
    return opinion(trace)["subscriptions"]


@pytest.fixture(scope="module")
def intervals(found: list[dict[str, object]]) -> Listed:
    return listed(found, "topic node since until")


@pytest.fixture(scope="module")
def expected(found: list[dict[str, object]]) -> Listed:
    """When messages must have been published to be expected of the node."""
    return listed(found, "topic node expected_since expected_until")


def test_a_subscription_lasts_until_the_node_leaves_the_topic_or_to_the_end(
    intervals: Listed,
) -> None:
    assert intervals["leaves"] == [
        ("news", "a", 0.0, None),
        ("weather", "a", 0.5, 5.0),
        ("weather", "a", 9.0, None),
        ("weather", "b", 1.0, 6.0),
        ("weather", "b", 6.0, None),
    ]


def test_a_crash_that_is_told_ends_all_subscriptions_of_the_node(intervals: Listed) -> None:
    assert intervals["crashes"] == [
        ("news", "a", 0.0, 4.0),
        ("news", "a", 7.5, None),
        ("news", "b", 0.0, None),
        ("weather", "a", 0.0, 4.0),
    ]


def test_a_node_that_all_its_peers_saw_leave_ended_with_its_last_own_event(
    intervals: Listed,
) -> None:
    assert intervals["seen"] == [
        ("news", "a", 0.0, None),
        ("news", "b", 0.0, None),
        ("news", "c", 0.0, 5.0),
    ]


def test_a_node_is_not_gone_as_long_as_an_active_peer_has_it(intervals: Listed) -> None:
    assert intervals["unseen"][-1] == ("news", "c", 0.0, None)


def test_a_node_that_goes_on_after_its_peers_left_is_not_gone(intervals: Listed) -> None:
    assert intervals["goes_on"][-1] == ("news", "c", 0.0, None)


def test_a_peer_that_is_gone_itself_cannot_vouch_for_a_node(intervals: Listed) -> None:
    assert intervals["dead_witness"] == [("news", "a", 0.0, None), ("news", "c", 0.0, 5.0)]


def test_a_node_that_opens_again_had_ended_with_its_last_event_before(
    intervals: Listed, found: list[dict[str, object]]
) -> None:
    assert intervals["opens_again"] == [
        ("news", "a", 0.0, None),
        ("news", "c", 0.0, 5.0),
        ("news", "c", 8.2, None),
    ]
    told = listed(found, "node since told_until")["opens_again"]
    assert told[1:] == [("c", 0.0, 8.2), ("c", 8.2, None)]


def test_what_a_node_does_not_subscribe_to_again_ended_with_its_earlier_run(
    intervals: Listed,
) -> None:
    assert intervals["changed"] == [
        ("news", "c", 0.0, 5.0),
        ("weather", "c", 0.0, 5.0),
        ("weather", "c", 8.2, None),
    ]


def test_to_subscribe_twice_in_one_run_changes_nothing(intervals: Listed) -> None:
    assert intervals["twice"] == [("news", "c", 0.0, 5.0)]


def test_messages_are_expected_as_long_as_a_node_is_subscribed_where_peers_tell_nothing(
    intervals: Listed, expected: Listed
) -> None:
    assert expected["leaves"] == intervals["leaves"]
    assert expected["crashes"] == intervals["crashes"]  # the end is known to the moment
    assert expected["unseen"] == intervals["unseen"]


def test_nothing_is_expected_of_the_last_second_of_a_node_that_ended_without_a_word(
    expected: Listed,
) -> None:
    assert expected["seen"][-1] == ("news", "c", 0.0, 4.0)
    assert expected["opens_again"][1:] == [("news", "c", 0.0, 4.0), ("news", "c", 8.2, None)]


def test_nothing_is_expected_of_a_node_before_the_first_of_its_peers_knows_of_it(
    intervals: Listed, expected: Listed
) -> None:
    assert intervals["known"] == [
        ("news", "a", 0.0, None),
        ("news", "c", 0.0, 5.0),
        ("news", "d", 0.0, 10.0),
        ("news", "d", 20.0, None),
    ]
    assert expected["known"] == [
        ("news", "a", 0.0, None),  # nobody tells of it and this topic
        ("news", "c", 0.2, 5.0),
        ("news", "d", 0.4, 9.0),
        ("news", "d", 20.4, None),
    ]


def test_where_nobody_passes_messages_on_it_is_kept_since_when_each_peer_knows(
    found: list[dict[str, object]],
) -> None:
    told = listed(found, "node known_to")
    assert told["direct"] == [("c", {"a": 0.2, "b": 3.0})]
    assert {known for _, known in told["known"]} == {None}

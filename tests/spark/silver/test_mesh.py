"""From when to when a peer was in a node's mesh."""

from __future__ import annotations

import pytest

from tests.helpers.second_opinion.by_hand import Listed, Opinion, listed, trace_of

PRUNED = """
    1.0   a  grafted  @news  <b  by=us
    2.0   a  grafted  @news  <b  by=peer
    5.0   a  pruned   @news  <b  reason=backoff
    6.0   a  pruned   @news  <b  reason=again
    9.0   a  grafted  @news  <b  by=peer
    3.0   a  grafted  @news  <c  by=us
    4.0   b  grafted  @news  <a  by=us
"""
LEFT = """
    1.0   a  grafted    @news     <b
    2.0   a  grafted    @weather  <b
    2.0   a  grafted    @weather  <c
    5.0   a  peer_left  <b
    6.0   c  peer_left  <b
"""
ENDED = """
    1.0   a  subscribed    @news
    1.0   a  grafted       @news     <b
    1.0   a  grafted       @weather  <b
    2.0   a  grafted       @news     <c
    3.0   a  pruned        @news     <c  reason=excess
    7.0   a  unsubscribed  @news
    8.0   a  subscribed    @news
    9.0   a  grafted       @news     <b
"""
# At one time: the prune says best why, and a graft comes after it.
AT_ONCE = """
    1.0   a  grafted       @news  <b  by=us
    5.0   a  unsubscribed  @news
    5.0   a  peer_left     <b
    5.0   a  pruned        @news  <b  reason=leave
    5.0   a  grafted       @news  <b  by=peer
"""
KILLED = """
    0.0   a  network_opened
    1.0   a  grafted         @news  <b
    2.0   a  packet_sent     <b
    8.0   a  network_opened
    9.0   a  grafted         @news  <b
"""


@pytest.fixture(scope="module")
def links(opinion: Opinion) -> Listed:
    trace = trace_of(pruned=PRUNED, left=LEFT, ended=ENDED, at_once=AT_ONCE, killed=KILLED)
    return listed(opinion(trace)["mesh"], "topic node peer since until by reason")


def test_a_link_lasts_from_graft_to_prune(links: Listed) -> None:
    assert links["pruned"] == [
        ("news", "a", "b", 1.0, 5.0, "us", "backoff"),
        ("news", "a", "b", 9.0, None, "peer", None),
        ("news", "a", "c", 3.0, None, "us", None),
        ("news", "b", "a", 4.0, None, "us", None),
    ]


def test_a_peer_that_leaves_leaves_all_meshes_of_the_node(links: Listed) -> None:
    assert links["left"] == [
        ("news", "a", "b", 1.0, 5.0, None, "peer left"),
        ("weather", "a", "b", 2.0, 5.0, None, "peer left"),
        ("weather", "a", "c", 2.0, None, None, None),
    ]


def test_a_link_ends_with_the_subscription_of_its_node(links: Listed) -> None:
    assert links["ended"] == [
        ("news", "a", "b", 1.0, 7.0, None, "subscription ended"),
        ("news", "a", "b", 9.0, None, None, None),
        ("news", "a", "c", 2.0, 3.0, None, "excess"),
        ("weather", "a", "b", 1.0, None, None, None),  # a fanout needs no subscription
    ]


def test_of_several_ends_at_one_time_the_prune_says_why_and_a_graft_comes_after(
    links: Listed,
) -> None:
    assert links["at_once"] == [
        ("news", "a", "b", 1.0, 5.0, "us", "leave"),
        ("news", "a", "b", 5.0, None, "peer", None),
    ]


def test_a_node_that_was_killed_had_its_mesh_until_its_last_event(links: Listed) -> None:
    assert links["killed"] == [
        ("news", "a", "b", 1.0, 2.0, None, "subscription ended"),
        ("news", "a", "b", 9.0, None, None, None),
    ]

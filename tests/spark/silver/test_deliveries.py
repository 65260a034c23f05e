"""Deliveries that are not as usual."""

from __future__ import annotations

import pytest

from tests.helpers.second_opinion.by_hand import Listed, Opinion, listed, trace_of
from tests.helpers.second_opinion.oracle import Row

COLUMNS = "topic message_id node peer publisher latency_ms hop first expected recovered duplicates"

# The same id on two topics: two messages. A node that asks names no topic.
TWO_TOPICS = """
    0.0  a  subscribed  @news
    0.0  b  subscribed  @news
    0.0  b  subscribed  @weather
    1.0  a  published   @news     #m1
    2.0  c  published   @weather  #m1
    1.5  b  delivered   @news     #m1  <a
    1.9  b  asked       #m1  <c
    2.5  b  delivered   @weather  #m1  <c
"""
# No publication: the sender is known from the message. Its copies are told apart by node.
UNKNOWN = """
    1.0  b  delivered  @news  #m1  <x  sender=z
    1.5  b  delivered  @news  #m1  <y  sender=z
    1.2  c  delivered  @news  #m1  <b  sender=z
    1.3  d  delivered  @news  #m2
    1.4  e  delivered  @news  #m2  <e
    1.5  z  duplicate  @news  #m1  <b  sender=z
    61.0 b  duplicate  @news  #m1  <y  sender=z
"""
# In traces of other makes the publisher has its own message from itself, subscribed or not.
OWN = """
    0.0  b  subscribed  @news
    1.0  a  published   @news  #m1
    1.0  a  delivered   @news  #m1  <a
    1.1  b  delivered   @news  #m1  <a
    1.2  a  duplicate   @news  #m1  <b
"""
# Copies only, some summed up, and a delivery that happens twice.
ODD = """
    1.0  a  published   @news  #m1
    1.1  b  duplicate   @news  #m1  <a
    1.2  b  duplicate   @news  #m1  <c  count=6
    1.3  c  delivered   @news  #m1  <b
    1.1  c  delivered   @news  #m1  <a
"""
HOPS = """
    1.0  a  published  @news  #m1
    1.1  b  delivered  @news  #m1  <a
    1.2  c  delivered  @news  #m1  <b
    1.3  d  delivered  @news  #m1  <c
    1.3  e  delivered  @news  #m1  <x
    1.4  f  delivered  @news  #m1  <e
    1.3  g  delivered  @news  #m1
    1.3  h  delivered  @news  #m1  <i
    1.3  i  delivered  @news  #m1  <h
"""
ASKED = """
    1.0  a  published  @news  #m1
    1.4  b  asked      #m1  <a
    1.5  b  delivered  @news  #m1  <a
    1.4  c  asked      #m1  <b
    1.5  c  delivered  @news  #m1  <a
    1.5  d  delivered  @news  #m1  <a
    1.6  d  asked      #m1  <a
    1.6  e  asked      #m1  <a
"""
ASKED_UNPUBLISHED = """
    1.4  b  asked      #m1  <a
    1.5  b  delivered  @news  #m1  <a
    1.5  c  delivered  @news  #m1  <a
"""
FAR = """
    200.0  a  published  @news  #m1
    320.0  b  delivered  @news  #m1  <a
    320.1  c  delivered  @news  #m1  <a
    80.0   d  delivered  @news  #m1  <a
    79.9   e  delivered  @news  #m1  <a
"""
TWICE = """
    2.0    a  published  @news     #m1  size=7
    3.0    b  published  @news     #m1
    3.5    b  delivered  @news     #m1  <a
    4.0    a  published  @weather  #m1
    150.0  c  published  @news     #m1
    151.0  b  delivered  @news     #m1  <c
"""


@pytest.fixture(scope="module")
def tables(opinion: Opinion) -> dict[str, list[Row]]:
    return opinion(
        trace_of(
            topics=TWO_TOPICS,
            unknown=UNKNOWN,
            own=OWN,
            odd=ODD,
            hops=HOPS,
            asked=ASKED,
            asked_unpublished=ASKED_UNPUBLISHED,
            far=FAR,
            twice=TWICE,
        )
    )


@pytest.fixture(scope="module")
def deliveries(tables: dict[str, list[Row]]) -> Listed:
    return listed(tables["deliveries"], COLUMNS)


def test_a_message_is_known_by_its_topic_and_its_id(deliveries: Listed) -> None:
    assert deliveries["topics"] == [
        ("news", "m1", "b", "a", "a", 500.0, 1, True, True, False, 0),
        ("weather", "m1", "b", "c", "c", 500.0, 1, True, True, True, 0),
    ]


def test_without_a_publication_there_is_neither_latency_nor_hop(deliveries: Listed) -> None:
    # What comes from nobody or from the node itself, or names it as the sender, is its own.
    assert deliveries["unknown"] == [
        ("news", "m1", "b", None, "z", None, None, False, False, False, 1),  # a minute later
        ("news", "m1", "b", "x", "z", None, None, True, False, False, 1),
        ("news", "m1", "c", "b", "z", None, None, True, False, False, 0),
    ]


def test_the_publisher_has_no_delivery_of_its_own_message(deliveries: Listed) -> None:
    assert deliveries["own"] == [("news", "m1", "b", "a", "a", 100.0, 1, True, True, False, 0)]


def test_copies_count_where_nothing_was_delivered_and_a_second_delivery_is_a_copy(
    deliveries: Listed, tables: dict[str, list[Row]]
) -> None:
    assert deliveries["odd"] == [
        ("news", "m1", "b", None, "a", None, None, False, False, False, 7),
        ("news", "m1", "c", "a", "a", 100.0, 1, True, False, False, 1),
    ]
    assert listed(tables["deliveries"], "node time")["odd"] == [("b", 1.1), ("c", 1.1)]


def test_hops_are_counted_along_the_chain_of_peers_and_a_gap_gives_none(
    tables: dict[str, list[Row]],
) -> None:
    found = listed(tables["deliveries"], "node hop link_us")["hops"]
    assert found == [
        ("b", 1, 100_000),
        ("c", 2, 100_000),
        ("d", 3, 100_000),
        ("e", None, None),  # nobody knows how x got it
        ("f", None, 100_000),
        ("g", None, None),  # nor from whom g did
        ("h", None, 0),  # each from the other: clocks, or a lie
        ("i", None, 0),
    ]


def test_what_was_asked_for_and_brought_by_that_peer_is_recovered(
    tables: dict[str, list[Row]],
) -> None:
    # Another one brought it to c; to d it came before it was asked for; to e it never came.
    found = listed(tables["deliveries"], "node recovered")["asked"]
    assert found == [("b", True), ("c", False), ("d", False)]


def test_what_was_asked_for_is_recovered_also_where_the_publication_is_unknown(
    tables: dict[str, list[Row]],
) -> None:
    found = listed(tables["deliveries"], "node recovered")["asked_unpublished"]
    assert found == [("b", True), ("c", False)]


def test_copies_beyond_the_margin_do_not_belong_to_the_publication(
    tables: dict[str, list[Row]],
) -> None:
    found = listed(tables["deliveries"], "node published_at minute")["far"]
    assert found == [
        ("b", 200.0, 180.0),
        ("c", None, 300.0),
        ("d", 200.0, 180.0),
        ("e", None, 60.0),
    ]


def test_a_message_published_twice_counts_once_unless_that_is_long_after(
    tables: dict[str, list[Row]],
) -> None:
    found = listed(tables["publications"], "topic publisher time size")["twice"]
    assert found == [
        ("news", "a", 2.0, 7),
        ("news", "c", 150.0, None),
        ("weather", "a", 4.0, None),
    ]
    came = listed(tables["deliveries"], "node publisher published_at latency_ms")["twice"]
    assert came == [("b", "a", 2.0, 1500.0), ("b", "c", 150.0, 1000.0)]

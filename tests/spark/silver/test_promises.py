"""Who is expected to get a message, by what its network promises."""

from __future__ import annotations

import pytest

from tests.helpers.second_opinion.by_hand import Listed, Opinion, listed, trace_of

MEMBERS = """
    0.0   a  subscribed    @news
    0.0   b  subscribed    @news
    2.0   b  unsubscribed  @news
    4.0   b  subscribed    @news
    1.0   c  subscribed    @news
    0.0   d  subscribed    @weather
"""
EVERY = (
    MEMBERS
    + """
    0.5   a  published  @news     #m1
    1.0   a  published  @news     #m2
    2.0   a  published  @news     #m3
    4.5   b  published  @news     #m4
    5.0   x  published  @news     #m5
    61.0  a  published  @weather  #m6
    61.5  a  published  @nobody   #m7
"""
)
DIRECT = """
    0.0  c  subscribed       @news
    1.0  a  peer_subscribed  @news  <c  direct=true
    2.0  b  peer_subscribed  @news  <c  direct=true
    1.5  a  published        @news  #m1
    1.5  b  published        @news  #m2
    2.5  b  published        @news  #m3
    1.5  x  published        @news  #m4
"""
TO_ONE = """
    0.0  b  subscribed  @news
    0.0  c  subscribed  @news
    1.0  a  published   @news    #m1  mode=unicast
    1.2  c  delivered   @news    #m1  <a
    1.3  b  delivered   @news    #m1  <a
    2.0  a  published   @news    #m2  mode=multicast
    3.0  a  published   @nobody  #m3  mode=unicast
    4.0  a  published   @news    #m4  mode=unicast
    4.1  d  delivered   @news    #m4  <a
"""
ANY_CAST = """
    0.0  a  network_opened  every_message=true  all_subscribers=false
    0.0  b  subscribed  @news
    0.0  c  subscribed  @news
    1.0  a  published   @news    #m1
    1.2  c  delivered   @news    #m1  <a
"""
NEWEST = """
    0.0    a  network_opened  every_message=false  all_subscribers=true
    0.0    b  subscribed  @news
    0.0    c  subscribed  @news
    0.0    d  subscribed  @news
    1.0    a  published   @news    #m1
    2.0    a  published   @news    #m2
    2.5    b  delivered   @news    #m2  <a
    3.0    b  delivered   @news    #m1  <a
    4.0    c  delivered   @news    #m2  <a
    130.0  a  published   @news    #m3
    130.5  d  delivered   @news    #m3  <a
"""

COLUMNS = "message_id node first expected superseded_at stale_ms"


@pytest.fixture(scope="module")
def found(opinion: Opinion) -> Listed:
    trace = trace_of(every=EVERY, direct=DIRECT, to_one=TO_ONE, any_cast=ANY_CAST, newest=NEWEST)
    return listed(opinion(trace)["deliveries"], COLUMNS)


def expected(found: Listed, network: str) -> dict[str, set[str | None]]:
    nodes: dict[str, set[str | None]] = {}
    for message, node, _, wanted, *_ in found[network]:
        if wanted:
            nodes.setdefault(message, set()).add(node)
    return nodes


def test_expected_are_the_other_nodes_that_were_subscribed_at_that_moment(found: Listed) -> None:
    assert expected(found, "every") == {
        "m1": {"b"},
        "m2": {"b", "c"},
        "m3": {"c"},
        "m4": {"a", "c"},
        "m5": {"a", "b", "c"},  # x itself does not listen
        "m6": {"d"},
    }


def test_who_gets_messages_from_their_publisher_alone_is_expected_to_once_that_knows_it(
    found: Listed,
) -> None:
    # x tells nothing of whom it knows: it may have others who do.
    assert expected(found, "direct") == {"m1": {"c"}, "m3": {"c"}, "m4": {"c"}}


def test_a_message_to_one_of_many_is_expected_of_whoever_got_it_first(found: Listed) -> None:
    assert expected(found, "to_one") == {"m1": {"c"}, "m2": {"b", "c"}, "m4": {None}}
    assert [row for row in found["to_one"] if row[0] == "m1"] == [
        ("m1", "b", True, False, None, None),
        ("m1", "c", True, True, None, None),
    ]


def test_where_any_subscriber_will_do_one_delivery_is_whole(found: Listed) -> None:
    assert found["any_cast"] == [("m1", "c", True, True, None, None)]


def test_where_the_newest_value_is_promised_older_ones_are_skipped_in_time(found: Listed) -> None:
    assert found["newest"] == [
        ("m1", "b", True, True, None, 1500.0),  # had m2 before m1
        ("m1", "c", False, True, 4.0, 3000.0),
        ("m1", "d", False, True, None, None),  # its newer value came too late
        ("m2", "b", True, True, None, 500.0),
        ("m2", "c", True, True, None, 2000.0),
        ("m2", "d", False, True, None, None),
        ("m3", "b", False, True, None, None),
        ("m3", "c", False, True, None, None),
        ("m3", "d", True, True, None, 500.0),
    ]

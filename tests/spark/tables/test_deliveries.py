"""Deliveries that are not as usual."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from rumormill.pipeline.tables import silver
from tests.helpers.spark.trace_lines import by_network, held, trace_of

Deliveries = dict[str, list[tuple[object, ...]]]

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
"""
# In traces of other makes the publisher has its own message from itself, subscribed or not.
OWN = """
    0.0  b  subscribed  @news
    1.0  a  published   @news  #m1
    1.0  a  delivered   @news  #m1  <a
    1.1  b  delivered   @news  #m1  <a
    1.2  a  duplicate   @news  #m1  <b
"""
# Copies only, and a delivery that happens twice.
ODD = """
    1.0  a  published   @news  #m1
    1.1  b  duplicate   @news  #m1  <a
    1.2  b  duplicate   @news  #m1  <c
    1.3  c  delivered   @news  #m1  <b
    1.1  c  delivered   @news  #m1  <a
"""


@pytest.fixture(scope="module")
def deliveries(spark: SparkSession) -> Deliveries:
    trace = trace_of(spark, TWO_TOPICS, unknown=UNKNOWN, own=OWN, odd=ODD)
    return by_network(silver(trace, keep=held).deliveries, COLUMNS)


def test_a_message_is_known_by_its_topic_and_its_id(deliveries: Deliveries) -> None:
    assert deliveries["net"] == [
        ("news", "m1", "b", "a", "a", 500.0, 1, True, True, False, 0),
        ("weather", "m1", "b", "c", "c", 500.0, 1, True, True, True, 0),
    ]


def test_without_a_publication_there_is_neither_latency_nor_hop(deliveries: Deliveries) -> None:
    # What comes from nobody, or from the node itself, is its own message.
    assert deliveries["unknown"] == [
        ("news", "m1", "b", "x", "z", None, None, True, False, False, 1),
        ("news", "m1", "c", "b", "z", None, None, True, False, False, 0),
    ]


def test_the_publisher_has_no_delivery_of_its_own_message(deliveries: Deliveries) -> None:
    assert deliveries["own"] == [("news", "m1", "b", "a", "a", 100.0, 1, True, True, False, 0)]


def test_copies_count_where_nothing_was_delivered_and_a_second_delivery_is_a_copy(
    deliveries: Deliveries,
) -> None:
    assert deliveries["odd"] == [
        ("news", "m1", "b", None, "a", None, None, False, False, False, 2),
        ("news", "m1", "c", "a", "a", 100.0, 1, True, False, False, 1),
    ]

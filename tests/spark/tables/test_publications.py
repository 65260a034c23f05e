"""Every message published, and how many should have got it."""

from __future__ import annotations

from pyspark.sql import SparkSession

from rumormill.pipeline.tables.publications import expected_of_nodes, publications, published
from tests.helpers.spark.trace_lines import at, rows_of, trace_of

MEMBERS = (
    "network string, topic string, node string, expected_since timestamp, expected_until timestamp,"
    " known_to map<string, timestamp>"
)
DELIVERIES = "network string, node string, message long, first boolean, expected boolean"


def test_expected_are_the_other_nodes_of_which_it_is_expected_at_that_moment(
    spark: SparkSession,
) -> None:
    members = spark.createDataFrame(
        [
            ("net", "news", "a", at(0), None, None),
            ("net", "news", "b", at(0), at(2), None),  # leaves
            ("net", "news", "b", at(4), None, None),  # and comes back
            ("net", "news", "c", at(1), None, None),  # comes later
            ("net", "weather", "d", at(0), None, None),  # listens to something else
            ("other", "news", "e", at(0), None, None),  # somewhere else
        ],
        MEMBERS,
    )
    trace = trace_of(
        spark,
        """
        0.5   a  published  @news     #m1  size=10
        1.0   a  published  @news     #m2  size=20
        2.0   a  published  @news     #m3
        4.5   b  published  @news     #m4
        5.0   x  published  @news     #m5
        61.0  a  published  @weather  #m6
        61.5  a  published  @nobody   #m7
        62.0  a  delivered  @weather  #m6
        """,
    )
    found = publications(published(trace), members)
    assert rows_of(found, "message_id topic publisher time size expected minute") == [
        ("m1", "news", "a", 0.5, 10, 1, 0.0),  # b
        ("m2", "news", "a", 1.0, 20, 2, 0.0),  # b, c
        ("m3", "news", "a", 2.0, None, 1, 0.0),  # c
        ("m4", "news", "b", 4.5, None, 2, 0.0),  # a, c
        ("m5", "news", "x", 5.0, None, 3, 0.0),  # a, b, c: x itself does not listen
        ("m6", "weather", "a", 61.0, None, 1, 60.0),  # d
        ("m7", "nobody", "a", 61.5, None, 0, 60.0),
    ]
    assert rows_of(
        expected_of_nodes(found, members, spark.createDataFrame([], DELIVERIES)), "node expected"
    ) == [
        ("a", 2),  # m4, m5
        ("b", 3),  # m1, m2, m5
        ("c", 4),  # m2, m3, m4, m5
        ("d", 1),  # m6
    ]


def test_a_message_published_twice_counts_once_from_the_first_time(spark: SparkSession) -> None:
    trace = trace_of(
        spark,
        """
        3.0  b  published  @news     #m1
        2.0  a  published  @news     #m1
        4.0  a  published  @weather  #m1
        """,
    )
    found = rows_of(published(trace), "topic message_id publisher time")
    assert found == [("news", "m1", "a", 2.0), ("weather", "m1", "a", 4.0)]


def test_who_gets_messages_from_their_publisher_alone_is_expected_to_once_that_knows_it(
    spark: SparkSession,
) -> None:
    words = {"a": at(1), "b": at(2)}
    members = spark.createDataFrame([("net", "news", "c", at(1), None, words)], MEMBERS)
    trace = trace_of(
        spark,
        """
        1.5  a  published  @news  #m1
        1.5  b  published  @news  #m2
        2.5  b  published  @news  #m3
        1.5  x  published  @news  #m4
        """,
    )
    found = publications(published(trace), members)
    assert rows_of(found, "message_id expected") == [
        ("m1", 1),
        ("m2", 0),
        ("m3", 1),
        ("m4", 1),  # x tells nothing of whom it knows: it may have others who do
    ]


def test_a_message_to_one_of_many_is_expected_of_one_and_of_who_got_it(
    spark: SparkSession,
) -> None:
    members = spark.createDataFrame(
        [("net", "news", node, at(0), None, None) for node in ("b", "c")], MEMBERS
    )
    trace = trace_of(
        spark,
        """
        1.0  a  published  @news    #m1  mode=unicast
        2.0  a  published  @news    #m2  mode=multicast
        3.0  a  published  @nobody  #m3  mode=unicast
        """,
    )
    found = publications(published(trace), members)
    rows = {row.message_id.decode(): row for row in found.collect()}
    assert {name: row.expected for name, row in rows.items()} == {"m1": 1, "m2": 2, "m3": 0}
    came = [("net", "c", rows[name].message, True, True) for name in ("m1", "m2")]
    wanted = expected_of_nodes(found, members, spark.createDataFrame(came, DELIVERIES))
    assert rows_of(wanted, "node expected") == [("b", 1), ("c", 2)]

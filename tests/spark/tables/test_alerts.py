"""What is an alert and what is not, with the default thresholds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from rumormill.core.errors import ConfigError
from rumormill.pipeline.tables import GOLD, SILVER, AlertParameters
from rumormill.pipeline.tables.alerts import alerts, eclipse, partition
from rumormill.pipeline.tables.sums import publishers_in, sums
from tests.helpers.spark.trace_lines import at, rows_of

Rows = list[dict[str, Any]]
Alerts = dict[tuple[str, str], list[tuple[Any, ...]]]


def table(spark: SparkSession, schema: StructType, rows: Rows) -> DataFrame:
    """Rows with nothing but what matters; counts that are not given are 0."""
    empty = {
        field.name: 0 if field.dataType.simpleString() == "bigint" else None for field in schema
    }
    return spark.createDataFrame(
        [
            tuple((empty | {"minute": at(60)} | row).get(name) for name in schema.names)
            for row in rows
        ],
        schema,
    )


def mesh_minutes(network: str, components: int, nodes: int, largest: int) -> Rows:
    return [
        {
            "network": network,
            "topic": "news",
            "components": components,
            "nodes": nodes,
            "largest": largest,
        }
    ]


def suppliers(network: str, node: str, *delivered: int) -> Rows:
    """A node's first copies in a minute, by peer."""
    return [
        {"network": network, "node": node, "peer": f"p{place}", "delivered": count}
        for place, count in enumerate(delivered)
    ]


def calm_ten() -> Rows:
    """Ten nodes, of which three publish. A publisher has its first copies from the other two, who
    are nearest, and everybody has further copies of everything from the rest of its mesh."""
    names = [f"n{number}" for number in range(10)]
    rows = []
    for node in names:
        nearest = [name for name in names[:3] if name != node]
        mesh = [name for name in names if name != node][:7]
        for peer in mesh:
            first = 200 // len(nearest) if peer in nearest else 1
            rows.append({"network": "calm ten", "node": node, "peer": peer, "delivered": first,
                         "duplicates": 50})  # fmt: skip
    return rows


def sent(network: str, peer: str, **counts: int) -> dict[str, Any]:
    """What a peer sent to the node "a" in a minute."""
    return {"network": network, "node": "a", "peer": peer, **counts}


def messages(network: str, publisher: str, expected: int, came: int) -> tuple[Rows, Rows]:
    common = {"network": network, "topic": "news", "publisher": publisher}
    publications = [{**common, "expected": expected}]
    return publications, [{**common, "first": True, "expected": True}] * came


def links(network: str, **handed_on: int) -> Rows:
    """Each node got 200 messages, and handed on so many copies to some "z"."""
    rows = []
    for node, copies in handed_on.items():
        rows.append({"network": network, "node": node, "peer": "z", "first": 200})
        rows.append({"network": network, "node": "z", "peer": node, "repeated": copies})
    return rows


def mesh(network: str, peer: str, friends: int) -> Rows:
    return [
        {"network": network, "topic": "news", "node": f"f{number}", "peer": peer}
        for number in range(friends)
    ]


@pytest.fixture(scope="module")
def found(spark: SparkSession) -> Alerts:
    graphs = [
        *mesh_minutes("parted", 2, 10, 8),
        *mesh_minutes("one alone", 2, 10, 9),
        *mesh_minutes("whole", 1, 10, 10),
    ]
    traffic = [
        *suppliers("eclipsed", "victim", 58, 1, 1),
        *suppliers("eclipsed", "few", 10),
        *[row for name in "abcd" for row in suppliers("eclipsed", name, 20, 20, 20, 20)],
        *[row for name in "abcd" for row in suppliers("small", name, 40, 40)],
        *calm_ten(),
        # Spam: s sends rubbish; in the other network everybody's messages are refused.
        sent("spammed", "b", delivered=90, rejected=1),
        sent("spammed", "c", delivered=90, rejected=1),
        sent("spammed", "s", delivered=20, rejected=50, ignored=30),
        sent("spammed", "r", rejected=3),
        *[sent("strict", peer, delivered=10, ignored=60) for peer in "bcd"],
        # The same over and over: 300 copies of what were 110 messages.
        sent("flooded", "b", delivered=100, duplicates=20),
        {"network": "flooded", "node": "a", "peer": None, "published": 10},
        sent("flooded", "f", duplicates=300),
        # A publisher whose own queue was full.
        {"network": "overloaded", "node": "x", "peer": "y", "published": 10, "dropped": 6},
        {"network": "censored", "node": "x", "peer": "y", "published": 10, "dropped": 5},
    ]
    publications: Rows = []
    deliveries: Rows = []
    for network, publisher, expected, came in (
        ("censored", "x", 100, 60),
        ("censored", "y", 300, 290),
        ("overloaded", "x", 100, 60),
        ("overloaded", "y", 300, 290),
        ("lossy", "x", 100, 80),
        ("lossy", "y", 300, 290),
        ("scarce", "x", 90, 10),
        ("scarce", "y", 300, 290),
        ("lonely", "x", 300, 10),
    ):
        some, more = messages(network, publisher, expected, came)
        publications += some
        deliveries += more
    hands = [*links("silent", a=600, b=500, c=700, quiet=40, leaf=0), *links("calm", a=600, b=100)]
    friends = [row for name in ("a", "b", "c", "quiet") for row in mesh("silent", name, 3)]
    friends += [*mesh("silent", "leaf", 2), *mesh("calm", "a", 3), *mesh("calm", "b", 3)]
    made = alerts(
        table(spark, SILVER["publications"], publications),
        publishers_in(sums(table(spark, SILVER["deliveries"], deliveries))),
        table(spark, SILVER["mesh"], friends),
        table(spark, SILVER["traffic"], traffic),
        table(spark, GOLD["links"], hands),
        table(spark, GOLD["mesh_minutes"], graphs),
    )
    grouped: Alerts = {}
    for network, kind, *rest in rows_of(made, "network kind topic minute node detail"):
        grouped.setdefault((network, kind), []).append(tuple(rest))
    return grouped


def test_a_mesh_in_two_parts_is_a_partition_and_a_node_alone_is_none(found: Alerts) -> None:
    assert {network for network, kind in found if kind == "partition"} == {"parted"}
    words = "the mesh has 2 parts; 2 of 10 nodes are cut off from the largest"
    assert found["parted", "partition"] == [("news", 60.0, None, words)]


def test_a_node_fed_by_two_peers_while_others_have_many_is_eclipsed(found: Alerts) -> None:
    assert {network for network, kind in found if kind == "eclipse"} == {"eclipsed"}
    words = "98 % of its 60 copies came from at most 2 peers; of the node in the middle, 50 %"
    assert found["eclipsed", "eclipse"] == [(None, 60.0, "victim", words)]


def test_a_calm_network_of_ten_raises_no_alert(found: Alerts) -> None:
    first = [row["delivered"] for row in calm_ten() if row["node"] == "n0"]
    assert sum(sorted(first)[-2:]) / sum(first) > 0.97  # two peers are nearest, and no threat
    assert not [kind for network, kind in found if network == "calm ten"]


def test_messages_of_one_publisher_that_get_lost_are_censored_unless_it_lost_them_itself(
    found: Alerts,
) -> None:
    words = "60.0 % of its messages' deliveries took place; of the other publishers', 96.7 %"
    assert found["censored", "censorship"] == [("news", None, "x", words)]


def test_a_peer_that_hands_on_nothing_censors_and_a_leaf_does_not(found: Alerts) -> None:
    words = "hands on 0.20 copies of each message that it gets; the node in the middle, 2.75"
    assert found["silent", "censorship"] == [(None, None, "quiet", words)]
    assert {network for network, kind in found if kind == "censorship"} == {"censored", "silent"}


def test_a_peer_whose_messages_are_refused_spams_unless_everybodys_are(found: Alerts) -> None:
    words = "80 % of the 100 messages that it sent were rejected or ignored; of the others', 2.7 %"
    assert found["spammed", "spam"] == [(None, 60.0, "s", words)]


def test_a_peer_that_sends_the_same_over_and_over_spams(found: Alerts) -> None:
    words = "sent 300 copies to a, which had 110 messages in that minute"
    assert found["flooded", "spam"] == [(None, 60.0, "f", words)]
    assert {network for network, kind in found if kind == "spam"} == {"spammed", "flooded"}


def test_the_thresholds_are_parameters(spark: SparkSession) -> None:
    graphs = table(spark, GOLD["mesh_minutes"], mesh_minutes("one alone", 2, 10, 9))
    strict = replace(AlertParameters(), partition_nodes=1)
    assert partition(graphs, strict).count() == 1
    rows = [*suppliers("net", "victim", 19, 1), *suppliers("net", "a", 8, 8, 8, 8, 8)]
    traffic = table(spark, SILVER["traffic"], [*rows, *suppliers("net", "b", 8, 8, 8, 8, 8)])
    lax = replace(AlertParameters(), eclipse_deliveries=20, eclipse_peers=1)
    assert rows_of(eclipse(traffic, lax), "node") == [("victim",)]


def test_a_threshold_below_nothing_is_refused() -> None:
    with pytest.raises(ConfigError, match="spam_share: must not be below 0"):
        AlertParameters(spam_share=-0.1)

"""Records that never came to a spool are told as such, and are no drops of the network."""

from __future__ import annotations

from pyspark.sql import SparkSession

from rumormill.pipeline.tables import gold, silver
from tests.helpers.spark.trace_lines import held, rows_of, trace_of

LOSSES = """
    1.0  a  subscribed  @news
    2.0  a  dropped     what=message  <b  reason=queue_full  count=3
    3.0  a  dropped     what=captured_event  reason=disk_full  count=40
    4.0  b  dropped     what=captured_message  reason=spool_buffer_full  count=2
"""


def test_losses_of_the_capture_are_a_problem_of_their_own(spark: SparkSession) -> None:
    made = silver(trace_of(spark, LOSSES, calm="1.0  a  subscribed  @news"), keep=held)
    counted = made.counters.where("event = 'dropped'")
    assert rows_of(counted, "node peer lost uncaptured") == [
        ("a", None, 40, 40),
        ("a", "b", 3, None),
        ("b", None, 2, 2),
    ]
    assert rows_of(made.traffic.where("dropped > 0"), "node peer dropped") == [("a", "b", 3)]
    found = gold(made, keep=held)["problems"].where("kind = 'captured_lost'")
    words = "42 records were lost on their way to a spool: what is counted here is too little"
    assert rows_of(found, "network topic count detail") == [("net", None, 42, words)]

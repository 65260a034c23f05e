"""Alert: a peer breaks the rules over and over, or asks far more of a node than it gets.

Messages arrive all the same, so nothing of it shows in deliveries: what nodes refuse, and why they
say they do, is all that there is to see.
"""

from __future__ import annotations

from functools import reduce
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from rumormill.pipeline.gold.alerts.parameters import AlertParameters
from rumormill.pipeline.gold.alerts.rows import alert
from rumormill.pipeline.gold.measures.columns import is_other, number

BROKEN_RULES: Final = (
    "graft_in_backoff", "broken_promise", "extensions_twice", "extensions_too_late",
    "partial_malformed",
)  # fmt: skip
"""Reasons of ``rejected`` that are about conduct: what messages are rejected for is spam."""

TOO_MUCH: Final = (
    "too_many_ihave", "iwant_too_often", "too_many_dont_want", "too_many_topics", "replay",
    "gate_control_only", "gate_closed",
)  # fmt: skip
"""Reasons of ``ignored`` by which a node guards itself; a few of them happen to anybody."""


def misbehaviour(reasons: DataFrame, parameters: AlertParameters) -> DataFrame:
    """One row for each peer and minute, with all reasons that were named often enough."""
    keys = ("minute", "network", "peer")
    least = {
        "errors": parameters.misbehaviour_errors,
        "broken": parameters.misbehaviour_rules,
        "ignored": parameters.misbehaviour_ignored,
    }
    named = (
        reasons.where(is_other())
        .withColumn("class", _class())
        .where("class is not null")
        .groupBy(*keys, "reason")
        .agg(
            *[F.sum(number(F.col("class") == name, F.col("count"))).alias(name) for name in least],
            F.size(F.collect_set("node")).alias("witnesses"),
        )
        .where(reduce(Column.__or__, [F.col(name) >= most for name, most in least.items()]))
    )
    times = reduce(Column.__add__, [F.col(name) for name in least])
    most_first = F.sort_array(F.collect_list(F.struct((-times).alias("order"), "reason")))
    told = F.transform(
        most_first, lambda each: F.format_string("%s %d times", each["reason"], -each["order"])
    )
    found = named.groupBy(*keys).agg(
        F.array_join(told, ", ").alias("told"), F.max("witnesses").alias("witnesses")
    )
    words = F.format_string("%s; told by %d of its peers", F.col("told"), F.col("witnesses"))
    return alert(found, "misbehaviour", words, node="peer", minute="minute")


def breaks_rules() -> Column:
    """Whether a row of ``reasons`` is about conduct that was rejected, not about a message."""
    return (F.col("event") == "rejected") & F.col("reason").isin(*BROKEN_RULES)


def _class() -> Column:
    """What a row of ``reasons`` counts as; null: nothing."""
    too_much = (F.col("event") == "ignored") & F.col("reason").isin(*TOO_MUCH)
    return (
        F.when(F.col("event") == "protocol_error", "errors")
        .when(breaks_rules(), "broken")
        .when(too_much, "ignored")
    )

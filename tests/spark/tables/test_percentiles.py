"""Percentiles: number min(n - 1, floor(f n)) of n values in order."""

from __future__ import annotations

import math
import random

from pyspark.sql import SparkSession

from rumormill.pipeline.tables.percentiles import percentiles

WANTED = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "top": 1.0}


def by_hand(values: list[int], share: float) -> int:
    return sorted(values)[min(len(values) - 1, math.floor(share * len(values)))]


def test_percentiles_are_exact_for_groups_of_any_size_and_shape(spark: SparkSession) -> None:
    chance = random.Random(5)
    groups: dict[str | None, list[int]] = {
        "one": [7],
        "two": [3, 9],
        "ten": list(range(1, 11)),
        "equal": [500] * 100,
        "in one bin": [256 + number for number in range(200)],
        "below zero": [-1000, -5, -3, 0, 4],
        "long tail": [round(chance.paretovariate(1.1) * 1000) for _ in range(3000)],
        "many": [chance.randrange(100_000) for _ in range(2000)],
        None: [1, 2, 3],
    }
    rows = [(name, value) for name, values in groups.items() for value in values]
    chance.shuffle(rows)
    frame = spark.createDataFrame([*rows, ("one", None), ("empty", None)], "name string, x long")
    found = {
        row["name"]: [row[column] for column in WANTED]
        for row in percentiles(frame, ["name"], "x", WANTED).collect()
    }
    assert found == {
        name: [by_hand(values, share) for share in WANTED.values()]
        for name, values in groups.items()
    }
    assert found["two"] == [9, 9, 9, 9] and found["ten"] == [6, 10, 10, 10]

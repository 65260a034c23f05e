"""Percentiles of rows: the same as core's rule gives for a list."""

from __future__ import annotations

import random
from itertools import pairwise

import numpy as np
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from rumormill.core.percentiles import percentile
from rumormill.pipeline.tables.percentiles import percentiles, upper_end
from rumormill.pipeline.tables.sums_of_deliveries import bins_of

WANTED = {"p7": 0.07, "p50": 0.5, "p90": 0.9, "p99": 0.99, "p999": 0.999, "top": 1.0}


def test_percentiles_are_exact_for_groups_of_any_size_and_shape(spark: SparkSession) -> None:
    chance = random.Random(5)
    groups: dict[str, list[int]] = {
        "one": [7],
        "two": [3, 9],
        "ten": list(range(1, 11)),
        "equal": [500] * 100,
        "in one bin": [256 + number for number in range(200)],
        "below zero": [-1000, -5, -3, 0, 4],
        "long tail": [round(chance.paretovariate(1.1) * 1000) for _ in range(3000)],
        "many": [chance.randrange(100_000) for _ in range(2000)],
    }
    rows = [(name, value) for name, values in groups.items() for value in values]
    chance.shuffle(rows)
    # By a further key, and in two parts, as two workers would leave them.
    found_bins: dict[tuple[str, int, int, int], list[int]] = {}
    for place, (name, value) in enumerate(rows):
        (number,) = bins_of(np.array([value])).tolist()
        found_bins.setdefault((name, place % 3, place % 2, number), []).append(value)
    bins = spark.createDataFrame(
        [
            (name, other, number, len(values), values)
            for (name, other, _, number), values in found_bins.items()
        ],
        "name string, other int, bin int, count long, values array<long>",
    )
    found = {
        row["name"]: [row[column] for column in WANTED]
        for row in percentiles(bins, ["name"], WANTED).collect()
    }
    assert found == {
        name: [percentile(sorted(values), share) for share in WANTED.values()]
        for name, values in groups.items()
    }
    assert found["two"] == [3, 3, 9, 9, 9, 9] and found["ten"] == [1, 5, 9, 10, 10, 10]


def test_bins_are_in_the_order_of_their_values_and_end_where_they_say(spark: SparkSession) -> None:
    values = sorted({sign * round(1.1**power) for power in range(200) for sign in (-1, 1)} | {0})
    bins = bins_of(np.array(values)).tolist()
    assert bins == sorted(bins)
    frame = spark.createDataFrame([(number,) for number in bins], "bin int")
    ends = [row.end for row in frame.select("bin", upper_end(F.col("bin")).alias("end")).collect()]
    for (value, number, end), (following, next_number, _) in pairwise(
        zip(values, bins, sorted(ends), strict=True)
    ):
        assert value <= end + 1e-6 * abs(end) + 1e-9
        if next_number > number:
            assert following > end - 1e-6 * abs(end) - 1e-9

"""Arrays made from buffers are those that Arrow itself would make, and pandas stays away."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from rumormill.pipeline.source.arrays import number_array, repeated_array, text_array
from tests.helpers.capture.spools import make_spool

TEXT = st.text(st.characters(exclude_categories=["Cs"]))


@given(values=st.lists(st.integers(-(2**63), 2**63 - 1)))
def test_numbers_are_those_that_were_given(values: list[int]) -> None:
    made = number_array(np.array(values, np.int64))
    made.validate(full=True)
    assert made.equals(pa.array(values, pa.int64()))


@given(texts=st.lists(TEXT))
def test_texts_are_those_that_were_given(texts: list[str]) -> None:
    made = text_array(texts)
    made.validate(full=True)
    assert made.equals(pa.array(texts, pa.string()))


@given(value=TEXT | st.integers(-(2**31), 2**31 - 1), count=st.integers(0, 300))
def test_one_value_is_repeated(value: int | str, count: int) -> None:
    made = repeated_array(value, count)
    made.validate(full=True)
    kind = pa.string() if isinstance(value, str) else pa.int32()
    assert made.equals(pa.array([value] * count, kind))


READS = """
import sys
from rumormill.pipeline.source.columns import arrow_schema, spark_schema
from rumormill.pipeline.source.ranges import Range
from rumormill.pipeline.source.reading import ReadPlan, put_together, read_range

folder, spool = sys.argv[1:]
schema = arrow_schema("messages", spark_schema("messages", headers=False).names)
plan = ReadPlan("messages", schema, topics=("weather",))
batches = list(put_together(read_range(plan, Range(folder, spool, 3, 5, 25))))
print("pandas" in sys.modules)
rows = [row for batch in batches for row in batch.to_pylist()]
print(len(rows), rows[0]["offset"], rows[0]["partition"], rows[0]["spool"] == spool)
"""


def test_a_task_reads_without_loading_pandas(tmp_path: Path) -> None:
    spool = make_spool(tmp_path / "spool")
    spool.messages(["weather", "news"] * 20)
    command = [sys.executable, "-c", READS, str(spool.folder), spool.id]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["False", "10 6 3 True"]

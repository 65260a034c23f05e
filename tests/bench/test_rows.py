"""The rows that everybody gets, and when each of them is due."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import psutil
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from bench.process_tree import cpu_seconds
from bench.spark.rows import TOPIC, Rows, due, stamp_of, steadily
from bench.spark.source import fill_parquet, fill_spool
from rumormill.capture.open import open_log

U64 = st.integers(0, 2**64 - 1)


@given(number=U64, time_us=U64, size=st.integers(16, 200))
def test_a_value_tells_its_number_and_its_time(number: int, time_us: int, size: int) -> None:
    value = Rows(size).value(number, time_us)
    assert len(value) == size
    assert stamp_of(value) == (time_us, number)


def test_values_are_the_same_in_every_process_and_differ_from_each_other() -> None:
    values = [Rows(1024).value(number) for number in (0, 1, 997, 998)]
    assert values == [Rows(1024).value(number) for number in (0, 1, 997, 998)]
    assert len(set(values)) == 4


@given(
    rate=st.integers(1, 100_000),
    count=st.integers(1, 10_000),
    clock=st.floats(0, 100),
    sent=st.integers(0, 10_000),
)
def test_no_row_is_early_and_none_is_sent_twice(
    rate: int, count: int, clock: float, sent: int
) -> None:
    sent = min(sent, count)
    more = due(rate, count, 0.0, clock, sent)
    assert 0 <= more <= count - sent
    if more:
        assert (sent + more - 1) / rate <= clock + 1e-9
    if sent + more < count:
        assert (sent + more) / rate > clock - 1e-9


def test_rows_come_in_order_and_all_of_them() -> None:
    assert list(steadily(1_000_000, 500)) == list(range(500))


def test_the_spool_holds_every_row_once(tmp_path: Path) -> None:
    fill_spool(tmp_path / "spool", 2_500, 64)
    log = open_log(tmp_path / "spool", "messages")
    rows = Rows(64)
    batches = [batch for _, batch in log.read(0, 2_500)]
    values = [value for batch in batches for value in batch.column("value").to_pylist()]
    assert values == [rows.value(number) for number in range(2_500)]
    assert {topic for batch in batches for topic in batch.column("topic").to_pylist()} == {TOPIC}
    assert log.bounds() == (0, 2_500)


def test_the_same_rows_stand_in_parquet(tmp_path: Path) -> None:
    fill_spool(tmp_path / "spool", 2_500, 64)
    fill_parquet(tmp_path / "parquet", tmp_path / "spool", 2_500)
    table = parquet.read_table(tmp_path / "parquet")
    assert table.column("value").to_pylist() == [Rows(64).value(each) for each in range(2_500)]
    assert table.column("offset").to_pylist() == list(range(2_500))
    assert table.num_columns == 13


HAS_HAD_A_CHILD = """
import resource, subprocess, sys
subprocess.run([sys.executable, "-c", "sum(range(5_000_000))"], check=True)
usage = resource.getrusage(resource.RUSAGE_CHILDREN)
print(usage.ru_utime + usage.ru_stime, flush=True)
sys.stdin.read()
"""


def test_the_time_of_a_child_that_has_ended_counts() -> None:
    # Not this process: what others have started in it ends when it likes.
    command, pipe = [sys.executable, "-c", HAS_HAD_A_CHILD], subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as parent:
        assert parent.stdout is not None
        spent = float(parent.stdout.readline())
        own = sum(psutil.Process(parent.pid).cpu_times()[:2])
        assert spent > 0.02
        assert cpu_seconds(parent.pid) >= own + spent - 0.02
        parent.communicate()


def test_a_process_that_is_gone_has_no_time() -> None:
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    assert cpu_seconds(child.pid) == 0.0

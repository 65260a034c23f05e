"""The pipeline as a whole: spools in, tables out, and what it does when something is wrong."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from rumormill.capture.schema import MESSAGES
from rumormill.core.errors import ConfigError, RumormillError
from rumormill.pipeline import runner as runner_module
from rumormill.pipeline import streams
from rumormill.pipeline.bronze import BronzeWriter
from rumormill.pipeline.failures import PipelineError
from rumormill.pipeline.lake import Lake, TablesError
from rumormill.pipeline.parameters import RunParameters
from rumormill.pipeline.runner import Runner
from rumormill.pipeline.streams import BronzeStream
from tests.helpers.capture.many_records import differences, read_spool
from tests.helpers.capture.spools import TestSpool, make_spool

PATIENCE = 240.0


class Heard:
    """What a runner tells."""

    def __init__(self) -> None:
        self.events: list[tuple[str, dict[str, Any]]] = []
        self._changed = threading.Condition()

    def __call__(self, event: str, fields: dict[str, object]) -> None:
        with self._changed:
            self.events.append((event, fields))
            self._changed.notify_all()

    def named(self, name: str) -> list[dict[str, Any]]:
        return [fields for event, fields in self.events if event == name]

    def wait_until(self, condition: Callable[[], bool]) -> None:
        with self._changed:
            assert self._changed.wait_for(condition, PATIENCE), self.events


def run(spark: SparkSession, spool: TestSpool, tables: Path, **parameters: Any) -> Heard:
    heard = Heard()
    chosen = {"spools": (str(spool.folder),), "tables": tables, "once": True, **parameters}
    Runner(spark, RunParameters(**chosen), heard).run()
    return heard


def test_a_stream_goes_on_reading_until_it_is_stopped(spark: SparkSession, tmp_path: Path) -> None:
    spool, tables = make_spool(tmp_path / "spool"), tmp_path / "tables"
    spool.messages(["news"] * 100)
    heard = Heard()
    runner = Runner(
        spark,
        RunParameters(spools=(str(spool.folder),), tables=tables, interval=0.1),
        heard,
    )
    thread = threading.Thread(target=runner.run)
    thread.start()
    try:
        for count in (100, 150, 200):
            heard.wait_until(
                lambda count=count: sum(batch["rows"] for batch in heard.named("batch")) == count  # type: ignore[misc]
            )
            if count < 200:
                spool.messages(["news"] * 50, first=count)
        with pytest.raises(TablesError, match="another process writes"):
            Runner(spark, RunParameters(spools=("x",), tables=tables)).run()
    finally:
        runner.stop()
        thread.join(PATIENCE)
    assert not thread.is_alive()
    assert differences(read_spool(spool.folder), tables / "bronze/messages") == (0, 0)
    assert not spark.streams.active


@pytest.mark.timeout(600)
def test_a_refinement_under_way_ends_when_it_is_stopped(
    spark: SparkSession, tmp_path: Path
) -> None:
    spool, tables = make_spool(tmp_path / "spool"), tmp_path / "tables"
    spool.events(["published", "delivered"] * 10)
    runner: Runner

    def tell(event: str, fields: dict[str, object]) -> None:
        if event == "stage":
            runner.stop()

    parameters = RunParameters(spools=(str(spool.folder),), tables=tables, once=True)
    runner = Runner(spark, parameters, tell)
    runner.run()
    assert (tables / "bronze/trace").exists()
    assert not (tables / "silver").exists()
    assert not list((tables / "_staging").iterdir())


def test_a_spoilt_segment_is_named_and_skipped_only_if_asked_to(
    spark: SparkSession, tmp_path: Path
) -> None:
    spool, tables = make_spool(tmp_path / "spool", segment_bytes=4096), tmp_path / "tables"
    spool.messages(["news"] * 400)
    records = read_spool(spool.folder)
    spoilt = spool.segments()[2]
    content = bytearray(spoilt.read_bytes())
    content[len(content) // 2] ^= 0x55
    spoilt.write_bytes(content)
    with pytest.raises(PipelineError, match=spoilt.name) as caught:
        run(spark, spool, tables)
    assert "\n" not in str(caught.value)
    assert not (tables / "bronze/messages").exists()
    heard = run(spark, spool, tables, fail_on_data_loss=False)
    lacking, surplus = differences(records, tables / "bronze/messages")
    assert surplus == 0
    assert [(each["kind"], each["offsets"]) for each in heard.named("skipped")] == [
        (MESSAGES, lacking)
    ]
    assert 0 < lacking <= 400 // len(spool.segments()) * 2


def test_a_spool_that_is_not_there_is_one_sentence(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(RumormillError) as caught:
        run(spark, TestSpool(tmp_path / "nowhere", "", None), tmp_path / "tables")  # type: ignore[arg-type]
    assert "nowhere" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_wrong_parameters_are_named() -> None:
    with pytest.raises(ConfigError, match="kinds: must be among messages, trace, not 'nonsense'"):
        RunParameters(spools=("x",), tables=Path("t"), kinds=("nonsense",))
    with pytest.raises(ConfigError, match="delay"):
        RunParameters(spools=("x",), tables=Path("t"), delay=-1)


# ---- queries that end


class Query:
    """Stands for a streaming query that has ended."""

    def __init__(self, error: Exception | None) -> None:
        self.isActive = False
        self._error = error

    def exception(self) -> Exception | None:
        return self._error


@pytest.fixture
def stream(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> BronzeStream:
    """A stream whose queries fail at once, with the errors of ``failing``."""
    parameters = RunParameters(spools=("x",), tables=tmp_path)
    heard = Heard()
    stream = BronzeStream(None, Lake(tmp_path), MESSAGES, parameters, heard)  # type: ignore[arg-type]
    monkeypatch.setattr(streams, "PAUSES", (0.0, 0.0))
    monkeypatch.setattr(stream, "heard", heard, raising=False)
    return stream


def fail_with(
    stream: BronzeStream, monkeypatch: pytest.MonkeyPatch, error: Exception | None
) -> None:
    monkeypatch.setattr(stream, "_start", lambda: Query(error))


def test_a_query_whose_worker_died_is_started_again_but_not_for_ever(
    stream: BronzeStream, monkeypatch: pytest.MonkeyPatch
) -> None:
    fail_with(stream, monkeypatch, Exception("Python worker exited unexpectedly (crashed)"))
    for _ in range(4):
        stream.check()
    with pytest.raises(PipelineError, match="3 times in a row: Python worker exited unexpectedly"):
        for _ in range(4):
            stream.check()
    assert len(stream.heard.named("restarting")) == 2  # type: ignore[attr-defined]


def test_a_batch_between_two_failures_shows_that_it_gets_on(
    stream: BronzeStream, monkeypatch: pytest.MonkeyPatch
) -> None:
    fail_with(stream, monkeypatch, Exception("[X] rumormill.capture.node_client.NodeAwayError: n"))
    monkeypatch.setattr(streams, "PAUSES", (0.0, 9.0))
    for _ in range(10):
        stream.check()
        stream.check()
        stream._published(MESSAGES, 1, 10)
    pauses = [each["seconds"] for each in stream.heard.named("restarting")]  # type: ignore[attr-defined]
    assert pauses == [0.0] * 10, "each failure is the first of its row"


def test_what_is_wrong_with_the_data_is_not_tried_again(
    stream: BronzeStream, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "Traceback...\nrumormill.capture.log.CorruptSegmentError: a file: spoilt\n\tat java"
    fail_with(stream, monkeypatch, Exception(text))
    stream.check()
    with pytest.raises(PipelineError, match=r"^a file: spoilt$"):
        stream.check()


def test_a_query_that_came_to_its_end_is_done(
    stream: BronzeStream, monkeypatch: pytest.MonkeyPatch
) -> None:
    fail_with(stream, monkeypatch, None)
    stream.check()
    assert not stream.done
    stream.check()
    assert stream.done


def test_a_turn_takes_its_share_of_the_time() -> None:
    now = 0.0
    turn = runner_module._Turn(0.1, lambda: now)
    assert turn.is_due()
    with turn:
        now = 5.0
    now = 49.9
    assert not turn.is_due()
    now = 50.0
    assert turn.is_due()


def test_the_writer_of_batches_passes_its_error_on(spark: SparkSession, tmp_path: Path) -> None:
    spool, tables = make_spool(tmp_path / "spool"), tmp_path / "tables"
    spool.messages(["news"] * 10)

    def full(self: BronzeWriter, frame: object, batch: int) -> None:
        raise TablesError(f"{tables}: the disk is full")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(BronzeWriter, "__call__", full)
        with pytest.raises(PipelineError, match=r"the disk is full$"):
            run(spark, spool, tables, kinds=(MESSAGES,))
    assert not (tables / "bronze/messages").exists()

"""The pipeline as a whole: spools in, tables out, whatever is added, stopped, killed or spoilt."""

from __future__ import annotations

import random
import threading
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from rumormill.capture.schema import MESSAGES, TRACE
from rumormill.core.errors import ConfigError, RumormillError
from rumormill.pipeline.failures import PipelineError
from rumormill.pipeline.gold.registry import Registry
from rumormill.pipeline.lake.offsets import properties
from rumormill.pipeline.lake.schema import MESSAGES as BRONZE_MESSAGES
from rumormill.pipeline.lake.schema import TRACE as BRONZE_TRACE
from rumormill.pipeline.lake.schema import Table
from rumormill.pipeline.lake.store import Lake
from rumormill.pipeline.lake.upkeep import Policy, expire_rows
from rumormill.pipeline.run import runner as runner_module
from rumormill.pipeline.run.increment import Increment, Refined
from rumormill.pipeline.run.ingest import Ingest
from rumormill.pipeline.run.parameters import RunParameters
from rumormill.pipeline.run.runner import Runner
from rumormill.pipeline.run.state import STATE
from tests.helpers.capture.many_records import read_spool
from tests.helpers.capture.spools import TestSpool, make_spool
from tests.helpers.second_opinion.comparison import KEYS, assert_same, assert_same_tables
from tests.helpers.second_opinion.oracle import GOLD, SILVER, Row, second_opinion
from tests.helpers.spark.own_tables import PATIENCE, Heard, OwnTables
from tests.helpers.spark.pipeline_process import PipelineProcess
from tests.helpers.spark.small_network import BEGIN, event, trace_rows

COPIES = ("delivered", "duplicate")
PLACE = ("spool", "partition", "offset")
YEARS = 80 * 365 * 86_400.0


def write(spool: TestSpool, rows: list[Row]) -> None:
    """Trace events, as their nodes would."""
    kept = [{key: value for key, value in row.items() if key not in PLACE} for row in rows]
    spool.rows(kept, TRACE)


def captured(tables: OwnTables, kind: str) -> list[Row]:
    """What bronze has, in the order of the spool."""
    from rumormill.pipeline.run.ingest import TABLES

    frame = tables.lake.read(TABLES[kind]).drop("class", "headers")
    rows: list[Row] = frame.toArrow().to_pylist()
    return sorted(rows, key=lambda row: row["offset"])


def assert_each_record_once(tables: OwnTables, spool: TestSpool, kind: str) -> None:
    """Every record of the spool is in bronze, with all of its columns, and nothing else is."""
    wanted = read_spool(spool.folder, kind)
    columns = [name for name in wanted.column_names if name != "headers"]
    found = captured(tables, kind)
    assert {row["spool"] for row in found} == {spool.id}
    assert [{name: row[name] for name in columns} for row in found] == (
        wanted.select(columns).to_pylist()
    )


def assert_right(tables: OwnTables, trace: list[Row], *without: str) -> None:
    """Silver and gold say what the second opinion says; how clocks are compared is tested where
    they are.
    """
    names = [name for name in (*SILVER, *GOLD) if name not in ("clocks", *without)]
    assert_same_tables(tables.rows(names), second_opinion(trace), names)


def network_in_trouble(minutes: float) -> list[Row]:
    """A small network that raises alerts: eve soon hands on nothing, and somebody sends rubbish."""
    soon = BEGIN + timedelta(seconds=15)
    rows = [
        row
        for row in trace_rows(minutes)
        if not (row["peer"] == "eve" and row["event"] in COPIES and row["time"] > soon)
    ]
    for node, at in (("ann", 20), ("bob", 21)):
        rows.append(event(at, node, "rejected", topic="news", peer="mallory", count=30))
    rows.sort(key=lambda row: row["time"])
    return [{**row, "offset": offset} for offset, row in enumerate(rows)]


def early_and_late(minutes: float = 3) -> tuple[list[Row], list[Row], list[Row]]:
    """A trace in three parts: most of it, what came late to it, and what came after it."""
    rows = network_in_trouble(minutes)
    begin, end = rows[0]["time"], rows[-1]["time"]
    middle = begin + (end - begin) / 2
    chance = random.Random(15)
    late = [
        row
        for row in rows
        # Half of the rubbish comes late: only then is it enough for an alert.
        if row["time"] < middle
        and (chance.random() < 0.05 or (row["event"], row["node"]) == ("rejected", "bob"))
    ]
    places = {row["offset"] for row in late}
    early = [row for row in rows if row["time"] < middle and row["offset"] not in places]
    return early, late, [row for row in rows if row["time"] >= middle]


@dataclass
class Story:
    """A spool that grows, and what each run made of it."""

    spool: TestSpool
    tables: OwnTables
    trace: list[Row] = field(default_factory=list)
    heard: list[Heard] = field(default_factory=list)
    snapshots: list[dict[str, list[str]]] = field(default_factory=list)

    def run(self, rows: list[Row]) -> None:
        """Some events more, and a run."""
        if rows:
            write(self.spool, rows)
        self.trace += rows
        self.heard.append(self.tables.run(self.spool.folder))
        self.snapshots.append(self.tables.snapshots())


@pytest.fixture(scope="module")
def story(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Story:
    """Four runs: the first, one with nothing new, one with what came late and an event of far in
    the future, and one with what came after that.
    """
    folder = tmp_path_factory.mktemp("story")
    told = Story(make_spool(folder / "spool"), OwnTables(spark, folder / "tables"))
    told.spool.messages(["news"] * 50)
    early, late, after = early_and_late()
    future = event(YEARS, "ann", "delivered", topic="news", message_id=b"future", peer="bob")
    told.run(early)
    told.run([])
    told.run([*late, future])
    told.run(after)
    return told


def test_what_is_in_the_spool_is_read_and_refined(story: Story) -> None:
    first = story.heard[0]
    assert first.events[0][0] == "ready"
    assert {each["kind"]: each["records"] for each in first.named("captured")} == {
        MESSAGES: 50,
        TRACE: first.named("refined")[0]["events"],
    }
    stages = [each["stage"] for each in first.named("stage")]
    assert {"silver.deliveries", "gold.topics", "silver.mesh"} <= set(stages)


def test_where_nothing_is_new_nothing_is_written(story: Story) -> None:
    assert [name for name, _ in story.heard[1].events] == ["ready", "unchanged"]
    assert len(story.snapshots[0]) > 20
    assert story.snapshots[1] == story.snapshots[0]


def test_of_a_spool_that_has_grown_only_the_new_records_are_read(story: Story) -> None:
    (captured,) = story.heard[3].named("captured")
    (refined,) = story.heard[3].named("refined")
    _, _, after = early_and_late()
    assert captured == {"kind": TRACE, "records": len(after)}
    assert refined["events"] == len(after)


@pytest.mark.parametrize("kind", [MESSAGES, TRACE])
def test_every_record_is_in_bronze_once(story: Story, kind: str) -> None:
    assert_each_record_once(story.tables, story.spool, kind)


def test_late_events_and_one_of_far_in_the_future_leave_every_table_right(story: Story) -> None:
    assert story.heard[2].named("refined")[0]["last_minute"] > "2100"
    assert story.heard[3].named("refined")[0]["last_minute"] < "2100"
    # Of clocks, those that are known stay known; by the last hour of the trace nothing would be.
    assert_right(story.tables, story.trace, "problems")
    assert all(row["estimated"] for row in story.tables.rows(["clocks"])["clocks"])
    problems, wanted = (
        [row for row in tables["problems"] if row["kind"] != "clock_unknown"]
        for tables in (story.tables.rows(["problems"]), second_opinion(story.trace))
    )
    assert "publication_unknown" in {row["kind"] for row in problems}
    assert_same(problems, wanted, KEYS["problems"], name="problems")


def test_alerts_of_events_that_came_in_parts_are_there(story: Story) -> None:
    early, _, _ = early_and_late()
    assert second_opinion(early)["alerts"] == []
    found = {(row["kind"], row["node"]) for row in story.tables.rows(["alerts"])["alerts"]}
    assert found == {("censorship", "eve"), ("spam", "mallory")}


def test_messages_alone_are_something_new(spark: SparkSession, tmp_path: Path) -> None:
    spool = make_spool(tmp_path / "one, two" / "spool")  # a path may have a comma
    spool.messages(["news"] * 10)
    tables = OwnTables(spark, tmp_path / "tables")
    heard = tables.run(spool.folder, kinds=(MESSAGES,))
    assert [name for name, _ in heard.events] == ["ready", "captured"]


# ---- older than what bronze holds

HOURS = 3600.0


def test_events_older_than_what_bronze_holds_are_told_of_and_wipe_nothing(
    spark: SparkSession, tmp_path: Path
) -> None:
    spool, tables = make_spool(tmp_path / "spool"), OwnTables(spark, tmp_path / "tables")
    lake = tables.lake

    def refine(rows: list[Row]) -> Refined | None:
        """Without gold, which is made of silver."""
        write(spool, rows)
        Ingest(lake, TRACE, tables.parameters(spool.folder)).step()
        return Increment(lake, gold=Registry()).run()

    about = {"network": "other", "topic": "news", "message_id": b"other"}
    other = event(40, "zoe", "published", **about)
    trace = [*trace_rows(1), event(2.5 * HOURS, "ann", "subscribed", topic="later")]
    refine([*trace, other])
    removed = expire_rows(spark, lake.name(BRONZE_TRACE), BRONZE_TRACE, days=1 / 24)
    assert removed == len(trace)

    # A copy that came late, a clock that was never set, what lies too near to the border; and what
    # happens now, which alone counts.
    late = event(30, "ann", "delivered", topic="news", message_id=b"late", peer="bob")
    unset = event(-YEARS / 2, "bob", "unsubscribed", topic="news")
    near = event(1 * HOURS + 100, "bob", "subscribed", topic="news")
    now = event(2.6 * HOURS, "bob", "subscribed", topic="later")
    # It is about all publications of its network; bronze has no longer what they were made of.
    promise = event(2.6 * HOURS, "zoe", "network_opened", fields='{"all_subscribers":false}')
    done = refine([late, unset, near, now, {**promise, "network": "other"}])
    assert done is not None and (done.events, done.too_late) == (2, 3)
    silver = tables.rows(SILVER)
    assert [row["message_id"] for row in silver["publications"] if row["network"] == "other"]
    found = {
        name: [row for row in rows if row["network"] == "gossipsub"]
        for name, rows in silver.items()
    }
    assert_same_tables(found, second_opinion([*trace, now]), SILVER)

    # Nothing but such events: the ledger goes on, so they are not looked at again.
    write(spool, [late])
    heard = tables.run(spool.folder, kinds=(TRACE,))
    assert [name for name, _ in heard.events] == ["ready", "captured", "too_late"]
    assert heard.named("too_late") == [{"events": 1}]
    before = tables.snapshots()
    heard = tables.run(spool.folder, kinds=(TRACE,))
    assert [name for name, _ in heard.events] == ["ready", "unchanged"]
    assert tables.snapshots() == before


def test_a_commit_that_adds_nothing_is_looked_at_once(spark: SparkSession, tmp_path: Path) -> None:
    tables = OwnTables(spark, tmp_path / "tables")
    lake = tables.lake
    lake.append(BRONZE_TRACE, lake.read(BRONZE_TRACE), {})
    assert Increment(lake).run() is None
    (ledger,) = tables.rows(["batches"])["batches"]
    assert (ledger["snapshot"], ledger["batch"]) == (lake.snapshot(BRONZE_TRACE), 0)
    before = tables.snapshots()
    assert Increment(lake).run() is None
    assert tables.snapshots() == before


# ---- upkeep


def test_a_stream_looks_after_its_tables_and_not_again_before_an_hour_has_passed(
    spark: SparkSession, tmp_path: Path
) -> None:
    spool, tables = make_spool(tmp_path / "spool"), OwnTables(spark, tmp_path / "tables")
    heard, now, policy = Heard(), [0.0], Policy(snapshots=1, snapshot_hours=0.0)
    parameters = tables.parameters(
        spool.folder, interval=0.01, kinds=(MESSAGES,), rows_per_batch=10
    )
    runner = Runner(spark, parameters, heard, policy=policy, clock=lambda: now[0])
    thread = threading.Thread(target=runner.run)

    def records(count: int) -> None:
        """Two batches more."""
        spool.messages(["news"] * 20, first=count - 20)
        heard.wait_until(lambda: len(heard.named("captured")) >= count // 10)

    spool.messages([])
    thread.start()
    try:
        records(20)
        heard.wait_until(lambda: len(heard.named("upkeep")) == 1)
        now[0] = 3599.0
        records(40)
        records(60)
        assert len(heard.named("upkeep")) == 1
        now[0] = 3601.0
        heard.wait_until(lambda: len(heard.named("upkeep")) == 2)
    finally:
        runner.stop()
        thread.join(PATIENCE)
    assert not thread.is_alive()
    assert_each_record_once(tables, spool, MESSAGES)


@pytest.mark.parametrize("stopped", [False, True])
def test_upkeep_that_fails_is_tried_again_and_one_that_is_cancelled_ends_the_stream(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stopped: bool
) -> None:
    spool, tables = make_spool(tmp_path / "spool"), OwnTables(spark, tmp_path / "tables")
    parameters = tables.parameters(spool.folder, interval=0, kinds=(MESSAGES,))
    heard, calls = Heard(), list[int]()
    runner = Runner(spark, parameters, heard)

    def fails_once(*arguments: Any, **options: Any) -> None:
        calls.append(1)
        if stopped or len(calls) == 2:
            runner.stop()
        if len(calls) == 1:
            raise ConnectionError("a job was cancelled")

    monkeypatch.setattr(runner_module, "PAUSES", (0.0,))
    monkeypatch.setattr(runner_module, "upkeep_due", lambda *arguments: True)
    monkeypatch.setattr(runner_module, "upkeep", fails_once)
    runner.run()
    assert len(calls) == (1 if stopped else 2)
    assert len(heard.named("restarting")) == (0 if stopped else 1)


# ---- stopped


def test_a_stream_goes_on_reading_until_it_is_stopped(spark: SparkSession, tmp_path: Path) -> None:
    spool, tables = make_spool(tmp_path / "spool"), OwnTables(spark, tmp_path / "tables")
    spool.messages(["news"] * 100)
    heard = Heard()
    runner = Runner(spark, tables.parameters(spool.folder, interval=0.1, kinds=(MESSAGES,)), heard)
    thread = threading.Thread(target=runner.run)
    thread.start()
    try:
        for count in (100, 150):
            heard.wait_until(
                lambda count=count: (
                    sum(each["records"] for each in heard.named("captured"))  # type: ignore[misc]
                    == count
                )
            )
            if count < 150:
                spool.messages(["news"] * 50, first=count)
    finally:
        runner.stop()
        thread.join(PATIENCE)
    assert not thread.is_alive()
    assert_each_record_once(tables, spool, MESSAGES)


def test_a_refinement_that_was_stopped_is_made_by_the_next_run(
    spark: SparkSession, tmp_path: Path
) -> None:
    spool, tables = make_spool(tmp_path / "spool"), OwnTables(spark, tmp_path / "tables")
    rows = trace_rows(1)
    write(spool, rows)
    stopped: list[str] = []

    def tell(name: str, fields: dict[str, object]) -> None:
        if name == "stage" and fields["stage"] == "gold.links":
            stopped.append(name)
            runner.stop()

    runner = Runner(spark, tables.parameters(spool.folder, once=True, kinds=(TRACE,)), tell)
    runner.run()
    assert stopped
    assert "silver.batches" not in tables.snapshots() or not tables.rows(["batches"])["batches"]
    tables.run(spool.folder, kinds=(TRACE,))
    assert_each_record_once(tables, spool, TRACE)
    assert_right(tables, rows)


# ---- killed


class Ended(PipelineError):
    """Ends a run in the midst of its work, as if it was killed there: it is not tried again."""


STAGES = ("silver.counters", "silver.deliveries", "gold.alerts", "silver.mesh")
"""Tables before which a step ends: those beside it may be made by then, those after it are not."""


def test_a_step_that_ended_before_each_of_its_stages_leaves_every_table_right(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spool, tables = make_spool(tmp_path / "spool"), OwnTables(spark, tmp_path / "tables")
    early, late, after = early_and_late(2)
    write(spool, early)
    tables.run(spool.folder, kinds=(TRACE,))
    write(spool, [*late, *after])
    parameters = tables.parameters(spool.folder, once=True, kinds=(TRACE,))

    def end_before(stage: str) -> None:
        def tell(name: str, fields: dict[str, object]) -> None:
            if fields.get("stage") == stage:
                raise Ended(stage)

        with pytest.raises(Ended, match=stage):
            Runner(spark, parameters, tell).run()

    def end(increment: Increment, done: object) -> None:
        raise Ended("the ledger")

    for stage in STAGES:
        end_before(stage)
    with monkeypatch.context() as patch:
        patch.setattr(Increment, "_write_ledger", end)
        with pytest.raises(Ended, match="the ledger"):
            Runner(spark, parameters).run()
    assert [row["batch"] for row in tables.rows(["batches"])["batches"]] == [1]
    tables.run(spool.folder, kinds=(TRACE,))
    assert_each_record_once(tables, spool, TRACE)
    assert_right(tables, [*early, *late, *after])


@pytest.mark.timeout(600)
def test_after_kill_9_while_the_state_is_written_every_row_is_there_once_and_every_table_is_right(
    spark: SparkSession, tmp_path: Path
) -> None:
    spool, tables = make_spool(tmp_path / "spool"), OwnTables(spark, tmp_path / "tables")
    early, late, after = early_and_late(2)
    write(spool, early)
    tables.run(spool.folder, kinds=(TRACE,))
    write(spool, [*late, *after])
    state = {table.path for table in STATE}
    with PipelineProcess(
        "run", "--spool", spool.folder, "--tables", tables.folder, "--once", "--kind", "trace"
    ) as run:
        run.wait_until(lambda: any(each["stage"] in state for each in run.named("stage")))
        run.kill()
    assert not run.named("refined"), "it was killed too late"
    tables.run(spool.folder, kinds=(TRACE,))
    assert_each_record_once(tables, spool, TRACE)
    assert_right(tables, [*early, *late, *after])


# ---- spoilt


class Interrupted(BaseException):
    """What a test puts in the place of ``kill -9``."""


def loses_rows(patch: pytest.MonkeyPatch) -> None:
    """Of each batch, three records in four are written."""
    patch.setattr(Ingest, "_as_stored", lambda self, rows: rows.where("`offset` % 4 > 0"))


def test_a_batch_that_lacks_rows_is_an_error_and_does_not_stay(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spool, tables = make_spool(tmp_path / "spool"), OwnTables(spark, tmp_path / "tables")
    for first in (0, 40):  # the first batch of a table has none before it to go back to
        spool.messages(["news"] * 40, first=first)
        with monkeypatch.context() as patch:
            loses_rows(patch)
            with pytest.raises(PipelineError, match="40 records were planned, but 30 written"):
                tables.run(spool.folder, kinds=(MESSAGES,))
        assert len(captured(tables, MESSAGES)) == first
        tables.run(spool.folder, kinds=(MESSAGES,))
        assert_each_record_once(tables, spool, MESSAGES)


def test_a_batch_that_lacks_rows_is_found_by_the_next_run_if_the_driver_was_killed(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spool, tables = make_spool(tmp_path / "spool"), OwnTables(spark, tmp_path / "tables")
    spool.messages(["news"] * 10)
    tables.run(spool.folder, kinds=(MESSAGES,))
    spool.messages(["news"] * 40, first=10)
    real = Lake.append

    def killed(self: Lake, *arguments: Any) -> None:
        real(self, *arguments)
        raise Interrupted

    with monkeypatch.context() as patch:
        loses_rows(patch)
        patch.setattr(Lake, "append", killed)
        with pytest.raises(Interrupted):
            tables.run(spool.folder, kinds=(MESSAGES,))
    spark.sql(
        f"delete from {tables.lake.name(BRONZE_MESSAGES)} where `offset` < 0"
    )  # a commit more
    with pytest.raises(PipelineError, match="40 records were planned, but 30 written"):
        tables.run(spool.folder, kinds=(MESSAGES,))
    tables.run(spool.folder, kinds=(MESSAGES,))
    assert_each_record_once(tables, spool, MESSAGES)


def test_a_failure_after_a_commit_adds_no_row_twice(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spool, tables = make_spool(tmp_path / "spool"), OwnTables(spark, tmp_path / "tables")
    spool.messages(["news"] * 40)
    monkeypatch.setattr(runner_module, "PAUSES", (0.0,))
    real, failed = Lake.append, list[str]()

    def fails_once(self: Lake, *arguments: Any) -> None:
        real(self, *arguments)
        if not failed:
            failed.append("the answer to the commit was lost")
            raise ConnectionError(failed[0])

    monkeypatch.setattr(Lake, "append", fails_once)
    heard = tables.run(spool.folder, kinds=(MESSAGES,), rows_per_batch=20)
    assert [each["reason"] for each in heard.named("restarting")] == failed
    assert_each_record_once(tables, spool, MESSAGES)


def test_a_second_runner_is_an_error_of_the_first(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spool, tables = make_spool(tmp_path / "spool"), OwnTables(spark, tmp_path / "tables")
    spool.messages(["news"] * 10)
    real = Lake.append

    def two(self: Lake, table: Table, rows: DataFrame, told: dict[str, str]) -> None:
        real(self, table, rows, told)
        real(self, table, rows, properties(2, "{}"))

    monkeypatch.setattr(Lake, "append", two)
    with pytest.raises(PipelineError, match="is there a second runner"):
        tables.run(spool.folder, kinds=(MESSAGES,))


def test_where_records_may_be_skipped_those_that_were_not_written_are_counted(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spool, tables = make_spool(tmp_path / "spool"), OwnTables(spark, tmp_path / "tables")
    spool.messages(["news"] * 40)
    loses_rows(monkeypatch)
    heard = tables.run(spool.folder, kinds=(MESSAGES,), fail_on_data_loss=False)
    assert heard.named("skipped") == [{"kind": MESSAGES, "offsets": 10}]
    again = tables.run(spool.folder, kinds=(MESSAGES,), fail_on_data_loss=False)
    assert [name for name, _ in again.events] == ["ready", "unchanged"]


def test_a_spoilt_segment_is_named_and_skipped_only_if_asked_to(
    spark: SparkSession, tmp_path: Path
) -> None:
    spool = make_spool(tmp_path / "spool", segment_bytes=4096)
    spool.messages(["news"] * 400)
    spoilt = spool.segments()[2]
    content = bytearray(spoilt.read_bytes())
    content[len(content) // 2] ^= 0x55
    spoilt.write_bytes(content)
    tables = OwnTables(spark, tmp_path / "tables")
    with pytest.raises(Exception, match=spoilt.name):
        tables.run(spool.folder, kinds=(MESSAGES,))
    assert captured(tables, MESSAGES) == []
    heard = tables.run(spool.folder, kinds=(MESSAGES,), fail_on_data_loss=False)
    offsets = [row["offset"] for row in captured(tables, MESSAGES)]
    (skipped,) = heard.named("skipped")
    assert len(set(offsets)) == len(offsets) == 400 - skipped["offsets"]
    assert 0 < skipped["offsets"] <= 400 // len(spool.segments()) * 2


def test_a_spool_that_is_not_there_is_one_sentence(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(RumormillError) as caught:
        OwnTables(spark, tmp_path / "tables").run(tmp_path / "nowhere")
    assert "nowhere" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        ({"kinds": ("nonsense",)}, "kinds: must be among messages, trace, not 'nonsense'"),
        ({"margin": 0}, "margin"),
        ({"spools": ()}, "spools: name a spool's folder"),
    ],
)
def test_wrong_parameters_are_named(wrong: dict[str, Any], problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        RunParameters(**{"spools": ("x",), "tables": "t", **wrong})

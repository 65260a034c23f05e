"""``rumormill pipeline``: what is wrong with a command is said before Spark takes its time."""

from __future__ import annotations

import io
import json
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from unittest.mock import MagicMock

import pytest

from rumormill.cli import main
from rumormill.cli import pipeline as command
from tests.helpers.capture.spools import make_spool
from tests.helpers.ports import own_port

pytest.importorskip("pyspark")
RUN = ["pipeline", "run", "--spool", "spool", "--tables"]


@pytest.fixture(autouse=True)
def no_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test here gets as far as that."""

    def start(*arguments: object, **settings: object) -> None:
        raise AssertionError("Spark was started")

    monkeypatch.setattr("rumormill.pipeline.session.spark_session", start)


def refusal(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    """The exit code, and the one sentence on stderr."""
    code = main(arguments)
    (sentence,) = capsys.readouterr().err.splitlines()
    return code, sentence


@pytest.mark.parametrize("words", [RUN, ["pipeline", "upkeep", "--tables"]])
@pytest.mark.parametrize(
    ("tables", "problem"),
    [
        ("s3:///path", "names no bucket"),
        ("catalog:a.b.c", "catalog:NAME"),
        ("", "needs a folder"),
        ("hdfs:path", "not a URI"),
    ],
)
def test_tables_that_can_be_nowhere_are_refused(
    words: list[str], tables: str, problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, sentence = refusal(capsys, *words, tables)
    assert code == 2
    assert "--tables" in sentence and problem in sentence


@pytest.mark.parametrize("words", [RUN, ["pipeline", "upkeep", "--tables"]])
def test_tables_of_an_older_rumormill_are_refused(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "tables.json").write_text(json.dumps({"format": 1}))
    code, sentence = refusal(capsys, *words, str(tmp_path))
    assert code == 2
    assert "holds tables of an older rumormill" in sentence
    assert "--tables NEWFOLDER" in sentence


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["--kind", "nonsense"], "--kind"),
        (["--conf", "spark.driver.memory"], "--conf"),
        (["--margin", "-1"], "--margin"),
        (["--batch", "0"], "--batch"),
        (["--keep-days", "-1"], "--keep-days"),
    ],
)
def test_a_wrong_option_is_named(
    arguments: list[str], word: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, sentence = refusal(capsys, *RUN, str(tmp_path), *arguments)
    assert code == 2
    assert word in sentence


def test_a_module_that_is_not_there_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, sentence = refusal(capsys, *RUN, str(tmp_path), "--gold", "nowhere_at_all")
    assert code == 2
    assert "--gold" in sentence and "nowhere_at_all cannot be imported" in sentence


def test_a_spool_that_is_not_there_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spool, tables = str(tmp_path / "nowhere"), str(tmp_path / "tables")
    arguments = ("pipeline", "run", "--spool", spool, "--tables", tables, "--once")
    code, sentence = refusal(capsys, *arguments)
    assert code == 1
    assert spool in sentence


def test_a_node_that_is_not_there_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "PATIENCE", 0.1)
    node, tables = f"http://127.0.0.1:{own_port()}", str(tmp_path / "tables")
    arguments = ("pipeline", "run", "--spool", node, "--tables", tables, "--once")
    code, sentence = refusal(capsys, *arguments)
    assert code == 1
    assert node in sentence and "the node is away" in sentence


def test_java_is_set_up_for_as_many_records_as_the_spools_have(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from rumormill.pipeline.run import pace
    from rumormill.pipeline.run.parameters import RunParameters
    from rumormill.pipeline.session import BRIEF, THROUGHPUT

    spool = make_spool(tmp_path / "spool")
    spool.messages(["news"] * 30)
    spool.events(["delivered"] * 20)
    monkeypatch.setattr(command, "FEW_RECORDS", 51)
    once = RunParameters(spools=(str(spool.folder),), tables="tables", once=True)
    stream = RunParameters(spools=(str(spool.folder),), tables="tables")
    assert command.quick_settings(once) == {**BRIEF, **pace.QUICK}
    assert command.quick_settings(stream) == THROUGHPUT
    monkeypatch.setattr(pace, "FEW_ROWS", 50)
    assert command.quick_settings(once) == BRIEF
    spool.messages(["news"], first=30)
    assert command.quick_settings(once) == THROUGHPUT


@pytest.mark.parametrize("as_json", [False, True])
def test_the_file_that_knows_the_tables_on_s3_is_named(
    as_json: bool,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class NoRunner:
        def __init__(self, *arguments: object) -> None: ...

        def stop(self) -> None: ...

        def run(self) -> None: ...

    def no_spark(*arguments: object) -> None:
        work = arguments[-1]
        assert callable(work)
        work(MagicMock(), lambda stop: None)

    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setattr("rumormill.pipeline.run.runner.Runner", NoRunner)
    monkeypatch.setattr(command, "with_spark", no_spark)
    assert main([*RUN, "s3://bucket/path", *(["--json"] if as_json else [])]) == 0
    said = capsys.readouterr()
    file = f"{tmp_path}/rumormill/catalogs/bucket-path-"
    if as_json:
        (event,) = map(json.loads, said.out.splitlines())
        assert event["event"] == "catalog" and event["file"].startswith(file)
    else:
        assert f"which tables there are stands in {file}" in said.err


def test_what_several_threads_tell_at_once_is_a_line_each(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Slow(io.StringIO):
        def write(self, text: str) -> int:
            time.sleep(0.001)  # another thread's turn
            return super().write(text)

    out = Slow()
    monkeypatch.setattr("sys.stdout", out)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda at: command.tell_json("stage", {"stage": str(at)}), range(64)))
    told = [json.loads(line)["stage"] for line in out.getvalue().splitlines()]
    assert sorted(told, key=int) == [str(at) for at in range(64)]


def test_without_a_command_the_help_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pipeline"]) == 0
    printed = capsys.readouterr().out
    assert "run" in printed and "upkeep" in printed


@pytest.mark.parametrize("name", ["run", "upkeep"])
def test_every_command_has_an_example(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pipeline", name, "--help"]) == 0
    assert f"Example: rumormill pipeline {name} --" in capsys.readouterr().out


def test_events_that_came_too_late_are_told_of_in_a_sentence(
    capsys: pytest.CaptureFixture[str],
) -> None:
    command.tell_people("too_late", {"events": 1234})
    (sentence,) = capsys.readouterr().err.splitlines()
    assert "1,234 trace events are older" in sentence and "not in silver and gold" in sentence

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path

import pytest

from rumormill.cli import main, report
from rumormill.cli.report import ReadingLine
from tests.helpers.report.gold_tables import HOSTILE, Run, make_lake, story
from tests.helpers.report.lake_on_disk import write_lake


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    code = main(["report", *map(str, arguments)])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_it_prints_the_report(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, out, err = run(capsys, "--tables", make_lake(tmp_path))
    assert (code, err) == (0, "")
    assert "Every message reached every peer that was subscribed." in out


def test_json_is_one_line_and_harmless_to_a_terminal(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    code, out, _ = run(capsys, "--tables", make_lake(tmp_path, Run(topics=HOSTILE)), "--json")
    assert code == 0
    assert out.count("\n") == 1 and out[:-1].isprintable()
    assert set(json.loads(out)["topics"]) == set(HOSTILE)


def test_the_page_replaces_an_older_one_as_a_whole(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    tables, page = make_lake(tmp_path / "tables"), tmp_path / "report.html"
    page.write_text("old")
    code, out, _ = run(capsys, "--tables", tables, "--html", page)
    assert code == 0 and str(page) in out
    assert page.read_text().startswith("<!doctype html>")
    assert sorted(it.name for it in tmp_path.iterdir()) == ["report.html", "tables"]


def test_two_runs_are_compared(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    this, other = make_lake(tmp_path / "a"), make_lake(tmp_path / "b", Run(seed=2))
    _, text, _ = run(capsys, "--tables", this, "--compare", other)
    assert "latency p99" in text and "times" in text
    _, out, _ = run(capsys, "--tables", this, "--compare", other, "--json")
    assert json.loads(out)["compare"]["other"]["verdict"]


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--tables", "nowhere"], 1, "nowhere: there is no such folder."),
        ([], 2, "Missing option '--tables'"),
        (["--tables", "tables", "--json", "--html", "x.html"], 2, "exclude each other"),
        (["--tables", "tables", "--json", "--csv", "x"], 2, "exclude each other"),
        (["--tables", "old"], 2, "holds tables of an older rumormill"),
        (["--tables", "empty"], 1, "empty holds no gold tables: 'rumormill pipeline run"),
        (["--tables", "tables", "--html", "nowhere/x.html"], 1, "nowhere/x.html: no such file"),
        (["--tables", "tables", "--compare", "nowhere"], 1, "nowhere: there is no such folder."),
    ],
)
def test_what_cannot_be_is_one_sentence(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    arguments: list[str], code: int, words: str,
) -> None:  # fmt: skip
    make_lake(tmp_path / "tables")
    (tmp_path / "old" / "bronze" / "trace" / "batch_id=0").mkdir(parents=True)
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path)
    result, out, err = run(capsys, *arguments)
    assert (result, out) == (code, "")
    assert err.startswith("rumormill: ") and words in err and err.count("\n") == 1


def test_without_pyiceberg_the_extra_is_named(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rumormill.system.packages.find_spec", lambda name: None)
    code, _, err = run(capsys, "--tables", tmp_path)
    assert code == 2 and "pip install 'rumormill[report]'" in err


def test_neither_spark_nor_java_is_needed(tmp_path: Path) -> None:
    program = (
        "import sys; from rumormill.cli import main; code = main(sys.argv[1:]);"
        "sys.exit(code or 'pyspark' in sys.modules)"
    )
    tables = make_lake(tmp_path)
    done = subprocess.run(
        [sys.executable, "-c", program, "report", "--tables", str(tables), "--json"],
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["problems"] == []


def test_reading_that_takes_long_says_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "SOON", 0.0)
    with ReadingLine() as line:
        line._console._force_terminal = True
        line("gold.topics", 3, 14)
        assert line._status is not None
        assert "3 of 14, last gold.topics" in str(line._status.status)


def test_each_gold_table_is_a_csv_file(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    tables = write_lake(tmp_path / "tables", story())
    code, out, _ = run(capsys, "--tables", tables, "--csv", tmp_path / "csv")
    assert code == 0 and "17 tables are written" in out
    with (tmp_path / "csv" / "topics.csv").open() as file:
        rows = list(csv.DictReader(file))
    whole = {row["topic"]: row for row in rows if not row["minute"]}
    assert {topic: row["published"] for topic, row in whole.items()} == {
        "weather": "72", "news": "72", "prices": "72", "jobs": "72",
    }  # fmt: skip
    with (tmp_path / "csv" / "slowest.csv").open() as file:
        slow = next(csv.DictReader(file))
    assert bytes.fromhex(slow["message_id"]).startswith(b"weather-")
    assert len(json.loads(slow["tree"])) == int(slow["reached"])


def test_a_topic_and_a_network_can_be_asked_for(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    tables = write_lake(tmp_path, story())
    _, out, _ = run(capsys, "--tables", tables, "--topic", "news", "--topic", "jobs", "--json")
    assert set(json.loads(out)["topics"]) == {"news", "jobs"}
    _, out, _ = run(capsys, "--tables", tables, "--network", "bep50", "--json")
    assert set(json.loads(out)["topics"]) == {"prices"}

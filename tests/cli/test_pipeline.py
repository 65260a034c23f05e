"""``rumormill pipeline``: what is wrong with a command is said before Spark takes its time."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rumormill.cli import main

pytest.importorskip("pyspark")
RUN = ["pipeline", "run", "--spool", "spool", "--tables"]


def refusal(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    """The exit code, and the one sentence on stderr."""
    code = main(arguments)
    (sentence,) = capsys.readouterr().err.splitlines()
    return code, sentence


def test_tables_of_a_newer_rumormill_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "tables.json").write_text(json.dumps({"format": 99}))
    code, sentence = refusal(capsys, *RUN, str(tmp_path))
    assert code == 1
    assert sentence.startswith(f"rumormill: {tmp_path}: these tables have format 99")


def test_a_folder_that_is_none_of_ours_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "letters.txt").touch()
    code, sentence = refusal(capsys, *RUN, str(tmp_path))
    assert code == 1
    assert "no tables of rumormill's" in sentence


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["--kind", "nonsense"], "--kind"),
        (["--conf", "spark.driver.memory"], "--conf"),
        (["--delay", "-1"], "--delay"),
        (["--batch", "0"], "--batch"),
    ],
)
def test_a_wrong_option_is_named(
    arguments: list[str], word: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, sentence = refusal(capsys, *RUN, str(tmp_path), *arguments)
    assert code == 2
    assert word in sentence


def test_compacting_what_is_not_there_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, sentence = refusal(capsys, "pipeline", "compact", "--tables", str(tmp_path / "nowhere"))
    assert code == 1
    assert "there is no such folder" in sentence


def test_without_a_command_the_help_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pipeline"]) == 0
    printed = capsys.readouterr().out
    assert "run" in printed and "compact" in printed

"""``rumormill attack``: a table of what came of each attack, lines of JSON, and a spool."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rumormill.capture.open import open_log
from rumormill.cli import main

TINY = ("--nodes", "5", "--sybils", "2")


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(["attack", *arguments, *TINY])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_a_table_with_a_verdict_for_each(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "calm", "graft-flood")
    assert code == 0
    head, _, *rows = [line.split() for line in out.splitlines() if line.strip()]
    assert head[0] == "attack"
    assert head[-1] == "verdict"
    assert [row[0] for row in rows] == ["calm", "graft"]
    assert all(row[-1] == "pass" for row in rows)


def test_what_fell_short_is_told_and_is_the_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "graft-flood", "--no-score")
    assert code == 1
    assert "FAIL" in out
    assert "graft flood: the attackers' median score is 0, not below -80" in out


def test_programs_get_a_line_for_each(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "calm", "--json", "--seed", "5")
    (line,) = map(json.loads, out.splitlines())
    assert code == 0
    assert (line["event"], line["attack"], line["delivered"], line["passed"]) == (
        "attack", "calm", 1.0, True,
    )  # fmt: skip


def test_an_attack_that_there_is_not(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "warm-boot")
    assert (code, out) == (2, "")
    assert "cold boot" in err
    assert len(err.strip().splitlines()) == 1


def test_the_spool_has_each_attack_as_a_network_one_after_the_other(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    code, _, _ = run(capsys, "calm", "invalid-messages", "--spool", str(tmp_path / "spool"))
    assert code == 0
    log = open_log(tmp_path / "spool", "trace")
    batches = log.read(log.bounds().earliest, log.bounds().latest)
    rows = [row for _, batch in batches for row in batch.to_pylist()]
    networks = {row["network"] for row in rows}
    assert networks == {"attack/calm", "attack/invalid-messages"}
    calm = [row["time"] for row in rows if row["network"] == "attack/calm"]
    later = [row["time"] for row in rows if row["network"] != "attack/calm"]
    assert max(calm) < min(later)
    rejected = {row["network"] for row in rows if row["event"] == "rejected"}
    assert rejected == {"attack/invalid-messages"}

"""``rumormill attack``: a table of what came of each attack, lines of JSON, and a spool."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from rumormill.capture.open import open_log
from rumormill.cli import main

TINY = ("--nodes", "5", "--sybils", "2")


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(["attack", *arguments, *TINY])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def rows_in(spool: Path) -> list[dict[str, Any]]:
    log = open_log(spool, "trace")
    batches = log.read(log.bounds().earliest, log.bounds().latest)
    return [row for _, batch in batches for row in batch.to_pylist()]


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
    rows = rows_in(tmp_path / "spool")
    networks = {row["network"] for row in rows}
    assert networks == {"attack/calm", "attack/invalid-messages"}
    calm = [row["time"] for row in rows if row["network"] == "attack/calm"]
    later = [row["time"] for row in rows if row["network"] != "attack/calm"]
    assert max(calm) < min(later)
    rejected = {row["network"] for row in rows if row["event"] == "rejected"}
    assert rejected == {"attack/invalid-messages"}


def test_several_seeds_are_one_row_with_the_worst_of_them(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, out, _ = run(capsys, "calm", "graft-flood", "--seeds", "1-2,5")
    assert code == 0
    head, _, *rows = [re.split(r" {2,}", line.strip()) for line in out.splitlines() if line]
    assert {"least delivered", "worst p99", "most in meshes"} <= set(head)
    assert [row[head.index("held")] for row in rows] == ["3 of 3", "3 of 3"]


def test_of_several_seeds_each_failure_names_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "graft-flood", "--no-score", "--seeds", "3,4")
    assert code == 1
    assert "0 of 2" in out
    for seed in (3, 4):
        assert f"graft flood: seed {seed}: the attackers' median score is 0" in out


def test_programs_get_a_line_for_each_seed_and_the_spool_a_network(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    spool = tmp_path / "spool"
    _, out, _ = run(capsys, "calm", "--json", "--seeds", "7,8", "--spool", str(spool))
    assert [json.loads(line)["seed"] for line in out.splitlines()] == [7, 8]
    assert {row["network"] for row in rows_in(spool)} == {"attack/calm/7", "attack/calm/8"}


@pytest.mark.parametrize("seeds", ["", "x", "1-", "5-1", "1-2000", "-3"])
def test_seeds_that_are_none_are_told_in_a_sentence(
    capsys: pytest.CaptureFixture[str], seeds: str
) -> None:
    code, out, err = run(capsys, "calm", f"--seeds={seeds}")
    assert (code, out) == (2, "")
    assert err.startswith(f"rumormill: --seeds {seeds}: must be")
    assert len(err.strip().splitlines()) == 1


def test_a_flood_is_summed_up_in_the_spool_and_its_number_is_kept(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    spool = tmp_path / "spool"
    run(capsys, "graft-flood", "--spool", str(spool))
    ignored = [row for row in rows_in(spool) if row["reason"] == "gate_closed"]
    counted = sum(row["count"] or 1 for row in ignored)
    assert {row["peer"] for row in ignored} == {"sybil0000", "sybil0001"}
    assert counted > 1.5 * len(ignored)

"""The benchmark of the bcos family: its arithmetic, and that the bare path loses nothing."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bench.bcos.bare_lines import LINES
from bench.bcos.path_bench import PATHS, Measured, PathPlan, count_for, ratios, results
from bench.bcos.paths import CASES, HOPS, Sample, bare_path, sample_of
from bench.bcos.tables import bcos_goals, bcos_tables
from bench.bcos.wiretap import RecordCounter, Traffic
from rumormill.bcos.live.chain_folder import extend_chain

ROOT = Path(__file__).parents[2]
PATIENCE = 240
"""Seconds for what takes half a minute on an idle machine."""


def sample(per_second: float, cpu: float, received: int = 100) -> Sample:
    done = {"count": received, "seconds": 100 / per_second, "p50_us": 10.0, "p99_us": 20.0}
    return sample_of(100, done, dict.fromkeys(HOPS, cpu / len(HOPS) / 1e6 * 100))


@pytest.mark.timeout(PATIENCE + 60)
def test_a_quick_run_loses_nothing_and_writes_its_tables(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "bench", "bcos", "--quick", "--json"]
    done = subprocess.run(
        [*command, "--output", str(tmp_path)],
        cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    part = json.loads(done.stdout)["bcos"]
    assert part["paths"]["failed_rounds"] == []
    assert [(row["case"], row["path"]) for row in part["paths"]["rows"]] == [
        (case.name, path) for case in CASES for path in PATHS
    ]
    for row in part["paths"]["rows"]:
        assert row["lost"] == 0
        assert row["per_second"]["median"] > 0
    for row in part["sync"]["rows"]:
        assert row["missing"] == ""
        # A seq, the question and the changes; and the heartbeats that came between.
        assert row["single"]["packets"] >= 3 * part["sync"]["changes"]
        assert row["quiet"]["packets"] >= 1
    page = (tmp_path / "latest.md").read_text()
    assert "| unicast, 64 in flight | ours / bare |" in page
    assert "at most twice (2.00)" in page


# ---- arithmetic


def test_a_sample_is_counted_by_message() -> None:
    done = {"count": 200, "seconds": 0.5, "p50_us": 1.0, "p99_us": 2.0}
    found = sample_of(200, done, {"publisher": 0.002, "subscriber": 0.001})
    assert found["per_second"] == 400.0
    assert found["hops_us"] == pytest.approx({"publisher": 10.0, "subscriber": 5.0})
    assert found["cpu_us"] == pytest.approx(15.0)


def test_ratios_are_those_within_a_round_and_not_those_of_different_rounds() -> None:
    # The machine is four times as slow in the second round, for both: the ratio is the same.
    ours = [sample(1000, 300), sample(250, 1200), sample(1000, 360)]
    bare = [sample(2000, 200), sample(500, 800), sample(2000, 200)]
    found = ratios(ours, bare)
    assert found["time"] == pytest.approx({"best": 2.0, "median": 2.0})
    assert found["cpu"] == pytest.approx({"best": 1.5, "median": 1.5})
    assert found["hops"]["subscriber"]["median"] == pytest.approx(1.5)


def test_counts_are_multiples_of_what_the_subscriber_says_at_once() -> None:
    plan = PathPlan(seconds=2.0, fewest=320, most=10_000)
    assert count_for(1003.7, plan) == 2000
    assert count_for(1.0, plan) == 320
    assert count_for(1e9, plan) == 10_000


def test_records_are_found_wherever_the_stream_is_cut() -> None:
    record = bytes.fromhex("17 0303 0028") + bytes(0x28)
    handshake = bytes.fromhex("16 0303 0003") + bytes(3)
    stream = handshake + record * 3
    for size in (1, 2, 7, 50, len(stream)):
        counter = RecordCounter()
        for start in range(0, len(stream), size):
            counter.feed(stream[start : start + size])
        assert counter.traffic == Traffic(3, 3 * 16)


# ---- tables and goals


def part(measured: Measured, many: dict[str, Any]) -> dict[str, Any]:
    few = {
        "topics": 100,
        "missing": "",
        "joining": {"bytes": 2000, "packets": 3},
        "single": {"bytes": 500, "packets": 15},
        "burst": {"bytes": 300, "packets": 3},
        "quiet": {"bytes": 80, "packets": 4},
        "cpu_us_per_change": 90.0,
        "idle_cpu": 0.01,
    }
    sync = {"sdks": 100, "changes": 5, "quiet_seconds": 10.0, "rows": [few, few | many]}
    return {"paths": results(2, measured), "sync": sync}


def measured_with(ours_cpu: float) -> Measured:
    measured = Measured()
    for case in CASES:
        measured.samples["ours", case] = [sample(1000, ours_cpu), sample(1100, ours_cpu)]
        measured.samples["bare-loop", case] = [sample(2000, 200), sample(2200, 200)]
        measured.samples["bare-own", case] = [sample(4000, 100), sample(4400, 100)]
    return measured


def test_each_case_has_all_paths_their_ratios_and_the_share_of_the_cheapest() -> None:
    found = part(measured_with(300.0), {"topics": 10_000})
    paths, sync = bcos_tables(found)
    assert [line[1] for line in paths.lines[:6]] == [
        "bare", "bare, cheapest", "ours", "ours / bare", "ours / bare, cheapest",
        "TLS and syscalls",
    ]  # fmt: skip
    assert len(paths.lines) == 6 * len(CASES)
    assert [line[2] for line in paths.lines[3:5]] == ["0.50", "0.25"]
    assert paths.lines[5][5:] == ["33%"] * 5
    assert sync.lines[1][3:5] == ["100", "3.00"]
    assert sync.lines[1][7:9] == ["480", "24.0"]
    for table in (paths, sync):
        assert {len(line) for line in table.lines} == {len(table.headings)}


def test_goals_say_whether_twice_the_bare_path_was_kept() -> None:
    goals = {goal.subject: goal.verdict for goal in bcos_goals(part(measured_with(500.0), {}))}
    case = CASES[0].name
    assert goals[f"{case}, time, ours / bare"] == "reached, exactly"
    assert goals[f"{case}, CPU of all four hops, ours / bare"] == "not reached, 25.0% above"
    assert goals[f"{case}, time, ours / bare, cheapest"] == "not reached, 100.0% above"


def test_traffic_that_grows_with_all_topics_does_not_reach_its_goal() -> None:
    many = {
        "topics": 10_000,
        "single": {"bytes": 50_000, "packets": 15},
        "quiet": {"bytes": 100_000, "packets": 4},
    }
    goals = {goal.subject: goal.verdict for goal in bcos_goals(part(measured_with(300.0), many))}
    assert goals["one changed topic of 10,000, traffic"].startswith("not reached")
    assert goals["5 changes at once of 10,000 topics, traffic"].startswith("reached")
    assert goals["nothing changes of 10,000 topics, traffic in 5 s"].startswith("not reached")


def test_what_could_not_be_measured_is_said_with_its_reason() -> None:
    measured = Measured()
    measured.failures.append("round 1: our publisher ended: no certificate")
    found = part(measured, {"topics": 10_000, "missing": "the crowd said nothing"})
    paths, sync = bcos_tables(found)
    assert [line[1] for line in paths.lines] == ["missing: see below"] * len(CASES)
    assert "Failed: round 1: our publisher ended: no certificate" in paths.notes
    assert sync.lines[1][1] == "missing: the crowd said nothing"
    verdicts = [goal.verdict for goal in bcos_goals(found)]
    assert verdicts[0] == "cannot be said: round 1: our publisher ended: no certificate"
    assert verdicts[-1].startswith("cannot be said: with 10,000 topics: the crowd said nothing")


# ---- the bare path


@pytest.mark.timeout(120)
@pytest.mark.parametrize("tls", LINES)
async def test_the_bare_path_loses_nothing(tls: str, tmp_path: Path) -> None:
    extend_chain(tmp_path / "chain", nodes=2, sdks=2, topic_keys=0)
    async with bare_path(tls, tmp_path / "chain", tmp_path) as path:
        for case in CASES:
            for count in (160, 320):
                found = await path.measure(case, count)
                assert found["sent"] == found["received"] == count
                assert found["p99_us"] >= found["p50_us"] > 0

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from rumormill.cli.demo import analysis_for
from rumormill.cli.demo.plan import plan_demo
from rumormill.core.errors import ConfigError

Start = Callable[..., Any]
SMALL = ("demo", "--no-overlay", "--no-spark", "--nodes", "4", "--messages", "60", "--rate", "20")
ANALYSED = ("demo", "--no-overlay", "--nodes", "4", "--messages", "60", "--rate", "20")


def workers_of(demo: Any) -> list[psutil.Process]:
    return psutil.Process(demo.process.pid).children(recursive=True)


def workers_by_node(demo: Any) -> dict[int, psutil.Process]:
    nodes = demo.event("ready")["nodes"]
    return {node["node"]: psutil.Process(node["pid"]) for node in nodes}


def gone(processes: list[psutil.Process]) -> bool:
    _, alive = psutil.wait_procs(processes, timeout=10)
    return not alive


@pytest.mark.parametrize("network", ["gossipsub", "floodsub"])
def test_a_small_demo_delivers_everything_and_what_it_prints_adds_up(
    start: Start, network: str
) -> None:
    demo = start(*SMALL, "--network", network, "--json")
    ready = demo.event("ready")
    workers = workers_of(demo)
    assert len(ready["addresses"]) == len(ready["nodes"]) == len(workers) == 4
    assert demo.end() == 0
    assert gone(workers)

    events = [json.loads(line) for line in demo.rest]
    stages = [event["text"] for event in events if event["event"] == "stage"]
    assert any("killed with SIGKILL" in text for text in stages)
    assert any("is back in the mesh" in text for text in stages)

    rows = [event for event in events if event["event"] == "node"]
    (total,) = [event for event in events if event["event"] == "total"]
    (verdict,) = [event for event in events if event["event"] == "verdict"]
    assert verdict["ok"] is True
    assert total["published"] == sum(row["published"] for row in rows) == 60
    assert total["expected"] == total["delivered"] == sum(row["delivered"] for row in rows)
    assert [row["ratio"] for row in rows] == [1.0] * 4
    assert [row["degree"] for row in rows] == [3] * 4  # before the first of them left
    (killed,) = [row for row in rows if row["away"]]
    assert killed["expected"] + killed["away"] + killed["in_doubt"] == 60
    assert killed["expected"] > 0
    others = [row for row in rows if row is not killed]
    assert all(row["expected"] + row["published"] == 60 for row in others)
    assert all(0 < row["latency"]["p50"] <= row["latency"]["p99"] < 5 for row in rows)


def test_a_node_that_ends_by_itself_ends_the_demo_with_a_sentence(start: Start) -> None:
    demo = start(*SMALL, "--json")
    workers = workers_by_node(demo)
    while "publishing" not in demo.event("stage")["text"]:
        pass
    os.kill(workers[0].pid, signal.SIGKILL)
    assert demo.end() == 1
    assert "node 0 ended" in demo.sentence
    assert gone(list(workers.values()))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_leaves_no_process_behind(start: Start, number: signal.Signals) -> None:
    demo = start(*SMALL, "--json")
    workers = workers_by_node(demo)
    demo.signal(number)
    assert demo.end() == 130
    assert gone(list(workers.values()))
    assert "interrupted" in demo.errors[-1]


def test_workers_do_not_outlive_a_demo_that_was_killed(start: Start) -> None:
    demo = start(*SMALL, "--json")
    workers = workers_by_node(demo)
    demo.process.kill()
    assert gone(list(workers.values()))


def test_without_a_terminal_the_stages_are_plain_lines_and_the_table_is_on_stdout(
    start: Start,
) -> None:
    demo = start(
        "demo", "--no-overlay", "--no-spark", "--nodes", "3", "--messages", "20", "--rate", "20"
    )
    assert demo.end() == 0
    assert any("starting 3 processes" in line for line in demo.errors)
    assert any("killed with SIGKILL" in line for line in demo.errors)
    assert all(line.isprintable() for line in [*demo.errors, *demo.rest])
    assert any(line.startswith("all ") for line in demo.rest)
    assert "Every message reached every node that was there" in " ".join(demo.rest)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.usefixtures("java")
def test_spark_reads_along_and_counts_what_the_nodes_told(start: Start, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    demo = start(*ANALYSED, "--json", "--html", str(page))
    processes = psutil.Process(demo.process.pid).children(recursive=True)
    assert demo.end(timeout=570) == 0, demo.sentence
    assert gone(processes)
    events = [json.loads(line) for line in demo.rest]
    (report,) = [event for event in events if event["event"] == "report"]
    (total,) = [event for event in events if event["event"] == "total"]
    (verdict,) = [event for event in events if event["event"] == "verdict"]
    (topic,) = report["topics"].values()
    assert topic["published"] == total["published"] == 60
    # The killed node may have died with a message in its hands that it was there for.
    assert topic["ratio"] > 0.9
    assert len(report["peers"]) == 4
    assert verdict["ok"] is True and "Spark counted the same" in verdict["text"]
    assert "<svg" in page.read_text()


def test_without_java_the_demo_does_without_spark_and_says_why(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def no_java() -> Path:
        raise ConfigError("JAVA_HOME", "there is no Java on this machine")

    monkeypatch.setattr("rumormill.pipeline.java.java_home", no_java)
    plan = plan_demo("gossipsub", nodes=4, messages=20, rate=10, seconds=None, seed=1)
    assert analysis_for(tmp_path, plan) is None
    complaint = capsys.readouterr().err
    assert "without Spark" in complaint and "there is no Java on this machine" in complaint

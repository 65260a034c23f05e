from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from typing import Any

import psutil
import pytest

Start = Callable[..., Any]
SMALL = ("demo", "--nodes", "4", "--messages", "60", "--rate", "20")


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
    demo = start("demo", "--nodes", "3", "--messages", "20", "--rate", "20")
    assert demo.end() == 0
    assert any("starting 3 processes" in line for line in demo.errors)
    assert any("killed with SIGKILL" in line for line in demo.errors)
    assert all(line.isprintable() for line in [*demo.errors, *demo.rest])
    assert any(line.startswith("all ") for line in demo.rest)
    assert "Every message reached every node that was there" in " ".join(demo.rest)

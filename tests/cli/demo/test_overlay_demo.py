"""The second act of the demo: six nodes, one killed, and the newest value is everywhere."""

from __future__ import annotations

import importlib.util
import json
import signal
from collections.abc import Callable
from typing import Any

import psutil
import pytest

import rumormill.cli.demo

Start = Callable[..., Any]
ACT = ("demo", "--network", "bep50", "--json")


def workers_of(demo: Any) -> list[psutil.Process]:
    return [psutil.Process(node["pid"]) for node in demo.event("ready")["nodes"]]


def gone(processes: list[psutil.Process]) -> bool:
    _, alive = psutil.wait_procs(processes, timeout=10)
    return not alive


def test_a_killed_node_catches_up_and_the_newest_value_is_everywhere(start: Start) -> None:
    demo = start(*ACT)
    workers = workers_of(demo)
    assert len(workers) == 6
    assert demo.end(timeout=100) == 0, demo.sentence
    assert gone(workers)
    events = [json.loads(line) for line in demo.rest]
    stages = [event["text"] for event in events if event["event"] == "stage"]
    assert any("was killed with SIGKILL" in text for text in stages)
    assert any("is started again, it knows nothing" in text for text in stages)

    rows = [event for event in events if event["event"] == "overlay_node"]
    (total,) = [event for event in events if event["event"] == "overlay"]
    (verdict,) = [event for event in events if event["event"] == "verdict"]
    assert verdict["ok"] is total["newest_everywhere"] is True
    assert total["published"] == 40
    assert len({row["seq"] for row in rows}) == 1
    assert total["expected"] == sum(row["expected"] for row in rows)
    assert total["delivered"] == sum(row["delivered"] for row in rows)
    (killed,) = [row for row in rows if row["away"]]
    assert killed["away"] + killed["in_doubt"] + killed["expected"] == 40
    assert total["caught_up_after"] > 0
    assert f"seq {rows[0]['seq']}" in verdict["text"]


def test_a_signal_in_the_second_act_leaves_no_process_behind(start: Start) -> None:
    demo = start(*ACT)
    workers = workers_of(demo)
    demo.signal(signal.SIGINT)
    assert demo.end() == 130
    assert gone(workers)
    assert "interrupted" in demo.errors[-1]


def test_the_demo_has_two_acts_and_one_verdict(start: Start) -> None:
    demo = start("demo", "--no-spark", "--nodes", "3", "--messages", "20", "--rate", "20", "--json")
    assert len(demo.event("ready")["nodes"]) == 3
    assert demo.end(timeout=100) == 0, demo.sentence
    events = [json.loads(line) for line in demo.rest]
    kinds = [event["event"] for event in events]
    assert kinds.count("node") == 3 and kinds.count("overlay_node") == 6
    assert kinds.index("total") < kinds.index("overlay_node")
    (verdict,) = [event for event in events if event["event"] == "verdict"]
    assert kinds[-1] == "verdict" and verdict["ok"] is True
    assert "Every message reached every node" in verdict["text"]
    assert "All 6 nodes have the newest value" in verdict["text"]


def test_without_what_bep50_needs_the_demo_does_without_the_second_act_and_says_why(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def without_bencode(name: str) -> object:
        return None if name == "bencode2" else importlib.util.find_spec(name)

    monkeypatch.setattr("rumormill.system.packages.find_spec", without_bencode)
    assert rumormill.cli.demo.overlay_possible() is False
    complaint = capsys.readouterr().err
    assert "without the second act" in complaint
    assert "pip install 'rumormill[bep50]'" in complaint

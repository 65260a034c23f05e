"""The demo itself: real commands in processes of their own, one of them killed."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from rumormill.cli.demo import acts_of
from rumormill.cli.demo.spark import missing_for_spark
from rumormill.cli.words.sentences import UsageError
from rumormill.core.errors import ConfigError
from rumormill.live.family import DemoAct, Family
from rumormill.live.family.families import families
from tests.helpers.cli.command import PATIENCE

Start = Callable[..., Any]
FEW = ("--nodes", "4", "--messages", "60", "--rate", "20", "--json")
SMALL = ("demo", "--network", "gossipsub", "--no-spark", *FEW)


def workers_of(demo: Any) -> dict[int, psutil.Process]:
    return {node["node"]: psutil.Process(node["pid"]) for node in demo.event("ready")["nodes"]}


def gone(processes: dict[int, psutil.Process]) -> bool:
    _, alive = psutil.wait_procs(list(processes.values()), timeout=PATIENCE)
    return not alive


def events_of(demo: Any) -> dict[str, list[dict[str, Any]]]:
    events: dict[str, list[dict[str, Any]]] = {}
    for line in demo.rest:
        event = json.loads(line)
        events.setdefault(event["event"], []).append(event)
    return events


def adds_up(rows: list[dict[str, Any]], total: dict[str, Any]) -> bool:
    names = ("published", "expected", "arrived", "missing")
    return all(sum(row[name] for row in rows) == total[name] for name in names)


@pytest.mark.parametrize("network", ["gossipsub", "floodsub", "randomsub", "bcos", "ndn"])
def test_every_message_arrives_and_what_is_printed_adds_up(start: Start, network: str) -> None:
    demo = start("demo", "--network", network, "--no-spark", *FEW)
    workers = workers_of(demo)
    assert len(workers) == 4
    assert demo.end(timeout=100) == 0, demo.errors
    assert gone(workers)
    events = events_of(demo)
    stages = [event["text"] for event in events["stage"]]
    assert any("killed with SIGKILL" in text for text in stages)
    assert any("is back" in text for text in stages)
    (total,), (verdict,) = events["total"], events["verdict"]
    rows = events["node"]
    assert verdict["ok"] is True and "Every message reached every node" in verdict["text"]
    assert adds_up(rows, total) and total["published"] == 60 and total["missing"] == 0
    (killed,) = [row for row in rows if row["killed"]]
    assert 0 < killed["expected"] < 60
    others = [row for row in rows if row["command"] == "sub" and not row["killed"]]
    assert [row["expected"] for row in others] == [60, 60]
    assert 0 < total["latency_ms"]["p50"] <= total["latency_ms"]["p99"]


def test_where_the_newest_value_is_promised_everybody_ends_with_it(start: Start) -> None:
    demo = start("demo", "--network", "bep50", "--no-spark", *FEW)
    workers = workers_of(demo)
    assert demo.end(timeout=100) == 0, demo.errors
    assert gone(workers)
    events = events_of(demo)
    (total,), (verdict,) = events["total"], events["verdict"]
    assert verdict["ok"] is total["newest"] is True and total["published"] == 60
    assert [row["newest"] for row in events["node"]] == [None, True, True, True]
    assert verdict["text"] == "Every node ended with the newest value."


def test_without_a_terminal_stages_are_plain_lines_and_every_family_has_its_act(
    start: Start,
) -> None:
    demo = start("demo", "--no-spark", "--nodes", "3", "--messages", "20", "--rate", "20")
    assert demo.end(timeout=200) == 0, demo.errors
    starts = [line for line in demo.errors if "starting 3 nodes: 2 x rumormill sub" in line]
    acts = [act for family in families() for act in family.acts()]
    assert len(starts) == len(acts) >= 4
    assert all(line.isprintable() for line in [*demo.errors, *demo.rest])
    assert len([line for line in demo.rest if line.startswith("all ")]) == len(acts)
    text = " ".join(demo.rest)
    assert "Every message reached every node that was there" in text
    assert "Every node ended with the newest value" in text


def test_a_node_that_ends_by_itself_ends_the_demo_with_a_sentence(start: Start) -> None:
    demo = start(*SMALL)
    workers = workers_of(demo)
    while "publishing" not in demo.event("stage")["text"]:
        pass
    os.kill(workers[0].pid, signal.SIGKILL)
    assert demo.end() == 1
    assert "node 0 ended" in demo.sentence
    assert gone(workers)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_leaves_no_process_behind(start: Start, number: signal.Signals) -> None:
    demo = start(*SMALL)
    workers = workers_of(demo)
    demo.signal(number)
    assert demo.end() == 130
    assert gone(workers)
    assert "interrupted" in demo.errors[-1]


def test_nodes_do_not_outlive_a_demo_that_was_killed(start: Start) -> None:
    demo = start(*SMALL)
    workers = workers_of(demo)
    demo.process.kill()
    assert gone(workers)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.usefixtures("java")
def test_table_and_report_are_one_truth_and_a_calm_network_raises_no_alert(
    start: Start, tmp_path: Path
) -> None:
    page = tmp_path / "report.html"
    demo = start("demo", "--network", "gossipsub", "--html", str(page), *FEW)
    processes = workers_of(demo)
    assert demo.end(timeout=570) == 0, demo.errors
    assert gone(processes)
    events = events_of(demo)
    (report,), (total,), (verdict,) = events["report"], events["total"], events["verdict"]
    (topic,) = report["topics"].values()
    assert adds_up(events["node"], total)
    assert total["published"] == topic["published"] == 60
    assert (total["expected"], total["missing"]) == (topic["expected"], topic["missing"])
    assert total["latency_ms"].items() <= topic["latency_ms"].items()
    assert total["missing"] == 0 and report["alerts"] == []
    assert not [sentence for sentence in report["problems"] if "missing" in sentence]
    assert verdict["ok"] is True and "Every message reached every" in report["verdict"]
    assert "<svg" in page.read_text()


def test_without_java_it_is_said_why_there_is_no_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_java() -> Path:
        raise ConfigError("JAVA_HOME", "there is no Java on this machine")

    monkeypatch.setattr("rumormill.pipeline.java.java_home", no_java)
    assert "there is no Java on this machine" in str(missing_for_spark())


def test_without_iceberg_it_is_said_why_there_are_no_tables(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def no_jars(*wanted: object) -> list[Path]:
        raise ConfigError("--tables", "cannot get org.apache.iceberg")

    pytest.importorskip("pyspark")
    monkeypatch.setattr("rumormill.pipeline.java.java_home", lambda: Path("java"))
    monkeypatch.setattr("rumormill.pipeline.lake.jars.local_jars", no_jars)
    assert "cannot get org.apache.iceberg" in str(missing_for_spark())


def test_old_tables_where_the_demo_is_started_are_no_reason_to_do_without_spark(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pytest.importorskip("pyspark")
    monkeypatch.setattr("rumormill.pipeline.java.java_home", lambda: Path("java"))
    monkeypatch.setattr("rumormill.pipeline.lake.jars.local_jars", lambda *wanted: [])
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / "tables.json").touch()
    monkeypatch.chdir(tmp_path)
    assert missing_for_spark() is None


def test_an_act_for_which_something_is_not_installed_is_left_out_in_a_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def without_bencode(name: str) -> object:
        return None if name == "bencode2" else importlib.util.find_spec(name)

    all_of_them = [act.network for act in acts_of(None)]
    monkeypatch.setattr("rumormill.system.packages.find_spec", without_bencode)
    left = [act.network for act in acts_of(None)]
    assert left == [network for network in all_of_them if network != "bep50"]
    assert "bep50" in all_of_them
    assert "pip install 'rumormill[bep50]'" in capsys.readouterr().err
    with pytest.raises(ConfigError, match="bencode2"):
        acts_of("bep50")


class Pigeons(Family):
    """A family of somebody else."""

    name = "pigeons"
    networks = ("pigeon", "owl", "stork")

    def make(self, network: str, settings: Any) -> Any:
        """Nobody asks for it here."""
        raise NotImplementedError

    def acts(self) -> tuple[DemoAct, ...]:
        """One act, that owls can play, too."""
        return (DemoAct("pigeon", "by air", also=("owl",), topic="weather"),)


def test_acts_are_what_families_bring_whoever_wrote_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rumormill.cli.demo.families", lambda: (Pigeons(),))
    monkeypatch.setattr("rumormill.cli.demo.family_of", lambda network: Pigeons())
    assert [act.network for act in acts_of(None)] == ["pigeon"]
    assert [act.network for act in acts_of("owl")] == ["owl"]
    with pytest.raises(UsageError, match="no act of stork"):
        acts_of("stork")

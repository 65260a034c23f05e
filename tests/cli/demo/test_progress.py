from __future__ import annotations

import io
import json

from rich.console import Console

from rumormill.cli.demo.progress import BarReporter, JsonReporter, Reporter


def test_stages_that_are_done_become_lines_in_the_order_of_events() -> None:
    console = Console(file=io.StringIO(), force_terminal=True, width=80, color_system=None)
    reporter = BarReporter(console)
    reporter.stage("starting", 2)
    reporter.move(2)
    reporter.stage("publishing", 10)
    reporter.note("node 3 was killed")
    reporter.done()
    reporter.close()
    assert isinstance(console.file, io.StringIO)
    text = console.file.getvalue()
    places = [text.index(each) for each in ("✓ starting", "node 3 was killed", "✓ publishing")]
    assert places == sorted(places)


def test_a_stage_that_was_cut_short_is_not_ticked_off() -> None:
    console = Console(file=io.StringIO(), force_terminal=True, width=80, color_system=None)
    reporter = BarReporter(console)
    reporter.stage("publishing", 10)
    reporter.close()
    assert isinstance(console.file, io.StringIO)
    assert "✓" not in console.file.getvalue()


def test_plain_lines_have_the_seconds_and_nothing_for_every_step() -> None:
    lines: list[str] = []
    reporter = Reporter(lines.append)
    reporter.stage("starting", 2)
    reporter.move(1)
    reporter.note("node 3 was killed")
    assert [line.split(" s  ")[1] for line in lines] == ["starting", "node 3 was killed"]


def test_ready_is_the_first_line_of_json_whatever_came_before() -> None:
    lines: list[str] = []
    reporter = JsonReporter(lines.append)
    reporter.stage("starting", 1)
    reporter.ready([{"node": 0, "id": "a", "address": "/ip4/127.0.0.1/tcp/1"}])
    reporter.stage("publishing", 1)
    first, second = map(json.loads, lines)
    assert (first["event"], first["id"]) == ("ready", "a")
    assert first["addresses"] == ["/ip4/127.0.0.1/tcp/1"]
    assert (second["event"], second["text"]) == ("stage", "publishing")

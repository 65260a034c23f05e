"""What is printed of an act follows from its figures, and from what the network promises."""

from __future__ import annotations

import io
from typing import cast

from rich.console import Console

from rumormill.cli.demo.ledger import Figures, Row
from rumormill.cli.demo.plan import Plan
from rumormill.cli.demo.play import Play
from rumormill.cli.demo.table import Outcome
from rumormill.live.family import DemoAct


class Played:
    """An act that is over: node 0 published, node 2 was killed."""

    def __init__(self, every_message: bool) -> None:
        self.every_message = every_message
        self.plan = Plan(DemoAct("pigeon", "by air", nodes=3), (0,), ((1,), (2, 0)), (), 2)
        self.killed_after, self.away = 4.5, 3.0


def outcome(*rows: Row, every: bool = True, late: int = 7) -> Outcome:
    return Outcome(cast(Play, Played(every)), Figures(rows, late, 2.0, 4.0))


def full(missing: int = 0) -> Outcome:
    return outcome(Row(0, 1500), Row(1, 0, 1500), Row(2, 0, 900, missing))


def printed(shown: Outcome, width: int = 80) -> list[list[str]]:
    console = Console(file=io.StringIO(), width=width)
    console.print(shown.table())
    assert isinstance(console.file, io.StringIO)
    lines = console.file.getvalue().splitlines()
    assert all(len(line) <= width and "…" not in line for line in lines)
    return [line.split() for line in lines if line.strip()]


def test_the_table_has_a_line_for_each_node_and_one_for_all() -> None:
    heading, _, *lines = printed(full(missing=2))
    assert heading == ["node", "command", "published", "expected", "arrived", "missing"]
    assert lines == [
        ["0", "pub", "1,500"],
        ["1", "sub", "1,500", "1,500", "0"],
        ["2", "*", "sub", "900", "898", "2"],
        ["all", "1,500", "2,400", "2,398", "2"],
    ]


def test_where_the_newest_value_is_promised_it_is_told_who_has_it() -> None:
    rows = Row(0, 40), Row(1, newest=True), Row(2, newest=False)
    shown = outcome(*rows, every=False)
    heading, _, *lines = printed(shown)
    assert heading == ["node", "command", "published", "newest"]
    assert lines[1:] == [["1", "sub", "yes"], ["2", "*", "sub", "no"], ["all", "40", "no"]]
    assert not shown.good and "nodes [2] lack it" in shown.verdict()
    good = outcome(*rows[:2], Row(2, newest=True), every=False)
    assert good.good and good.verdict() == "Every node ended with the newest value."


def test_the_verdict_is_good_when_nothing_is_missing() -> None:
    assert full().good
    assert full().verdict() == (
        "Every message reached every node that was there: 2,400 of 2,400 deliveries, "
        "half within 2.0 ms, 99 % within 4.0 ms."
    )


def test_the_verdict_tells_who_lacks_how_much() -> None:
    assert not full(missing=1).good
    assert full(1).verdict() == "1 of 2,400 deliveries are missing: node 2 lacks 1."


def test_no_publication_is_no_success() -> None:
    for every in (True, False):
        assert not outcome(Row(0), Row(1), Row(2), every=every).good


def test_the_notes_tell_what_was_not_expected_of_the_killed_node() -> None:
    first, second = full().notes()
    assert "Node 2 was killed 4.5 s after the first message and was back 3.0 s later." in first
    assert "until a second before the kill" in second and "7 reached it all the same" in second


def test_programs_get_the_same_figures() -> None:
    total = full(missing=2).total_object()
    assert (total["expected"], total["arrived"], total["missing"]) == (2400, 2398, 2)
    assert total["latency_ms"] == {"p50": 2.0, "p99": 4.0}
    rows = full(missing=2).row_objects()
    assert [row["killed"] for row in rows] == [False, False, True]
    assert [row["missing"] for row in rows] == [0, 0, 2]

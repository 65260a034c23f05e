from __future__ import annotations

import io
from collections.abc import Callable

import pytest
from rich.cells import cell_len
from rich.console import Console

from rumormill.report import Report, print_report
from rumormill.report.words import percent
from tests.helpers.report.gold_tables import Run, story, totals
from tests.helpers.report.lake_on_disk import Rows

MakeReport = Callable[..., Report]


def printed(report: Report, width: int, colour: bool = False, other: Report | None = None) -> str:
    console = Console(file=io.StringIO(), width=width, force_terminal=colour)
    print_report(report, console, other)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


LONG = "/consensus/beacon/aggregate/and/proof/of/something/very/long"
BUSY = Run(nodes=24, topics=("weather", LONG, "x" * 1000), minutes=40, messages=3, loss=0.2,
           split_minute=3, blind_clocks=2)  # fmt: skip


@pytest.mark.parametrize("width", [80, 100, 160, 240])
def test_no_line_is_wider_than_the_terminal_and_no_number_is_cut(
    report_on: MakeReport, width: int
) -> None:
    report = report_on(BUSY)
    text = printed(report, width)
    assert max(cell_len(line) for line in text.splitlines()) <= width
    assert "…" not in text
    topics = text[text.index("Topics") : text.index("Latency, ms")].split()
    assert {"published", "expected", "missing", "ratio", "minute"} <= set(topics)
    for row in report.topics.values():
        assert {f"{row.expected:,}", f"{row.missing:,}", percent(row.ratio).split()[0]} <= set(
            topics
        )
    assert len(text.splitlines()) < 200


def test_what_is_wrong_comes_last(report_on: MakeReport) -> None:
    lines = printed(report_on(BUSY), 200).strip().splitlines()
    wrong = lines.index("What is wrong")
    assert any(line.startswith("✗ Partition, topic weather") for line in lines[wrong:])
    assert lines[-1].startswith("! Gossipsub: the clocks of 2 of 24 peers")


def test_a_good_run_says_so_first_and_last(report_on: MakeReport) -> None:
    lines = printed(report_on(), 80).strip().splitlines()
    assert lines[2] == "✓ Every message reached every peer that was subscribed."
    assert lines[-1] == "No problems found."


def test_long_ids_are_short_and_no_two_alike(report_on: MakeReport) -> None:
    same_end = [f"12D3KooW{letter}{'z' * 40}" for letter in "abc"]
    report = report_on(Run(names=same_end, nodes=3))
    shown = [report.short_names[name] for name in report.peers]
    assert len(set(shown)) == 3
    assert report_on(Run(), name="other").short_names != {}
    assert all(len(name) < 16 for name in report_on(Run(), name="third").short_names.values())


def test_peers_stand_on_one_line_each_also_when_some_were_refused(report_on: MakeReport) -> None:
    def refuse(tables: dict[str, Rows]) -> None:
        for row in tables["peers"]:
            row.update(rejected_by_others=1234, duplicates=123456, first_sent=12345)

    report = report_on(change=refuse)
    text = printed(report, 80)
    for name in report.peers:
        assert any(
            report.short_names[name] in line and "1,234" in line for line in text.splitlines()
        )


def test_a_name_cannot_command_the_terminal(report_on: MakeReport) -> None:
    report = report_on(Run(topics=("\x1b[31mred[bold]",), names=["\x9b2J", "\r[/]", "ok"], nodes=3,
                           loss=0.5))  # fmt: skip
    text = printed(report, 120)
    assert "\x1b" not in text and "\x9b" not in text and "\r" not in text
    assert "\\x1b[31mred[bold]" in text


def test_no_name_is_taken_for_markup(report_on: MakeReport) -> None:
    run = Run(topics=("a[/bold]", "[red]b"), names=["[/]", "[link=x]y"], nodes=2, agents=("[/i]",))
    text = printed(report_on(run), 120)
    for name in (*run.topics, "[/]", "[link=x]y", "[/i]"):
        assert name in text
    slow = text[text.index("Slowest messages") :]
    assert "a[/bold]" in slow and "[red]b" in slow


def test_hops_are_in_the_order_of_numbers(report_on: MakeReport) -> None:
    def far(tables: dict[str, Rows]) -> None:
        for row in totals(tables["latencies"]):
            row["hop"] = None if row["hop"] is None else 3 * row["hop"] + 1

    text = printed(report_on(change=far), 80)
    lines = text[text.index("from the publisher") : text.index("Peers")].splitlines()
    hops = [int(line.split()[0]) for line in lines if line[:1].isdigit()]
    assert hops == sorted(hops) and hops[-1] > 9


def test_colour_goes_to_terminals_only(report_on: MakeReport) -> None:
    assert "\x1b[" in printed(report_on(), 80, colour=True)
    assert "\x1b[" not in printed(report_on(name="again"), 80)


def test_of_very_many_topics_and_peers_some_are_shown_and_the_rest_is_counted(
    report_on: MakeReport,
) -> None:
    topics = tuple(f"topic-{number}" for number in range(25))

    def lose(tables: dict[str, Rows]) -> None:
        totals(tables["topics"])[24]["missing"] = 1

    text = printed(report_on(Run(nodes=30, topics=topics, minutes=1, messages=1), lose), 100)
    assert "and 5 more; --json has all" in text
    assert "and 15 more; --json has all" in text
    assert "topic-24" in text, "a topic with losses is always shown"


def test_a_single_node_and_empty_tables_are_no_error(report_on: MakeReport) -> None:
    assert "nobody else was subscribed" in printed(report_on(Run(nodes=1)), 80)

    def clear(tables: dict[str, Rows]) -> None:
        for rows in tables.values():
            rows.clear()

    assert "Nothing was published." in printed(report_on(change=clear, name="empty"), 80)


@pytest.mark.parametrize("width", [80, 160])
def test_two_runs_stand_side_by_side(report_on: MakeReport, width: int) -> None:
    this = report_on(Run(topics=("weather", "chat"), delay_ms=16), name="this")
    other = report_on(Run(topics=("weather", "news"), seed=2), name="other")
    text = printed(this, width, other=other)
    assert max(cell_len(line) for line in text.splitlines()) <= width
    assert "Only in this run: chat." in text
    assert "Only in the other: news." in text
    (slower,) = [line for line in text.splitlines() if line.startswith("latency p50")]
    assert slower.rstrip().endswith("worse")


def test_each_part_of_a_rich_run_is_told(report_on: MakeReport) -> None:
    text = printed(report_on(tables=story()), 100)
    assert max(cell_len(line) for line in text.splitlines()) <= 100
    for words in ("the newest value", "one subscriber", "skipped", "Slowest messages", "idontwant",
                  "connection closed", "mesh, within 8 s", "go-libp2p/0.41", "Large messages",
                  "docs/alerts.md#partition"):  # fmt: skip
        assert words in text, words

from __future__ import annotations

import io

from rich.console import Console

from rumormill.cli.demo.ledger import Ledger, Traffic
from rumormill.cli.demo.plan import plan_demo
from rumormill.cli.demo.table import notes, result_table, total_object, verdict

PLAN = plan_demo("gossipsub", 3, messages=10, rate=10, seconds=None, seed=1)


def full_ledger(without: tuple[tuple[int, int], ...] = ()) -> Ledger:
    """Three nodes, ten messages of node 0, all delivered but those in ``without``."""
    ledger = Ledger(3)
    for number in range(10):
        ledger.published(number, 0, at=float(number))
        for node in (1, 2):
            if (node, number) not in without:
                ledger.delivered(node, number, latency=0.002 * node)
    for node in range(3):
        ledger.counted(node, Traffic(delivered=10, duplicates=15))
        ledger.degrees[node] = 2
    return ledger


def printed(ledger: Ledger, width: int = 100) -> str:
    console = Console(file=io.StringIO(), width=width)
    console.print(result_table(PLAN, ledger))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_the_table_has_a_line_for_each_node_and_one_for_all() -> None:
    lines = [line.split() for line in printed(full_ledger()).splitlines() if line.strip()]
    assert ["1", "0", "10", "10", "1.000", "2.0", "2.0", "2.0", "1.5", "2"] in lines
    assert ["all", "10", "20", "20", "1.000", "2.0", "4.0", "4.0", "1.5", "2.0"] in lines


def test_the_table_fits_a_terminal_of_80_columns() -> None:
    text = printed(full_ledger(), width=80)
    assert "…" not in text
    assert all(len(line) <= 80 for line in text.splitlines())


def test_a_single_missing_delivery_keeps_the_ratio_below_one() -> None:
    ledger = Ledger(2)
    for number in range(100_000):
        ledger.published(number, 0, at=float(number))
        if number:
            ledger.delivered(1, number, latency=0.001)
    assert "1.000" not in printed(ledger)
    assert verdict(ledger)[0] is False


def test_the_verdict_is_good_when_nothing_is_missing() -> None:
    good, sentence = verdict(full_ledger())
    assert good
    assert "20 of 20" in sentence
    assert "half of them within 2.0 ms, 99 % within 4.0 ms" in sentence


def test_the_verdict_names_what_is_missing_and_where() -> None:
    good, sentence = verdict(full_ledger(without=((1, 3), (2, 4), (2, 5))))
    assert not good
    assert sentence == (
        "3 of 20 deliveries are missing: node 1 lacks message 3; node 2 lacks messages 4, 5."
    )


def test_the_verdict_counts_what_it_does_not_name() -> None:
    without = tuple((1, number) for number in range(10)) + tuple((2, n) for n in range(10))
    ledger = full_ledger(without)
    ledger.published(10, 0, at=10.0)
    assert "and 1 more" in verdict(ledger)[1]


def test_no_publication_is_no_success() -> None:
    assert verdict(Ledger(3))[0] is False


def test_the_notes_tell_what_was_not_expected_of_the_killed_node() -> None:
    ledger = full_ledger()
    ledger.killed(2, at=4.5)
    ledger.returned(2, at=7.5)
    first, second, *_ = notes(ledger, began=0.0)
    assert "killed 4.5 s after the first message" in first
    assert "back in the mesh 3.0 s later" in first
    assert "3 messages published while it was away (3 of them" in second
    assert "and 1 published in the last second before the kill" in second


def test_totals_are_over_deliveries_not_over_nodes() -> None:
    total = total_object(full_ledger(without=((1, 0),)))
    assert (total["expected"], total["delivered"], total["ratio"]) == (20, 19, 0.95)

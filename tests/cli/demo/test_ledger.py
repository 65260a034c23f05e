"""What is expected of whom, by the lines that commands print."""

from __future__ import annotations

import pytest

from rumormill.cli.demo.ledger import Ledger


def ledger_with(times: list[float]) -> Ledger:
    """Node 0 publishes at these times; 1 and 2 subscribe."""
    ledger = Ledger(3, (1, 2))
    for number, at in enumerate(times):
        ledger.published(0, {"id": str(number), "published_at": at})
    return ledger


def arrive(ledger: Ledger, node: int, number: int, at: float) -> None:
    ledger.arrived(node, {"id": str(number), "received_at": at})


def test_a_message_is_expected_of_every_subscriber() -> None:
    figures = ledger_with([1.0, 2.0]).figures()
    assert [row.expected for row in figures.rows] == [0, 2, 2]
    assert [row.published for row in figures.rows] == [2, 0, 0]
    assert figures.missing == 4


@pytest.mark.parametrize(
    ("at", "expected"),
    [(8.9, 1), (9.0, 0), (9.99, 0), (10.0, 0), (14.99, 0), (15.0, 1)],
)
def test_what_is_expected_of_a_killed_node_depends_on_when_it_was_published(
    at: float, expected: int
) -> None:
    ledger = ledger_with([at])
    ledger.killed(2, 10.0)
    ledger.returned(2, 15.0)
    assert [row.expected for row in ledger.figures().rows] == [0, 1, expected]


def test_nothing_is_expected_of_a_node_that_never_came_back() -> None:
    ledger = ledger_with([1e9])
    ledger.killed(2, 10.0)
    assert ledger.figures().rows[2].expected == 0


def test_what_comes_unexpected_is_counted_and_is_nobodys_latency() -> None:
    ledger = ledger_with([5.0, 11.0])
    ledger.killed(2, 10.0)
    ledger.returned(2, 15.0)
    arrive(ledger, 2, 0, 5.001)
    arrive(ledger, 2, 1, 15.5)
    figures = ledger.figures()
    assert (figures.rows[2].expected, figures.rows[2].missing, figures.late) == (1, 0, 1)
    assert figures.p99 == pytest.approx(1.0)


def test_a_second_delivery_changes_nothing_and_what_nobody_published_does_not_count() -> None:
    ledger = ledger_with([1.0])
    arrive(ledger, 1, 0, 1.001)
    arrive(ledger, 1, 0, 9.0)
    arrive(ledger, 1, 77, 9.0)
    figures = ledger.figures()
    assert (figures.rows[1].missing, figures.late) == (0, 0)
    assert figures.p99 == pytest.approx(1.0)


def test_who_has_the_newest_message_is_known_also_when_its_own_count_is_not() -> None:
    ledger = ledger_with([1.0, 2.0, 3.0])
    arrive(ledger, 1, 2, 3.1)  # the others in between are gone
    arrive(ledger, 2, 2, 3.1)
    assert [row.newest for row in ledger.figures().rows] == [None, True, True]
    ledger.killed(2, 4.0)
    assert ledger.figures().behind == [2] and not ledger.has_any(2)
    arrive(ledger, 2, 1, 5.0)
    assert ledger.figures().behind == [2] and ledger.has_any(2)


def test_its_percentiles_are_of_the_rule_of_the_house() -> None:
    ledger = ledger_with([1.0, 2.0])
    for number, late in enumerate((0.001, 0.002)):
        arrive(ledger, 1, number, 1.0 + number + late)
        arrive(ledger, 2, number, 1.0 + number + late + 0.002)
    figures = ledger.figures()  # 1, 2, 3 and 4 ms: half of them do not exceed 2
    assert figures.p50 == pytest.approx(2.0)
    assert figures.p99 == pytest.approx(4.0)

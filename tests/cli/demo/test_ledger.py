from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumormill.cli.demo.ledger import Absence, Ledger, Publication, Standing, Traffic, percentile


def ledger_with(times: list[float], publisher: int = 0, nodes: int = 3) -> Ledger:
    ledger = Ledger(nodes)
    for number, at in enumerate(times):
        ledger.published(number, publisher, at)
    return ledger


def test_a_message_is_expected_of_everyone_but_its_publisher() -> None:
    ledger = ledger_with([1.0, 2.0])
    assert [row.expected for row in ledger.rows()] == [0, 2, 2]
    assert [row.published for row in ledger.rows()] == [2, 0, 0]


@pytest.mark.parametrize(
    ("at", "standing"),
    [
        (8.9, Standing.EXPECTED),
        (9.0, Standing.IN_DOUBT),
        (9.99, Standing.IN_DOUBT),
        (10.0, Standing.AWAY),
        (14.99, Standing.AWAY),
        (15.0, Standing.EXPECTED),
    ],
)
def test_what_is_expected_of_a_killed_node_depends_on_when_it_was_published(
    at: float, standing: Standing
) -> None:
    ledger = Ledger(3)
    ledger.killed(2, at=10.0)
    ledger.returned(2, at=15.0)
    assert ledger.standing(2, Publication(1, 0, at)) is standing
    assert ledger.standing(1, Publication(1, 0, at)) is Standing.EXPECTED


def test_a_node_that_never_came_back_is_away_for_ever() -> None:
    ledger = Ledger(2)
    ledger.killed(1, at=10.0)
    assert ledger.absences[1] == Absence(10.0, math.inf)
    assert ledger.standing(1, Publication(1, 0, 1e9)) is Standing.AWAY


def test_away_and_doubtful_messages_are_counted_but_not_expected() -> None:
    ledger = ledger_with([5.0, 9.5, 11.0, 12.0, 16.0])
    ledger.killed(2, at=10.0)
    ledger.returned(2, at=15.0)
    for number in (0, 1, 2, 4):
        ledger.delivered(2, number, latency=0.001)
    row = ledger.row(2)
    assert (row.expected, row.delivered, row.missing) == (2, 2, ())
    assert (row.away, row.recovered, row.in_doubt) == (2, 1, 1)


def test_a_latency_of_a_message_that_was_not_expected_does_not_enter_the_percentiles() -> None:
    ledger = ledger_with([5.0, 11.0])
    ledger.killed(2, at=10.0)
    ledger.returned(2, at=15.0)
    ledger.delivered(2, 0, latency=0.001)
    ledger.delivered(2, 1, latency=4.5)
    assert ledger.row(2).latencies == (0.001,)


def test_a_second_delivery_changes_nothing() -> None:
    ledger = ledger_with([1.0])
    ledger.delivered(1, 0, latency=0.001)
    ledger.delivered(1, 0, latency=9.0)
    assert ledger.row(1).delivered == 1
    assert ledger.row(1).latencies == (0.001,)


def test_a_delivery_of_something_that_nobody_published_does_not_count() -> None:
    ledger = ledger_with([1.0])
    ledger.delivered(1, 77, latency=0.001)
    assert (ledger.row(1).delivered, ledger.row(1).missing) == (0, (0,))


def test_missing_messages_are_named() -> None:
    ledger = ledger_with([1.0, 2.0, 3.0])
    ledger.delivered(1, 1, latency=0.001)
    assert ledger.missing(1) == [0, 2]
    assert ledger.outstanding() == 2 + 3


def test_duplicates_are_summed_over_the_lives_of_a_node() -> None:
    ledger = Ledger(2)
    ledger.counted(1, Traffic(delivered=5, duplicates=9))
    ledger.counted(1, Traffic(delivered=10, duplicates=20))
    ledger.killed(1, at=1.0)
    ledger.counted(1, Traffic(delivered=10, duplicates=40))
    assert ledger.row(1).duplicates_per_delivery == 3.0
    assert ledger.duplicates_per_delivery() == 3.0
    assert ledger.row(0).duplicates_per_delivery is None


@given(values=st.lists(st.floats(0, 100), min_size=1), share=st.floats(0, 1))
def test_a_percentile_is_one_of_the_values_and_enough_do_not_exceed_it(
    values: list[float], share: float
) -> None:
    values.sort()
    result = percentile(values, share)
    assert result in values
    assert sum(value <= result for value in values) >= share * len(values)

"""The nearest rank, by its definition."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from rumormill.core.percentiles import percentile, place

SHARES = [Fraction(number, 1000) for number in range(1001)]


@given(st.lists(st.integers(), min_size=1, max_size=300), st.sampled_from(SHARES))
def test_it_is_the_smallest_value_that_so_large_a_share_does_not_exceed(
    values: list[int], share: Fraction
) -> None:
    found = percentile(sorted(values), float(share))
    assert found in values

    def within(value: int) -> Fraction:
        return Fraction(sum(each <= value for each in values), len(values))

    assert within(found) >= share
    assert not any(within(value) >= share for value in values if value < found)


@given(st.integers(1, 10**9), st.sampled_from(SHARES))
def test_rounding_moves_it_to_no_other_place(count: int, share: Fraction) -> None:
    exact = -(-share.numerator * count // share.denominator)  # rounded up
    assert place(count, float(share)) == max(0, exact - 1)


def test_of_nothing_there_is_none() -> None:
    assert percentile([], 0.5) is None

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rumormill.pipeline.source.ranges import Range, deal, share_out

backlogs = st.lists(st.integers(0, 10_000), min_size=1, max_size=8)


@given(backlogs, st.integers(1, 30_000), st.integers(0, 7))
def test_all_that_may_be_dealt_is_dealt_and_no_more(
    waiting: list[int], limit: int, turn: int
) -> None:
    shares = deal(waiting, limit, turn % len(waiting))
    assert sum(shares) == min(limit, sum(waiting))
    assert all(0 <= share <= backlog for share, backlog in zip(shares, waiting, strict=True))


@given(backlogs, st.integers(1, 30_000), st.integers(0, 7))
def test_nobody_gets_more_while_another_gets_less_and_wants_more(
    waiting: list[int], limit: int, turn: int
) -> None:
    shares = deal(waiting, limit, turn % len(waiting))
    unsatisfied = [share for share, backlog in zip(shares, waiting, strict=True) if share < backlog]
    if unsatisfied:
        assert max(shares) <= min(unsatisfied) + 1


def test_with_fewer_rows_than_spools_each_gets_its_turn() -> None:
    assert [deal([9, 9, 9], 1, turn) for turn in range(3)] == [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    assert deal([0, 9, 9], 1, 0) == [0, 1, 0]


@given(
    st.lists(st.tuples(st.integers(0, 1000), st.integers(0, 1000)), max_size=4),
    st.integers(1, 20),
    st.integers(1, 500),
)
def test_pieces_cover_the_ranges_once_and_are_small_enough(
    places: list[tuple[int, int]], least: int, rows: int
) -> None:
    ranges = [
        Range("folder", "id", number, start, start + length)
        for number, (start, length) in enumerate(places)
    ]
    tasks = share_out(ranges, least, rows)
    pieces = [piece for task in tasks for piece in task.ranges]
    for whole in ranges:
        mine = [piece for piece in pieces if piece.partition == whole.partition]
        covered = [offset for piece in mine for offset in range(piece.start, piece.end)]
        assert covered == list(range(whole.start, whole.end))
    assert all(piece.start < piece.end for piece in pieces)
    sizes = [sum(piece.end - piece.start for piece in task.ranges) for task in tasks]
    assert all(0 < size <= rows for size in sizes)
    assert len(tasks) >= min(least, sum(length for _, length in places))


def test_a_few_rows_of_many_spools_are_one_task() -> None:
    ranges = [Range("folder", str(number), number, 0, 20) for number in range(100)]
    assert [len(task.ranges) for task in share_out(ranges, 1, 100_000)] == [100]
    ranges.append(Range("folder", "large", 100, 0, 150_000))
    assert [len(task.ranges) for task in share_out(ranges, 1, 100_000)] == [100, 1, 1]

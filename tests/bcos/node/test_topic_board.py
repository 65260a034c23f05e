"""The board of a node's own topics."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rumormill.bcos.node.topic_board import MOST_CHANGES, MOST_NAMES, TopicBoard


def test_a_topic_is_there_as_long_as_one_owner_has_it() -> None:
    board = TopicBoard()
    board.set("one", ["news"])
    board.set("two", ["news", "weather"])
    board.remove("one")
    assert board.holds("news")
    board.remove("two")
    assert not board.holds("news")
    assert list(board.topics) == []


def test_the_seq_moves_with_everything_that_owners_say() -> None:
    board = TopicBoard()
    heard: list[int] = []
    board.on_change(lambda: heard.append(board.seq))
    board.set("one", ["news"])
    board.set("one", ["news"])
    board.remove("one")
    board.remove("one")
    assert heard == [1, 2, 3]


def test_names_that_cannot_travel_are_not_told() -> None:
    board = TopicBoard()
    board.set("one", ["", "a\tb", "x" * 255, "\ud800", "good"])
    assert list(board.topics) == ["good"]


def test_what_is_not_remembered_has_no_changes() -> None:
    board = TopicBoard()
    for number in range(MOST_CHANGES + 10):
        board.set("one", [str(number)])
    assert board.changes_since(board.seq - MOST_CHANGES) is not None
    assert board.changes_since(board.seq - MOST_CHANGES - 1) is None
    assert board.changes_since(board.seq + 1) is None
    assert board.changes_since(board.seq) == ((), ())


def test_memory_of_changes_is_bounded_by_their_names() -> None:
    board = TopicBoard()
    for number in range(50):
        board.set("one", [f"{number}-{each}" for each in range(1000)])
    assert board.sizes()["board_names"] <= MOST_NAMES
    assert board.sizes()["board_topics"] == 1000


owners = st.sampled_from(["one", "two", "three"])
steps = st.lists(st.tuples(owners, st.lists(st.sampled_from("abcde"), max_size=4)), max_size=20)


@given(steps, st.integers(0, 20))
def test_changes_lead_from_what_was_to_what_is(
    steps: list[tuple[str, list[str]]], since: int
) -> None:
    board = TopicBoard()
    history = [set(board.topics)]
    for owner, topics in steps:
        if topics:
            board.set(owner, topics)
            history.append(set(board.topics))
        else:
            before = board.seq
            board.remove(owner)
            if board.seq != before:
                history.append(set(board.topics))
    if since > board.seq:
        assert board.changes_since(since) is None
        return
    changes = board.changes_since(since)
    assert changes is not None
    added, removed = changes
    assert (history[since] - set(removed)) | set(added) == set(board.topics)
    assert not set(added) & history[since]
    assert set(removed) <= history[since]

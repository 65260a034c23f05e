"""Queries on their way."""

from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from rumormill.bep50.overlay.traffic.transactions import ID_BYTES, Transactions

ANN, BOB = "10.0.0.1:6881", "10.0.0.2:6881"


def made(most: int = 4096) -> Transactions[int]:
    return Transactions(Random(1), most)


def begun(transactions: Transactions[int], deadline: float, context: int = 0) -> bytes:
    transaction = transactions.begin(ANN, "ping", context, deadline)
    assert transaction is not None
    return transaction


class Drawn(Random):
    """Gives the bytes that it was told to."""

    def __init__(self, *ids: bytes) -> None:
        super().__init__()
        # The last of a group is handed out first.
        self._groups = [bytes(each) * 64 for each in ids]

    def randbytes(self, n: int) -> bytes:
        return self._groups.pop(0)


def test_an_answer_ends_its_query_and_brings_back_what_was_noted() -> None:
    transactions = made()
    transaction = begun(transactions, 2.0, context=7)
    pending = transactions.finish(ANN, transaction)
    assert pending == (transaction, ANN, "ping", 7, 2.0)
    assert transactions.finish(ANN, transaction) is None
    assert len(transactions) == 0


def test_an_answer_from_another_address_is_none_and_the_query_goes_on() -> None:
    transactions = made()
    transaction = begun(transactions, 2.0)
    assert transactions.finish(BOB, transaction) is None
    assert transactions.finish(ANN, transaction) is not None


def test_an_answer_with_another_id_is_none() -> None:
    transactions = made()
    transaction = begun(transactions, 2.0)
    for other in (b"", transaction[:2], transaction + b"\0", bytes(4)):
        assert transactions.finish(ANN, other) is None


def test_overdue_queries_end_in_the_order_of_their_deadlines() -> None:
    transactions = made()
    for context, deadline in enumerate((3.0, 1.0, 2.0)):
        begun(transactions, deadline, context)
    assert transactions.next_deadline() == 1.0
    assert transactions.expired(0.5) == []
    assert [each.context for each in transactions.expired(2.0)] == [1, 2]
    assert transactions.next_deadline() == 3.0
    assert [each.context for each in transactions.expired(9.0)] == [0]
    assert transactions.next_deadline() is None


def test_an_answered_query_is_never_overdue() -> None:
    transactions = made()
    answered, waiting = begun(transactions, 1.0), begun(transactions, 2.0)
    transactions.finish(ANN, answered)
    assert transactions.next_deadline() == 2.0
    assert [each.transaction for each in transactions.expired(5.0)] == [waiting]


def test_past_the_bound_queries_are_refused_until_one_ends() -> None:
    transactions = made(most=2)
    first = begun(transactions, 1.0)
    assert not transactions.full
    begun(transactions, 1.0)
    assert transactions.full
    assert transactions.begin(ANN, "ping", 0, 1.0) is None
    transactions.finish(ANN, first)
    assert transactions.begin(ANN, "ping", 0, 1.0) is not None


def test_an_id_that_is_in_use_is_not_given_again() -> None:
    transactions: Transactions[int] = Transactions(Drawn(b"aaaa", b"bbbb"))
    assert [begun(transactions, 1.0) for _ in range(2)] == [b"aaaa", b"bbbb"]


def test_an_id_that_is_used_again_keeps_its_new_deadline() -> None:
    transactions: Transactions[int] = Transactions(Drawn(b"aaaa", b"bbbb"))
    transactions.finish(ANN, begun(transactions, 1.0))
    assert begun(transactions, 5.0, context=2) == b"aaaa"
    assert transactions.expired(1.0) == []
    assert [each.context for each in transactions.expired(5.0)] == [2]


def test_the_deadline_of_an_answered_query_is_not_the_next_though_its_id_is_used_again() -> None:
    transactions: Transactions[int] = Transactions(Drawn(b"aaaa", b"bbbb"))
    transactions.finish(ANN, begun(transactions, 1.0))
    assert begun(transactions, 5.0) == b"aaaa"
    assert transactions.next_deadline() == 5.0


def test_ids_differ_and_have_their_length() -> None:
    transactions = made()
    ids = [begun(transactions, 1.0) for _ in range(1000)]
    assert len(set(ids)) == 1000
    assert {len(each) for each in ids} == {ID_BYTES}


def test_answered_queries_leave_nothing_behind() -> None:
    transactions = made()
    for number in range(10_000):
        transactions.finish(ANN, begun(transactions, float(number)))
    assert len(transactions._deadlines) < 100


def test_leaving_a_topic_gives_up_all_queries() -> None:
    transactions = made()
    begun(transactions, 1.0, context=1)
    begun(transactions, 2.0, context=2)
    assert [each.context for each in transactions.clear()] == [1, 2]
    assert len(transactions) == 0
    assert transactions.next_deadline() is None


@given(st.lists(st.tuples(st.sampled_from("baae"), st.integers(0, 20)), max_size=200))
def test_every_query_ends_exactly_once(steps: list[tuple[str, int]]) -> None:
    transactions = made(most=16)
    waiting: dict[bytes, float] = {}
    for step, number in steps:
        if step == "b":
            transaction = transactions.begin(ANN, "ping", 0, float(number))
            assert (transaction is None) == (len(waiting) >= 16)
            if transaction is not None:
                waiting[transaction] = float(number)
        elif step == "a" and waiting:
            transaction = list(waiting)[number % len(waiting)]
            assert transactions.finish(ANN, transaction) is not None
            del waiting[transaction]
        elif step == "e":
            overdue = {each.transaction for each in transactions.expired(float(number))}
            assert overdue == {each for each, deadline in waiting.items() if deadline <= number}
            waiting = {each: at for each, at in waiting.items() if each not in overdue}
        assert len(transactions) == len(waiting)
        assert transactions.next_deadline() == min(waiting.values(), default=None)

"""Whom a search on the main DHT asks next, and when it is over."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rumormill.bep50.overlay.members.lookup import MOST_CANDIDATES, Lookup

TARGET = b"\x50" * 20
ids = st.binary(min_size=20, max_size=20)


def place(number: int) -> str:
    return f"10.{number >> 8}.{number & 255}.1:6881"


def lookup(closest: int = 8, width: int = 3, most_queries: int = 100) -> Lookup:
    return Lookup(TARGET, closest=closest, width=width, most_queries=most_queries)


def test_a_search_is_not_over_before_it_has_begun() -> None:
    search = lookup()
    search.add(place(1), b"a" * 20)
    assert not search.finished
    assert lookup().finished  # there is nobody to ask


def test_no_more_are_asked_at_once_than_the_width() -> None:
    search = lookup(width=3)
    for number in range(9):
        search.add(place(number), bytes([number]) * 20)
    first = search.to_ask()
    assert len(first) == 3
    assert search.to_ask() == []
    search.failed(first[0])
    assert len(search.to_ask()) == 1


def test_an_address_without_an_id_comes_after_all_others() -> None:
    search = lookup(width=1)
    search.add(place(1))
    search.add(place(2), b"\xff" * 20)
    assert search.to_ask() == [place(2)]


def test_a_node_that_was_told_with_a_wrong_id_finds_its_true_place() -> None:
    search = lookup(closest=2, width=3)
    search.add(place(1), TARGET)
    search.add(place(2), b"\x51" * 20)
    search.add(place(3), b"\x52" * 20)
    assert search.to_ask() == [place(1), place(2)]
    search.answered(place(1), b"\xaf" * 20)  # as far as can be
    assert search.to_ask() == [place(3)]
    search.answered(place(2), b"\x51" * 20)
    search.answered(place(3), b"\x52" * 20)
    assert search.finished
    assert [found.peer for found in search.nearest()] == [place(2), place(3), place(1)]


def test_a_search_takes_what_it_has_after_too_many_queries() -> None:
    search = lookup(most_queries=5)
    for number in range(20):
        search.add(place(number), bytes([number]) * 20)
    asked = 0
    while peers := search.to_ask():
        asked += len(peers)
        for peer in peers:
            search.failed(peer)
    assert asked == 5
    assert search.finished


@given(st.lists(st.tuples(ids, st.booleans()), max_size=300, unique_by=lambda each: each[0]))
def test_the_nearest_of_those_that_answer_are_found(nodes: list[tuple[bytes, bool]]) -> None:
    search = lookup(most_queries=1000)
    by_peer = {place(number): node for number, node in enumerate(nodes)}
    for peer, (id, _) in by_peer.items():
        search.add(peer, id)
    assert len(search) <= MOST_CANDIDATES
    while not search.finished:
        for peer in search.to_ask():
            id, answers = by_peer[peer]
            if answers:
                search.answered(peer, id)
            else:
                search.failed(peer)
    found = [candidate.id for candidate in search.nearest()][:8]
    if len(nodes) <= MOST_CANDIDATES:
        target = int.from_bytes(TARGET, "big")
        alive = [id for id, answers in nodes if answers]
        assert found == sorted(alive, key=lambda id: int.from_bytes(id, "big") ^ target)[:8]

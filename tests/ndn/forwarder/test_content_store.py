"""What is kept of Data, for how long, and what it answers."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from rumormill.ndn.forwarder.tables.content_store import MOST_TRIES, SPARE, ContentStore
from rumormill.ndn.security.signers import DigestSigner
from rumormill.ndn.wire.data import Data, encode_data, full_name
from rumormill.ndn.wire.interest import Interest, encode_interest
from rumormill.ndn.wire.name import Name, name_from_uri


def data(uri: str, content: bytes = b"", freshness: int | None = None) -> Data:
    return encode_data(name_from_uri(uri), content, DigestSigner(), freshness=freshness)


def ask(uri: str | Name, **fields: Any) -> Interest:
    name = name_from_uri(uri) if isinstance(uri, str) else uri
    return encode_interest(name, nonce=b"1234", **fields)


def store(most_bytes: int = 1_000_000, most: int = 1000) -> ContentStore:
    return ContentStore(most_bytes, most)


def test_data_is_found_by_its_name() -> None:
    cs = store()
    kept = data("/a/b")
    cs.insert(kept, 0.0)
    assert cs.find(ask("/a/b"), 100.0) is kept
    assert cs.find(ask("/a"), 100.0) is None
    assert cs.find(ask("/a/b/c"), 100.0) is None
    assert (cs.hits, cs.misses) == (1, 2)


def test_who_wants_fresh_data_gets_none_that_has_grown_old_or_never_was_fresh() -> None:
    cs = store()
    cs.insert(data("/short", freshness=1000), 0.0)
    cs.insert(data("/never"), 0.0)
    assert cs.find(ask("/short", must_be_fresh=True), 0.9) is not None
    assert cs.find(ask("/short", must_be_fresh=True), 1.0) is None
    assert cs.find(ask("/never", must_be_fresh=True), 0.0) is None
    assert cs.find(ask("/short"), 99.0) is not None


def test_newer_data_of_the_same_name_takes_the_place_of_the_older() -> None:
    cs = store()
    cs.insert(data("/a", b"1"), 0.0)
    before = cs.bytes
    newer = data("/a", b"2")
    cs.insert(newer, 1.0)
    assert cs.find(ask("/a"), 1.0) is newer
    assert (len(cs), cs.bytes) == (1, before)


def test_data_below_a_prefix_is_found_by_who_allows_it() -> None:
    cs = store()
    for uri in ("/a/b/1", "/ab/1", "/a", "/b"):
        cs.insert(data(uri), 0.0)
    found = cs.find(ask("/a/b", can_be_prefix=True), 0.0)
    assert found is not None and found.name == name_from_uri("/a/b/1")
    assert cs.find(ask("/a/c", can_be_prefix=True), 0.0) is None
    cs.insert(data("/a/c/2"), 0.0)
    assert cs.find(ask("/a/c", can_be_prefix=True), 0.0) is not None


def test_only_fresh_data_below_a_prefix_is_found_by_who_wants_it() -> None:
    cs = store()
    cs.insert(data("/a/1"), 0.0)
    cs.insert(data("/a/2", freshness=1000), 0.0)
    found = cs.find(ask("/a", can_be_prefix=True, must_be_fresh=True), 0.5)
    assert found is not None and found.name == name_from_uri("/a/2")
    assert cs.find(ask("/a", can_be_prefix=True, must_be_fresh=True), 1.5) is None


def test_a_search_below_a_prefix_looks_at_a_few_only() -> None:
    cs = store()
    for number in range(MOST_TRIES):
        cs.insert(data(f"/a/{number:03}"), 0.0)
    cs.insert(data("/a/999", freshness=1000), 0.0)
    assert cs.find(ask("/a", can_be_prefix=True, must_be_fresh=True), 0.0) is None


def test_data_is_found_by_its_full_name() -> None:
    cs = store()
    kept = data("/a/b", b"x")
    cs.insert(kept, 0.0)
    assert cs.find(ask(full_name(kept)), 0.0) is kept
    assert cs.find(ask(full_name(data("/a/b", b"y"))), 0.0) is None


def test_what_was_used_longest_ago_gives_way() -> None:
    cs = store(most=3)
    for uri in ("/a", "/b", "/c"):
        cs.insert(data(uri), 0.0)
    cs.find(ask("/a"), 0.0)
    cs.insert(data("/d"), 0.0)
    assert [cs.find(ask(uri), 0.0) is not None for uri in ("/a", "/b", "/c", "/d")] == [
        True,
        False,
        True,
        True,
    ]


def test_names_of_what_is_gone_are_forgotten_though_nobody_looks_for_a_prefix() -> None:
    cs = store(most=8)
    for number in range(2000):
        cs.insert(data(f"/{number}"), 0.0)
        assert cs.sizes()["cs_names"] <= 2 * 8 + SPARE
    assert cs.find(ask("/1999", can_be_prefix=True), 0.0) is not None


def test_nothing_is_kept_if_there_is_no_room_at_all() -> None:
    cs = store(most_bytes=0)
    cs.insert(data("/a"), 0.0)
    assert cs.sizes() == {"cs": 0, "cs_bytes": 0, "cs_names": 0}
    assert not cs.keeps


def test_all_is_forgotten_when_it_is_cleared() -> None:
    cs = store()
    cs.insert(data("/a"), 0.0)
    cs.clear()
    assert cs.find(ask("/a"), 0.0) is None
    assert set(cs.sizes().values()) == {0}


@given(
    steps=st.lists(st.tuples(st.integers(0, 40), st.integers(0, 3000), st.booleans()), max_size=300)
)
def test_it_never_takes_more_room_than_it_may(steps: list[tuple[int, int, bool]]) -> None:
    cs = store(most_bytes=20_000, most=8)
    for number, size, look in steps:
        cs.insert(data(f"/{number % 3}/{number}", bytes(size)), 0.0)
        if look:
            cs.find(ask(f"/{number % 3}", can_be_prefix=True), 0.0)
        sizes = cs.sizes()
        assert sizes["cs_bytes"] <= 20_000
        assert sizes["cs"] <= 8
        assert sizes["cs_names"] <= 2 * 8 + SPARE
        assert (sizes["cs"] == 0) == (sizes["cs_bytes"] == 0)


@given(
    names=st.lists(st.tuples(st.integers(0, 2), st.integers(0, 5)), max_size=60),
    prefix=st.integers(0, 2),
)
def test_a_prefix_finds_something_if_and_only_if_there_is_something(
    names: list[tuple[int, int]], prefix: int
) -> None:
    cs = store(most=5)
    for first, second in names:
        cs.insert(data(f"/{first}/{second}"), 0.0)
    found = cs.find(ask(f"/{prefix}", can_be_prefix=True), 0.0)
    left = list(dict.fromkeys(reversed(names)))[:5]
    assert (found is not None) == any(first == prefix for first, _ in left)

"""The address book: the newest record of each peer, for so many peers; and how far addresses go."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumormill.libp2p.stack.address_book import AddressBook
from rumormill.libp2p.stack.multiaddr import Multiaddr
from rumormill.libp2p.stack.peer_record import CertifiedRecord
from rumormill.libp2p.stack.reach import Reach, reach_of, reach_of_text


def record(peer: str, sequence: int) -> CertifiedRecord:
    return CertifiedRecord(peer, sequence, (), b"%s %d" % (peer.encode(), sequence))


def test_the_newest_record_wins_in_whichever_order_they_come() -> None:
    book = AddressBook()
    assert book.put(record("ann", 2)) and book.put(record("ann", 5))
    assert not book.put(record("ann", 4))
    assert book.get("ann") == record("ann", 5) and len(book) == 1
    assert book.get("bob") is None


def test_who_was_not_heard_of_for_the_longest_time_goes_first() -> None:
    book = AddressBook(most=3)
    for name in ("ann", "bob", "cyd"):
        book.put(record(name, 1))
    book.get("ann")
    book.put(record("bob", 1))
    book.put(record("dan", 1))
    assert [name for name in ("ann", "bob", "cyd", "dan") if book.get(name)] == [
        "ann", "bob", "dan",
    ]  # fmt: skip


@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.integers(0, 5))), st.integers(1, 4))
def test_it_never_outgrows_its_bound_and_never_goes_back(
    puts: list[tuple[str, int]], most: int
) -> None:
    book = AddressBook(most)
    for peer, sequence in puts:
        before = book.get(peer)
        taken = book.put(record(peer, sequence))
        assert taken is (before is None or sequence >= before.sequence)
        after = book.get(peer)
        assert after is not None and len(book) <= most
        assert after == (record(peer, sequence) if taken else before)


@pytest.mark.parametrize(
    ("address", "reach"),
    [
        ("/ip4/8.8.8.8/tcp/1", Reach.PUBLIC),
        ("/ip6/2600::1/tcp/1", Reach.PUBLIC),
        ("/dns4/example.org/tcp/1", Reach.PUBLIC),
        ("/ip4/10.1.2.3/tcp/1", Reach.PRIVATE),
        ("/ip4/192.168.1.1/tcp/1", Reach.PRIVATE),
        ("/ip4/100.64.0.1/tcp/1", Reach.PRIVATE),
        ("/ip6/fd00::1/tcp/1", Reach.PRIVATE),
        ("/dns4/printer/tcp/1", Reach.PRIVATE),
        ("/dns4/printer.local/tcp/1", Reach.PRIVATE),
        ("/ip4/127.0.0.1/tcp/1", Reach.LOOPBACK),
        ("/ip4/127.9.9.9/tcp/1", Reach.LOOPBACK),
        ("/ip6/::1/tcp/1", Reach.LOOPBACK),
        ("/ip6/::ffff:127.0.0.1/tcp/1", Reach.LOOPBACK),
        ("/dns/localhost./tcp/1", Reach.LOOPBACK),
        ("/dns4/a.LOCALHOST/tcp/1", Reach.LOOPBACK),
        ("/ip4/0.0.0.0/tcp/1", Reach.NOWHERE),
        ("/ip6/::/tcp/1", Reach.NOWHERE),
        ("/ip4/169.254.1.1/tcp/1", Reach.NOWHERE),
        ("/ip6/fe80::1/tcp/1", Reach.NOWHERE),
        ("/ip4/224.0.0.1/tcp/1", Reach.NOWHERE),
        ("/ip4/255.255.255.255/tcp/1", Reach.NOWHERE),
        ("/ip4/8.8.8.8/tcp/0", Reach.NOWHERE),
    ],
)
def test_how_far_an_address_is_known(address: str, reach: Reach) -> None:
    assert reach_of(Multiaddr.parse(address)) is reach is reach_of_text(address)


def test_what_is_no_address_is_nowhere() -> None:
    assert reach_of_text("10.0.0.1:4001") is reach_of_text("") is Reach.NOWHERE

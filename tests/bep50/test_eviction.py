"""Tables that make room: the oldest goes, and finding it costs the same however many there were.

A plain dict looks for its first key past all those that were deleted before it, so taking the
oldest out again and again is quadratic; an ``OrderedDict`` knows where it begins.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from rumormill.bep50.guards.proofs import ProvenAddresses
from rumormill.bep50.main_dht.contacts import MainContacts
from tests.helpers.places import ROOT

ROOM = ROOT / "src/rumormill/bep50"
# The rate limits are a token bucket that every family shares, with a test of its own.
FILES = sorted(ROOM.rglob("*.py"))
SCAN = re.compile(r"del (\w|\.)+\[next\(iter\(|pop\(next\(iter\(")


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOM)))
def test_no_table_looks_for_its_oldest_entry_past_those_that_are_gone(path: Path) -> None:
    assert not SCAN.search(path.read_text())


def test_the_oldest_proof_goes_and_a_renewed_one_is_not_the_oldest() -> None:
    proofs = ProvenAddresses(lifetime=600.0, most=3)
    for peer in ("a", "b", "c", "a", "d"):
        proofs.prove(peer, 0.0)
    assert [proofs.proven(peer, 0.0) for peer in "abcd"] == [True, False, True, True]


def test_the_oldest_node_of_the_main_dht_goes_and_one_that_answered_again_is_not_it() -> None:
    contacts = MainContacts(most=3)
    peers = [f"10.0.0.{number}:1" for number in (1, 2, 3, 1, 4)]
    for peer in peers:
        contacts.answered(peer, bytes(20))
        contacts.given(peer)
    kept = {contact.peer for contact in contacts.nearest(bytes(20), 8)}
    assert kept == {"10.0.0.1:1", "10.0.0.3:1", "10.0.0.4:1"}

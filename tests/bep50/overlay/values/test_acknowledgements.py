"""Who has taken our own publications, and who has not: one book for all."""

from __future__ import annotations

from rumormill.bep50.overlay.traffic.outbox import Outbox
from rumormill.bep50.overlay.values.acknowledgements import (
    ACKNOWLEDGED,
    MOST_AWAITED,
    REFUSED,
    Acknowledgements,
    Publication,
)
from rumormill.core.receipt import Receipt
from rumormill.core.trace import TraceEvent


class Desk:
    """Publications on one topic, and the answers to them."""

    def __init__(self) -> None:
        outbox = Outbox("us", trace_packets=False)
        self._effects = outbox.begin(0.0)
        self.book = Acknowledgements("topic", outbox)

    def publish(self, seq: int, *peers: str) -> Publication:
        receipt = Receipt(b"%d" % seq, "topic", reached=peers[:1], queued=peers[1:])
        publication = Publication(receipt, seq)
        self.book.expect(publication, receipt.peers)
        return publication

    def told(self, kind: str) -> list[tuple[bytes | None, str | None]]:
        events = [each for each in self._effects if isinstance(each, TraceEvent)]
        return [(each.message_id, each.peer) for each in events if each.event == kind]


def test_the_first_who_has_it_settles_a_publication() -> None:
    desk = Desk()
    publication = desk.publish(1, "a", "b")
    assert not publication.settled
    assert not publication.receipt.reached  # on its way is not there
    assert publication.receipt.queued == ("a", "b")
    desk.book.taken("b", 1)
    assert publication.settled
    receipt = publication.receipt
    assert (receipt.reached, receipt.queued, receipt.dropped) == (("b",), ("a",), {})
    assert receipt.fields == {"seq": 1}
    assert desk.told(ACKNOWLEDGED) == [(b"1", "b")]


def test_it_is_settled_too_when_everybody_has_refused() -> None:
    desk = Desk()
    publication = desk.publish(1, "a", "b")
    desk.book.refused("a", 1, 302, "old")
    assert not publication.settled
    desk.book.refused("b", 1, 0, "no_answer")
    assert publication.settled
    assert publication.receipt.dropped == {"a": "302 old", "b": "no_answer"}
    assert not publication.receipt
    assert desk.told(REFUSED) == [(b"1", "a"), (b"1", "b")]


def test_who_knows_of_something_newer_makes_it_outdated_unless_another_has_it() -> None:
    desk = Desk()
    publication = desk.publish(1, "a", "b", "c")
    desk.book.refused("a", 1, 205, "too big")
    assert not publication.outdated
    desk.book.refused("b", 1, 302, "old")
    assert publication.outdated
    desk.book.taken("c", 1)
    assert not publication.outdated


def test_without_peers_it_is_settled_at_once() -> None:
    assert Desk().publish(1).settled


def test_who_has_a_later_value_needs_the_earlier_ones_no_more() -> None:
    desk = Desk()
    first, second, third = (desk.publish(seq, "a") for seq in (1, 2, 3))
    desk.book.taken("a", 2)
    assert first.settled and second.settled
    assert not third.settled
    assert desk.told(ACKNOWLEDGED) == [(b"1", "a"), (b"2", "a")]


def test_an_answer_counts_once_and_only_from_whom_it_is_expected() -> None:
    desk = Desk()
    publication = desk.publish(1, "a", "b")
    desk.book.taken("stranger", 1)
    assert not publication.settled
    desk.book.taken("a", 1)
    desk.book.refused("a", 1, 302, "old")
    assert publication.receipt.reached == ("a",)
    assert publication.receipt.dropped == {}


def test_codes_that_a_peer_made_up_are_one_name_for_counters() -> None:
    desk = Desk()
    for seq in range(1, 100):
        desk.publish(seq, "a")
        desk.book.refused("a", seq, 1_000_000 + seq, "nonsense")
    events = [each for each in desk._effects if isinstance(each, TraceEvent)]
    assert {each.fields["reason"] for each in events} == {"error_unknown"}


def test_a_peer_that_never_answers_costs_no_more_than_so_much() -> None:
    desk = Desk()
    first = desk.publish(1, "a")
    for seq in range(2, MOST_AWAITED + 2):
        desk.publish(seq, "a")
    assert first.receipt.dropped == {"a": "overtaken"}
    desk.book.leave(MOST_AWAITED + 1)
    assert len(desk.book) == 0
    assert len(desk.told(REFUSED)) == MOST_AWAITED + 1

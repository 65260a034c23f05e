from __future__ import annotations

from rumormill.bep50.effects import Acknowledged, Refused
from rumormill.bep50.live.acknowledgements import Acknowledgements, Publication
from rumormill.core.receipt import Receipt

TOPIC = "ab" * 32


class Desk:
    """Publications that somebody waits for, and the answers to them."""

    def __init__(self) -> None:
        self.happened = 0
        self.acknowledgements = Acknowledgements(self._happened)

    def _happened(self) -> None:
        self.happened += 1

    def publish(self, seq: int, *peers: str, topic: str = TOPIC) -> Publication:
        receipt = Receipt(b"%d" % seq, topic, reached=peers[:1], queued=peers[1:])
        return self.acknowledgements.expect(receipt, seq)

    def acknowledge(self, seq: int, peer: str) -> None:
        self.acknowledgements.handlers[Acknowledged](Acknowledged(TOPIC, b"%d" % seq, peer))

    def refuse(self, seq: int, peer: str, code: int = 302, text: str = "old") -> None:
        self.acknowledgements.handlers[Refused](Refused(TOPIC, b"%d" % seq, peer, code, text))


def test_the_first_who_has_it_settles_a_publication() -> None:
    desk = Desk()
    publication = desk.publish(1, "a", "b")
    assert not publication.settled
    assert not publication.receipt.reached  # on its way is not there
    assert publication.receipt.queued == ("a", "b")
    desk.acknowledge(1, "b")
    assert publication.settled
    receipt = publication.receipt
    assert (receipt.reached, receipt.queued, receipt.dropped) == (("b",), ("a",), {})
    assert receipt.fields == {"seq": 1}
    assert desk.happened == 1


def test_it_is_settled_too_when_everybody_has_refused() -> None:
    desk = Desk()
    publication = desk.publish(1, "a", "b")
    desk.refuse(1, "a")
    assert not publication.settled
    desk.refuse(1, "b", code=0)
    assert publication.settled
    assert publication.receipt.dropped == {"a": "302 old", "b": "no_answer"}
    assert not publication.receipt


def test_who_knows_of_something_newer_makes_it_outdated_unless_another_has_it() -> None:
    desk = Desk()
    publication = desk.publish(1, "a", "b", "c")
    desk.refuse(1, "a", code=205)
    assert not publication.outdated
    desk.refuse(1, "b", code=302)
    assert publication.outdated
    desk.acknowledge(1, "c")
    assert not publication.outdated


def test_without_peers_it_is_settled_at_once() -> None:
    assert Desk().publish(1).settled


def test_who_has_a_later_value_needs_the_earlier_ones_no_more() -> None:
    desk = Desk()
    first, second, third = (desk.publish(seq, "a") for seq in (1, 2, 3))
    other = desk.publish(0, "a", topic="cd" * 32)
    desk.acknowledge(2, "a")
    assert first.settled and second.settled
    assert not third.settled and not other.settled


def test_an_answer_counts_once_and_only_from_whom_it_is_expected() -> None:
    desk = Desk()
    publication = desk.publish(1, "a", "b")
    desk.acknowledge(1, "stranger")
    assert not publication.settled
    desk.acknowledge(1, "a")
    desk.refuse(1, "a")
    assert publication.receipt.reached == ("a",)
    assert publication.receipt.dropped == {}


def test_answers_that_nobody_waits_for_are_passed_over() -> None:
    desk = Desk()
    publication = desk.publish(1, "a")
    desk.acknowledgements.forget(publication)
    desk.acknowledgements.forget(publication)
    desk.acknowledge(1, "a")
    desk.refuse(1, "a")
    assert desk.happened == 0

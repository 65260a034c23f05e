"""An application that is behind: nothing is fetched, publishers wait, others are asked."""

from __future__ import annotations

from rumormill.core.machine import Hold, Unsubscribe
from rumormill.ndn.pubsub.parameters import PubSubParameters
from rumormill.ndn.wire.link import NackReason
from tests.helpers.ndn.pubsub import Member, Town, foreign_message, foreign_notify


def held(parameters: PubSubParameters | None = None) -> tuple[Town, Member]:
    town = Town(nacks=False)
    bob = town.add("/bob", "/t/x", parameters=parameters or PubSubParameters())
    town.run(1)
    bob.feed(Hold(True))
    return town, bob


def notify(bob: Member, number: int, lifetime: int = 4000) -> None:
    bob.interest(foreign_notify("/t/x", "/alice", b"%d" % number, lifetime=lifetime))


def test_while_the_application_is_behind_nothing_is_fetched() -> None:
    town, bob = held()
    notify(bob, 1)
    town.run(0.4)
    assert not town.between("/bob")
    bob.feed(Hold(False))
    assert [each.kind for each in town.between("/bob")] == ["interest"]
    assert len(bob.traced("source_paused")) == len(bob.traced("source_resumed")) == 1


def test_what_waits_is_fetched_in_its_order() -> None:
    town, bob = held()
    for number in range(5):
        notify(bob, number)
    bob.feed(Hold(False))
    fetched = [each.name[-1:] for each in town.between("/bob", "interest")]
    assert fetched == [b"0", b"1", b"2", b"3", b"4"]


def test_what_nobody_waits_for_any_more_is_forgotten_without_a_word() -> None:
    town, bob = held()
    notify(bob, 1, lifetime=1000)
    notify(bob, 2, lifetime=400)
    town.run(0.5)
    assert bob.pubsub.sizes()["held"] == 1
    town.run(0.6)
    assert bob.reasons("dropped") == ["held", "held"] and not town.between("/bob")
    bob.feed(Hold(False))
    assert not town.between("/bob") and bob.pubsub.sizes()["arrivals"] == 0


def test_a_notification_that_is_sent_again_waits_on() -> None:
    town, bob = held()
    for _ in range(5):
        notify(bob, 1, lifetime=1000)
        town.run(0.9)
    assert not bob.traced("dropped") and bob.pubsub.sizes()["held"] == 1
    bob.feed(Hold(False))
    bob.data(foreign_message("/t/x", "/alice", b"1", b"hello"))
    town.run(0)
    assert bob.messages == [b"hello"] and len(town.between("/bob", "data")) == 1


def test_only_so_many_wait() -> None:
    town, bob = held(PubSubParameters(max_held=2))
    for number in range(5):
        notify(bob, number)
    assert bob.pubsub.sizes()["held"] == 2 and set(bob.reasons("dropped")) == {"too_many_held"}
    assert [each.reason for each in town.between("/bob", "nack")] == [NackReason.CONGESTION] * 3


def test_what_was_being_fetched_is_delivered() -> None:
    town = Town(nacks=False)
    bob = town.add("/bob", "/t/x")
    town.run(1)
    notify(bob, 1)
    bob.feed(Hold(True))
    bob.data(foreign_message("/t/x", "/alice", b"1", b"hello"))
    town.run(0)
    assert bob.messages == [b"hello"]


def test_what_was_delivered_is_acknowledged_again_all_the_same() -> None:
    town = Town(nacks=False)
    bob = town.add("/bob", "/t/x")
    notify(bob, 1)
    bob.data(foreign_message("/t/x", "/alice", b"1", b"hello"))
    town.run(0)
    bob.feed(Hold(True))
    notify(bob, 1)
    assert len(town.between("/bob", "data")) == 2


def test_leaving_the_topic_ends_the_wait() -> None:
    town, bob = held()
    notify(bob, 1)
    bob.feed(Unsubscribe("/t/x"))
    assert [each.reason for each in town.between("/bob", "nack")] == [NackReason.NO_ROUTE]
    bob.feed(Hold(False))
    assert bob.pubsub.sizes()["held"] == 0 and not town.between("/bob", "interest")


def test_a_message_goes_to_another_subscriber_if_the_nearest_is_behind() -> None:
    town = Town()
    alice, bob, carol = town.add("/alice"), town.add("/bob", "/t/x"), town.add("/carol", "/t/x")
    town.run(1)
    bob.feed(Hold(True))
    alice.publish("/t/x", b"hello")
    town.run(2)
    assert alice.outcomes == ["delivered"]
    assert (bob.messages, carol.messages) == ([], [b"hello"])


def test_a_publisher_gives_up_on_who_stays_behind_and_it_is_true() -> None:
    town = Town()
    alice, bob = town.add("/alice"), town.add("/bob", "/t/x")
    town.run(1)
    bob.feed(Hold(True))
    alice.publish("/t/x", b"hello")
    town.run(6)
    bob.feed(Hold(False))
    town.run(6)
    assert alice.outcomes == ["no_subscriber"] and bob.messages == []
    assert alice.receipts[0].fields["seconds"] <= 3.0

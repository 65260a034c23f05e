"""A notification names a publisher: how many Interests others can make us send to whom."""

from __future__ import annotations

from rumormill.core.machine import Unsubscribe
from rumormill.ndn.pubsub.parameters import PubSubParameters
from rumormill.ndn.wire.data import decode_data
from rumormill.ndn.wire.link import NackReason
from tests.helpers.ndn.pubsub import Member, Town, foreign_message, foreign_notify

SMALL = PubSubParameters(
    max_fetches=50, max_fetches_per_publisher=10, max_fetches_per_topic=30, stranger_failures=20,
    stranger_failure_rate=2.0, publisher_failures=5, publisher_failure_rate=0.2, strained_fetches=4,
)  # fmt: skip


def target(parameters: PubSubParameters = SMALL) -> tuple[Town, Member]:
    town = Town(nacks=False)
    bob = town.add("/bob", "/t/x", "/t/y", "/t/z", parameters=parameters)
    town.run(1)
    return town, bob


def notify(bob: Member, publisher: str, nonce: str, topic: str = "/t/x") -> None:
    bob.interest(foreign_notify(topic, publisher, nonce.encode()))


def deliver(bob: Member, publisher: str, nonce: str, topic: str = "/t/x") -> bool:
    """A message that its publisher has; whether it was delivered."""
    before = len(bob.messages)
    notify(bob, publisher, nonce, topic)
    bob.data(foreign_message(topic, publisher, nonce.encode(), b"hello"))
    bob.town.run(0)
    return len(bob.messages) > before


def fetches(town: Town) -> int:
    return len(town.between("/bob", "interest"))


def test_strangers_share_one_small_account() -> None:
    town, bob = target()
    for number in range(1000):
        notify(bob, f"/victim/{number}", "k")
    assert fetches(town) == SMALL.stranger_failures
    assert set(bob.reasons("dropped")) == {"stranger_failures"}
    assert {each.reason for each in town.between("/bob", "nack")} == {NackReason.CONGESTION}


def test_over_time_they_can_make_us_send_little_more_than_what_time_pays_for() -> None:
    town, bob = target()
    for second in range(60):
        for number in range(100):
            notify(bob, f"/victim/{second}/{number}", "k")
        town.run(1)
    allowed = SMALL.stranger_failures + 60 * SMALL.stranger_failure_rate
    assert fetches(town) <= allowed * SMALL.fetch_attempts + 60 * SMALL.strained_fetches
    assert {event.peer for event in bob.traced("fetch_failed")} > {"/victim/0/0"}


def test_a_publisher_that_we_have_had_a_message_of_is_not_kept_out_by_strangers() -> None:
    _, bob = target()
    assert deliver(bob, "/alice", "1")
    for number in range(1000):
        notify(bob, f"/victim/{number}", "k")
    assert deliver(bob, "/alice", "2")
    assert not deliver(bob, "/carol", "1")  # all of strangers' fetches are under way


def test_who_is_strained_is_asked_once_and_few_at_a_time() -> None:
    town, bob = target()
    for number in range(100):
        notify(bob, f"/victim/{number}", "k")
    town.run(3)
    before = fetches(town)
    for number in range(100):
        notify(bob, f"/victim/{number}", "again")
    town.run(3)
    # Time has paid for one of the failures, so that one of these is tried as ever.
    assert fetches(town) - before == SMALL.strained_fetches - 1 + SMALL.fetch_attempts
    assert deliver(bob, "/carol", "1")  # somebody who has a message is heard all the same


def test_strangers_are_fetched_from_as_ever_when_time_has_paid() -> None:
    town, bob = target()
    for number in range(100):
        notify(bob, f"/victim/{number}", "k")
    town.run(30)
    before = fetches(town)
    notify(bob, "/carol", "1")
    town.run(3)
    assert fetches(town) - before == SMALL.fetch_attempts


def test_one_publisher_has_only_so_many_fetches_at_once() -> None:
    town, bob = target()
    assert deliver(bob, "/alice", "first")
    before = fetches(town)
    for number in range(100):
        notify(bob, "/alice", str(number))
    assert fetches(town) - before == SMALL.max_fetches_per_publisher
    assert set(bob.reasons("dropped")) == {"publisher_fetches"}
    assert deliver(bob, "/carol", "1")


def test_one_topic_has_only_so_many_fetches_at_once() -> None:
    town, bob = target()
    for publisher in range(10):
        assert deliver(bob, f"/p/{publisher}", "first")
    before = fetches(town)
    for number in range(100):
        notify(bob, f"/p/{number % 10}", str(number))
    assert fetches(town) - before == SMALL.max_fetches_per_topic
    assert deliver(bob, "/p/0", "other", "/t/y")


def test_all_together_have_only_so_many_fetches_at_once() -> None:
    town, bob = target()
    for publisher in range(10):
        assert deliver(bob, f"/p/{publisher}", "first")
    before = fetches(town)
    for number in range(300):
        notify(bob, f"/p/{number % 10}", str(number), f"/t/{'xyz'[number % 3]}")
    assert fetches(town) - before == SMALL.max_fetches
    assert "too_many_fetches" in bob.reasons("dropped")
    town.run(10)
    assert bob.pubsub.sizes()["fetches"] == 0 == bob.pubsub.sizes()["fetch_publishers"]


def test_made_up_messages_of_a_publisher_do_not_keep_its_true_ones_out() -> None:
    town, bob = target()
    assert deliver(bob, "/alice", "first")
    for number in range(6):
        notify(bob, "/alice", f"made up {number}")
    town.run(3)
    before = fetches(town)
    for number in range(50):
        notify(bob, "/alice", f"made up again {number}")
    town.run(3)
    assert fetches(town) - before == SMALL.strained_fetches
    assert set(bob.reasons("dropped")) == {"publisher_failures"}
    assert deliver(bob, "/alice", "second")


def test_a_message_that_does_not_hold_makes_nobody_known() -> None:
    _, bob = target()
    bob.interest(foreign_notify("/t/x", "/mallory", b"1"))
    good = foreign_message("/t/x", "/mallory", b"1", b"hello")
    bob.data(decode_data(good.raw[:-1] + bytes((good.raw[-1] ^ 1,))))
    assert bob.pubsub.sizes()["publishers"] == 0
    assert deliver(bob, "/mallory", "2")
    assert bob.pubsub.sizes()["publishers"] == 1


def test_leaving_a_topic_charges_nobody() -> None:
    town, bob = target(PubSubParameters(stranger_failures=1, stranger_failure_rate=0.001))
    notify(bob, "/alice", "1")
    bob.feed(Unsubscribe("/t/x"))
    town.sent.clear()
    notify(bob, "/carol", "1", "/t/y")
    town.run(3)
    assert fetches(town) == SMALL.fetch_attempts

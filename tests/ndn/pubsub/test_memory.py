"""Floods: however much strangers send, what is kept has a bound, and goes away again."""

from __future__ import annotations

from random import Random

from rumormill.core.machine import Hold
from rumormill.ndn.pubsub.parameters import PubSubParameters
from rumormill.ndn.pubsub.topics import LONGEST_KEPT, Names
from rumormill.ndn.security.private_keys import PrivateKey
from rumormill.ndn.security.trust import Trust
from rumormill.ndn.wire.interest import encode_interest
from rumormill.ndn.wire.link import NackReason
from rumormill.ndn.wire.manifest import MANIFEST_CONTENT_TYPE, Manifest, encode_manifest
from rumormill.ndn.wire.name import component, name_from_uri
from tests.helpers.ndn.pubsub import Member, Town, foreign_message, foreign_notify

SMALL = PubSubParameters(
    max_fetches=40, max_fetches_per_publisher=20, max_fetches_per_topic=30, stranger_failures=25,
    max_held=15, max_remembered=50, max_publishers=20, max_names=30, max_publications=10,
    max_lingering=12, segments=True, max_segmented_bytes=100_000, largest_segmented=60_000,
)  # fmt: skip
BOUNDS = {
    "arrivals": 40, "waiters": 40 * 8, "fetches": 40, "fetch_publishers": 40, "held": 15,
    "remembered": 50, "publishers": 20, "names": 60, "publications": 10, "kept": 22,
    "lingering": 12, "reserved_bytes": 100_000, "topics": 1, "checks": 50,
    "interests": 40 * 16 + 10,
}  # fmt: skip


def flooded(trust: Trust | None = None) -> tuple[Town, Member]:
    town = Town(nacks=False)
    bob = town.add("/bob", "/t/x", parameters=SMALL, trust=trust)
    town.run(1)
    return town, bob


def check_bounds(bob: Member) -> None:
    sizes = bob.pubsub.sizes()
    for what, most in BOUNDS.items():
        assert sizes[what] <= most, what
    bob.effects.clear()
    bob.town.sent.clear()
    bob.town.trace.clear()


def check_quiet(bob: Member) -> None:
    bob.town.run(SMALL.deduplication_seconds + 90)
    left = {what for what, size in bob.pubsub.sizes().items() if size}
    assert left <= {"topics", "publishers", "names"}
    assert bob.pubsub.next_wake() is None
    timers = bob.pubsub._pending._timers
    assert len(timers._heap) <= 64 and not timers._times


def test_notifications_of_messages_that_nobody_has() -> None:
    town, bob = flooded()
    for number in range(3000):
        bob.interest(foreign_notify("/t/x", f"/p/{number}", b"%d" % number))
        if number % 100 == 0:
            check_bounds(bob)
            town.run(0.3)
    check_bounds(bob)
    check_quiet(bob)


def test_notifications_of_messages_that_somebody_has() -> None:
    town, bob = flooded()
    for number in range(2000):
        nonce = b"%d" % number
        bob.interest(foreign_notify("/t/x", f"/p/{number % 100}", nonce))
        bob.data(foreign_message("/t/x", f"/p/{number % 100}", nonce, bytes(500)))
        town.run(0.01)
        if number % 100 == 0:
            check_bounds(bob)
    check_quiet(bob)


def test_the_same_notification_under_ever_new_names() -> None:
    _, bob = flooded()
    for number in range(1000):
        bob.interest(foreign_notify("/t/x", "/p", b"k", signature_nonce=number.to_bytes(4, "big")))
    assert bob.pubsub.sizes()["waiters"] == 8
    check_quiet(bob)


def test_notifications_while_the_application_is_behind() -> None:
    town, bob = flooded()
    bob.feed(Hold(True))
    for number in range(500):
        bob.interest(foreign_notify("/t/x", f"/p/{number}", b"%d" % number))
        if number % 50 == 0:
            check_bounds(bob)
            town.run(0.5)
    bob.feed(Hold(False))
    check_bounds(bob)
    check_quiet(bob)


def test_notifications_whose_signatures_wait_to_be_checked() -> None:
    key = PrivateKey.generate(Random(1), name_from_uri("/p"))
    _, bob = flooded(Trust.open([key.public_key]))
    bob.answers_checks = False
    for number in range(300):
        bob.interest(foreign_notify("/t/x", f"/p/{number}", b"%d" % number, signer=key.signer))
    assert bob.pubsub.sizes()["checks"] == SMALL.stranger_failures
    checks = bob.checks
    check_bounds(bob)
    bob.answers_checks = True
    for check in checks:
        bob._check(check)
    check_quiet(bob)


def test_manifests_of_messages_that_never_come() -> None:
    town, bob = flooded()
    content = encode_manifest(Manifest(50_000, 60_000, bytes(32)))
    for number in range(300):
        nonce = b"%d" % number
        bob.interest(foreign_notify("/t/x", "/p", nonce))
        bob.data(foreign_message("/t/x", "/p", nonce, content, content_type=MANIFEST_CONTENT_TYPE))
        if number % 20 == 0:
            check_bounds(bob)
            town.run(1)
    check_quiet(bob)


def test_interests_data_and_nacks_for_nothing() -> None:
    _, bob = flooded()
    before = bob.pubsub.sizes()
    for number in range(1000):
        name = name_from_uri(f"/bob/msg/t/x/{number}")
        interest = encode_interest(name, nonce=b"1234")
        bob.interest(interest)
        bob.interest(foreign_notify(f"/t/{number}", "/p", b"k"))
        bob.interest(foreign_notify("/t/x", "", b"k", parameters=b"%d" % number))
        bob.data(foreign_message("/t/x", f"/p/{number}", b"k", b"hello"))
        bob.nack(interest, NackReason.NO_ROUTE)
    assert bob.pubsub.sizes() == before
    check_quiet(bob)


def test_a_publisher_that_publishes_faster_than_anybody_takes() -> None:
    town = Town()
    alice = town.add("/alice", parameters=SMALL)
    bob = town.add("/bob", "/t/x", parameters=SMALL)
    town.run(1)
    for number in range(1000):
        alice.publish("/t/x", bytes(500))
        if number % 10 == 0:
            town.run(0.05)
            check_bounds(alice)
            check_bounds(bob)
    check_quiet(alice)
    check_quiet(bob)


def test_names_that_strangers_choose_are_kept_in_part() -> None:
    names = Names(most=10)
    for number in range(100):
        names.text(component(b"%d" % number))
        names.topic(f"/{number}")
    assert len(names) == 20
    long = component(bytes(LONGEST_KEPT))
    assert names.text(long) == names.text(long)
    assert len(names) == 20

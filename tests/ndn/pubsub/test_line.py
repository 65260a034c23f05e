"""A line that goes down and comes back, and routes that take their time or are refused."""

from __future__ import annotations

import pytest

from rumormill.core.errors import ConfigError, LocalProtocolError
from rumormill.core.machine import Unsubscribe
from rumormill.ndn.pubsub.parameters import PubSubParameters
from rumormill.ndn.wire.name import name_from_uri
from tests.helpers.ndn.pubsub import Member, Town, foreign_message, foreign_notify

MSG_ROUTE = name_from_uri("/alice/msg")


def pair() -> tuple[Town, Member, Member]:
    town = Town()
    alice, bob = town.add("/alice"), town.add("/bob", "/t/x")
    town.run(1)
    return town, alice, bob


def test_a_message_that_is_published_without_a_line_waits_for_one() -> None:
    town, alice, bob = pair()
    alice.disconnect()
    alice.publish("/t/x", b"hello")
    town.run(2)
    assert not town.sent and not alice.receipts
    alice.connect()
    town.run(0.5)
    assert bob.messages == [b"hello"] and alice.outcomes == ["delivered"]
    assert alice.receipts[0].fields["attempts"] == 1


def test_without_a_line_patience_ends_too() -> None:
    town, alice, _ = pair()
    alice.disconnect()
    alice.publish("/t/x", b"hello")
    town.run(3.5)
    assert alice.outcomes == ["no_subscriber"]
    assert alice.receipts[0].fields["reason"] == "not_reachable"
    assert alice.receipts[0].fields["attempts"] == 0


def test_a_notification_that_went_down_with_the_line_is_sent_again_when_others_can_fetch() -> None:
    town, alice, bob = pair()
    bob.disconnect()
    town.nacks = False
    alice.publish("/t/x", b"hello")
    town.run(0.1)
    alice.disconnect()
    bob.connect()
    town.run(0.2)
    alice.connect()
    town.run(0.3)  # long before the next try
    assert bob.messages == [b"hello"] and alice.outcomes == ["delivered"]
    assert [event.fields for event in alice.traced("retried")] == [
        {"what": "notify", "reason": "line_up", "count": 1}
    ]


def test_what_was_being_fetched_is_asked_for_again_when_the_line_is_back() -> None:
    town, alice, bob = pair()
    alice.publish("/t/x", b"hello")
    town.run(0.0101)  # the notification is there, the message on its way
    bob.disconnect()
    town.run(0.2)
    bob.connect()
    town.run(0.3)
    assert bob.messages == [b"hello"]
    assert bob.traced("retried")[0].fields == {"what": "fetch", "reason": "line_up", "count": 1}
    town.run(3)
    assert alice.outcomes == ["delivered"]


def test_routes_stand_again_after_the_line_was_down() -> None:
    town, _, bob = pair()
    bob.disconnect()
    assert not bob.pubsub.is_ready("/t/x")
    bob.connect()
    town.run(1)
    assert bob.pubsub.is_ready("/t/x")
    assert len(bob.traced("subscribed")) == 1
    stands = [event.fields["prefix"] for event in bob.traced("route_stands")]
    assert stands.count("/t/x/notify") == 2


def test_a_route_that_is_told_twice_makes_nothing_be_sent_twice() -> None:
    town = Town(nacks=False)
    alice = town.add("/alice")
    town.run(1)
    alice.publish("/t/x", b"hello")
    alice.run(alice.pubsub.registered, MSG_ROUTE, "")
    assert len(town.sent) == 1


def test_a_publisher_whose_route_is_refused_says_so_at_once() -> None:
    town = Town()
    alice = town.add("/alice", up=False)
    alice.refuses[MSG_ROUTE] = "403 not yours"
    alice.publish("/t/x", b"before")
    alice.connect()
    town.run(0.5)
    alice.publish("/t/x", b"after")
    assert alice.outcomes == ["no_subscriber"] * 2
    assert {receipt.fields["reason"] for receipt in alice.receipts} == {"route_refused"}
    assert alice.traced("route_refused")[0].fields["prefix"] == "/alice/msg"
    alice.refuses.clear()
    alice.disconnect()
    alice.connect()
    town.add("/bob", "/t/x")
    town.run(0.5)
    alice.publish("/t/x", b"later")
    town.run(1)
    assert alice.outcomes[2] == "delivered"


def test_who_only_listens_need_not_announce_a_prefix() -> None:
    town = Town()
    quiet = PubSubParameters(register_at_start=False)
    bob = town.add("/bob", "/t/x", parameters=quiet)
    alice = town.add("/alice", parameters=quiet)
    town.run(1)
    assert set(town.routes) == {name_from_uri("/t/x/notify")}
    alice.publish("/t/x", b"hello")
    town.run(1)
    assert bob.messages == [b"hello"] and MSG_ROUTE in town.routes


def test_a_route_may_stand_before_the_call_that_asks_for_it_has_ended() -> None:
    town = Town()
    town.at_once = True
    quiet = PubSubParameters(register_at_start=False)
    bob = town.add("/bob", "/t/x", parameters=quiet)
    alice = town.add("/alice", parameters=quiet)
    assert bob.pubsub.is_ready("/t/x") and len(bob.traced("subscribed")) == 1
    alice.publish("/t/x", b"hello")
    assert len(town.between("/alice")) == 1
    town.run(1)
    assert bob.messages == [b"hello"] and alice.outcomes == ["delivered"]


@pytest.mark.parametrize("announced", [True, False])
def test_the_hint_is_announced_if_that_is_wanted(announced: bool) -> None:
    town = Town()
    parameters = PubSubParameters(forwarding_hint="/gate", announce_hint=announced)
    alice = town.add("/alice", parameters=parameters)
    town.run(1)
    assert (name_from_uri("/gate") in town.routes) is announced
    alice.run(alice.pubsub.shutdown)
    assert not any(town.routes.values())


def test_a_route_that_stands_after_its_topic_was_left_is_nothing() -> None:
    town = Town(latency=0.2)
    bob = town.add("/bob", "/t/x")
    bob.feed(Unsubscribe("/t/x"))
    town.run(1)
    assert not bob.traced("subscribed")


def test_what_comes_after_the_end_is_answered_and_harms_nobody() -> None:
    town, alice, bob = pair()
    alice.run(alice.pubsub.shutdown)
    bob.run(bob.pubsub.shutdown)
    bob.interest(foreign_notify("/t/x", "/carol", b"1"))
    bob.data(foreign_message("/t/x", "/carol", b"1", b"hello"))
    bob.disconnect()
    bob.connect()
    town.run(5)
    assert not bob.messages and not any(town.routes.values())


def test_the_root_is_nobodys_prefix() -> None:
    with pytest.raises(LocalProtocolError, match="prefix"):
        Town().add("/")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("notify_attempts", 0),
        ("notify_lifetime", float("nan")),
        ("forwarding_hint", "/"),
        ("forwarding_hint", "gate"),
        ("reaches", "some"),
        ("largest_packet", 100_000),
    ],
)
def test_a_wrong_setting_names_its_key(key: str, value: object) -> None:
    with pytest.raises(ConfigError) as problem:
        PubSubParameters(**{key: value})  # type: ignore[arg-type]
    assert problem.value.key == key

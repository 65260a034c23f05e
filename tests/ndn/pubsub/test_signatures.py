"""Signatures of all kinds, and whose are believed."""

from __future__ import annotations

from random import Random

import pytest

from rumormill.core.machine import Check, Checked, Deliver, Verdict
from rumormill.ndn.security.private_keys import PrivateKey
from rumormill.ndn.security.trust import Trust
from rumormill.ndn.wire.link import NackReason
from rumormill.ndn.wire.name import name_from_uri
from tests.helpers.ndn.pubsub import Member, Town, foreign_message, foreign_notify

K = b"\x0c\x89\x70\x94"
KINDS = ["hmac", "ed25519", "ecdsa"]


def key_of(kind: str, seed: int = 1) -> PrivateKey:
    return PrivateKey.generate(Random(seed), name_from_uri("/alice"), kind)


def only(key: PrivateKey) -> Trust:
    """Only this key may write below /t."""
    return Trust({name_from_uri("/t"): [key.public_key]})


@pytest.mark.parametrize("kind", KINDS)
def test_a_signed_message_is_checked_and_delivered_with_its_key(kind: str) -> None:
    town, key = Town(), key_of(kind)
    alice = town.add("/alice", signer=key.signer)
    bob = town.add("/bob", "/t/x", trust=only(key))
    town.run(1)
    alice.publish("/t/x", b"hello")
    town.run(1)
    message = bob.of(Deliver)[0].message
    assert message.data == b"hello" and message.fields == {"signed_by": key.uri}
    assert alice.outcomes == ["delivered"]
    checks = [check.subject for check in bob.of(Check)]
    assert [subject.kind for subject in checks] == ["notify", "message"]
    assert all(check.cost > 2 for check in bob.of(Check))


def test_checks_of_strangers_are_one_lane_and_those_of_a_publisher_its_own() -> None:
    town, key = Town(), key_of("ed25519")
    alice = town.add("/alice", signer=key.signer)
    bob = town.add("/bob", "/t/x", trust=only(key))
    town.run(1)
    for _ in range(2):
        alice.publish("/t/x", b"hello")
        town.run(1)
    assert [check.peer for check in bob.of(Check)] == [None, None, "/alice", "/alice"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_key_that_nobody_knows_is_not_believed_and_its_publisher_hears_soon(kind: str) -> None:
    town = Town()
    alice = town.add("/alice", signer=key_of(kind, 2).signer)
    bob = town.add("/bob", "/t/x", trust=only(key_of(kind)))
    town.run(1)
    alice.publish("/t/x", b"hello")
    town.run(0.5)
    assert not bob.messages and bob.reasons("rejected") == [Verdict.FORGED]
    assert alice.outcomes == ["no_subscriber"]


def test_where_keys_are_asked_for_a_digest_is_not_enough() -> None:
    town = Town()
    alice = town.add("/alice")
    bob = town.add("/bob", "/t/x", "/open", trust=only(key_of("ed25519")))
    town.run(1)
    alice.publish("/t/x", b"closed")
    alice.publish("/open", b"open")
    town.run(1)
    assert bob.messages == [b"open"]
    assert sorted(alice.outcomes) == ["delivered", "no_subscriber"]


def member(trust: Trust) -> tuple[Town, Member]:
    town = Town(nacks=False)
    bob = town.add("/bob", "/t/x", trust=trust)
    town.run(1)
    return town, bob


def test_a_message_that_is_signed_with_less_than_its_notification_is_not_believed() -> None:
    key = key_of("ed25519")
    town, bob = member(only(key))
    bob.interest(foreign_notify("/t/x", "/alice", K, signer=key.signer))
    town.run(0)
    bob.data(foreign_message("/t/x", "/alice", K, b"hello"))
    town.run(0)
    assert not bob.messages and bob.reasons("rejected") == ["bad_signature"]


def test_a_forged_notification_does_not_keep_the_true_one_out() -> None:
    key, forger = key_of("ed25519"), key_of("ed25519", 2)
    town, bob = member(only(key))
    bob.answers_checks = False
    forged = foreign_notify("/t/x", "/alice", K, signer=forger.signer)
    true = foreign_notify("/t/x", "/alice", K, signer=key.signer)
    bob.interest(forged)
    bob.interest(true)
    assert len(bob.checks) == 1  # of one message one at a time
    bob.answers_checks = True
    bob._check(bob.checks[0])
    town.run(0)
    sent = town.between("/bob")
    assert [each.kind for each in sent] == ["nack", "interest"]
    assert sent[0].name == forged.name
    bob.data(foreign_message("/t/x", "/alice", K, b"hello", signer=key.signer))
    town.run(0)
    assert bob.messages == [b"hello"]
    assert [each.name for each in town.between("/bob", "data")] == [true.name]


def test_a_copy_of_a_message_costs_no_signature() -> None:
    key = key_of("ecdsa")
    town, bob = member(only(key))
    for number in range(5):
        bob.interest(
            foreign_notify("/t/x", "/alice", K, signer=key.signer, signature_nonce=bytes([number]))
        )
    town.run(0)
    assert len(bob.of(Check)) == 1


def test_who_has_no_time_to_check_a_notification_says_that_it_is_congested() -> None:
    key = key_of("ed25519")
    town, bob = member(only(key))
    bob.answers_checks = False
    bob.interest(foreign_notify("/t/x", "/alice", K, signer=key.signer))
    bob.feed(Checked(bob.checks[0].token, Verdict.OVERLOADED))
    assert [each.reason for each in town.between("/bob")] == [NackReason.CONGESTION]
    assert bob.pubsub.sizes()["arrivals"] == 0 == bob.pubsub.sizes()["fetches"]


def test_an_answer_to_no_check_is_nothing() -> None:
    _, bob = member(Trust.open())
    bob.feed(Checked(17, Verdict.ACCEPT))
    assert not bob.of(Deliver)

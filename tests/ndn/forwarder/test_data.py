"""What becomes of a Data that comes in."""

from __future__ import annotations

import pytest

from rumormill.ndn.security.signers import DigestSigner
from rumormill.ndn.wire.data import encode_data, full_name
from rumormill.ndn.wire.interest import Interest
from rumormill.ndn.wire.name import component, name_from_uri
from tests.helpers.ndn.forwarding import World


def test_data_goes_to_all_who_wait_for_it_with_their_tokens_byte_for_byte() -> None:
    world = World()
    consumers = [world.face() for _ in range(3)]
    producer = world.face("/a")
    for number, consumer in enumerate(consumers):
        world.ask(consumer, "/a/b", bytes([number + 1]))
    data = world.answer(producer, "/a/b", content=b"x" * 1000)
    for number, consumer in enumerate(consumers):
        assert [(sent.packet.raw, sent.token) for sent in consumer.sent] == [
            (data.raw, bytes([number + 1]))
        ]
    assert producer.data == []


def test_data_that_nobody_asked_for_is_dropped_counted_and_not_kept() -> None:
    world = World()
    consumer, stranger = world.face(), world.face("/a")
    world.answer(stranger, "/a/b")
    assert consumer.sent == stranger.sent == []
    assert world.sizes["cs"] == 0
    assert world.forwarder.statistics.unsolicited == 1
    assert world.counted() == {("data", "unsolicited"): 1}


def test_data_comes_once_and_a_second_one_is_dropped() -> None:
    world = World()
    consumer, producer = world.face(), world.face("/a")
    world.ask(consumer, "/a/b")
    world.answer(producer, "/a/b")
    world.answer(producer, "/a/b")
    assert consumer.data == ["/a/b"]
    assert world.counted() == {("data", "unsolicited"): 1}


def test_only_who_was_asked_may_answer() -> None:
    world = World()
    consumer, producer, stranger = world.face(), world.face("/a"), world.face()
    world.ask(consumer, "/a/b")
    world.answer(stranger, "/a/b")
    assert consumer.sent == []
    assert world.sizes["cs"] == 0
    world.answer(producer, "/a/b")
    assert consumer.data == ["/a/b"]


def test_who_waits_and_was_asked_gets_nothing_of_its_own_back() -> None:
    world = World()
    one, other = world.face("/a", cost=1), world.face("/a")
    world.ask(one, "/a/b")
    world.advance(1.0)
    world.ask(other, "/a/b")
    assert (other.interests, one.interests) == (["/a/b"], ["/a/b"])
    world.answer(one, "/a/b")
    assert other.data == ["/a/b"]
    assert one.data == []


def test_data_of_a_longer_name_answers_who_allows_it() -> None:
    world = World()
    prefix, exact, producer = world.face(), world.face(), world.face("/a")
    world.ask(prefix, "/a", can_be_prefix=True)
    world.ask(exact, "/a")
    world.answer(producer, "/a/b/c")
    assert prefix.data == ["/a/b/c"]
    assert exact.data == []
    assert world.sizes["pit"] == 1


def test_all_prefixes_of_a_data_are_answered_that_wait() -> None:
    world = World()
    producer = world.face("/a")
    consumers = [world.face() for _ in range(3)]
    for consumer, uri in zip(consumers, ("/a", "/a/b", "/a/b/c"), strict=True):
        world.ask(consumer, uri, can_be_prefix=True)
    world.answer(producer, "/a/b/c")
    assert [consumer.data for consumer in consumers] == [["/a/b/c"]] * 3
    assert world.sizes["pit_prefix_lengths"] == world.sizes["pit"] == 0


def test_data_is_found_by_its_full_name() -> None:
    world = World()
    consumer, producer = world.face(), world.face("/a")
    data = encode_data(name_from_uri("/a/b"), b"x", DigestSigner())
    world.ask(consumer, full_name(data))
    world.answer(producer, "/a/b", content=b"y")
    assert consumer.sent == []
    world.answer(producer, "/a/b", content=b"x")
    assert consumer.data == ["/a/b"]
    assert world.sizes["pit_digests"] == 0


def test_a_component_that_ends_like_a_digest_is_none() -> None:
    world = World()
    consumer, producer = world.face(), world.face("/a")
    name = name_from_uri("/a") + component(b"x" * 40 + b"\x01\x20" + bytes(32))
    world.ask(consumer, name)
    assert world.sizes["pit_digests"] == 0
    world.answer(producer, name)
    assert len(consumer.data) == 1


def test_interests_whose_data_may_be_called_otherwise_have_a_token() -> None:
    world = World()
    consumer, producer = world.face(), world.face("/a")
    world.ask(consumer, "/a/b")
    world.ask(consumer, "/a/c", can_be_prefix=True)
    plain, prefix = producer.sent
    assert plain.token == b""
    assert prefix.token
    world.answer(producer, "/a/c/d", prefix.token)
    assert consumer.data == ["/a/c/d"]
    assert world.sizes["pit_tokens"] == 0


def test_every_interest_has_a_token_of_its_own_if_that_is_wanted() -> None:
    world = World(pit_tokens=True)
    consumer, producer = world.face(), world.face("/a")
    for number in range(3):
        world.ask(consumer, f"/a/{number}")
    tokens = [sent.token for sent in producer.sent]
    assert all(tokens) and len(set(tokens)) == 3
    world.answer(producer, "/a/1", tokens[1])
    world.answer(producer, "/a/2")  # who does not send it back is understood as well
    assert consumer.data == ["/a/1", "/a/2"]
    assert world.sizes["pit_tokens"] == 1


@pytest.mark.parametrize("token", [b"x", bytes(6), b"\0\0\0\0\0\2", bytes(32)])
def test_a_wrong_token_does_no_harm(token: bytes) -> None:
    world = World(pit_tokens=True)
    consumer, producer = world.face(), world.face("/a")
    world.ask(consumer, "/a/b", can_be_prefix=True)
    world.ask(consumer, "/a/z")
    world.answer(producer, "/a/b/c", token)
    assert consumer.data == ["/a/b/c"]
    assert world.sizes["pit"] == 1


def test_with_a_token_those_of_the_same_name_are_answered_too() -> None:
    world = World()
    prefix, exact, producer = world.face(), world.face(), world.face("/a")
    world.ask(prefix, "/a/b", can_be_prefix=True)
    world.ask(exact, "/a/b")
    world.answer(producer, "/a/b", producer.sent[0].token)
    assert prefix.data == exact.data == ["/a/b"]


def test_the_token_of_an_interest_that_is_sent_again_is_the_same() -> None:
    world = World(pit_tokens=True)
    consumer, producer = world.face(), world.face("/a")
    world.ask(consumer, "/a/b")
    world.advance(1.0)
    world.ask(consumer, "/a/b")
    first, second = producer.sent
    assert first.token == second.token
    assert isinstance(first.packet, Interest) and isinstance(second.packet, Interest)
    assert first.packet.nonce != second.packet.nonce


def test_statistics_count_what_went_through() -> None:
    world = World()
    consumer, producer = world.face(), world.face("/a")
    world.ask(consumer, "/a/b")
    world.answer(producer, "/a/b")
    world.ask(consumer, "/a/b")
    world.ask(consumer, "/z")
    counted = world.forwarder.statistics
    assert (counted.in_interests, counted.out_interests) == (3, 1)
    assert (counted.in_data, counted.out_data, counted.out_nacks) == (1, 2, 1)
    assert (counted.satisfied, counted.stored) == (1, 1)

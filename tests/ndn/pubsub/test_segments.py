"""Messages above one packet, between nodes of our own make."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumormill.core.errors import MessageTooLargeError
from rumormill.core.machine import Check, Unsubscribe, Verdict
from rumormill.core.message import Message
from rumormill.ndn.pubsub.parameters import PubSubParameters
from rumormill.ndn.pubsub.segments import SegmentSource, segment_of
from rumormill.ndn.security.private_keys import PrivateKey
from rumormill.ndn.security.signers import DigestSigner
from rumormill.ndn.security.trust import Trust
from rumormill.ndn.wire.data import Data, encode_data
from rumormill.ndn.wire.manifest import (
    MANIFEST_CONTENT_TYPE,
    Manifest,
    encode_manifest,
    segment_name,
)
from rumormill.ndn.wire.name import name_from_uri
from rumormill.ndn.wire.notify import message_name
from tests.helpers.ndn.pubsub import Faults, Member, Packet, Town, foreign_message, foreign_notify

SEGMENTED = PubSubParameters(segments=True)
K = b"\x0c\x89\x70\x94"
NAME = message_name(name_from_uri("/alice"), name_from_uri("/t/x"), K)


def pair(faults: Faults | None = None) -> tuple[Town, Member, Member]:
    town = Town(faults=faults)
    alice = town.add("/alice", parameters=SEGMENTED)
    bob = town.add("/bob", "/t/x", parameters=SEGMENTED)
    town.run(1)
    return town, alice, bob


def large(size: int = 100_000) -> bytes:
    return Random(size).randbytes(size)


# ---- there and back


def test_a_message_of_many_packets_arrives_as_one() -> None:
    town, alice, bob = pair()
    alice.publish("/t/x", large())
    town.run(3)
    assert bob.messages == [large()]
    assert alice.outcomes == ["delivered"]
    assert max(len(packet.raw) for packet in town.sent) <= SEGMENTED.largest_data
    assert alice.traced("published")[0].fields["size"] == 100_000
    assert alice.traced("published")[0].message_id == bob.traced("delivered")[0].message_id


def test_a_message_that_fits_into_a_packet_is_one_as_ever() -> None:
    town, alice, bob = pair()
    alice.publish("/t/x", b"hello")
    town.run(1)
    assert len(town.between("/alice")) == 2 and bob.messages == [b"hello"]


def test_losses_are_made_good() -> None:
    chance = Random(1)

    def faults(packet: Packet) -> Sequence[float]:
        return () if chance.random() < 0.05 else (0.005,)

    town, alice, bob = pair(faults)
    alice.publish("/t/x", large(400_000))
    town.run(60)
    assert bob.messages == [large(400_000)]
    assert {event.fields["what"] for event in bob.traced("retried")} >= {"segment"}
    assert alice.outcomes in (["delivered"], ["unknown"])


def test_the_window_opens_to_its_limit_and_no_further() -> None:
    town, alice, bob = pair()
    alice.publish("/t/x", large(2_000_000))
    most = 0
    while not bob.messages:
        town.run(0.002)
        most = max(most, bob.pubsub.sizes()["interests"])
    assert most == SEGMENTED.segment_window


def test_a_large_message_may_take_longer_than_patience_as_long_as_it_comes() -> None:
    town = Town(latency=0.1)
    alice = town.add("/alice", parameters=SEGMENTED)
    bob = town.add("/bob", "/t/x", parameters=SEGMENTED)
    town.run(1)
    alice.publish("/t/x", large(2_000_000))
    town.run(20)
    assert bob.messages == [large(2_000_000)]
    assert alice.outcomes == ["delivered"]
    assert alice.receipts[0].fields["seconds"] > SEGMENTED.patience


def test_a_large_message_that_nobody_goes_on_fetching_ends_as_any_other() -> None:
    town, alice, bob = pair()
    alice.publish("/t/x", large(2_000_000))
    town.run(0.1)
    bob.disconnect()
    town.run(6)
    assert alice.outcomes == ["unknown"]


def test_what_lingers_can_be_fetched_in_segments() -> None:
    town = Town(multicast=True)
    alice = town.add("/alice", parameters=SEGMENTED)
    others = [town.add(f"/bob/{n}", "/t/x", parameters=SEGMENTED) for n in range(3)]
    town.run(1)
    alice.publish("/t/x", large())
    town.run(3)
    assert [other.messages for other in others] == [[large()]] * 3


def test_only_the_manifest_needs_a_key() -> None:
    key = PrivateKey.generate(Random(1), name_from_uri("/alice"), "ecdsa")
    town = Town()
    alice = town.add("/alice", parameters=SEGMENTED, signer=key.signer)
    bob = town.add(
        "/bob", "/t/x", parameters=SEGMENTED, trust=Trust({name_from_uri("/t"): [key.public_key]})
    )
    town.run(1)
    alice.publish("/t/x", large())
    town.run(3)
    assert bob.messages == [large()]
    assert [check.subject.kind for check in bob.of(Check)] == ["notify", "manifest", "message"]
    assert bob.of(Check)[2].subject.verified


# ---- limits


def test_without_the_option_it_is_too_large() -> None:
    town = Town()
    alice = town.add("/alice")
    with pytest.raises(MessageTooLargeError):
        alice.publish("/t/x", large())


def test_there_is_a_largest_message() -> None:
    town = Town()
    alice = town.add("/alice", parameters=PubSubParameters(segments=True, largest_segmented=50_000))
    assert alice.pubsub.largest_message("/t/x") == 50_000
    with pytest.raises(MessageTooLargeError, match="at most 50000"):
        alice.publish("/t/x", large())


def subscriber(parameters: PubSubParameters = SEGMENTED) -> tuple[Town, Member]:
    """Somebody who has been notified of the message."""
    town = Town(nacks=False)
    bob = town.add("/bob", "/t/x", parameters=parameters)
    town.run(1)
    bob.interest(foreign_notify("/t/x", "/alice", K))
    return town, bob


def manifest_of(data: bytes, segments: int, size: int | None = None) -> Data:
    manifest = Manifest(segments, len(data) if size is None else size, sha256(data).digest())
    return manifest_data(encode_manifest(manifest))


def manifest_data(content: bytes) -> Data:
    return encode_data(NAME, content, DigestSigner(), content_type=MANIFEST_CONTENT_TYPE)


def segment(index: int, content: bytes) -> Data:
    return encode_data(segment_name(NAME, index), content, DigestSigner())


def test_segments_may_come_in_any_order() -> None:
    town, bob = subscriber()
    bob.data(manifest_of(b"abcdef", 3))
    for index in (2, 0, 1):
        bob.data(segment(index, b"abcdef"[2 * index : 2 * index + 2]))
    town.run(0)
    assert bob.messages == [b"abcdef"]


@pytest.mark.parametrize(
    ("manifest", "reason"),
    [
        (b"", "bad_manifest"),
        (b"\x81", "bad_tlv"),
        (encode_manifest(Manifest(1, 1 << 40, bytes(32))), "too_large"),
        (encode_manifest(Manifest(1 << 40, 1 << 41, bytes(32))), "too_large"),
    ],
)
def test_a_manifest_that_cannot_be_is_refused(manifest: bytes, reason: str) -> None:
    town, bob = subscriber()
    bob.data(manifest_data(manifest))
    assert bob.reasons("rejected") == [reason]
    assert [each.kind for each in town.between("/bob")] == ["interest", "nack"]


@pytest.mark.parametrize(
    ("contents", "reason"),
    [
        ([b"ab", b"xx"], "wrong_digest"),
        ([b"ab", b"cde"], "wrong_size"),
        ([b"ab", b"c"], "wrong_size"),
        ([b"ab", b""], "wrong_size"),
        ([bytes(5000)], "wrong_size"),
    ],
)
def test_segments_that_are_not_the_message_are_refused(contents: list[bytes], reason: str) -> None:
    town, bob = subscriber()
    bob.data(manifest_of(b"abcd", 2))
    for index, content in enumerate(contents):
        bob.data(segment(index, content))
    town.run(0)
    assert bob.reasons("rejected") == [reason] and not bob.messages
    assert bob.pubsub.sizes()["reserved_bytes"] == 0 == bob.pubsub.sizes()["interests"]


def test_the_bytes_of_all_such_messages_have_a_bound() -> None:
    _, bob = subscriber(PubSubParameters(segments=True, max_segmented_bytes=1000))
    bob.data(manifest_of(bytes(600), 2))
    bob.interest(foreign_notify("/t/x", "/carol", K))
    other = foreign_message(
        "/t/x", "/carol", K, encode_manifest(Manifest(2, 600, bytes(32))),
        content_type=MANIFEST_CONTENT_TYPE,
    )  # fmt: skip
    bob.data(other)
    assert bob.reasons("dropped") == ["too_many_segmented"]
    assert bob.pubsub.sizes()["reserved_bytes"] == 600
    bob.feed(Unsubscribe("/t/x"))
    assert bob.pubsub.sizes()["reserved_bytes"] == 0 == bob.pubsub.sizes()["interests"]


def test_a_segment_that_never_comes_ends_it() -> None:
    town, bob = subscriber()
    bob.data(manifest_of(b"abcd", 2))
    bob.data(segment(0, b"ab"))
    town.run(10)
    assert bob.reasons("fetch_failed") == ["timed_out"]
    assert bob.pubsub.sizes()["reserved_bytes"] == 0 == bob.pubsub.sizes()["arrivals"]


def test_a_message_that_trickles_is_given_up() -> None:
    town, bob = subscriber(PubSubParameters(segments=True, segments_timeout=5))
    bob.data(manifest_of(bytes(100), 100))
    for index in range(100):
        town.run(0.5)
        bob.data(segment(index, b"\0"))
    assert not bob.messages and bob.reasons("fetch_failed") == ["timed_out"]
    assert bob.pubsub.sizes()["reserved_bytes"] == 0


def test_a_validator_sees_the_whole_message() -> None:
    town, alice, bob = pair()
    seen = []

    def judge(message: Message) -> str:
        seen.append(message.data)
        return Verdict.REJECT

    bob.judge = judge
    alice.publish("/t/x", large())
    town.run(3)
    assert seen == [large()] and not bob.messages
    assert bob.pubsub.sizes()["reserved_bytes"] == 0


@given(st.binary(min_size=1, max_size=5000), st.integers(64, 900))
def test_segments_put_together_are_the_message(data: bytes, size: int) -> None:
    source = SegmentSource(NAME, data, PubSubParameters(segment_size=size))
    packets = [source.segment(index) for index in range(source.manifest.segments)]
    assert b"".join((packet.content or b"") for packet in packets if packet) == data
    assert source.segment(source.manifest.segments) is None
    assert source.progress == source.manifest.segments
    for index, packet in enumerate(packets):
        assert packet is not None and segment_of(packet.name) == (NAME, index)

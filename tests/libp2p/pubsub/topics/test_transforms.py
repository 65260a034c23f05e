"""Transforms: what is on the wire is not what the application sees, and a bomb never goes off."""

from __future__ import annotations

import builtins
import hashlib
from typing import Any

import pytest
from cramjam import snappy
from hypothesis import given
from hypothesis import strategies as st

from rumormill.core import trace
from rumormill.core.errors import (
    ConfigError,
    LocalProtocolError,
    MessageTooLargeError,
    RemoteProtocolError,
)
from rumormill.core.machine import Check, Drop, Publish
from rumormill.libp2p.pubsub.parameters import PubsubParameters, TopicRules
from rumormill.libp2p.pubsub.topics.rules import RuleBook
from rumormill.libp2p.pubsub.topics.transforms import MOST_INFLATED, DataTransform, SnappyTransform
from rumormill.libp2p.wire.message import WireMessage, build_message
from tests.helpers.libp2p import workbench
from tests.helpers.libp2p.workbench import Workbench, signed

SNAPPY = SnappyTransform(max_size=10_000)
ETHEREUM: dict[str, Any] = {
    "transforms": {"blocks": SNAPPY},
    "message_id": "ethereum",
    "signing": "StrictNoSign",
}
BLOCK = b"block " * 1000


class Backwards:
    """A transform of a user's own."""

    max_size = 1000

    def outbound(self, topic: str, data: bytes) -> bytes:
        return topic.encode() + data[::-1]

    def inbound(self, topic: str, data: bytes) -> bytes:
        if not data.startswith(topic.encode()):
            raise ValueError(data)
        return data[: len(topic) - 1 : -1]


def packed(data: bytes) -> bytes:
    return bytes(snappy.compress_raw(data))


def plain(data: bytes, topic: str = "blocks") -> WireMessage:
    return build_message(data=data, topics=(topic,))


def node(**parameters: Any) -> Workbench:
    bench = workbench.gossipsub(**(parameters or ETHEREUM))
    bench.subscribe("blocks")
    bench.join("ann", "blocks")
    bench.join("bob", "blocks")
    bench.forget()
    return bench


def rejections(bench: Workbench) -> list[object]:
    return [event.fields["reason"] for event in bench.events(trace.REJECTED)]


# ---- snappy alone


@given(st.binary(max_size=3000) | st.integers(0, 3000).map(lambda size: b"ab" * size))
def test_what_snappy_packs_it_unpacks(data: bytes) -> None:
    wire = SNAPPY.outbound("t", data)
    assert SNAPPY.inbound("t", wire) == data
    assert bytes(snappy.decompress_raw(wire)) == data, "no frames around it"


@given(st.binary(max_size=200))
def test_whatever_comes_is_inflated_within_the_limit_or_refused(wire: bytes) -> None:
    limit = SnappyTransform(max_size=100)
    try:
        data = limit.inbound("t", wire)
    except RemoteProtocolError as error:
        assert error.reason in ("bad_snappy", "inflates_too_large")
    else:
        assert len(data) <= 100 and bytes(snappy.decompress_raw(wire)) == data


@given(st.binary(min_size=1, max_size=300), st.integers(0), st.integers(1, 255))
def test_a_changed_byte_never_inflates_to_more_than_it_may(
    data: bytes, place: int, change: int
) -> None:
    wire = bytearray(packed(data * 30))
    wire[place % len(wire)] ^= change
    try:
        assert len(SNAPPY.inbound("t", bytes(wire))) <= SNAPPY.max_size
    except RemoteProtocolError as error:
        assert error.reason in ("bad_snappy", "inflates_too_large")


def test_a_bomb_is_refused_by_its_length_before_it_inflates(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(snappy, "decompress_raw", lambda _: pytest.fail("it inflates"))
    for bomb in (packed(bytes(10_001)), b"\xff\xff\xff\xff\x0f" + bytes(100)):
        with pytest.raises(RemoteProtocolError, match="inflates_too_large"):
            SNAPPY.inbound("t", bomb)
    with pytest.raises(RemoteProtocolError, match="cannot become 9999"):
        SNAPPY.inbound("t", b"\x8f\x4e" + bytes(9999 // MOST_INFLATED - 2))


def test_the_densest_snappy_there_is_is_not_taken_for_a_lie() -> None:
    wire = packed(bytes(10_000))
    assert 20 * len(wire) < 10_000 <= MOST_INFLATED * len(wire)
    assert SNAPPY.inbound("t", wire) == bytes(10_000)


def test_without_the_package_the_error_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("rumormill.system.packages.find_spec", lambda _: None)
    with pytest.raises(ConfigError, match=r"pip install 'rumormill\[snappy\]'"):
        SnappyTransform()
    with pytest.raises(ConfigError, match=r"rumormill\[snappy\]"):
        PubsubParameters.model_validate({"transforms": {"blocks": "snappy"}})


# ---- a topic with a transform


def test_the_application_sees_the_data_and_peers_the_bytes_that_came() -> None:
    bench = node()
    message = plain(packed(BLOCK))
    bench.send_message("ann", message)
    (delivered,) = bench.delivered()
    assert delivered.data == BLOCK
    assert ("message", message.raw) in bench.took_items("bob")


def test_what_we_publish_is_packed_once_and_delivered_as_it_was() -> None:
    bench = node()
    receipt = bench.publish("blocks", BLOCK)
    (raw,) = [item[1] for item in bench.took_items("ann") if item[0] == "message"]
    assert raw == plain(packed(BLOCK)).raw
    (delivered,) = bench.delivered()
    assert (delivered.data, delivered.id) == (BLOCK, receipt.id)
    (published,) = bench.events(trace.PUBLISHED)
    assert published.fields["size"] == len(BLOCK)


def test_the_id_is_made_of_what_the_application_sees() -> None:
    bench = node()
    by_hand = b"\x01\x00\x00\x00" + b"\x06" + bytes(7) + b"blocks" + BLOCK
    expected = hashlib.sha256(by_hand).digest()[:20]
    assert bench.publish("blocks", BLOCK).id == expected
    bench.send_message("ann", plain(packed(b"other")))
    bench.send_message("bob", plain(b"\x05\x00o\x00t\x00h\x00e\x00r"))  # the same, packed worse
    assert len(bench.events(trace.DUPLICATE, peer="bob")) == 1


def test_an_id_function_may_look_at_both_forms() -> None:
    seen: list[tuple[bytes, bytes]] = []

    def own(message: WireMessage) -> bytes:
        seen.append((message.data, message.wire_data))
        return hashlib.sha256(message.wire_data).digest()

    bench = node(transforms={"blocks": SNAPPY}, message_id=own, signing="StrictNoSign")
    bench.send_message("ann", plain(packed(BLOCK)))
    bench.publish("blocks", b"mine")
    assert seen == [(BLOCK, packed(BLOCK)), (b"mine", packed(b"mine"))]
    assert bench.delivered()[0].id == hashlib.sha256(packed(BLOCK)).digest()


def test_validators_see_the_data_and_a_message_that_is_kept_is_small_again() -> None:
    bench = node()
    bench.answer_checks = False
    bench.send_message("ann", plain(packed(BLOCK)))
    (check,) = bench.of(Check)
    message = check.subject
    assert message.data == BLOCK and message.weight == len(message.raw) + len(BLOCK)
    bench.answer(check)
    assert message.data == packed(BLOCK) and message.weight == len(message.raw)


@pytest.mark.parametrize(
    ("wire", "reason"),
    [
        (b"no snappy at all", "bad_snappy"),
        (b"", "bad_snappy"),
        (packed(BLOCK)[:-1], "bad_snappy"),
        (packed(bytes(10_001)), "inflates_too_large"),
    ],
)
def test_bad_data_is_rejected_unchecked_and_its_sender_pays(wire: bytes, reason: str) -> None:
    bench = node(**ETHEREUM, max_rejections=2, score=None)
    for _ in range(3):
        bench.send_message("ann", plain(wire))
    assert rejections(bench) == [reason] * 3
    assert not bench.of(Check) and not bench.delivered() and not bench.took_items("bob")
    assert [drop.peer for drop in bench.of(Drop)] == ["ann"]


def test_bombs_are_paid_for_by_what_they_could_have_cost() -> None:
    bench = node(**{**ETHEREUM, "transforms": {"blocks": SnappyTransform()}, "max_rejections": 999})
    spoilt = packed(bytes(5_000_000))[:-1]
    before = bench.pubsub.peers["ann"].work.debt
    bench.send_message("ann", plain(spoilt))
    assert rejections(bench) == ["bad_snappy"]
    assert bench.pubsub.peers["ann"].work.debt - before > 10_000, "microseconds"


def test_copies_that_have_to_be_inflated_cost_more_than_others() -> None:
    bench = node()
    for name in ("ann", "bob"):
        bench.send_message(name, plain(packed(BLOCK)))
    with_transform = bench.pubsub.peers["bob"].work.debt
    bench = node(signing="StrictNoSign")
    for name in ("ann", "bob"):
        bench.send_message(name, plain(packed(BLOCK)))
    assert with_transform > bench.pubsub.peers["bob"].work.debt + 10


def test_what_is_under_check_counts_with_what_it_inflates_to() -> None:
    bench = node(**ETHEREUM, max_check_bytes=64_000)
    bench.answer_checks = False
    for number in range(8):
        bench.send_message("ann", plain(packed(b"%d" % number * 9000)))
    waiting = bench.of(Check)
    assert len(waiting) == 4, "half of the room, though they are small on the wire"
    assert bench.events(trace.DROPPED, reason="checks_full")
    for check in waiting:
        bench.answer(check)
    assert bench.pubsub.peers["ann"].check_bytes == 0
    assert bench.pubsub.sizes()["check_bytes"] == 0


def test_a_forged_copy_of_a_packed_message_gives_its_room_back() -> None:
    bench = node(transforms={"blocks": SNAPPY})
    bench.answer_checks = False
    genuine = signed("author", "blocks", packed(BLOCK), 1)
    forged = signed("author", "blocks", packed(b"forged" * 100), 1)
    forged.raw = forged.raw[:-1] + bytes([forged.raw[-1] ^ 1])
    bench.send_message("ann", forged)
    bench.send_message("bob", genuine)
    bench.answer(bench.of(Check)[0])
    bench.answer(bench.of(Check)[1])
    assert [message.data for message in bench.delivered()] == [BLOCK]
    assert bench.pubsub.sizes()["check_bytes"] == 0
    assert [state.check_bytes for state in bench.pubsub.peers.values()] == [0, 0]


def test_the_signature_covers_what_is_on_the_wire() -> None:
    bench = node(transforms={"blocks": SNAPPY})
    bench.send_message("ann", signed("author", "blocks", packed(BLOCK), 1))
    bench.publish("blocks", b"ours")
    assert [message.data for message in bench.delivered()] == [BLOCK, b"ours"]
    assert all(message.sender for message in bench.delivered())


# ---- sizes


def test_what_no_peer_would_inflate_is_not_published() -> None:
    bench = node()
    with pytest.raises(MessageTooLargeError) as caught:
        bench.feed(Publish(("blocks",), bytes(10_001)))
    error = caught.value
    assert (error.topic, error.size, error.limit) == ("blocks", 10_001, 10_000)


def test_the_size_of_the_topic_is_that_on_the_wire() -> None:
    bench = node(**ETHEREUM, topic_sizes={"blocks": 600})
    bench.publish("blocks", BLOCK)
    noise = b"".join(hashlib.sha256(bytes([number])).digest() for number in range(30))
    with pytest.raises(MessageTooLargeError) as caught:
        bench.feed(Publish(("blocks",), noise))
    assert caught.value.limit == 600 and caught.value.size > 600
    bench.send_message("ann", plain(packed(noise)))
    assert rejections(bench) == ["too_large"]


# ---- transforms of the user's own


def test_a_user_may_bring_a_transform() -> None:
    assert isinstance(Backwards(), DataTransform)
    bench = node(transforms={"blocks": Backwards()})
    bench.publish("blocks", b"rain")
    bench.send_message("ann", signed("author", "blocks", b"blocksnus", 1))
    assert [message.data for message in bench.delivered()] == [b"rain", b"sun"]
    bench.send_message("ann", signed("author", "blocks", b"nonsense", 2))
    assert rejections(bench) == ["bad_data"]


@pytest.mark.parametrize(
    ("made", "reason"),
    [(bytes(1001), "inflates_too_large"), (None, "bad_data"), ("text", "bad_data")],
)
def test_a_transform_that_goes_wrong_costs_the_sender_and_not_the_node(
    made: Any, reason: str
) -> None:
    class Wrong(Backwards):
        def inbound(self, topic: str, data: bytes) -> bytes:
            return made  # type: ignore[no-any-return]

    bench = node(transforms={"blocks": Wrong()})
    bench.send_message("ann", signed("author", "blocks", b"rain", 1))
    assert rejections(bench) == [reason]


@pytest.mark.parametrize("error", [ValueError("no"), None])
def test_a_transform_that_cannot_take_our_data_is_named(error: Exception | None) -> None:
    class Wrong(Backwards):
        def outbound(self, topic: str, data: bytes) -> bytes:
            if error is None:
                return "text"  # type: ignore[return-value]
            raise error

    bench = node(transforms={"blocks": Wrong()})
    with pytest.raises(LocalProtocolError, match="the transform of 'blocks'"):
        bench.feed(Publish(("blocks",), b"rain"))


# ---- settings


def test_other_topics_are_left_as_they_are() -> None:
    bench = node(transforms={"blocks": SNAPPY})
    bench.subscribe("weather")
    bench.send_message("ann", signed("author", "weather", b"rain", 1))
    bench.publish("weather", b"sun")
    assert [message.data for message in bench.delivered()] == [b"rain", b"sun"]


def test_all_topics_may_have_one_transform_and_some_another() -> None:
    other = Backwards()
    given = {"transform": "snappy", "transforms": {"blocks": other}}
    book = RuleBook(PubsubParameters.model_validate(given))
    assert book.of("weather").transform == SnappyTransform()
    assert book.of("blocks").transform is other
    assert not RuleBook(PubsubParameters()).transforming


def test_the_long_form_says_the_same() -> None:
    rules = {"blocks": TopicRules(transform=SNAPPY)}
    book = RuleBook(PubsubParameters(topic_rules=rules))
    assert book.of("blocks") == RuleBook(PubsubParameters(transforms={"blocks": SNAPPY})).of(
        "blocks"
    )


@pytest.mark.parametrize(
    ("values", "key"),
    [
        ({"transform": "gzip"}, "transform"),
        ({"transform": 7}, "transform"),
        ({"transforms": {"blocks": "gzip"}}, "transforms.blocks"),
        ({"transforms": {"blocks": builtins.max}}, "transforms.blocks"),
        ({"transforms": "snappy"}, "transforms"),
        ({"topic_rules": {"blocks": {"transform": "gzip"}}}, "topic_rules.blocks.transform"),
        (
            {"transforms": {"t": SNAPPY}, "topic_rules": {"t": {"transform": "snappy"}}},
            "transforms.t",
        ),
    ],
)
def test_a_wrong_transform_is_refused_with_its_key(values: dict[str, Any], key: str) -> None:
    with pytest.raises(ConfigError) as caught:
        PubsubParameters(**values)
    assert caught.value.key == key


def test_a_limit_has_to_be_one() -> None:
    with pytest.raises(ConfigError, match="max_size"):
        SnappyTransform(max_size=0)


# ---- several topics


def test_topics_with_different_transforms_have_no_message_in_common() -> None:
    bench = node(transforms={"blocks": SNAPPY}, multi_topic=True)
    with pytest.raises(LocalProtocolError, match="different transforms"):
        bench.feed(Publish(("blocks", "weather"), b"rain"))
    bench.send_message("ann", signed("author", ("blocks", "weather"), packed(BLOCK), 1))
    assert rejections(bench) == ["transforms_differ"]


def test_topics_with_the_same_transform_share_a_message() -> None:
    transforms = {"blocks": SnappyTransform(), "weather": SnappyTransform()}
    bench = node(transforms=transforms, multi_topic=True)
    bench.subscribe("weather")
    bench.send_message("ann", signed("author", ("blocks", "weather"), packed(BLOCK), 1))
    assert [message.data for message in bench.delivered()] == [BLOCK, BLOCK]

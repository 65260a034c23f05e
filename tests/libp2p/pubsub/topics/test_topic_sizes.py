"""Topics with a size of their own: larger messages there, and nowhere else."""

from __future__ import annotations

from typing import Any

import pytest

from rumormill.core import trace
from rumormill.core.errors import ConfigError, MessageTooLargeError
from rumormill.core.machine import Drop, Publish
from rumormill.libp2p.pubsub.parameters import ENVELOPE, MOST_RPC, PubsubParameters, TopicRules
from rumormill.libp2p.pubsub.topics.rules import RuleBook
from rumormill.libp2p.pubsub.topics.transforms import SnappyTransform
from tests.helpers.libp2p.workbench import Workbench, floodsub, signed

SMALL_RPC: dict[str, Any] = {"max_rpc_size": 4096, "max_control_size": 2048}
LARGE = 20_000


def node(**parameters: Any) -> Workbench:
    bench = floodsub(**{**SMALL_RPC, "topic_sizes": {"blocks": LARGE}, **parameters})
    bench.subscribe("blocks", "weather")
    bench.join("ann", "blocks", "weather")
    bench.join("bob", "blocks", "weather")
    return bench


def test_a_topic_of_its_own_size_takes_messages_that_fit_into_no_other_rpc() -> None:
    bench = node()
    bench.publish("blocks", bytes(LARGE))
    bench.send_message("ann", signed("author", "blocks", bytes(LARGE), 1))
    assert [len(each.data) for each in bench.delivered()] == [LARGE, LARGE]
    assert len(bench.took_items("bob")) == 4, "two topics, our message, and ann's"
    assert not bench.events(trace.REJECTED) and not bench.of(Drop)


def test_what_is_above_a_topics_size_is_not_published_and_the_error_names_all_of_it() -> None:
    bench = node()
    with pytest.raises(MessageTooLargeError, match="the topic 'blocks' carries") as caught:
        bench.feed(Publish(("blocks",), bytes(LARGE + 1)))
    error = caught.value
    assert (error.topic, error.size, error.limit) == ("blocks", LARGE + 1, LARGE)


def test_what_is_above_a_topics_size_is_rejected_and_its_sender_pays() -> None:
    bench = node(max_rejections=2)
    for number in range(2):
        bench.send_message("ann", signed("author", "blocks", bytes(LARGE + 1), number))
    assert len(bench.events(trace.REJECTED, peer="ann", reason="too_large")) == 2
    assert not bench.of(Drop)
    bench.send_message("ann", signed("author", "blocks", bytes(LARGE + 1), 3))
    assert [each.peer for each in bench.of(Drop)] == ["ann"]


def test_other_topics_stay_as_small_as_they_are() -> None:
    bench = node()
    with pytest.raises(MessageTooLargeError) as caught:
        bench.feed(Publish(("weather",), bytes(4096)))
    assert (caught.value.topic, caught.value.limit) == ("weather", 4096 - ENVELOPE)
    bench.send_message("ann", signed("author", "weather", bytes(4097), 1))
    assert bench.events(trace.REJECTED, peer="ann", reason="too_large")
    assert not bench.delivered()


def test_on_several_topics_the_smallest_counts() -> None:
    bench = node(multi_topic=True)
    with pytest.raises(MessageTooLargeError):
        bench.feed(Publish(("blocks", "weather"), bytes(4096)))
    bench.send_message("ann", signed("author", ("blocks", "weather"), bytes(4097), 1))
    assert bench.events(trace.REJECTED, peer="ann", reason="too_large")


@pytest.mark.parametrize("size", [1, 100, 3000, 3072])
def test_the_rpc_grows_only_where_a_topic_needs_it(size: int) -> None:
    assert PubsubParameters(topic_sizes={"t": size}, **SMALL_RPC).largest_rpc == 4096
    assert PubsubParameters(topic_sizes={"t": 3073}, **SMALL_RPC).largest_rpc == 4097
    assert PubsubParameters(**SMALL_RPC).largest_rpc == 4096


def test_a_frame_above_what_the_largest_topic_needs_drops_its_sender() -> None:
    bench = node()
    bench.send_message("ann", signed("author", "blocks", bytes(LARGE + ENVELOPE), 1))
    assert [(each.peer, each.reason) for each in bench.of(Drop)] == [("ann", "frame_too_large")]


def test_a_smaller_size_counts_too_in_both_directions() -> None:
    bench = node(topic_sizes={"blocks": 10})
    with pytest.raises(MessageTooLargeError):
        bench.feed(Publish(("blocks",), bytes(11)))
    bench.send_message("ann", signed("author", "blocks", bytes(11), 1))
    assert bench.events(trace.REJECTED, peer="ann", reason="too_large")


def test_the_long_form_says_the_same() -> None:
    rules = {"blocks": TopicRules(max_message_size=LARGE)}
    short = RuleBook(PubsubParameters(topic_sizes={"blocks": LARGE}))
    assert RuleBook(PubsubParameters(topic_rules=rules)).of("blocks") == short.of("blocks")
    both = PubsubParameters(topic_rules=rules, topic_sizes={"blocks": LARGE})
    assert RuleBook(both).of("blocks") == short.of("blocks")


@pytest.mark.parametrize(
    ("sizes", "key"),
    [
        ({"blocks": 0}, "topic_sizes.blocks"),
        ({"blocks": MOST_RPC}, "topic_sizes.blocks"),
        ({"blocks": 7}, "topic_sizes.blocks"),
        ({"blocks": "many"}, "topic_sizes.blocks"),
        (7, "topic_sizes"),
    ],
)
def test_a_wrong_size_is_refused_with_its_topic(sizes: Any, key: str) -> None:
    rules = {"blocks": TopicRules(max_message_size=LARGE)}
    with pytest.raises(ConfigError) as caught:
        PubsubParameters(topic_sizes=sizes, topic_rules=rules)
    assert caught.value.key == key


def test_the_application_is_told_the_size_of_the_largest_topic() -> None:
    assert PubsubParameters(topic_sizes={"t": LARGE}, **SMALL_RPC).largest_message == LARGE
    assert PubsubParameters(topic_sizes={"t": 10}, **SMALL_RPC).largest_message == 4096 - ENVELOPE
    packed = PubsubParameters(transforms={"t": SnappyTransform(max_size=7000)}, **SMALL_RPC)
    assert packed.largest_message == 7000

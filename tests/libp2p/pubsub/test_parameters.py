"""Parameters of pubsub: what is wrong is refused with the name of the key."""

from __future__ import annotations

import math
from typing import Any

import pytest

from rumormill.core.errors import ConfigError
from rumormill.libp2p.pubsub.parameters import ENVELOPE, PubsubParameters, TopicRules
from rumormill.libp2p.pubsub.topics.rules import RuleBook
from rumormill.libp2p.wire.message import WireMessage


def problem(**values: Any) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        PubsubParameters(**values)
    return caught.value


def test_the_defaults_are_valid_and_sign() -> None:
    parameters = PubsubParameters()
    assert parameters.signing == "StrictSign"
    assert parameters.seen_ttl == 120.0
    assert parameters.max_rpc_size == 1 << 20


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("signing", "LaxSign"), ("message_id", "go"), ("max_rpc_size", 0),
        ("max_rpc_size", 1 << 30), ("max_control_size", 10), ("seen_ttl", 0),
        ("seen_ttl", -1), ("seen_ttl", math.nan), ("max_seen", 0), ("queue_messages", 0),
        ("queue_bytes", 0), ("max_checks", 0), ("max_checks_per_peer", 0),
        ("hold_checks_per_peer", 0), ("max_copies", -1), ("max_topics_per_peer", 0),
        ("max_subscriptions_per_rpc", 0), ("max_messages_per_rpc", 0),
        ("max_message_ids_per_rpc", 0), ("max_control_bytes_per_rpc", 0),
        ("allowed_topics", 7), ("deliver_own", "perhaps"),
    ],
)  # fmt: skip
def test_a_wrong_value_is_refused_with_the_name_of_its_key(key: str, value: object) -> None:
    error = problem(**{key: value})
    assert error.key == key
    assert str(error).startswith(f"{key}: ")


def test_an_unknown_key_is_refused_and_the_nearest_one_named() -> None:
    assert "did you mean queue_messages?" in str(problem(queue_message=7))


def test_parameters_cannot_be_changed_afterwards() -> None:
    with pytest.raises(ValueError, match="frozen"):
        PubsubParameters().seen_ttl = 1.0


def test_control_takes_at_most_half_of_an_rpc() -> None:
    """An IHAVE of a long topic is half as long again as the limit, and must still be sendable."""
    assert problem(max_rpc_size=4096, max_control_size=2049).key == "max_control_size"
    assert PubsubParameters(max_rpc_size=4096, max_control_size=2048).max_control_size == 2048


def test_the_largest_message_leaves_room_for_what_is_around_it() -> None:
    assert PubsubParameters(max_rpc_size=65536).max_message_size == 65536 - ENVELOPE


def test_the_limits_of_an_rpc_follow_the_parameters() -> None:
    limits = PubsubParameters(
        max_messages_per_rpc=1, max_subscriptions_per_rpc=2, max_message_ids_per_rpc=3,
        max_control_bytes_per_rpc=2048, max_control_messages_per_rpc=4, max_topics_per_message=5,
    ).rpc_limits  # fmt: skip
    assert (limits.messages, limits.subscriptions, limits.message_ids) == (1, 2, 3)
    assert limits.control_bytes == 2048
    assert (limits.control_messages, limits.topics_per_message) == (4, 5)


# ---- filters


def allowed(**values: Any) -> list[str]:
    passes = PubsubParameters(**values).subscription_filter()
    return [topic for topic in ("news", "art", "weather/north") if passes(topic)]


def test_the_filter_is_made_of_names_and_pattern_together() -> None:
    assert allowed() == ["news", "art", "weather/north"]
    assert allowed(allowed_topics=["art"]) == ["art"]
    assert allowed(allowed_topic_pattern="weather/.*") == ["weather/north"]
    assert allowed(allowed_topics=["art"], allowed_topic_pattern="weather/.*") == [
        "art",
        "weather/north",
    ]
    assert allowed(allowed_topics=[]) == []


# ---- rules of a topic


def test_a_topic_has_the_networks_rules_unless_it_has_its_own() -> None:
    book = RuleBook(
        PubsubParameters(
            topic_rules={"open": TopicRules(signing="StrictNoSign", max_message_size=10)}
        )
    )
    assert book.of("weather").signing == "StrictSign"
    assert book.of("weather").message_id.__name__ == "origin_bytes"
    assert book.of("open").signing == "StrictNoSign"
    assert book.of("open").message_id.__name__ == "sha256"
    assert book.of("open").max_message_size == 10


def test_a_topic_cannot_allow_more_than_an_rpc_carries() -> None:
    error = problem(topic_rules={"big": {"max_message_size": 1 << 40}})
    assert error.key == "topic_rules.big.max_message_size"


def test_a_topic_may_have_its_own_id_function() -> None:
    def own(message: WireMessage) -> bytes:
        return message.data

    book = RuleBook(PubsubParameters(topic_rules={"t": TopicRules(message_id=own)}))
    assert book.of("t").message_id is own
    assert book.of("other").message_id.__name__ == "origin_bytes"


def test_a_wrong_rule_of_a_topic_is_refused_with_its_key() -> None:
    with pytest.raises(ConfigError, match="signing"):
        TopicRules(signing="Sometimes")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="message_id: 'go' is none of"):
        TopicRules(message_id="go")
    error = problem(topic_rules={"t": {"max_message_size": 0}})
    assert error.key.endswith("max_message_size")


@pytest.mark.parametrize("profile", ["origin_bytes", "rust_text", "js_pubkey", "nim_text"])
def test_without_authors_an_id_made_of_the_author_is_refused(profile: str) -> None:
    """Every message would have the same id, and only the first would arrive."""
    with pytest.raises(ConfigError, match=f"message_id: {profile!r} needs an author"):
        RuleBook(PubsubParameters(signing="StrictNoSign", message_id=profile))
    rules = {"open": TopicRules(signing="StrictNoSign")}
    with pytest.raises(ConfigError, match=r"topic_rules\.open\.message_id"):
        RuleBook(PubsubParameters(message_id=profile, topic_rules=rules))


@pytest.mark.parametrize(
    ("wrong", "key"),
    [
        ({"signing": "Maybe"}, "topic_rules.weather.signing"),
        ({"sining": "StrictSign"}, "topic_rules.weather.sining"),
        ({"message_id": "unknown"}, "topic_rules.weather.message_id"),
    ],
)
def test_a_wrong_rule_of_a_topic_is_told_with_the_topic(wrong: dict[str, str], key: str) -> None:
    with pytest.raises(ConfigError) as caught:
        PubsubParameters.model_validate({"topic_rules": {"weather": wrong}})
    assert caught.value.key == key

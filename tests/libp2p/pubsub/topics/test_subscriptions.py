"""Who listens to what, and that nothing of it stays behind."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumormill.core.errors import ConfigError
from rumormill.libp2p.pubsub.topics.subscriptions import (
    SubscriptionTable,
    allow_all,
    allow_list,
    allow_pattern,
)


def test_peers_of_a_topic_and_topics_of_a_peer_come_in_the_order_of_telling() -> None:
    table = SubscriptionTable(most_per_peer=10)
    for peer, topic in [("b", "news"), ("a", "news"), ("b", "art")]:
        assert table.add(peer, topic) is True
    assert list(table.peers("news")) == ["b", "a"]
    assert table.topics("b") == ("news", "art")
    assert len(table) == 3


def test_saying_it_twice_changes_nothing() -> None:
    table = SubscriptionTable(most_per_peer=10)
    table.add("a", "news")
    assert table.add("a", "news") is False
    assert len(table) == 1


def test_taking_back_what_was_never_said_changes_nothing() -> None:
    table = SubscriptionTable(most_per_peer=10)
    assert table.remove("a", "news") is False
    table.add("a", "art")
    assert table.remove("a", "news") is False
    assert table.topics("a") == ("art",)


def test_topics_of_one_peer_are_limited() -> None:
    table = SubscriptionTable(most_per_peer=2)
    assert [table.add("a", topic) for topic in ("1", "2", "3")] == [True, True, None]
    assert table.add("a", "1") is False, "what is known may be said again"
    assert table.add("b", "3") is True, "one peer's limit is its own"
    table.remove("a", "1")
    assert table.add("a", "3") is True


def test_the_last_unsubscribe_removes_the_empty_topic() -> None:
    table = SubscriptionTable(most_per_peer=10)
    table.add("a", "news")
    table.remove("a", "news")
    assert set(table.sizes().values()) == {0}


def test_a_peer_that_leaves_leaves_nothing_behind() -> None:
    table = SubscriptionTable(most_per_peer=10)
    for topic in ("news", "art"):
        table.add("a", topic)
    table.add("b", "news")
    assert table.remove_peer("a") == ("news", "art")
    assert table.remove_peer("a") == ()
    assert table.sizes() == {"peer_topics": 1, "topics_with_peers": 1, "peers_with_topics": 1}
    table.remove_peer("b")
    assert set(table.sizes().values()) == {0}


def test_nobody_listens_to_an_unknown_topic() -> None:
    table = SubscriptionTable(most_per_peer=10)
    assert not table.peers("unknown")
    assert table.topics("unknown") == ()


@given(
    st.lists(
        st.tuples(st.sampled_from("+-x"), st.sampled_from("abc"), st.sampled_from("12345")),
        max_size=60,
    )
)
def test_it_agrees_with_a_plain_set_of_pairs(steps: list[tuple[str, str, str]]) -> None:
    table = SubscriptionTable(most_per_peer=3)
    model: set[tuple[str, str]] = set()
    for action, peer, topic in steps:
        if action == "+":
            known = (peer, topic) in model
            has_room = sum(each == peer for each, _ in model) < 3
            assert table.add(peer, topic) is (False if known else True if has_room else None)
            if has_room:
                model.add((peer, topic))
        elif action == "-":
            assert table.remove(peer, topic) is ((peer, topic) in model)
            model.discard((peer, topic))
        else:
            gone = {pair for pair in model if pair[0] == peer}
            assert set(table.remove_peer(peer)) == {each for _, each in gone}
            model -= gone
        assert len(table) == len(model)
    for topic in "12345":
        assert set(table.peers(topic)) == {peer for peer, each in model if each == topic}
    assert table.sizes() == {
        "peer_topics": len(model),
        "topics_with_peers": len({topic for _, topic in model}),
        "peers_with_topics": len({peer for peer, _ in model}),
    }


# ---- filters


def test_without_a_filter_every_topic_passes() -> None:
    assert allow_all("anything")


def test_an_allow_list_lets_only_its_topics_pass() -> None:
    allowed = allow_list(["news", "art"])
    assert allowed("news")
    assert not allowed("new")


def test_a_pattern_must_match_the_whole_topic() -> None:
    allowed = allow_pattern(r"weather/\w+")
    assert allowed("weather/north")
    assert not allowed("my/weather/north")
    assert not allowed("weather/north/now")
    assert not allowed("weather/north\n")


def test_a_pattern_that_is_none_names_its_key() -> None:
    with pytest.raises(ConfigError, match=r"allowed_topic_pattern: '\(' is no regular expression"):
        allow_pattern("(")

"""Names of topics, and what a network promises."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumormill.core.errors import LocalProtocolError
from rumormill.core.topic import LONGEST_TOPIC, Capabilities, check_topic


@given(st.text(min_size=1, max_size=200))
def test_any_text_that_is_not_empty_is_a_topic(topic: str) -> None:
    assert check_topic(topic) == topic


@pytest.mark.parametrize("topic", ["", None, b"weather", 7])
def test_what_is_no_text_or_empty_is_refused(topic: Any) -> None:
    with pytest.raises(LocalProtocolError, match="a text that is not empty"):
        check_topic(topic)


def test_a_topic_is_measured_in_bytes_of_utf8() -> None:
    assert check_topic("t" * LONGEST_TOPIC)
    assert check_topic("ü" * (LONGEST_TOPIC // 2))
    with pytest.raises(LocalProtocolError, match="1025 bytes"):
        check_topic("t" * (LONGEST_TOPIC + 1))
    with pytest.raises(LocalProtocolError, match="1026 bytes"):
        check_topic("ü" * (LONGEST_TOPIC // 2 + 1))


def test_the_sentence_about_a_long_topic_is_short() -> None:
    with pytest.raises(LocalProtocolError) as caught:
        check_topic("t" * 1_000_000)
    assert len(str(caught.value)) < 200


def test_a_network_promises_little_unless_it_says_more() -> None:
    promised = Capabilities(largest_message=1024)
    assert promised.every_message
    assert promised.all_subscribers
    assert not promised.ordered
    assert not promised.acknowledged


def test_a_topic_that_no_packet_could_carry_is_refused() -> None:
    with pytest.raises(LocalProtocolError, match="UTF-8"):
        check_topic("half a pair \ud800")

from __future__ import annotations

import pytest

from rumormill.cli.networks.plan import NetworkPlan, check_addresses, parse_settings, usable_topic
from rumormill.cli.words.sentences import UsageError


def test_a_value_may_hold_equals_signs() -> None:
    assert parse_settings(["agent=a=b"]) == {"agent": "a=b"}


@pytest.mark.parametrize("pair", ["D", "=8", ""])
def test_what_is_no_pair_is_refused(pair: str) -> None:
    with pytest.raises(UsageError, match="key=value"):
        parse_settings([pair])


def test_a_key_that_has_an_option_is_pointed_to_it() -> None:
    with pytest.raises(UsageError, match="--listen does"):
        parse_settings(["listen=/ip4/127.0.0.1/tcp/0"])


def test_a_key_given_twice_is_refused() -> None:
    with pytest.raises(UsageError, match="twice"):
        parse_settings(["D=8", "D=9"])


def test_a_bad_address_is_named_with_its_option() -> None:
    with pytest.raises(UsageError, match=r"--peer .*/ip4/nowhere"):
        check_addresses("--peer", ["/ip4/127.0.0.1/tcp/1", "/ip4/nowhere"], "gossipsub")


def test_an_empty_topic_is_refused() -> None:
    with pytest.raises(UsageError, match="not empty"):
        usable_topic("", "gossipsub")


def test_a_plan_checks_its_topics_and_addresses() -> None:
    with pytest.raises(UsageError):
        NetworkPlan("gossipsub", topics=("",)).checked()
    with pytest.raises(UsageError):
        NetworkPlan("gossipsub", listen=("here",)).checked()
    plan = NetworkPlan("gossipsub", listen=("/ip4/127.0.0.1/tcp/0",), topics=("weather",))
    assert plan.checked() is plan

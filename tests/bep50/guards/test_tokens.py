"""Write tokens: bound to an IP address and to a time."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumormill.bep50.guards.tokens import Tokens

PEER = "10.0.0.1:6881"


def test_a_token_has_eight_bytes_and_is_the_same_for_five_minutes() -> None:
    tokens = Tokens(Random(1))
    assert len(tokens.token(PEER, 0.0)) == 8
    assert tokens.token(PEER, 0.0) == tokens.token(PEER, 299.9)


def test_a_token_changes_after_five_minutes() -> None:
    tokens = Tokens(Random(1))
    before = tokens.token(PEER, 299.9)
    assert tokens.token(PEER, 300.0) != before


@given(st.floats(0.0, 1e9), st.floats(0.0, 1300.0), st.sampled_from([30.0, 300.0]))
def test_a_token_lives_for_one_to_two_rotations(
    given_at: float, age: float, rotation: float
) -> None:
    tokens = Tokens(Random(1), rotation)
    token = tokens.token(PEER, given_at)
    later = given_at + age
    valid = tokens.valid(token, PEER, later)
    assert valid == (later // rotation - given_at // rotation <= 1)
    assert valid or age >= rotation
    assert not valid or age < 2 * rotation


def test_a_token_is_bound_to_the_ip_address_and_not_to_the_port() -> None:
    tokens = Tokens(Random(1))
    token = tokens.token(PEER, 0.0)
    assert tokens.valid(token, "10.0.0.1:1", 0.0)
    assert not tokens.valid(token, "10.0.0.2:6881", 0.0)
    assert not tokens.valid(token, "[::a00:1]:6881", 0.0)


@pytest.mark.parametrize("token", [b"", bytes(8), bytes(7), bytes(20), b"x" * 4000])
def test_a_token_that_was_never_given_is_not_valid(token: bytes) -> None:
    assert not Tokens(Random(1)).valid(token, PEER, 0.0)


@given(st.integers(0, 63))
def test_one_wrong_bit_is_enough(bit: int) -> None:
    tokens = Tokens(Random(1))
    token = int.from_bytes(tokens.token(PEER, 0.0), "big") ^ 1 << bit
    assert not tokens.valid(token.to_bytes(8, "big"), PEER, 0.0)


def test_a_token_is_worth_nothing_at_another_node() -> None:
    token = Tokens(Random(1)).token(PEER, 0.0)
    assert not Tokens(Random(2)).valid(token, PEER, 0.0)


def test_tokens_from_before_a_long_silence_are_not_valid() -> None:
    tokens = Tokens(Random(1))
    token = tokens.token(PEER, 0.0)
    assert not tokens.valid(token, PEER, 10_000.0)


def test_ipv6_addresses_have_tokens_too() -> None:
    tokens = Tokens(Random(1))
    assert tokens.valid(tokens.token("[::1]:1", 0.0), "[::1]:2", 0.0)

"""How many queries an address may ask."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rumormill.bep50.guards.rate_limits import RateLimits


def granted(limits: RateLimits, peer: str, now: float, tries: int = 100) -> int:
    return sum(limits.allow(peer, now) for _ in range(tries))


def test_a_burst_is_granted_and_then_the_rate() -> None:
    limits = RateLimits(rate=10.0, burst=20.0, most=100)
    assert granted(limits, "10.0.0.1:1", 0.0) == 20
    assert granted(limits, "10.0.0.1:1", 1.0) == 10
    assert granted(limits, "10.0.0.1:1", 1000.0) == 20  # silence saves up no more than a burst


def test_other_ports_of_an_address_share_its_bucket_and_other_addresses_do_not() -> None:
    limits = RateLimits(rate=1.0, burst=5.0, most=100)
    assert granted(limits, "10.0.0.1:1", 0.0) == 5
    assert granted(limits, "10.0.0.1:2", 0.0) == 0
    assert granted(limits, "10.0.0.2:1", 0.0) == 5


def test_an_ipv6_network_of_64_bits_shares_a_bucket() -> None:
    limits = RateLimits(rate=1.0, burst=5.0, most=100)
    assert granted(limits, "[2001:db8::1]:1", 0.0) == 5
    assert granted(limits, "[2001:db8::ffff:2]:1", 0.0) == 0
    assert granted(limits, "[2001:db8:0:1::1]:1", 0.0) == 5


def test_what_costs_more_takes_more_and_a_refusal_costs_nothing() -> None:
    limits = RateLimits(rate=1.0, burst=10.0, most=100)
    assert limits.allow("10.0.0.1:1", 0.0, cost=8.0)
    assert not limits.allow("10.0.0.1:1", 0.0, cost=8.0)
    assert granted(limits, "10.0.0.1:1", 0.0) == 2


def test_past_the_bound_the_address_used_longest_ago_is_forgotten() -> None:
    limits = RateLimits(rate=0.001, burst=1.0, most=2)
    for peer in ("10.0.0.1:1", "10.0.0.2:1", "10.0.0.1:1", "10.0.0.3:1"):
        limits.allow(peer, 0.0)
    assert len(limits) == 2
    assert not limits.allow("10.0.0.1:1", 0.0)  # used lately, so it is remembered
    assert limits.allow("10.0.0.2:1", 0.0)


@given(
    st.lists(st.tuples(st.integers(0, 50), st.floats(0, 2), st.floats(0, 3)), max_size=200),
    st.integers(1, 20),
)
def test_nobody_gets_more_than_burst_and_rate_allow_and_memory_is_bounded(
    steps: list[tuple[int, float, float]], most: int
) -> None:
    limits = RateLimits(rate=2.0, burst=5.0, most=most)
    one = RateLimits(rate=2.0, burst=5.0, most=1)
    now = taken = 0.0
    for number, pause, cost in steps:
        now += pause
        limits.allow(f"10.0.0.{number}:1", now, cost)
        taken += cost if one.allow("10.0.0.1:1", now, cost) else 0.0
        assert len(limits) <= most
        assert taken <= 5.0 + 2.0 * now + 1e-6


def test_addresses_that_have_not_asked_for_a_while_are_forgotten() -> None:
    limits = RateLimits(rate=10.0, burst=50.0, most=1000)
    for number in range(100):
        limits.allow(f"10.0.0.{number}:1", now=0.0)
    while limits.allow("10.0.1.1:1", now=11.0):
        pass
    assert len(limits) == 1
    assert not limits.allow("10.0.1.1:1", now=11.0)

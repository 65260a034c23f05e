"""Ids remembered from the last sight on: what keeps coming is never new again."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumormill.core import trace
from rumormill.core.errors import ConfigError
from rumormill.core.timers import NEVER
from rumormill.libp2p.pubsub import PubsubParameters
from rumormill.libp2p.pubsub.inbound.last_seen import LastSeenCache
from rumormill.libp2p.pubsub.inbound.seen import SWEEP_INTERVAL
from tests.helpers.libp2p.workbench import FLOODSUB, Workbench, floodsub, signed

RAIN = signed("author", "t", b"rain", 1)


def listening(**parameters: Any) -> Workbench:
    bench = floodsub(seen_ttl=10.0, **parameters)
    bench.subscribe("t")
    for peer in ("ann", "bob"):
        bench.join(peer, "t", protocol=FLOODSUB)
    return bench


def times_delivered(bench: Workbench) -> int:
    """One copy every eight seconds, for a minute."""
    for second in range(0, 60, 8):
        bench.run_until(float(second))
        bench.send_message("ann", RAIN)
    return len(bench.delivered())


def test_what_circles_for_longer_than_ids_live_is_delivered_once() -> None:
    assert times_delivered(listening(seen_from="last")) == 1


def test_from_the_first_sight_on_as_by_default_it_is_delivered_again() -> None:
    assert times_delivered(listening()) > 1


def test_an_id_is_forgotten_when_no_copy_came_for_its_time() -> None:
    bench = listening(seen_from="last")
    bench.send_message("ann", RAIN)
    bench.run_until(8.0)
    bench.send_message("bob", RAIN)
    assert len(bench.events(trace.DUPLICATE)) == 1
    bench.run_until(17.9)
    assert bench.pubsub.sizes()["seen"] == 1
    bench.run_until(18.0 + SWEEP_INTERVAL)
    assert bench.pubsub.sizes()["seen"] == 0


def test_past_the_bound_those_go_first_that_were_not_seen_for_the_longest_time() -> None:
    seen = LastSeenCache(ttl=100.0, most=2)
    assert [seen.add(b"1", 0.0), seen.add(b"2", 1.0)] == [0, 0]
    seen.renew(b"1", 2.0)
    assert seen.add(b"3", 3.0) == 1
    assert [each in seen for each in (b"1", b"2", b"3")] == [True, False, True]


@given(
    st.lists(st.tuples(st.sampled_from(["see", "expire"]), st.integers(0, 5), st.integers(0, 4)))
)
def test_it_agrees_with_a_plain_table_of_last_sights(steps: list[tuple[str, int, int]]) -> None:
    seen, last, now = LastSeenCache(ttl=5.0, most=100), dict[bytes, float](), 0.0
    for step, number, later in steps:
        now += later
        message_id = bytes([number])
        if step == "expire":
            seen.expire(now)
            last = {each: sight for each, sight in last.items() if sight + 5.0 > now}
        else:
            (seen.renew if message_id in seen else seen.add)(message_id, now)
            last[message_id] = now
        assert set(seen.ids) == set(last)
        assert len(seen) == len(last)
        due = min(last.values()) + 5.0 + SWEEP_INTERVAL if last else NEVER
        # A renewed id may be looked at too early, which does no harm; never too late.
        assert seen.expires == due if step == "expire" else seen.expires <= due


def test_another_word_is_refused_with_its_key() -> None:
    with pytest.raises(ConfigError) as caught:
        PubsubParameters(seen_from="middle")  # type: ignore[arg-type]
    assert caught.value.key == "seen_from"

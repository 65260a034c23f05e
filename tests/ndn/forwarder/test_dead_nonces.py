"""How long nonces are known, and how many."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rumormill.core.timers import NEVER, Alarm
from rumormill.ndn.forwarder.tables.dead_nonces import DeadNonces


def test_a_nonce_belongs_to_a_name() -> None:
    dead = DeadNonces(6.0, 100, Alarm())
    dead.add(b"a", b"1111", 0.0)
    assert dead.has(b"a", b"1111")
    assert not dead.has(b"b", b"1111")
    assert not dead.has(b"a", b"2222")


@given(
    added=st.floats(0, 30),
    others=st.lists(st.floats(0, 30), max_size=20),
)
def test_a_nonce_is_known_for_six_seconds_at_least_and_twice_that_at_most(
    added: float, others: list[float]
) -> None:
    alarm = Alarm()
    dead = DeadNonces(6.0, 1000, alarm)
    times = sorted([(added, True), *((other, False) for other in others)])
    checks = [added + 5.9, added + 12.1]
    for when in sorted([*(time for time, _ in times), *checks]):
        while alarm.soonest <= when:
            woken = alarm.soonest
            dead.wake(woken)
            alarm.soonest = dead.next_wake() or NEVER
            assert alarm.soonest > woken
        if when == added:
            dead.add(b"it", b"1111", when)
        elif when == checks[0]:
            assert dead.has(b"it", b"1111")
        elif when == checks[1]:
            assert not dead.has(b"it", b"1111")
        else:
            dead.add(b"other", str(when).encode(), when)


def test_with_too_many_the_older_half_goes_early() -> None:
    dead = DeadNonces(6.0, 100, Alarm())
    for number in range(1000):
        dead.add(b"a", number.to_bytes(4, "big"), 0.0)
        assert len(dead) <= 100
    assert all(dead.has(b"a", number.to_bytes(4, "big")) for number in range(950, 1000))

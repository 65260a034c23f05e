"""What every connection has: a way out that keeps its order and its limit, and open questions."""

from __future__ import annotations

from rumormill.bcos.links.outlet import Outlet
from rumormill.bcos.links.pending import Pending
from rumormill.core.timers import Alarm
from rumormill.core.transport import CloseTransport, WriteBytes
from rumormill.core.turn import Turn

# ---- the way out


def an_outlet(most_bytes: int = 10) -> tuple[Outlet, Turn]:
    turn = Turn("node-a")
    return Outlet(turn, 7, most_bytes), turn


def test_each_packet_is_a_write_of_its_own() -> None:
    outlet, turn = an_outlet()
    assert outlet.free and outlet.write(b"one") and outlet.write(b"two")
    assert turn.take() == [WriteBytes(7, b"one"), WriteBytes(7, b"two")]


def test_packets_wait_in_order_while_the_socket_is_full() -> None:
    outlet, turn = an_outlet()
    outlet.set_ready(False)
    assert not outlet.free
    assert outlet.write(b"one") and outlet.write(b"two")
    assert turn.take() == [] and outlet.waiting == 6
    outlet.set_ready(True)
    assert turn.take() == [WriteBytes(7, b"one"), WriteBytes(7, b"two")]
    assert outlet.waiting == 0 and outlet.free


def test_no_more_waits_than_there_is_room_for() -> None:
    outlet, turn = an_outlet(most_bytes=10)
    outlet.set_ready(False)
    assert outlet.write(b"12345") and outlet.write(b"12345")
    assert not outlet.write(b"1")
    assert outlet.waiting == 10
    outlet.set_ready(True)
    assert len(turn.take()) == 2 and outlet.write(b"1")


def test_a_packet_larger_than_the_room_waits_alone() -> None:
    outlet, _ = an_outlet(most_bytes=10)
    outlet.set_ready(False)
    assert outlet.write(b"x" * 100)
    assert not outlet.write(b"x")


def test_what_waits_is_written_before_the_end_and_nothing_after_it() -> None:
    outlet, turn = an_outlet()
    outlet.set_ready(False)
    outlet.write(b"last")
    outlet.close("shutdown")
    assert turn.take() == [WriteBytes(7, b"last"), CloseTransport(7, "shutdown")]
    assert not outlet.write(b"more")
    outlet.set_ready(True)
    outlet.close("again")
    assert turn.take() == []


# ---- questions


class Asked:
    """Questions, and how they ended."""

    def __init__(self) -> None:
        self.ended: list[tuple[str, str | None, str]] = []
        self.pending: Pending[int, str] = Pending(Alarm())

    def ask(self, key: int, whom: str, until: float, name: str) -> None:
        self.pending.begin(
            key, whom, until, lambda answer, why: self.ended.append((name, answer, why))
        )


def test_a_question_ends_once_by_its_answer() -> None:
    asked = Asked()
    asked.ask(1, "b", 5.0, "first")
    assert 1 in asked.pending and asked.pending.asked(1) == "b"
    assert asked.pending.answer(1, "yes") and not asked.pending.answer(1, "no")
    asked.pending.wake(9.0)
    asked.pending.lost("b", "left")
    assert asked.ended == [("first", "yes", "")]
    assert len(asked.pending) == 0 and asked.pending.next_wake() is None


def test_questions_end_when_their_time_is_over() -> None:
    asked = Asked()
    for key in range(3):
        asked.ask(key, "b", float(key), str(key))
    asked.pending.wake(1.0)
    assert asked.ended == [("0", None, "timed_out"), ("1", None, "timed_out")]
    assert asked.pending.next_wake() == 2.0


def test_who_leaves_ends_its_own_questions_in_their_order() -> None:
    asked = Asked()
    for key, whom in enumerate("bcb"):
        asked.ask(key, whom, 5.0, str(key))
    asked.pending.lost("b", "left")
    asked.pending.lost("nobody", "left")
    assert asked.ended == [("0", None, "left"), ("2", None, "left")]
    assert asked.pending.asked(1) == "c" and asked.pending.asked(0) is None


def test_a_question_whose_key_is_taken_ends_the_one_before() -> None:
    asked = Asked()
    asked.ask(1, "b", 5.0, "first")
    asked.ask(1, "c", 9.0, "second")
    assert asked.ended == [("first", None, "replaced")]
    asked.pending.lost("b", "left")
    asked.pending.wake(5.0)
    assert len(asked.ended) == 1 and asked.pending.answer(1, "yes")
    assert asked.ended[1:] == [("second", "yes", "")]


def test_nobody_hears_of_a_question_that_is_forgotten() -> None:
    asked = Asked()
    asked.ask(1, "b", 5.0, "first")
    asked.pending.forget(1)
    asked.pending.forget(1)
    asked.pending.wake(9.0)
    assert asked.ended == [] and not asked.pending.answer(1, "late")


def test_who_hears_the_end_of_a_question_may_ask_the_next() -> None:
    """Nodes are asked one after another in this way."""
    pending: Pending[int, str] = Pending(Alarm())
    heard: list[str] = []

    def again(answer: str | None, why: str) -> None:
        heard.append(why)
        pending.begin(1, "b", 9.0, lambda answer, why: heard.append(why))

    pending.begin(1, "b", 5.0, again)
    pending.begin(2, "b", 5.0, lambda answer, why: heard.append(why))
    pending.lost("b", "left")
    assert heard == ["left", "left"] and 1 in pending
    pending.wake(9.0)
    assert heard == ["left", "left", "timed_out"] and len(pending) == 0

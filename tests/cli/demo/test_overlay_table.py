"""What is printed of the second act follows from what the nodes told."""

from __future__ import annotations

from rich.console import Console

from rumormill.cli.demo.ledger import Ledger, Traffic
from rumormill.cli.demo.overlay_table import Outcome


def told() -> Ledger:
    """Four values by node 0; node 2 was killed before the third and back before the fourth."""
    ledger = Ledger(3)
    for number, at in enumerate((100.0, 110.0, 120.0, 130.0)):
        ledger.published(number, 0, at)
        ledger.delivered(1, number, 0.001 * (number + 1))
    for number in (0, 1, 3):
        ledger.delivered(2, number, 0.005)
    ledger.killed(2, 115.0)
    ledger.returned(2, 125.0)
    ledger.counted(1, Traffic(4, 2))
    ledger.degrees[:] = [2, 2, 1]
    return ledger


def shown(outcome: Outcome) -> str:
    console = Console(width=80, record=True, color_system=None, file=None, quiet=False)
    with console.capture() as capture:
        console.print(outcome.table())
    return capture.get()


def test_all_is_well_when_everybody_has_the_newest_value() -> None:
    outcome = Outcome(told(), [4, 4, 4], caught_up_after=0.75)
    assert outcome.good
    assert outcome.verdict() == (
        "All 3 nodes have the newest value, seq 4. 7 of 7 deliveries on the way there, half of "
        "them within 4.0 ms, 99 % within 5.0 ms."
    )
    note, _ = outcome.notes()
    assert note.startswith("* Node 2 was killed; 1 value published while it was away or dying")
    assert "0.8 s after its new process was started" in note


def test_a_skipped_value_is_counted_and_not_held_against_a_node() -> None:
    ledger = Ledger(2)
    for number in range(3):
        ledger.published(number, 0, 100.0 + number)
    ledger.delivered(1, 0, 0.001)
    ledger.delivered(1, 2, 0.001)
    outcome = Outcome(ledger, [3, 3], None)
    assert outcome.good
    assert "2 of 3 deliveries" in outcome.verdict()


def test_a_node_that_is_behind_is_named() -> None:
    outcome = Outcome(told(), [4, 3, None], None)
    assert not outcome.good
    assert outcome.verdict() == (
        "The newest value is not everywhere: node 0 has 4, node 1 has 3, node 2 has none."
    )
    assert not Outcome(told(), [None, None, None], None).good
    assert Outcome(Ledger(2), [None, None], None).verdict().startswith("Nothing was published")


def test_the_table_fits_into_80_columns_and_marks_the_killed_node() -> None:
    lines = shown(Outcome(told(), [4, 4, 4], 0.75)).splitlines()
    assert max(map(len, lines)) <= 80
    assert [line.split() for line in lines if line[:1].isdigit()] == [
        ["0", "4", "0", "0", "-", "-", "-", "2"],
        ["1", "4", "4", "4", "2.0", "4.0", "0.5", "2"],
        ["2", "*", "4", "3", "3", "5.0", "5.0", "-", "1"],
    ]


def test_programs_get_the_same_figures() -> None:
    outcome = Outcome(told(), [4, 4, 4], 0.75)
    assert outcome.total_object() == {
        "published": 4,
        "expected": 7,
        "delivered": 7,
        "newest_everywhere": True,
        "caught_up_after": 0.75,
    }
    rows = outcome.row_objects()
    assert [row["seq"] for row in rows] == [4, 4, 4]
    assert rows[1]["latency"] == {"p50": 0.002, "p99": 0.004}
    assert (rows[2]["away"], rows[2]["in_doubt"], rows[2]["table"]) == (1, 0, 1)

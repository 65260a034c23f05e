"""The siege: its rows are shown and judged as they are, also those that came to nothing."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bench.parts import PARTS
from bench.siege import measure
from bench.siege.attackers.arsenal import WEAPONS
from bench.siege.families import CALM, FAMILIES
from bench.siege.honest import Load
from bench.siege.measure import Case, besiege
from bench.siege.nodes import Contestant, Node
from bench.siege.processes import SiegeError
from bench.siege.siege import QUICK, SiegePlan
from bench.siege.tables import HEADINGS, siege_tables
from bench.siege.verdicts import against, siege_goals

GOSSIPSUB = FAMILIES[0]


def row(contestant: str, attack: str = "iwant", attackers: int = 1, **changes: Any) -> Any:
    labels = {"ours": "ours", "rust": "rust-libp2p", "spool": "ours, with a spool"}
    figures: dict[str, Any] = {
        "family": "gossipsub", "attack": attack, "attackers": attackers, "contestant": contestant,
        "label": labels[contestant], "problem": "", "sent": 100, "delivered": 100, "p50_ms": 1.0,
        "p95_ms": 5.0, "max_ms": 9.0, "calm_p95_ms": 2.0, "cpu": 0.1, "memory_mb": 3.0,
        "calm_mb": 60.0, "out_per_in": 0.5, "newcomer_s": 0.1, "dropped_after": None,
        "attack_report": {"reconnects": 0},
    }  # fmt: skip
    return figures | changes


def part(*rows: Any, left_out: tuple[str, ...] = ()) -> Any:
    return {"rows": list(rows), "left_out": list(left_out), "attackers": [1, 8]}


def cells(table: Any, line: int) -> dict[str, str]:
    return dict(zip(table.headings, table.lines[line], strict=True))


def test_a_line_says_what_became_of_the_honest_side_of_the_node_and_of_the_attackers() -> None:
    ours = row(
        "ours", held_after=0.12, dropped_after=4.8, attack_report={"reconnects": 3},
        named={"held_back.message_ids": 19, "protocol_error.too_much_work": 1}, trace_mb=0.3,
    )  # fmt: skip
    table, named = siege_tables(part(ours))
    line = cells(table, 0)
    assert line["delivered"] == "100 of 100"
    assert (line["p50 ms"], line["p95 ms"], line["calm p95"]) == ("1.00", "5.00", "2.00")
    assert (line["CPU"], line["calm MB"], line["MB more"]) == ("0.10", "60.0", "3.00")
    assert line["out/in"] == "0.50"
    assert line["held back, dropped after s"] == "0.12, 4.80, again 3 x"
    assert line["trace names them"] == "held_back.message_ids"
    assert named.lines[0][2:4] == [
        "20", "19 x held_back.message_ids, 1 x protocol_error.too_much_work",
    ]  # fmt: skip


def test_every_other_has_a_word_on_ours_and_ours_has_none() -> None:
    rows = [row("ours"), row("rust", p95_ms=20.0, cpu=1.0)]
    (table,) = siege_tables(part(*rows))
    assert cells(table, 0)["ours against it"] == ""
    assert cells(table, 1)["ours against it"] == "better: p95 0.25 x (-15.0 ms), CPU 0.10 x"
    (table,) = siege_tables(part(row("ours", CALM, 0), row("rust", CALM, 0)))
    assert cells(table, 1)["ours against it"] == ""


def test_our_node_with_a_spool_is_ours_and_judged_as_such_and_no_rival() -> None:
    rows = [row("ours"), row("spool", p95_ms=88.0)]
    (table,) = siege_tables(part(*rows))
    assert cells(table, 1)["ours against it"] == ""
    found = {goal.subject: goal.verdict for goal in siege_goals(part(*rows))}
    assert found["gossipsub, 1 attacker: p95 under the worst, iwant"].startswith("not reached")
    assert not [subject for subject in found if "better than" in subject]


@pytest.mark.parametrize(
    ("ours", "theirs", "better"),
    [
        ({"p95_ms": 5.1}, {"p95_ms": 5.0}, False),
        ({"p95_ms": 5.0}, {"p95_ms": 5.0}, True),
        ({"delivered": 99, "p95_ms": 1.0}, {"p95_ms": 500.0}, False),
        ({"p95_ms": 500.0}, {"delivered": 99, "p95_ms": 1.0}, True),
        ({"p95_ms": None}, {"p95_ms": 5.0}, False),
        ({"newcomer_s": None}, {"p95_ms": 500.0}, False),
        ({"p95_ms": 500.0}, {"newcomer_s": None}, True),
    ],
)
def test_deliveries_come_first_then_newcomers_then_the_latency_however_close(
    ours: Any, theirs: Any, better: bool
) -> None:
    assert against(row("ours", **ours), row("rust", **theirs)).better is better


def test_what_could_not_be_measured_stands_in_the_table_with_the_reason() -> None:
    failed = {
        key: value
        for key, value in row("ours", problem="our node ended: exit code 1").items()
        if key in ("family", "attack", "attackers", "contestant", "label", "problem")
    }
    (table,) = siege_tables(part(failed, row("rust"), left_out=("http: left out, there is none",)))
    assert cells(table, 0)["delivered"] == "none: our node ended: exit code 1"
    assert cells(table, 1)["ours against it"] == "worse: ours has no figures"
    assert "http: left out, there is none" in table.notes
    assert len(table.lines[0]) == len(HEADINGS)
    verdicts = {goal.subject: goal.verdict for goal in siege_goals(part(failed, row("rust")))}
    assert verdicts["gossipsub, 1 attacker: delivered under the worst, iwant"].startswith("not")
    assert verdicts["gossipsub, 1 attacker: attacks under which ours is better than rust-libp2p"]


def test_the_goals_are_judged_by_the_worst_of_our_rows_and_by_every_row_of_the_others() -> None:
    rows = [
        row("ours"), row("rust", p95_ms=8.0),
        row("ours", "p384", p95_ms=60.0, memory_mb=120.0), row("rust", "p384", p95_ms=2.0),
    ]  # fmt: skip
    found = {goal.subject: goal.verdict for goal in siege_goals(part(*rows))}
    assert found["gossipsub, 1 attacker: p95 under the worst, p384"] == "not reached, 20.0% above"
    assert found["gossipsub, 1 attacker: memory under the worst, p384"].startswith("not reached")
    assert found["gossipsub, 1 attacker: delivered under the worst, iwant"] == "reached, exactly"
    better = "gossipsub, 1 attacker: attacks under which ours is better than rust-libp2p"
    assert found[better] == "not reached, 50.0% below"


def test_a_trace_that_names_nobody_is_a_goal_that_was_missed() -> None:
    rows = [row("spool", named={}, trace_mb=0.1)]
    found = {goal.subject: goal.verdict for goal in siege_goals(part(*rows))}
    subject = "gossipsub, 1 attacker: attacks under which the trace names the attackers"
    assert found[subject].startswith("not reached")
    table, named = siege_tables(part(*rows))
    assert cells(table, 0)["trace names them"] == "no"
    assert named.lines[0][3] == "none"


def test_every_attack_has_a_weapon_and_the_quick_ones_exist() -> None:
    assert {attack.name for attack in GOSSIPSUB.attacks} == set(WEAPONS)
    assert set(GOSSIPSUB.held_before) <= set(WEAPONS)
    everything = {attack.name for family in FAMILIES for attack in family.attacks}
    assert set(QUICK.attacks) <= everything
    assert isinstance(PARTS["siege"].plan, SiegePlan) and PARTS["siege"].peers


@pytest.mark.parametrize("error", [SiegeError("it hangs"), ValueError("a surprise"), OSError("x")])
def test_whatever_goes_wrong_with_one_case_is_its_row_and_nothing_else(
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    async def fail(case: Case, node: Node, found: Any) -> None:
        raise error

    monkeypatch.setattr(measure, "_measure", fail)
    contestant = Contestant("ours", "ours", lambda folder: Node("our node", ["false"]))
    load = Load(count=1)
    case = Case(GOSSIPSUB, "iwant", 1, contestant, load, replace(load))
    found = asyncio.run(besiege(case))
    assert str(error) in found["problem"]
    assert cells(siege_tables(part(found))[0], 0)["delivered"].startswith("none: ")


def test_who_is_missing_is_a_row_that_says_so() -> None:
    def start(folder: Path) -> Node:
        raise AssertionError("it cannot be started")

    contestant = Contestant("rust", "rust-libp2p", start, missing="cargo is not installed")
    case = Case(GOSSIPSUB, "iwant", 1, contestant, Load(), Load())
    found = asyncio.run(besiege(case))
    assert found["problem"] == "cargo is not installed"

"""What descriptors cost: every variant delivers what it writes, and goals are held against it."""

from __future__ import annotations

from typing import Any

import pytest

from bench.private import (
    BATCH,
    ENCRYPTED,
    LISTED,
    PLAIN,
    SEALED,
    SHARED,
    WEB,
    Variant,
    private_goals,
    private_tables,
)

NAMES = (PLAIN, LISTED, WEB, SHARED, SEALED, *ENCRYPTED.values())


def cost(best: float) -> dict[str, float]:
    return {"best": best, "median": best}


def part(**costs: float) -> dict[str, Any]:
    rows = [
        {"name": name, "signed": signed, "delivered": 1,
         "publish": cost(costs.get(name, 20.0)), "receive": cost(costs.get(name, 20.0))}
        for name in NAMES
        for signed in (True, False)
    ]  # fmt: skip
    return {"size": 1024, "rows": rows, "cipher": {"publish": cost(1.8), "receive": cost(1.8)}}


@pytest.mark.parametrize("signed", [True, False])
@pytest.mark.parametrize("name", NAMES)
def test_every_message_of_a_variant_is_delivered(name: str, signed: bool) -> None:
    variant = Variant(name, signed)
    variant.run(2)
    assert variant.reader.delivered == 3 * BATCH
    assert variant.costs["publish"][0] > 0 < variant.costs["receive"][0]


def test_authentication_is_held_against_the_same_topic_without_it() -> None:
    goals = {goal.subject: goal for goal in private_goals(part(**{LISTED: 22.5}))}
    assert goals[f"receive, {LISTED}"].verdict.startswith("not reached")
    assert goals[f"receive, {WEB}"].verdict.startswith("reached")


def test_encryption_is_held_against_the_same_topic_and_the_bare_cipher() -> None:
    goals = {goal.subject: goal for goal in private_goals(part(**{SHARED: 26.0, SEALED: 24.0}))}
    assert goals[f"publish, {SHARED}"].verdict == "not reached, 20.0% above"
    assert goals[f"publish, {SEALED}"].verdict == "reached, 20.0% below"


def test_the_table_has_a_line_for_each_and_one_for_the_cipher() -> None:
    (table,) = private_tables(part())
    assert [line[0] for line in table.lines[-3:]] == [NAMES[-1], NAMES[-1], "the cipher alone"]

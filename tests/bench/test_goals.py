"""Goals are computed from the figures of the run, whatever they are."""

from __future__ import annotations

from typing import Any

from bench.goals import Figure, Goal, fixed, pair_goals
from bench.mesh_goals import highest_rate, mesh_goals
from bench.mesh_tables import mesh_tables


def figure(best: float, median: float | None = None) -> Figure:
    return Figure("ours", {"best": best, "median": best if median is None else median})


def row(contestant: str, case: str, rate: float, publisher: float, subscriber: float) -> Any:
    values = {
        "messages_per_second": rate,
        "publisher_us": publisher,
        "subscriber_us": subscriber,
    }
    return {
        "contestant": contestant,
        "case": case,
        "missing": "",
        **{metric: figure(value).values for metric, value in values.items()},
    }


def pair_part(*rows: Any) -> Any:
    costs = {"pynacl_verify": figure(50.0).values, "pynacl_sign": figure(20.0).values}
    return {"rows": list(rows), "signatures": {"1000": costs, "1024": costs}}


def verdicts(goals: list[Goal]) -> dict[tuple[str, str], str]:
    return {(goal.subject, goal.limit.words): goal.verdict for goal in goals}


def test_a_goal_says_by_how_much_it_was_reached_or_missed() -> None:
    assert Goal("", figure(60), True, fixed("", 50)).verdict == "reached, 20.0% above"
    assert Goal("", figure(40), True, fixed("", 50)).verdict == "not reached, 20.0% below"
    assert Goal("", figure(40), False, fixed("", 50)).verdict == "reached, 20.0% below"
    assert Goal("", figure(50), False, fixed("", 50)).verdict == "reached, exactly"
    assert Goal("", figure(1), False, fixed("two pears", 2.0), " g").wanted == (
        "at most two pears (2.00 g)"
    )


def test_a_goal_that_only_the_best_round_reached_says_so() -> None:
    goal = Goal("", figure(40, median=60), False, fixed("", 50))
    assert goal.verdict == "reached by the best only, 20.0% below"
    assert goal.to_json()["reached"] == {"best": True, "median": False}


def test_goals_of_a_pair_hold_our_figures_against_those_of_the_same_run() -> None:
    part = pair_part(
        row("ours", "signed 1024 B", 6000, publisher=50, subscriber=70),
        row("js", "signed 1024 B", 3000, publisher=200, subscriber=200),
    )
    found = verdicts(pair_goals(part))
    rate, publisher = "signed 1024 B, messages/s", "signed 1024 B, CPU of the publisher"
    assert found[rate, "1.5 x js-libp2p"] == "reached, 33.3% above"
    assert found[publisher, "2 x one PyNaCl sign"] == "not reached, 25.0% above"


def test_cpu_of_a_pair_is_held_against_that_of_go_on_one_thread_in_the_same_run() -> None:
    part = pair_part(
        row("ours", "signed 1024 B", 6000, publisher=50, subscriber=70),
        row("go-1", "signed 1024 B", 6000, publisher=100, subscriber=56),
    )
    found = verdicts(pair_goals(part))
    go = "go-libp2p, one thread"
    assert found["signed 1024 B, CPU of the publisher", go] == "reached, 50.0% below"
    assert found["signed 1024 B, CPU of the subscriber", go] == "not reached, 25.0% above"
    assert found["signed 1000 B, CPU of the publisher", go].startswith("cannot be said: ")


def test_a_goal_without_the_other_implementation_says_why_it_cannot_be_said() -> None:
    missing = {"contestant": "rust", "case": "unsigned 1024 B", "missing": "cargo is not there"}
    part = pair_part(row("ours", "unsigned 1024 B", 6000, 50, 70), missing)
    found = verdicts(pair_goals(part))
    subject = "unsigned 1024 B, CPU of the publisher"
    reason = found[subject, "2 x rust-libp2p"]
    assert reason == "cannot be said: rust-libp2p: cargo is not there"


def test_goals_of_a_mesh_name_the_rate_and_the_other_implementation() -> None:
    def mesh_row(contestant: str, rate: int, ratio: float, cpu: float, p99: float) -> Any:
        values = {
            "ratio": ratio,
            "cpu_us_per_delivery": cpu,
            "p99_ms": p99,
            "verifies_per_delivery": 1.0,
        }
        figures = {metric: figure(value).values for metric, value in values.items()}
        return {"contestant": contestant, "rate": rate, "missing": "", **figures}

    rows = [mesh_row("ours", 100, 1.0, 500, 6), mesh_row("ours", 500, 0.9, 400, 60)]
    rows += [mesh_row("rust", 100, 1.0, 1000, 5), mesh_row("rust", 500, 1.0, 800, 600)]
    rows += [mesh_row("go-1", 100, 1.0, 400, 5)]
    found = verdicts(mesh_goals({"rows": rows}))
    ours = "ours (PyNaCl)"
    assert found[f"{ours}, delivered at 500/s", "everything"].startswith("not reached")
    assert found[f"{ours}, verifies per delivery at 100/s", "one"].startswith("reached")
    assert found[f"{ours}, CPU per delivery at 100/s", "0.5 x rust-libp2p"] == ("reached, exactly")
    go = "go-libp2p, one thread"
    assert found[f"{ours}, CPU per delivery at 100/s", go] == "not reached, 25.0% above"
    assert found[f"{ours}, p99 at 100/s", "rust-libp2p"] == ("not reached, 20.0% above")
    assert found[f"{ours}, p99 at 500/s", "rust-libp2p"].startswith("reached")


def test_what_the_features_cost_is_held_against_our_own_node_without_them() -> None:
    part = pair_part(
        row("ours", "signed 1024 B", 6000, publisher=52, subscriber=80),
        row("plain", "signed 1024 B", 6000, publisher=50, subscriber=75),
    )
    found = verdicts(pair_goals(part))
    plain = "1.05 x ours (plain 1.0)"
    assert found["signed 1024 B, CPU of the publisher", plain] == "reached, 1.0% below"
    assert found["signed 1024 B, CPU of the subscriber", plain] == "not reached, 1.6% above"


def load(rate: int, ratio: float = 1.0, p99: float = 5.0, achieved: float = 1.0) -> Any:
    values = {
        "ratio": ratio,
        "p99_ms": p99,
        "achieved_rate": rate * achieved,
        "cpu_us_per_delivery": 300.0,
        "verifies_per_delivery": 1.0,
    }
    figures = {metric: figure(value).values for metric, value in values.items()}
    return {"contestant": "ours", "rate": rate, "missing": "", **figures}


def test_the_highest_rate_is_the_last_before_one_that_does_not_hold() -> None:
    def highest(*rows: Any) -> int:
        return highest_rate({"rows": list(rows)}, "ours", "best")

    assert highest(load(50), load(100), load(200)) == 200
    assert highest(load(50), load(100, ratio=0.999), load(200)) == 50, "something was lost"
    assert highest(load(50), load(100, p99=100.0), load(200)) == 50, "it came late"
    assert highest(load(50), load(100, achieved=0.9)) == 50, "it was not published in time"
    assert highest({"contestant": "ours", "rate": 50, "missing": "it fell over"}) == 0


def test_the_goal_of_the_highest_rate_needs_that_it_was_tried() -> None:
    subject, limit = "ours (PyNaCl), highest rate that holds", "1,000/s"
    assert verdicts(mesh_goals({"rows": [load(500), load(1000)]}))[subject, limit] == (
        "reached, exactly"
    )
    assert verdicts(mesh_goals({"rows": [load(500), load(1000, p99=200.0)]}))[subject, limit] == (
        "not reached, 50.0% below"
    )
    assert verdicts(mesh_goals({"rows": [load(500)]}))[subject, limit] == (
        "cannot be said: 1,000/s was not tried"
    )


def test_the_highest_rate_and_large_messages_have_tables_of_their_own() -> None:
    rows = [load(rate) | {"verifies_known_by": "counters"} for rate in (50, 100)]
    part = {"nodes": 10, "rounds": 2, "seconds": 10.0, "size": 1024, "rows": rows}
    _, highest = mesh_tables(part)
    assert highest.lines == [["ours (PyNaCl)", "100", "100"]]
    *_, large = mesh_tables(part | {"large": [rows[0] | {"size": 65536}]})
    assert "signed 65536 B" in large.title
    assert large.lines[0][:3] == ["50/s", "ours (PyNaCl)", "1.000"]


def test_copies_of_large_messages_are_held_against_those_of_rust() -> None:
    large = [
        {"contestant": name, "rate": 20, "size": 65536, "missing": "",
         "copies_per_delivery": figure(copies).values}
        for name, copies in (("ours", 1.5), ("rust", 3.0))
    ]  # fmt: skip
    found = verdicts(mesh_goals({"rows": [load(500)], "large": large}))
    subject = "ours (PyNaCl), copies per delivery of 65536 B"
    assert found[subject, "rust-libp2p"] == "reached, 50.0% below"

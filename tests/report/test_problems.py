from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from rumormill.report import Report, report_json
from rumormill.report.problems import Weight
from tests.helpers.report.gold_tables import BEGAN, Run, story, totals
from tests.helpers.report.lake_on_disk import Rows

MakeReport = Callable[..., Report]
Tables = dict[str, Rows]


def sentences(report: Report) -> list[str]:
    found: list[str] = report_json(report)["problems"]
    return found


def test_a_run_without_trouble_has_no_problems(report_on: MakeReport) -> None:
    assert report_on().findings == []


def test_deliveries_that_are_missing_are_counted_by_topic(report_on: MakeReport) -> None:
    report = report_on(Run(loss=0.4, seed=5))
    (topic,) = report.topics.values()
    assert topic.missing > 1
    assert (
        f"Topic weather: {topic.missing} of 540 expected deliveries are missing"
        in (sentences(report)[0])
    )


def alert(**columns: Any) -> dict[str, Any]:
    row = {"network": "gossipsub", "topic": None, "minute": None, "node": None, "detail": None}
    return {**row, **columns}


def test_alerts_of_many_minutes_are_one_sentence(report_on: MakeReport) -> None:
    def add(tables: Tables) -> None:
        tables["alerts"] += [
            alert(kind="censorship", topic="weather", node="peer-1", detail="handed on nothing",
                  minute=BEGAN + timedelta(minutes=minute))
            for minute in range(3)
        ] + [alert(kind="spam")]  # fmt: skip

    assert sentences(report_on(change=add)) == [
        "Censorship, topic weather, peer peer-1: handed on nothing "
        "(3 minutes, first at 14:00 UTC).",
        "Spam.",
    ]


def test_alerts_about_a_crowd_are_one_sentence_and_all_of_them_are_in_the_json(
    report_on: MakeReport,
) -> None:
    def add(tables: Tables) -> None:
        tables["alerts"] += [
            alert(kind="misbehaviour", node=f"peer-{number}", minute=BEGAN,
                  detail=f"graft_in_backoff {90 - number} times; told by 4 of its peers")
            for number in range(8)
        ] + [alert(kind="sybils", minute=BEGAN, detail="8 peers have scores below 0")]  # fmt: skip

    report = report_on(change=add)
    assert sentences(report) == [
        "Misbehaviour, 8 peers (peer-0, peer-1, peer-2 and 5 more): graft_in_backoff 90 times; "
        "told by 4 of its peers (14:00 UTC).",
        "Sybils: 8 peers have scores below 0 (14:00 UTC).",
    ]
    told = report_json(report)["alerts"]
    assert sum(each["kind"] == "misbehaviour" for each in told) == 8
    assert {each["more"] for each in told} == {
        "docs/alerts.md#misbehaviour", "docs/alerts.md#sybils",
    }  # fmt: skip


def problem(kind: str, count: int, detail: str | None, topic: str | None = None) -> dict[str, Any]:
    return {
        "network": "gossipsub", "topic": topic, "kind": kind, "count": count, "detail": detail,
    }  # fmt: skip


def test_what_the_tables_say_of_themselves_is_told(report_on: MakeReport) -> None:
    def add(tables: Tables) -> None:
        tables["problems"] += [
            problem("late", 5, "events of 14:01 came after their minute was closed"),
            problem("late", 2, "events of 14:02 came after their minute was closed"),
            problem("captured_lost", 7, None),
            problem("publication_unknown", 3, "3 deliveries are of unknown messages", "weather"),
        ]

    report = report_on(change=add)
    assert sentences(report) == [
        "Captured lost, 7 times.",
        "5 events of 14:01 came after their minute was closed (and 1 more of this kind, 7 in all).",
        "Topic weather: 3 deliveries are of unknown messages.",
    ]
    assert [one.weight for one in report.findings] == [
        Weight.PROBLEM, Weight.WARNING, Weight.WARNING,
    ]  # fmt: skip


def test_what_the_tables_tell_is_not_told_twice(report_on: MakeReport) -> None:
    def add(tables: Tables) -> None:
        for row in totals(tables["latencies"]):
            row.update(negative=1, strayed=1)
        tables["problems"] += [
            problem("negative_latency", 2, "2 deliveries are earlier than it", "weather"),
            problem("hop_unknown", 1, "1 deliveries came in an unknown way", "weather"),
            problem("clock_unknown", 2, "2 nodes' clocks could not be compared"),
        ]

    result = report_json(report_on(Run(blind_clocks=2), add))
    assert [sentence.split(":")[0] for sentence in result["problems"]] == [
        "Topic weather", "Gossipsub",
    ]  # fmt: skip
    assert result["notes"] == ["Topic weather: 1 deliveries came in an unknown way."]


def test_clocks_that_cannot_be_compared_are_a_warning(report_on: MakeReport) -> None:
    report = report_on(Run(blind_clocks=2))
    (sentence,) = sentences(report)
    assert "the clocks of 2 of 10 peers could not be compared" in sentence
    (all_of_them,) = sentences(report_on(Run(nodes=3, blind_clocks=3), name="all"))
    assert "the clocks of all 3 peers" in all_of_them


def test_that_clocks_of_mere_publishers_cannot_be_compared_is_a_note(
    report_on: MakeReport,
) -> None:
    def deafen(tables: Tables) -> None:
        blind = [row["node"] for row in tables["clocks"] if not row["estimated"]]
        for row in totals(tables["peers"]):
            if row["node"] in blind:
                row.update(delivered=0, duplicates=0)

    result = report_json(report_on(Run(blind_clocks=2), deafen))
    assert result["problems"] == []
    assert "of 2 of 10 peers could not be compared, as they only published" in result["notes"][0]


def test_that_clocks_cannot_be_compared_where_messages_go_one_way_is_a_note(
    report_on: MakeReport,
) -> None:
    def one_way(tables: Tables) -> None:
        publisher, *listeners = totals(tables["peers"])
        publisher.update(delivered=0, duplicates=0)
        for row in listeners:
            row.update(published=0, first_sent=0, repeat_sent=0)

    result = report_json(report_on(Run(nodes=3, blind_clocks=3), one_way))
    assert result["problems"] == []
    assert "of all 3 peers could not be compared, as messages went one" in result["notes"][0]


def test_one_node_alone_has_no_clock_to_compare_with(report_on: MakeReport) -> None:
    assert sentences(report_on(Run(nodes=1, blind_clocks=1))) == []


def test_latencies_below_zero_are_a_warning(report_on: MakeReport) -> None:
    def shift(tables: Tables) -> None:
        known = [row for row in totals(tables["latencies"]) if row["delivered"]]
        known[0]["negative"] = 27

    (sentence,) = sentences(report_on(change=shift))
    assert "Topic weather: 5 % of the latencies are below zero" in sentence


def test_a_mesh_in_pieces_is_told_once(report_on: MakeReport) -> None:
    def no_alert(tables: Tables) -> None:
        tables["alerts"].clear()

    split = Run(split_minute=1, messages=0)
    (alerted,) = sentences(report_on(split, name="alerted"))
    assert alerted.startswith("Partition, topic weather")
    (seen,) = sentences(report_on(split, no_alert, name="seen"))
    assert seen == "Topic weather: the mesh was in 2 pieces, in 1 of 5 minutes."


def test_rejections_and_drops_name_the_peers(report_on: MakeReport) -> None:
    def spoil(tables: Tables) -> None:
        bad, judge, full, *_ = totals(tables["peers"])
        bad.update(node="bad", rejected_by_others=12)
        judge.update(node="judge", rejected_here=12)
        full.update(node="full", dropped_here=3)

    assert sentences(report_on(change=spoil)) == [
        "12 messages rejected; they came from bad.",
        "3 things dropped for want of room, by full.",
    ]


def test_what_only_surprises_is_a_note_and_no_problem(report_on: MakeReport) -> None:
    def late(tables: Tables) -> None:
        totals(tables["topics"])[0]["unexpected"] = 4
        totals(tables["latencies"])[0]["strayed"] = 9

    result = report_json(report_on(change=late))
    assert result["problems"] == []
    assert ["4 deliveries at peers that were not expected" in it for it in result["notes"]] == [
        True,
        False,
    ]
    assert "the way of 9 of 540 deliveries" in result["notes"][1]


def test_a_very_long_topic_is_shortened_in_sentences(report_on: MakeReport) -> None:
    report = report_on(Run(topics=("x" * 1000 + "1", "x" * 1000 + "2"), loss=0.4, seed=5))
    found = sentences(report)
    assert len(found) == 2
    assert found[0].split(":")[0] != found[1].split(":")[0]
    assert max(map(len, found)) < 150


def test_each_promise_has_words_of_its_own(report_on: MakeReport) -> None:
    def lose(tables: Tables) -> None:
        (jobs,) = [row for row in totals(tables["topics"]) if row["topic"] == "jobs"]
        jobs.update(missing=3, ratio=69 / 72)

    result = report_json(report_on(tables=story(), change=lose))
    told = " ".join(result["problems"])
    assert "Topic weather: 67 of 612 expected deliveries are missing (89.05 % arrived)" in told
    assert "Topic jobs: 3 of 72 messages reached no subscriber (95.83 % did)" in told
    assert "Topic prices: 2 of 360 times a subscriber had neither the value nor a newer" in told
    assert "Topic prices: 1 of 6 peers does not have the newest value (node-0)." in told
    assert "112 values skipped, as a newer one came first" in " ".join(result["notes"])


def test_values_that_are_skipped_are_no_problem(report_on: MakeReport) -> None:
    result = report_json(report_on(Run(promise="newest", network="bep50")))
    assert result["topics"]["weather"]["skipped"] > 0
    assert result["problems"] == []
    assert result["verdict"] == "Every subscriber had the newest value."
    assert result["speed"].startswith("Half had a value or a newer one within ")


def test_a_message_to_one_is_whole_with_one_delivery(report_on: MakeReport) -> None:
    result = report_json(report_on(Run(promise="one", network="bcos")))
    assert result["topics"]["weather"]["delivered"] == 60
    assert result["problems"] == []
    assert result["verdict"] == "Each message reached one subscriber."


def test_alerts_lead_to_their_section(report_on: MakeReport) -> None:
    report = report_on(Run(split_minute=1, messages=0))
    assert [one.more for one in report.findings] == ["docs/alerts.md#partition"]
    assert report_json(report)["alerts"][0]["more"] == "docs/alerts.md#partition"

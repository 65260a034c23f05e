from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Callable
from html.parser import HTMLParser
from itertools import pairwise
from typing import Any

from rumormill.report import Report, report_html, report_json
from rumormill.report.series import MOST_BUCKETS, bucket_seconds
from rumormill.report.series import page_data as data_of
from tests.helpers.report.gold_tables import HOSTILE, Run, story
from tests.helpers.report.lake_on_disk import Rows

MakeReport = Callable[..., Report]


def page_data(report: Report) -> dict[str, Any]:
    return data_of(report, report_json(report))


class Elements(HTMLParser):
    """Every element of a page with its attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def test_the_page_needs_nothing_from_anywhere(report_on: MakeReport) -> None:
    page = report_html(report_on())
    for tag, attributes in Elements(page).found:
        assert tag not in {"link", "img", "iframe", "object", "embed", "base", "form"}
        assert "src" not in attributes
        assert (attributes.get("href") or "#").startswith("#")
    assert "@import" not in page and "url(" not in page
    assert set(re.findall(r"https?://[^\"'\s]+", page)) == {"http://www.w3.org/2000/svg"}


def test_the_policy_allows_our_script_and_style_and_nothing_else(report_on: MakeReport) -> None:
    page = report_html(report_on())
    (policy,) = [
        attributes["content"] or ""
        for tag, attributes in Elements(page).found
        if attributes.get("http-equiv") == "Content-Security-Policy"
    ]
    script = page[page.rindex("<script>") + len("<script>") : page.rindex("</script>")]
    style = page[page.index("<style>") + len("<style>") : page.index("</style>")]
    for kind, text in (("script-src", script), ("style-src", style)):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{kind} 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy


def test_no_name_becomes_an_element_or_an_attribute(report_on: MakeReport) -> None:
    def hostile_everywhere(tables: dict[str, Rows]) -> None:
        tables["events"].append(
            {"minute": None, "network": HOSTILE[0], "event": HOSTILE[1], "count": 1}
        )
        for at, row in enumerate(tables["nodes"]):
            row["agent"] = HOSTILE[at]
        tables["alerts"].append(
            {"network": "gossipsub", "topic": HOSTILE[0], "minute": None, "kind": HOSTILE[1],
             "node": HOSTILE[2], "detail": HOSTILE[0]}
        )  # fmt: skip

    run = Run(topics=HOSTILE, names=HOSTILE, nodes=len(HOSTILE), minutes=2, loss=0.2)
    report = report_on(run, hostile_everywhere)
    elements = Elements(report_html(report, report)).found
    assert sum(tag == "script" for tag, _ in elements) == 2
    assert not {tag for tag, _ in elements} & {"img", "iframe", "b", "input"}
    for _, attributes in elements:
        assert not [name for name in attributes if name.startswith("on") or name == "style"]


def test_the_data_of_the_plots_cannot_close_their_element(report_on: MakeReport) -> None:
    page = report_html(report_on(Run(topics=HOSTILE, nodes=3, minutes=1)))
    data = page[page.index('id="data">') + len('id="data">') :]
    data = data[: data.index("</script>")]
    assert "<" not in data and ">" not in data
    labels = [topic["label"] for topic in json.loads(data)["topics"]]
    assert sorted(labels[1:])[0].startswith('"><img')


def test_a_long_run_is_drawn_in_buckets_that_lose_no_message(report_on: MakeReport) -> None:
    report = report_on(Run(nodes=2, minutes=2 * MOST_BUCKETS + 10, messages=1, promise="every"))
    assert bucket_seconds(report) == 180
    (topic,) = page_data(report)["topics"]
    assert len(topic["minutes"]["time"]) <= MOST_BUCKETS
    assert sum(topic["minutes"]["published"]) == 2 * MOST_BUCKETS + 10
    assert sum(topic["mesh"]["grafts"]) == sum(row.grafts for row in report.gold.mesh_minutes)


def test_a_bucket_keeps_its_worst_minute(report_on: MakeReport) -> None:
    def tear(tables: dict[str, Rows]) -> None:
        tables["mesh_minutes"][700]["components"] = 3
        tables["mesh_minutes"][700]["degree_min"] = -1
        (row,) = [
            row for row in tables["topics"]
            if row["minute"] == tables["mesh_minutes"][700]["minute"]
        ]  # fmt: skip
        row["latency_p99"] = 9999.0

    report = report_on(Run(nodes=2, minutes=1000, messages=1), tear)
    (topic,) = page_data(report)["topics"]
    assert max(topic["mesh"]["components"]) == 3
    assert min(topic["mesh"]["least"]) == -1
    assert max(topic["minutes"]["p99"]) == 9999.0


def test_all_topics_together_are_the_sum_of_each(report_on: MakeReport) -> None:
    everything, *topics = page_data(report_on(Run(topics=("a", "b", "c"), loss=0.1)))["topics"]
    assert everything["all"] is True
    for name in ("published", "expected", "missing"):
        columns = zip(*(topic["minutes"][name] for topic in topics), strict=True)
        assert everything["minutes"][name] == [sum(column) for column in columns]
    assert sum(everything["hops"][1]) == sum(sum(topic["hops"][1]) for topic in topics)


def test_of_very_many_peers_the_busiest_are_drawn(report_on: MakeReport) -> None:
    data = page_data(report_on(Run(nodes=230, minutes=1, messages=2)))
    assert len(data["peers"]) == 200
    assert data["left_out"] == 30
    sent = [0] * 200
    for giver, _, first, _ in data["links"]:
        sent[giver] += first
    assert sent[0] == max(sent)


def test_a_short_run_is_drawn_by_the_second(report_on: MakeReport) -> None:
    (topic,) = page_data(report_on(Run(minutes=2, messages=6)))["topics"]
    times = topic["minutes"]["time"]
    assert [later - earlier for earlier, later in pairwise(times)] == [10] * 11


def test_words_of_a_promise_are_only_on_a_page_that_has_it(report_on: MakeReport) -> None:
    assert "or a newer one was there" in report_html(report_on(tables=story()))
    plain = report_html(report_on(name="plain"))
    assert "Who has the newest value" not in plain and "promised to" not in plain


def test_a_way_that_goes_in_circles_ends(report_on: MakeReport) -> None:
    def turn(tables: dict[str, Rows]) -> None:
        for row in tables["slowest"]:
            one, other = row["tree"][:2]
            one["peer"], other["peer"] = other["node"], one["node"]

    assert "The slowest messages" in report_html(report_on(change=turn))

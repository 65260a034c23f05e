"""The report as one HTML page that needs nothing else: no network, no other file.

Style and script are ours and are written into the page, with a policy that allows these two and
nothing more: whatever a topic is called, no other script runs and nothing is loaded.
"""

from __future__ import annotations

import base64
import hashlib
from importlib.metadata import version
from importlib.resources import files

from rumormill.core.words import plural, printable
from rumormill.pipeline.report.comparison import Comparison
from rumormill.pipeline.report.figures import Report, verdict
from rumormill.pipeline.report.markup import Markup, join, json_block, raw, tag
from rumormill.pipeline.report.page_cards import (
    card,
    delivery_card,
    glossary,
    hops_card,
    latency_card,
    links_card,
    mesh_card,
    speed_card,
    topic_choice,
)
from rumormill.pipeline.report.page_tables import (
    comparison_table,
    events_table,
    peers_table,
    topics_table,
)
from rumormill.pipeline.report.page_top import findings, heading, tiles
from rumormill.pipeline.report.series import page_data
from rumormill.pipeline.report.words import listed

STYLES = ("page.css", "plots.css")
SCRIPTS = ("base.js", "chart.js", "plots.js", "matrix.js", "tables.js", "main.js")

MARK = (
    '<svg class="mark" viewBox="0 0 24 24" aria-hidden="true"><g fill="none" stroke="currentColor"'
    ' stroke-width="1.6" opacity=".55"><path d="M5 6 12 12 19 5M12 12 6 19M12 12 19 17M5 6 6 19'
    'M19 5 19 17"/></g><g fill="currentColor"><circle cx="5" cy="6" r="2.4"/><circle cx="19" cy="5"'
    ' r="2.4"/><circle cx="6" cy="19" r="2.4"/><circle cx="19" cy="17" r="2.4"/><circle cx="12"'
    ' cy="12" r="3"/></g></svg>'
)

PLACES = {
    "compare": "Compare",
    "topics": "Topics",
    "latency": "How fast",
    "delivery": "Over time",
    "hops": "How far",
    "mesh": "Mesh",
    "links": "Who sent what",
    "peers": "Peers",
    "events": "Events",
    "words": "Words",
}


def html_page(report: Report, comparison: Comparison | None = None) -> str:
    """The whole page, of one run or of two side by side."""
    style = _asset(STYLES)
    # A function around it: nothing of ours is a name of the page.
    script = f'(() => {{\n"use strict";\n{_asset(SCRIPTS)}}})();\n'
    policy = (
        f"default-src 'none'; script-src '{_fingerprint(script)}'; "
        f"style-src '{_fingerprint(style)}'; base-uri 'none'; form-action 'none'"
    )
    head = tag(
        "head", tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("title", f"rumormill report: {verdict(report)}"), tag("style", raw(style)),
    )  # fmt: skip
    other = comparison.other if comparison else None
    body = tag(
        "body", _top(report),
        tag(
            "main",
            tag("div", heading(report), tiles(report, other), findings(report), class_="column"),
            _navigation(report, comparison),
            tag("div", tag("div", _cards(report, comparison), class_="grid"), class_="column"),
        ),
        _foot(),
        json_block("data", page_data(report, other)), tag("script", raw(script)),
    )  # fmt: skip
    return f"<!doctype html>\n{tag('html', head, body, lang='en')}\n"


def _cards(report: Report, comparison: Comparison | None) -> list[Markup]:
    lead = "Click a heading to sort."
    return [
        *([_comparison_card(comparison)] if comparison else []),
        card("topics", "Topics", lead, topics_table(report), wide=True),
        latency_card(report, comparison),
        delivery_card(report),
        hops_card(report),
        speed_card(report),
        mesh_card(report),
        links_card(report),
        card("peers", "Peers", "Those that handed on most come first.", peers_table(report),
             wide=True),
        card("events", "Trace events", "Everything that was recorded, by kind.",
             events_table(report)),
        glossary(),
    ]  # fmt: skip


def _comparison_card(comparison: Comparison) -> Markup:
    folder = printable(comparison.other.gold.folder.name)
    lead = f"This run beside the other ({folder}). The other: {verdict(comparison.other)}"
    alone = [
        f"Only in {where}: {listed([printable(label) for label in labels], most=20)}."
        for where, labels in (
            ("this run", comparison.only_here),
            ("the other", comparison.only_there),
        )
        if labels
    ]
    note = tag("p", " ".join(alone), class_="hint") if alone else None
    return card("compare", "Compared", lead, comparison_table(comparison), note, wide=True)


def _top(report: Report) -> Markup:
    about = [", ".join(printable(network) for network in report.networks)]
    about += [printable(report.gold.folder.name)]
    if report.period:
        first, last = report.period
        minutes = int((last - first).total_seconds()) // 60 + 1
        end = f"{last:%H:%M}" if first.date() == last.date() else f"{last:%Y-%m-%d %H:%M}"
        about += [f"{first:%Y-%m-%d %H:%M} to {end} UTC", plural(minutes, "minute")]
    return tag(
        "header", raw(MARK), tag("span", "rumormill report", class_="brand"),
        tag("span", " · ".join(part for part in about if part), class_="about"),
        tag("button", "Dark", id="theme", type="button", hidden=True), class_="top",
    )  # fmt: skip


def _navigation(report: Report, comparison: Comparison | None) -> Markup:
    places = [
        tag("a", title, href=f"#{place}")
        for place, title in PLACES.items()
        if place != "compare" or comparison
    ]
    return tag(
        "nav", tag("div", places, class_="places"), topic_choice(report), class_="bar",
        aria_label="Parts of the report",
    )  # fmt: skip


def _foot() -> Markup:
    text = f"Made by rumormill {version('rumormill')}. This page loads nothing and sends nothing."
    return tag("footer", text)


def _asset(names: tuple[str, ...]) -> str:
    folder = files("rumormill.pipeline.report") / "assets"
    return join([raw((folder / name).read_text(encoding="utf-8")) for name in names])


def _fingerprint(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"

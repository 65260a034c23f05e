"""The cards of the page: one for each plot, with the numbers behind it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from rumormill.core.words import printable
from rumormill.pipeline.report.comparison import Comparison
from rumormill.pipeline.report.figures import Report
from rumormill.pipeline.report.markup import Markup, tag
from rumormill.pipeline.report.page_tables import cell, name, plain_table
from rumormill.pipeline.report.rows import CdfPoint
from rumormill.pipeline.report.series import MOST_PEERS, minute_columns, plotted_topics
from rumormill.pipeline.report.words import digits, milliseconds, percent

MOST_LINKS = 200
QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 1.0)


def card(identifier: str, title: str, lead: str, *content: Any, wide: bool = False) -> Markup:
    """A part of the page, with a sentence that says what is to be seen."""
    return tag(
        "section", tag("h2", title, id=f"{identifier}-title"), tag("p", lead, class_="lead"),
        content, id=identifier, class_="card wide" if wide else "card",
        aria_labelledby=f"{identifier}-title",
    )  # fmt: skip


def plot(plot_name: str, numbers: Markup, *choices: Any) -> list[Any]:
    """A plot, its legend and its switches, and the numbers behind it."""
    return [
        tag("div", tag("div", class_="legend", data_legend=plot_name), choices, class_="head"),
        tag("div", class_="plot", data_plot=plot_name),
        tag("details", tag("summary", "Numbers, all topics"), numbers, class_="numbers"),
    ]


def switch(switch_name: str, label: str, **values: str) -> Markup:
    """A few buttons of which one is pressed."""
    buttons = [tag("button", text, type="button", value=value) for value, text in values.items()]
    return tag(
        "div", buttons, class_="choice", data_choice=switch_name, role="group", aria_label=label
    )


def nothing(report: Report, table: str) -> Markup:
    """In place of a plot that has no data."""
    reason = "missing" if table in report.gold.missing else "empty"
    return tag("p", f"Nothing to draw: the table gold/{table} is {reason}.", class_="empty")


def latency_card(report: Report, comparison: Comparison | None) -> Markup:
    """The distribution of latencies."""
    lead = "The further left and the steeper, the faster. Point at it to read it off."
    if not report.latency:
        return card("latency", "How fast", lead, nothing(report, "latency_cdf"))
    headings = ["topic", *(f"{percent(share)} within" for share in QUANTILES)]
    rows = [
        [name(label), *(_quantile(points, share) for share in QUANTILES)]
        for label, points in report.latency.items()
    ]
    lead += " Dashed: the other run." if comparison else ""
    return card("latency", "How fast", lead, plot(
        "latency", plain_table("Latency by share of the deliveries", headings, rows),
        switch("scale", "Scale of the latency axis", linear="linear", log="log"),
    ))  # fmt: skip


def _quantile(points: Sequence[CdfPoint], share: float) -> Markup:
    for point in points:
        if point.share >= share - 1e-12:
            return cell(point.latency_ms, milliseconds(point.latency_ms), f"q{share:g}")
    return cell(None, "-", f"q{share:g}")


def delivery_card(report: Report) -> Markup:
    """The delivery ratio over time."""
    lead = "What lies under the line arrived; red is what was lost."
    if not report.minutes:
        return card("delivery", "Did it arrive", lead, nothing(report, "topic_minutes"))
    columns = minute_columns(report.gold.topic_minutes, 1)
    rows = [
        [_minute(time), cell(published, f"{published:,}", "published"),
         cell(expected, f"{expected:,}", "expected"), cell(arrived, f"{arrived:,}", "arrived"),
         cell(arrived / expected if expected else None,
              percent(arrived / expected if expected else None), "ratio")]
        for time, published, expected, arrived in zip(
            columns["time"], columns["published"], columns["expected"], columns["arrived"],
            strict=True)
    ]  # fmt: skip
    headings = ["minute, UTC", "published", "expected", "arrived", "ratio"]
    numbers = plain_table("All topics by minute", headings, rows)
    return card("delivery", "Did it arrive", lead, plot("delivery", numbers))


def _minute(seconds: int) -> Markup:
    text = datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M")
    return tag("th", text, scope="row", class_="text", data_value=seconds)


def speed_card(report: Report) -> Markup:
    """Latency over time."""
    lead = "Half of a minute's deliveries were faster than p50, all but one in a hundred than p99."
    if not report.minutes:
        return card("speed", "Latency over time", lead, nothing(report, "topic_minutes"))
    rows = [
        [name(label), _minute(int(row.minute.timestamp())),
         cell(row.latency_p50, milliseconds(row.latency_p50), "latency_p50"),
         cell(row.latency_p99, milliseconds(row.latency_p99), "latency_p99"),
         cell(row.latency_max, milliseconds(row.latency_max), "latency_max")]
        for label, minutes in report.minutes.items() for row in minutes
    ]  # fmt: skip
    headings = ["topic", "minute, UTC", "p50", "p99", "max"]
    numbers = plain_table("Latency by minute", headings, rows)
    return card("speed", "Latency over time", lead, plot("speed", numbers))


def hops_card(report: Report) -> Markup:
    """Propagation by hop."""
    lead = "Hop 1 came straight from the publisher; each further one is a peer in between."
    if not report.hops:
        return card("hops", "How far", lead, nothing(report, "hops"))
    rows = [
        [name(label), cell(row.hop, str(row.hop), "hop"),
         cell(row.deliveries, f"{row.deliveries:,}", "deliveries"),
         cell(row.latency_p50, milliseconds(row.latency_p50), "latency_p50")]
        for label, hops in report.hops.items() for row in hops
    ]  # fmt: skip
    numbers = plain_table("Deliveries by hop", ["topic", "hop", "deliveries", "p50"], rows)
    return card("hops", "How far", lead, plot("hops", numbers))


def mesh_card(report: Report) -> Markup:
    """The mesh over time."""
    lead = (
        "How many peers each one hands messages to. More than one piece: some cannot reach the "
        "others. Much grafting and pruning: it does not settle."
    )
    if not report.mesh:
        return card("mesh", "The mesh", lead, nothing(report, "mesh_minutes"), wide=True)
    rows = [
        [name(label), _minute(int(row.minute.timestamp())),
         cell(row.nodes, str(row.nodes), "nodes"),
         cell(row.degree_mean, digits(row.degree_mean), "degree_mean"),
         cell(row.degree_min, digits(row.degree_min), "degree_min"),
         cell(row.degree_max, digits(row.degree_max), "degree_max"),
         cell(row.components, digits(row.components), "components"),
         cell(row.grafts, f"{row.grafts:,}", "grafts"),
         cell(row.prunes, f"{row.prunes:,}", "prunes")]
        for label, minutes in report.mesh.items() for row in minutes
    ]  # fmt: skip
    headings = ["topic", "minute, UTC", "peers", "degree", "least", "most", "pieces", "grafts",
                "prunes"]  # fmt: skip
    numbers = plain_table("Mesh by minute", headings, rows)
    return card("mesh", "The mesh", lead, plot("mesh", numbers), wide=True)


def links_card(report: Report) -> Markup:
    """Who sent what to whom."""
    lead = "A row hands on, a column receives; those that handed on most come first."
    if not report.gold.links:
        return card("links", "Who sent what", lead, nothing(report, "links"), wide=True)
    links = sorted(report.gold.links, key=lambda row: -(row.first + row.repeated))
    names = report.peer_labels

    def peer(network: str, node: str) -> Markup:
        label = names[network, node]
        return name(label, report.short_names[label])

    rows = [
        [peer(row.network, row.peer), peer(row.network, row.node),
         cell(row.first, f"{row.first:,}", "first"),
         cell(row.repeated, f"{row.repeated:,}", "repeated")]
        for row in links[:MOST_LINKS]
    ]  # fmt: skip
    shown = f"The {MOST_LINKS} busiest links" if len(links) > MOST_LINKS else "All links"
    numbers = plain_table(shown, ["from", "to", "first copies", "duplicates"], rows)
    people = len({row.node for row in links} | {row.peer for row in links})
    if people > MOST_PEERS:
        lead += f" The {MOST_PEERS} that handed on most, of {people:,}."
    return card("links", "Who sent what", lead, plot(
        "links", numbers,
        switch("links", "What is counted", first="first copies", repeated="duplicates",
               both="both"),
    ), wide=True)  # fmt: skip


def topic_choice(report: Report) -> Markup | None:
    """Which topic the plots show."""
    labels = plotted_topics(report)
    if len(labels) < 2:
        return None
    options = [tag("option", "all topics"), *(tag("option", printable(it)) for it in labels)]
    return tag("label", "Topic", tag("select", options, id="topic"))


def glossary() -> Markup:
    """What the words mean."""
    meanings = {
        "published": "Messages that a peer gave to the network.",
        "expected": "For each message, the peers that were subscribed when it was published, and "
        "known to be, without its publisher. The last second of a peer that ended without a word "
        "does not count.",
        "delivered": "First copies that reached a peer other than the publisher.",
        "ratio": "Deliveries at expected peers, divided by expected. Deliveries at peers that "
        "subscribed later are left out of it.",
        "latency": "From publish on one peer to the expected first copy on another, with clocks' "
        "differences taken out where the trace allowed to estimate them. p99: of n deliveries in "
        "order, the one at place 0.99 n.",
        "duplicates": "Copies of a message that a peer already had. A mesh sends some on purpose.",
        "hops": "Peers on the way, the receiver included: 1 is straight from the publisher.",
        "by gossip": "Deliveries that the mesh had missed and the peer asked for (IWANT).",
        "degree": "Peers that one peer has in its mesh of a topic.",
        "pieces": "Parts of the mesh that no link joins; 1 is whole.",
        "contribution": "The share of all first copies that came from this peer.",
        "clock": "How far a peer's clock is ahead of the others', estimated from packets that "
        "crossed.",
    }
    pairs = [(tag("dt", word), tag("dd", meaning)) for word, meaning in meanings.items()]
    lead = "More in docs/report.md."
    return card("words", "What the words mean", lead, tag("div", tag("dl", pairs), class_="words"))
